/* core/heap/fork.c: the process's fork handlers: order and signals. static_data.c does the work on static data.
 * _Fork() and clone() run no handlers, so the library has functions of these names, which the linker finds before those
 * of the C library. They may be called in handlers of signals: what runs here takes its locks with signals blocked. */
#include "core/heap/static_data.h"

#include "core/base/thread.h"
#include "core/heap/static_data_priv.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HOOKS_MAX = 16 };

static void (*hooks[HOOKS_MAX])(void);
static int n_hooks;
static pthread_mutex_t hooks_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_watched;
static pid_t (*real_fork)(void); /* the C library's _Fork(); NULL: it has none */
static int (*real_clone)(int (*fn)(void *), void *stack, int flags, void *arg, ...); /* the C library's */

/* Thread-local, hence in the child's own memory from the start: statics may still be the parent's. */
static _Thread_local sigset_t mask_before_fork;

/* Signals stay blocked from the first snapshot until the child's data is private: a handler that ran between would
 * write to memory that the child still shares, or its writes would miss the snapshot. */
static void before_fork(void)
{
    ist_block_signals(&mask_before_fork);
    pthread_mutex_lock(&hooks_lock);
    ist_static_fork_prepare();
}

static void after_fork_in_parent(void)
{
    ist_static_fork_parent();
    pthread_mutex_unlock(&hooks_lock);
    pthread_sigmask(SIG_SETMASK, &mask_before_fork, NULL);
}

static void after_fork_in_child(void)
{
    ist_static_fork_child();
    pthread_mutex_unlock(&hooks_lock);
    for (int i = 0; i < n_hooks; i++) hooks[i]();
    pthread_sigmask(SIG_SETMASK, &mask_before_fork, NULL);
}

static void find_replaced(void)
{
    real_fork = (pid_t(*)(void))dlsym(RTLD_NEXT, "_Fork");
    real_clone = (int (*)(int (*)(void *), void *, int, void *, ...))dlsym(RTLD_NEXT, "clone");
}

__attribute__((visibility("default"))) pid_t _Fork(void)
{
    if (real_fork == NULL) {
        errno = ENOSYS;
        return -1;
    }
    before_fork();
    const pid_t pid = real_fork();
    const int reason = errno;
    if (pid == 0)
        after_fork_in_child();
    else
        after_fork_in_parent();
    errno = reason;
    return pid;
}

/* Makes a child as fork() does. The caller's stack may lie in static data, which the child gets anew: the child goes on
 * with its copy of this thread's. */
static int clone_on_this_stack(int (*fn)(void *), int flags, void *arg, pid_t *parent_tid, pid_t *child_tid)
{
    before_fork();
#ifdef __x86_64__
    const int pid = (int)syscall(SYS_clone, flags, NULL, parent_tid, child_tid, NULL);
#else
    const int pid = (int)syscall(SYS_clone, flags, NULL, parent_tid, NULL, child_tid);
#endif
    const int reason = errno;
    if (pid == 0) {
        after_fork_in_child();
        _exit(fn(arg));
    }
    after_fork_in_parent();
    errno = reason;
    return pid;
}

/* A child that shares the memory is a thread, or the parent waits until it calls exec. One that shares the descriptors
 * may close none, as a child of fork() does: it shares the static data, too. */
__attribute__((visibility("default"))) int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
    va_list args;
    va_start(args, arg);
    pid_t *parent_tid = va_arg(args, pid_t *);
    void *tls = va_arg(args, void *);
    pid_t *child_tid = va_arg(args, pid_t *);
    va_end(args);
    if (fn != NULL && stack != NULL && (flags & (CLONE_VM | CLONE_FILES | CLONE_SETTLS)) == 0)
        return clone_on_this_stack(fn, flags, arg, parent_tid, child_tid);
    if (real_clone == NULL) find_replaced(); /* called before this library's constructors */
    return real_clone(fn, stack, flags, arg, parent_tid, tls, child_tid);
}

/* At load and not at the first init: preparations run last registered first, the others first registered first. So
 * the snapshot is taken after the program's own handlers have prepared, and the child's data is private before they
 * run there: they unlock mutexes, which must not be the parent's. 101: the first that is not the compiler's. */
__attribute__((constructor(101))) static void watch_forks(void)
{
    find_replaced();
    is_watched = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

bool ist_fork_is_watched(void) { return is_watched; }

void ist_fork_on_child(void (*fn)(void))
{
    sigset_t mask;
    ist_block_signals(&mask);
    pthread_mutex_lock(&hooks_lock);
    int at = 0;
    while (at < n_hooks && hooks[at] != fn) at++;
    assert(at < HOOKS_MAX);
    hooks[at] = fn;
    if (at == n_hooks) n_hooks++;
    pthread_mutex_unlock(&hooks_lock);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}
