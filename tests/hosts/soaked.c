/* tests/hosts/soaked.c: soaked [LIVES [ROUNDS]]: for soak.py: a program that is to be hit at any moment. Some times
 * over: init, all classes of operations in rounds, finalize. It prints on stderr the part that it has reached. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096 };

static long cell, counter, lock, turn;
static uint64_t arrived;
static long source[N], dest[N], gathered[N];

static void say(const char *part)
{
    if (shmem_my_pe() == 0) fprintf(stderr, "part %s\n", part);
}

static void move_data(long round, int right)
{
    long back[N];
    for (int i = 0; i < N; i++) source[i] = round + i;
    shmem_long_p(&cell, round, right);
    shmem_long_put(dest, source, N, right);
    shmem_long_put_nbi(dest, source, N, right);
    shmem_long_iput(dest, source, 2, 1, 16, right);
    shmem_fence();
    shmem_long_put_signal(dest, source, N / 2, &arrived, 1, SHMEM_SIGNAL_ADD, right);
    shmem_quiet();
    (void)shmem_long_g(&cell, right);
    shmem_long_get(back, source, N, right);
    shmem_long_get_nbi(back, source, N, right);
    shmem_quiet();
}

static void update(int right)
{
    (void)shmem_long_atomic_fetch_add(&counter, 3, right);
    shmem_long_atomic_inc(&counter, right);
    (void)shmem_long_atomic_compare_swap(&counter, 0, 1, right);
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
}

static void meet(long round, int right)
{
    int n = shmem_n_pes();
    shmem_long_p(&turn, round + 1, right);
    shmem_long_wait_until(&turn, SHMEM_CMP_GE, round + 1);
    shmem_barrier_all();
    shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, 512, 0);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 64);
    shmem_long_alltoall(SHMEM_TEAM_WORLD, gathered, source, (size_t)(N / n));
    shmem_sync_all();
    long *allocated = shmem_malloc(1 << 16);
    shmem_free(allocated);
}

/* Before init and after finalize there is no PE's number, only the launcher's. */
static void say_outside(const char *part)
{
    const char *rank = getenv("PMIX_RANK");
    if (rank != NULL && atoi(rank) == 0) fprintf(stderr, "part %s\n", part);
}

static void live(long n_rounds)
{
    say_outside("init");
    shmem_init();
    say("work");
    int right = (shmem_my_pe() + 1) % shmem_n_pes();
    turn = 0;
    shmem_barrier_all();
    for (long round = 0; round < n_rounds; round++) {
        move_data(round, right);
        update(right);
        meet(round, right);
    }
    say("finalize");
    shmem_finalize();
}

int main(int argc, char **argv)
{
    long n_lives = argc > 1 ? atol(argv[1]) : 3;
    long n_rounds = argc > 2 ? atol(argv[2]) : 5;
    for (long i = 0; i < n_lives; i++) live(n_rounds);
    fputs("end\n", stderr); /* printed by every PE: it has synchronized with all others in the last finalize */
    return 0;
}
