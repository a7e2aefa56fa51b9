/* core/base/thread.h: threads of the library, and which signals a thread leaves to others.
 * Not how such a thread is stopped: each has a way of its own. */
#ifndef IST_BASE_THREAD_H
#define IST_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Blocks all signals in the calling thread except those of its own faults (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP).
 * A fault whose signal is blocked kills the process, also one that only means that the thread has to wait
 * (core/heap/static_guard.c). */
void ist_block_signals(sigset_t *before);

/* For all threads of the library: creates one with signals blocked as above: they belong to the program's threads.
 * Returns 0 or an error number. */
int ist_quiet_thread_create(pthread_t *out, const char *name, void *(*run)(void *), void *argument);

#endif
