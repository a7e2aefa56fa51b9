/* core/proxy/kernel_report.h: the report that a kernel leaves when it stops for a wrong call: its memory, and its text.
 * One for all kernels of this PE. Writing it is isthmus/device_report.h. Not the requests of kernels, whose arguments
 * the thread of the host checks (batch.h). */
#ifndef IST_PROXY_KERNEL_REPORT_H
#define IST_PROXY_KERNEL_REPORT_H

#include "core/proxy/kernel_memory.h"

#include <stdbool.h>

/* As ist_misuse() prints the two. */
struct ist_kernel_report {
    char routine[32], text[448];
};

isthmus_status ist_kernel_report_open(const struct ist_kernel_memory *memory);
void ist_kernel_report_close(void);  /* no kernel runs; accepts any state */
void ist_kernel_report_forget(void); /* in a child after fork: the memory is the parent's */

/* At their addresses for kernels. */
uint64_t *ist_kernel_report_words(void);
uint64_t *ist_kernel_report_reporters(void);

/* The text about the words of a report. */
void ist_kernel_report_print(const uint64_t *words, struct ist_kernel_report *out);

/* Returns true if there is a report. Any thread; any state. */
bool ist_kernel_report_read(struct ist_kernel_report *out);

/* The same of a kernel on processors, where the program goes on: the next kernel may report again. */
bool ist_kernel_report_take(struct ist_kernel_report *out);

#endif
