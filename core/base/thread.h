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

/* No routine of the library is a cancellation point (pthread_cancel): a thread that ended within one would leave locks
 * and counts behind. What calls functions of the C library that are such points is between these two. */
static inline int ist_cancel_disable(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void ist_cancel_restore(int before) { pthread_setcancelstate(before, NULL); }

#endif
