/* core/transport/quiet_thread.h: threads of the library, beside those of the program. */
#ifndef IST_TRANSPORT_QUIET_THREAD_H
#define IST_TRANSPORT_QUIET_THREAD_H

#include <pthread.h>

/* Creates a thread with all signals blocked: they belong to the program's threads. Returns 0 or an error number. */
int ist_quiet_thread_create(pthread_t *out, const char *name, void *(*run)(void *));

#endif
