/* core/base/process.h: what the system tells of another process.
 * Not who it is in a job: core/host_pes.c, and the launcher's own list. */
#ifndef IST_BASE_PROCESS_H
#define IST_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ist_process {
    char state; /* as proc(5) has it: 'T' is a stop of job control, 't' one by a debugger */
    int32_t parent;
    bool is_exiting;  /* it is past all its own code */
    uint32_t started; /* clock ticks since the system's start, cut to 32 bits: with its pid, who it is */
};

/* false: there is no such process. Takes a few microseconds. */
bool ist_process_read(int32_t pid, struct ist_process *out);

/* What fits of its file of that name in /proc, with a zero behind it; -1: it cannot be read. */
int ist_process_file(int32_t pid, const char *name, char *text, size_t room);

#endif
