/* core/base/thread.c: see thread.h. */
#include "core/base/thread.h"

void ist_block_signals(sigset_t *before)
{
    sigset_t blocked;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    sigdelset(&blocked, SIGILL);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGTRAP);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

int ist_quiet_thread_create(pthread_t *out, const char *name, void *(*run)(void *), void *argument)
{
    sigset_t before;
    ist_block_signals(&before);
    int error = pthread_create(out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) pthread_setname_np(*out, name);
    return error;
}
