/* R13: jobs that hang in one way or another, for reports of the reason. hang MODE: PE n-1 is the odd one.
 *   meeting     in shmem_free where the others are in a broadcast
 *   team        the same on a team of the world
 *   variable    all wait for a variable
 *   set         the last PE waits for two of four variables, the others for any of them
 *   lock        PE 0 holds the lock that the others want
 *   broadcast   the root does not call it
 *   stopped     the odd one stops itself
 *   compute     the odd one computes
 *   not_in      the odd one does not call shmem_init
 *   own_handler all have a handler for SIGUSR1, which prints a line; else as meeting
 *   far         through a transport: the odd one is stopped, the others get from it
 *   threads     a second thread of each PE waits for something else */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static long flag, flags[4], lock, data[8];
static const char *mode;
static volatile sig_atomic_t n_signals;

static int is_mode(const char *name) { return strcmp(mode, name) == 0; }

static void count_signal(int number)
{
    static const char text[] = "the program's own handler\n";
    (void)number;
    n_signals++;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
}

static void meet_or_free(int is_odd, int n)
{
    void *block = shmem_malloc(64);
    if (is_odd)
        shmem_free(block);
    else
        shmem_long_broadcast(SHMEM_TEAM_WORLD, data, data + 4, 2, n - 1);
    shmem_barrier_all();
}

static void wait_for_set(int is_odd)
{
    if (is_odd)
        shmem_long_wait_until_all(flags, 4, NULL, SHMEM_CMP_EQ, 1);
    else
        (void)shmem_long_wait_until_any(flags, 4, NULL, SHMEM_CMP_EQ, 1);
}

static void hold_lock(int me)
{
    if (me == 0) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me != 0) shmem_set_lock(&lock);
    shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
}

static void meet_in_team(int is_odd, int n)
{
    shmem_team_t team;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team), 0);
    if (is_odd)
        shmem_barrier_all();
    else
        shmem_team_sync(team);
}

static void *wait_in_thread(void *unused)
{
    shmem_long_wait_until(&flags[3], SHMEM_CMP_EQ, 42);
    return unused;
}

/* All connect to the odd one before it stops: a report has another text for a PE that still connects. */
static void get_from_stopped(int is_odd, int n)
{
    (void)shmem_long_g(&flag, n - 1);
    shmem_barrier_all();
    if (is_odd) raise(SIGSTOP);
    for (;;) (void)shmem_long_g(&flag, n - 1);
}

static void hang(int me, int n)
{
    int is_odd = me == n - 1;
    if (is_mode("team")) meet_in_team(is_odd, n);
    if (is_mode("variable")) shmem_long_wait_until(&flags[1], SHMEM_CMP_GE, -5 + 10);
    if (is_mode("set")) wait_for_set(is_odd);
    if (is_mode("lock")) hold_lock(me);
    if (is_mode("broadcast") && !is_odd) shmem_long_broadcast(SHMEM_TEAM_WORLD, data, data + 4, 2, n - 1);
    if (is_mode("stopped") && is_odd) raise(SIGSTOP);
    if (is_mode("far")) get_from_stopped(is_odd, n);
    if ((is_mode("compute") || is_mode("broadcast")) && is_odd)
        for (volatile long i = 0;; i++) {}
    meet_or_free(is_odd, n);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *rank = getenv("PMIX_RANK"), *n_pes = getenv("TEST_N_PES");
    mode = argc > 1 ? argv[1] : "meeting";
    if (is_mode("not_in") && rank != NULL && n_pes != NULL && atoi(rank) == atoi(n_pes) - 1) pause();
    if (is_mode("own_handler")) signal(SIGUSR1, count_signal);
    if (is_mode("threads")) {
        int provided;
        CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
        CHECK_EQ(pthread_create(&thread, NULL, wait_in_thread, NULL), 0);
    } else {
        shmem_init();
    }
    hang(shmem_my_pe(), shmem_n_pes());
    return 0;
}
