/* core/proxy/kernel_report.h: the report that a kernel leaves when it stops, for a wrong call or to end the job: its
 * memory, and its text; and the memory in which kernels describe waits that last, whose text is
 * core/base/kernel_waits.h. One of each for all kernels of this PE. Writing them is isthmus/device_report.h and
 * device_waiting.h. Not the requests of kernels, whose arguments the thread of the host checks (batch.h). */
#ifndef IST_PROXY_KERNEL_REPORT_H
#define IST_PROXY_KERNEL_REPORT_H

#include "core/proxy/kernel_memory.h"

#include <stdbool.h>

/* About a wrong call, as ist_misuse() prints the two texts. */
struct ist_kernel_report {
    char routine[32], text[448];
};

/* heap: as kernels have it. */
isthmus_status ist_kernel_report_open(const struct ist_kernel_memory *memory, uint64_t heap, uint64_t heap_bytes);
void ist_kernel_report_close(void);  /* no kernel runs; accepts any state */
void ist_kernel_report_forget(void); /* in a child after fork: the memory is the parent's */

/* At their addresses for kernels. */
uint64_t *ist_kernel_report_words(void);
uint64_t *ist_kernel_report_reporters(void);
uint64_t *ist_kernel_report_waits(void);
uint64_t *ist_kernel_report_waiters(void);

/* The name of a call of kernels: ISTHMUS_CALL_. */
const char *ist_kernel_report_call(uint32_t call);

/* The text about the words of a report. All of these end the job if the kernel has stopped for that, with its code, and
 * do not return: what they return is about wrong calls. */
void ist_kernel_report_judge(const uint64_t *words, struct ist_kernel_report *out);

/* Returns true if there is a report. Any thread; any state. */
bool ist_kernel_report_read(struct ist_kernel_report *out);

/* The same of a kernel on processors, where the program goes on: the next kernel may report again. */
bool ist_kernel_report_take(struct ist_kernel_report *out);

#endif
