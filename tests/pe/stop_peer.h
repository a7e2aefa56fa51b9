/* tests/pe/stop_peer.h: this PE goes on when the process of another PE of this host stands still. */
#ifndef TESTS_PE_STOP_PEER_H
#define TESTS_PE_STOP_PEER_H

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The third field of the file: after the name, which is in parentheses. 0 if the thread has ended. */
static inline char stop_peer_state(long pid, const char *thread)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%ld/task/%.20s/stat", pid, thread);
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *name_end = length > 0 ? strrchr(text, ')') : NULL;
    return name_end == NULL ? 0 : name_end[2];
}

static inline bool stop_peer_is_stopped(long pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    DIR *threads = opendir(path);
    bool is_stopped = true;
    for (struct dirent *entry; threads != NULL && is_stopped && (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.') {
            char state = stop_peer_state(pid, entry->d_name);
            is_stopped = state == 'T' || state == 0;
        }
    if (threads != NULL) closedir(threads);
    return is_stopped;
}

/* Returns when all threads of the process, which stops itself or is stopped, stand still. */
static inline void stop_peer_wait(long pid)
{
    while (!stop_peer_is_stopped(pid)) sched_yield();
}

static inline void stop_peer(long pid)
{
    if (kill((pid_t)pid, SIGSTOP) == 0) stop_peer_wait(pid);
}

#endif
