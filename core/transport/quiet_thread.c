/* core/transport/quiet_thread.c: see quiet_thread.h. */
#include "core/transport/quiet_thread.h"

#include <signal.h>
#include <stddef.h>

int ist_quiet_thread_create(pthread_t *out, const char *name, void *(*run)(void *))
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(out, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) pthread_setname_np(*out, name);
    return error;
}
