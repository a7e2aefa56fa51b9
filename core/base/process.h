/* core/base/process.h: what the system reports about another process; of this one, room for its descriptors, and what
 * it leaves out if it has more rights than its caller.
 * Its place in a job: core/life/processes.c, and the launcher's own list. */
#ifndef IST_BASE_PROCESS_H
#define IST_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ist_process {
    char state; /* as in proc(5): 'T' is a stop by job control, 't' one by a debugger */
    int32_t parent;
    bool is_exiting;           /* it runs no code of its own any more */
    bool has_lost_main_thread; /* by pthread_exit, while others go on; then its state counts as sleeping */
    /* clock ticks since the system's start, cut to 32 bits: identifies the process together with its pid */
    uint32_t started;
};

/* Returns false if there is no such process. Takes a few microseconds. */
bool ist_process_read(int32_t pid, struct ist_process *out);

/* Reads what fits of a file, or of the process's file of that name in /proc, with a zero after it. Returns -1 if it
 * cannot be read. */
int ist_read_text(const char *path, char *text, size_t room);
int ist_process_file(int32_t pid, const char *name, char *text, size_t room);

/* Writes the name of this process's executable, without its folder; "?" if there is no /proc. */
void ist_executable_name(char *out, size_t room);

/* Makes this process's table of descriptors as long as that of a job with many connections: up to 4096, or the limit
 * of open files. The kernel doubles a table that is full, from 64 on. Once the process has a second thread, it waits
 * for all processors each time: milliseconds, and seconds where many PEs share a processor. UCX holds a lock meanwhile
 * that its other threads spin on. Called before other threads exist, this takes microseconds. No effect if descriptors
 * or memory are short. */
void ist_descriptors_make_room(void);

/* Returns true if this process may open so many descriptors more, and map so many bytes more, for a library that does
 * not bear their lack. Costs two system calls without limits that are low. */
bool ist_process_has_room(int descriptors, size_t bytes);

/* ---- programs that have more rights than their caller (setuid, setgid, file capabilities) ----
 * Our own variables are config.c; these are the variables of lower libraries, which load the files named there. */

/* At the first init, before those libraries read them: removes their variables from the environment of a privileged
 * program, as the dynamic linker does with its own. No effect in other programs. */
void ist_privileged_clean_environment(void);

#endif
