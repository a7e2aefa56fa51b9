/* R13: a watchdog, that is a handler of SIGALRM, ends a PE inside a call of the library, whose locks it may hold: the
 * job ends at once, with the status given. watchdog WHERE HOW [MICROSECONDS [thread]]
 *   WHERE  barrier, wait, init: for ever, while the other PEs wait, are in a barrier, are not in init;
 *          get, put, malloc, ctx: in a loop
 *   HOW    exit3, exit0, global7, global0
 *   MICROSECONDS  until the handler runs; default: when a wait sleeps
 *   thread        the handler runs on another thread, beside the call */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static long never, from[1024], to[1024];
static const char *how;

static void at_exit(void)
{
    if (pe.n > 0 && pe.me == pe.n - 1) printf(" and handlers ran\n");
}

static void on_alarm(int number)
{
    (void)number;
    if (strcmp(how, "exit3") == 0) exit(3);
    if (strcmp(how, "exit0") == 0) exit(0);
    shmem_global_exit(strcmp(how, "global7") == 0 ? 7 : 0);
}

static void mask_alarm(int what)
{
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(what, &alarm_only, NULL);
}

static void *wait_for_alarm(void *unused)
{
    (void)unused;
    mask_alarm(SIG_UNBLOCK);
    for (;;) pause();
    return NULL;
}

static void set_watchdog(long us, int on_thread)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval timer = {.it_value = {us / 1000000, us % 1000000}};
    pthread_t thread;
    if (on_thread) mask_alarm(SIG_BLOCK);
    if (on_thread) CHECK_EQ(pthread_create(&thread, NULL, wait_for_alarm, NULL), 0);
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* By the launcher's number, which is the PE's. */
static void await_end_of_init(long us)
{
    const char *rank = getenv("PMIX_RANK");
    if (rank == NULL || atoi(rank) == 0)
        for (;;) pause();
    set_watchdog(us, 0);
}

#define WHERE(name) (strcmp(where, #name) == 0)

static void call(const char *where)
{
    int waits = pe.me == pe.n - 1; /* the others are in the other one */
    if (WHERE(barrier) ? waits : WHERE(wait) && !waits) shmem_barrier_all();
    if (WHERE(barrier) ? !waits : WHERE(wait) && waits) shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
    if (WHERE(get)) shmem_long_get(to, from, 1024, pe.right);
    if (WHERE(put)) shmem_long_put(to, from, 1024, pe.right);
    if (WHERE(put)) shmem_quiet();
    if (WHERE(malloc)) shmem_free(shmem_malloc(64));
    if (WHERE(ctx)) {
        shmem_ctx_t ctx;
        if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0) return;
        shmem_ctx_long_p(ctx, to, 1, pe.right);
        shmem_ctx_destroy(ctx);
    }
}

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "barrier";
    int provided;
    how = argc > 2 ? argv[2] : "exit3";
    long us = argc > 3 ? atol(argv[3]) : 500000;
    int on_thread = argc > 4;
    CHECK_EQ(atexit(at_exit), 0);
    pe_deadline(PE_DEADLINE_S);
    if (WHERE(init)) await_end_of_init(us);
    CHECK_EQ(shmem_init_thread(on_thread ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided), 0);
    pe_know();
    shmem_barrier_all();
    if (pe.me == pe.n - 1) {
        printf("text without newline");
        set_watchdog(us, on_thread);
    }
    for (;;) call(where);
}
