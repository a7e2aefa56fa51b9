/* Adopts the orphans of the job (a subreaper gets them from the kernel) and finds them in /proc, so that a daemon which
 * left its PE's process group ends with the job as well.
 * Not a search through all processes: the kernel keeps the list of a process's children.
 * Read on in job.c, in the phases after the last PE. */
#include "children.h"
#include "guardian.h"

#include "core/base/process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void children_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

/* Calls kill() with signal_number on each child but the guardian; returns how many there are. Without the kernel's list
 * (an option of the kernel that distributions switch on) none is found, and only process groups are cleaned up. */
static int for_each_child(int signal_number)
{
    char path[64];
    int n = 0, pid;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid()); /* all are the main thread's */
    FILE *list = fopen(path, "re");
    if (!list) return 0;
    while (fscanf(list, "%d", &pid) == 1) {
        if (pid == guardian_pid()) continue;
        kill(pid, signal_number); /* a child that has not been waited for: the number cannot be another's */
        n++;
    }
    fclose(list);
    return n;
}

char process_state(pid_t pid, char *where, size_t room)
{
    struct ist_process process;
    if (ist_process_file(pid, "wchan", where, room) < 0 || strcmp(where, "0") == 0) where[0] = '\0';
    return ist_process_read(pid, &process) ? process.state : 'Z';
}

bool process_catches(pid_t pid, int signal_number)
{
    char text[4096];
    unsigned long long caught = 0;
    const char *at = ist_process_file(pid, "status", text, sizeof text) > 0 ? strstr(text, "\nSigCgt:") : NULL;
    return at && sscanf(at, "\nSigCgt: %llx", &caught) == 1 && (caught >> (signal_number - 1) & 1);
}

bool process_is_exiting(pid_t pid)
{
    struct ist_process process;
    /* A process that is killed may lose its main thread first, and its connections before its last thread is gone. */
    return !ist_process_read(pid, &process) || process.is_exiting || process.has_lost_main_thread;
}

bool children_exist(void) { return for_each_child(0) > 0; }

void children_signal(int signal_number) { for_each_child(signal_number); }
