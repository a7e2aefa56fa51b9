/* The few words that all files of isthmus-run share: how a step ends, and the one way to print a message.
 * Not a place for a file's own types; those are in the header of the same name.
 * Read on in main.c, which lists the steps. */
#ifndef ISTHMUS_RUN_LAUNCH_H
#define ISTHMUS_RUN_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

enum { LAUNCH_MAX_PES = 4096 };

/* The result of a step, and the exit status of isthmus-run itself. The function that finds a failure reports it. */
enum launch_status {
    LAUNCH_OK = 0,
    LAUNCH_FAILED = 1,
    LAUNCH_USAGE = 2,
    LAUNCH_TIMEOUT = 124,
    LAUNCH_NOT_EXECUTABLE = 126,
    LAUNCH_NOT_FOUND = 127,
};

/* One line on stderr, "isthmus-run: " before it and the newline after it, in a single write. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As report(), for failures that no job survives: ends the launcher with LAUNCH_FAILED. If there are PEs, the kernel
 * and the guardian end them as if the launcher had been killed. */
void report_and_exit(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* calloc() that does not fail: a launcher without memory for its tables cannot do anything useful. */
void *zeroed_memory(size_t n, size_t size_bytes);

int64_t monotonic_ns(void);

#endif
