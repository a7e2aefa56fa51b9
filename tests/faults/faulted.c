/* tests/faults/faulted.c: faulted CLASS STOP: for faults.py: goes through one class of operations until the file STOP
 * is there, so that a fault at a random moment hits that class. Each result is checked: a fault may end the job, it may
 * not falsify it. It prints "ready" on stderr when all PEs are in it. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 2048 };

static int me, n, right, left;
static long cell, counter, total, lock, stop, over, turn, source[N], dest[N], gathered[N], summed[N], collected[N];
static uint64_t arrived;

static void require(int is_so, const char *what)
{
    if (is_so) return;
    fprintf(stderr, "faulted: PE %d: wrong: %s\n", me, what);
    exit(99);
}

static void fill(long value)
{
    for (int i = 0; i < N; i++) source[i] = value + i;
}

/* ---- the classes ---- */

static void rma(long round)
{
    long back[N];
    fill(round);
    shmem_barrier_all();
    shmem_long_p(&cell, round, right);
    shmem_long_put(dest, source, N, right);
    shmem_long_iput(gathered, source, 2, 1, 16, right);
    shmem_long_get(back, source, N, right);
    require(back[N - 1] == round + N - 1, "get");
    shmem_barrier_all();
    require(dest[N - 1] == round + N - 1 && cell == round, "put");
}

static void nbi(long round)
{
    long back[N];
    fill(round);
    shmem_barrier_all();
    for (int i = 0; i < 16; i++) shmem_long_put_nbi(dest + i * (N / 16), source + i * (N / 16), N / 16, right);
    shmem_long_get_nbi(back, source, N, right);
    shmem_quiet();
    require(back[N - 1] == round + N - 1, "get_nbi");
    shmem_barrier_all();
    require(dest[N - 1] == round + N - 1, "put_nbi");
}

static void amo(long round)
{
    (void)shmem_long_atomic_fetch_add(&counter, 2, right);
    shmem_long_atomic_inc(&counter, 0);
    (void)shmem_long_atomic_compare_swap(&total, round, round + 1, right);
    (void)shmem_long_atomic_fetch(&counter, right);
    shmem_barrier_all();
    require(counter == (round + 1) * (me == 0 ? 2 + n : 2), "atomics");
    require(total == round + 1, "compare_swap");
    shmem_barrier_all();
}

static void signals(long round)
{
    size_t nelems = round % 2 == 0 ? N : 8; /* short ones take another path */
    fill(round);
    shmem_long_put_signal(dest, source, nelems, &arrived, (uint64_t)round + 1, SHMEM_SIGNAL_SET, right);
    (void)shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, (uint64_t)round + 1);
    require(dest[nelems - 1] == round + (long)nelems - 1, "put_signal");
    shmem_long_p(&turn, round + 1, left);
    shmem_long_wait_until(&turn, SHMEM_CMP_GE, round + 1);
}

static void collectives(long round)
{
    fill(round);
    shmem_sync_all();
    shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, sizeof source, 0);
    require(dest[N - 1] == round + N - 1, "broadcast");
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, summed, source, N);
    require(summed[1] == n * (round + 1), "reduce");
    shmem_long_alltoall(SHMEM_TEAM_WORLD, gathered, source, (size_t)(N / n));
    require(gathered[0] == round + me * (long)(N / n), "alltoall");
    shmem_long_fcollect(SHMEM_TEAM_WORLD, collected, source, (size_t)(N / n));
    require(collected[(n - 1) * (N / n)] == round, "fcollect");
    shmem_barrier_all();
}

static void locks(long round)
{
    shmem_set_lock(&lock);
    long seen = shmem_long_g(&cell, 0);
    shmem_long_p(&cell, seen + 1, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    if (me == 0) require(cell == (round + 1) * n, "lock");
    shmem_barrier_all();
}

/* A failure reported by a null pointer, on all PEs alike, is no fault of the library. */
static void memory(long round)
{
    long *block = shmem_malloc(sizeof(long) << (round % 20));
    long *zeroed = shmem_calloc(100, sizeof *zeroed);
    if (block != NULL) shmem_long_p(block, round, right);
    shmem_barrier_all();
    if (block != NULL) require(*block == round, "malloc");
    if (zeroed != NULL) require(zeroed[99] == 0, "calloc");
    block = block != NULL ? shmem_realloc(block, sizeof(long) << ((round + 3) % 20)) : NULL;
    shmem_free(zeroed);
    if (block != NULL) shmem_free(block);
}

static void contexts(long round)
{
    shmem_ctx_t ctx;
    if (shmem_ctx_create(round % 2 ? SHMEM_CTX_PRIVATE : 0, &ctx) != 0) return;
    shmem_ctx_long_p(ctx, &cell, round, right);
    shmem_ctx_quiet(ctx);
    (void)shmem_ctx_long_g(ctx, &cell, right);
    shmem_ctx_destroy(ctx);
}

static void teams(long round)
{
    shmem_team_t odd_even = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, me % 2, 2, (n + 1 - me % 2) / 2, NULL, 0, &odd_even);
    (void)round;
    if (odd_even == SHMEM_TEAM_INVALID) return;
    source[0] = 1;
    shmem_long_sum_reduce(odd_even, dest, source, 1);
    require(dest[0] == shmem_team_n_pes(odd_even), "team");
    shmem_team_destroy(odd_even);
}

static const struct class
{
    const char *name;
    void (*go_round)(long round);
} classes[] = {
    {"rma", rma},    {"nbi", nbi},       {"amo", amo},          {"signal", signals}, {"collective", collectives},
    {"lock", locks}, {"malloc", memory}, {"context", contexts}, {"team", teams},     {"life", NULL}};

/* ---- lives ---- */

static const char *stop_file;

static int is_over(void)
{
    stop = me == 0 && access(stop_file, F_OK) == 0;
    shmem_barrier_all();
    shmem_broadcastmem(SHMEM_TEAM_WORLD, &over, &stop, sizeof stop, 0);
    return over != 0;
}

static void begin(void)
{
    shmem_init();
    me = shmem_my_pe(), n = shmem_n_pes();
    right = (me + 1) % n, left = (me + n - 1) % n;
}

/* Init and finalize, repeatedly. */
static void live_and_die(void)
{
    int over;
    do {
        begin();
        over = is_over();
        shmem_finalize();
    } while (!over);
}

static void work(const struct class *class)
{
    enum { ROUNDS_BETWEEN = 20 };
    long round = 0;
    begin();
    shmem_barrier_all();
    if (me == 0) fputs("ready\n", stderr);
    do
        for (int i = 0; i < ROUNDS_BETWEEN; i++) class->go_round(round++);
    while (!is_over());
    shmem_finalize();
}

int main(int argc, char **argv)
{
    const struct class *class = classes;
    stop_file = argc > 2 ? argv[2] : "";
    while (strcmp(class->name, argc > 1 ? argv[1] : "rma") != 0)
        if (++class == classes + sizeof classes / sizeof *classes) return 2;
    if (class->go_round != NULL)
        work(class);
    else
        live_and_die();
    return 0;
}
