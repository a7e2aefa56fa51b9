/* What the kernel knows about the launcher's children: those that PEs have left to it, and which are about to end.
 * Not which of them are PEs: the job knows those.
 * Read on in children.c. */
#ifndef ISTHMUS_RUN_CHILDREN_H
#define ISTHMUS_RUN_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Makes the launcher the parent of processes that PEs leave behind. Before the first PE, after the guardian has been
 * started. */
void children_adopt(void);

/* Only when no PE runs any more: whether the launcher has a child other than the guardian, and a signal to all such. */
bool children_exist(void);
void children_signal(int signal_number);

/* Its state, as the letters of proc(5) have it ('Z' also when it is gone), and where in the system it sleeps, or "" if
 * the kernel does not report it. */
char process_state(pid_t pid, char *where, size_t room);

/* Returns true if it has a handler for this signal, which would not end it. */
bool process_catches(pid_t pid, int signal_number);

/* True from the moment that the process is past all its own code, before its descriptors are closed, on. */
bool process_is_exiting(pid_t pid);

#endif
