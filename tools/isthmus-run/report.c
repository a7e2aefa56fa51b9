/* Messages, time and memory for the other files.
 * Not the texts: each message is written where its cause is known.
 * Read on in job.c for the messages about PEs. */
#include "launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void write_line(const char *format, va_list arguments)
{
    char line[4096] = "isthmus-run: ";
    size_t prefix = strlen(line);
    int written = vsnprintf(line + prefix, sizeof line - prefix - 1, format, arguments);
    size_t length = prefix + (written < 0 ? 0 : (size_t)written);
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    /* One write, so that the line stays whole beside the output of the PEs; there is no one left to inform if it
     * fails. */
    if (write(STDERR_FILENO, line, length) < 0) return;
}

void report(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}

void report_and_exit(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
    _exit(LAUNCH_FAILED);
}

void *zeroed_memory(size_t n, size_t size_bytes)
{
    void *memory = calloc(n ? n : 1, size_bytes);
    if (!memory) report_and_exit("no memory for %zu elements of %zu bytes", n, size_bytes);
    return memory;
}

int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
