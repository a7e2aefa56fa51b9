/* R52: mistakes that ISTHMUS_CHECK=1 reports without an end of the job: one mistake by name, or with a second argument
 * its right twin, which differs in one call. Expected lines are in findings.cmake. Where two PEs must do something at
 * one time, they synchronize by plain stores through shmem_ptr, which the library does not see. */
#include "check.h"

enum { N = 100 };

static long *a, *b;       /* blocks of N */
static long flag;         /* for waits */
static volatile long *go; /* of this PE, for plain stores */
static union {
    int narrow;
    long wide;
    double real;
} word;

static void tell(int to) { *(volatile long *)shmem_ptr((void *)(uintptr_t)go, to) = 1; }
static void await(void)
{
    while (*go == 0) sched_yield();
}

static void freed(int right)
{
    long *block = shmem_malloc(N * sizeof *block), *kept = block;
    if (right) shmem_long_p(block, 1, pe.right);
    shmem_free(block);
    if (!right && pe.me == 1) shmem_long_p(kept, 1, pe.right);
}

static void freed_source(int right)
{
    long *block = shmem_malloc(N * sizeof *block), *kept = block;
    if (right) shmem_long_put(a, kept, 4, pe.right);
    shmem_free(block);
    if (!right && pe.me == 1) shmem_long_put(a, kept, 4, pe.right);
}

static void past_end(int right)
{
    long *block = shmem_malloc(N * sizeof *block);
    if (pe.me == 1) shmem_long_get(b, block + N - 2, right ? 2 : 3, pe.right);
    shmem_free(block);
}

static void changed(int right)
{
    long source[N] = {0};
    shmem_long_put_nbi(a, source, N, pe.right);
    if (right) shmem_quiet();
    if (pe.me == 1) source[N - 1] = 1;
    shmem_quiet();
}

static void in_use(int right)
{
    if (pe.me == 1) shmem_long_get_nbi(a, b, N, pe.right);
    if (right) shmem_quiet();
    if (pe.me == 1) shmem_long_put(b, a + 10, 1, pe.left);
    shmem_quiet();
}

static void in_use_reduce(int right)
{
    if (pe.me == 1) shmem_long_get_nbi(a, b, N, pe.right);
    if (right) shmem_quiet();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, b, a, N);
}

static void in_use_fetch(int right)
{
    static long fetched;
    if (pe.me == 1) shmem_long_atomic_fetch_add_nbi(&fetched, &word.wide, 1, pe.right);
    if (right) shmem_quiet();
    if (pe.me == 1) shmem_long_put(b, &fetched, 1, pe.right);
    shmem_quiet();
}

/* Until quiet the destination of a get does not hold the data yet, and belongs to the library. */
static void written(int right)
{
    for (int i = 0; i < N; i++) a[i] = 5;
    shmem_barrier_all();
    shmem_long_get_nbi(b, a, N, pe.right);
    CHECK_FILLED(b, 0xdb, N * sizeof *b);
    if (right) shmem_quiet();
    if (pe.me == 1) b[3] = 7;
    shmem_quiet();
    CHECK_EQ(b[3], right && pe.me == 1 ? 7 : 5);
    CHECK_EQ(b[N - 1], 5);
}

/* PE 2 does its part right after PE 0's, which it knows of only by a plain store; the twin has a barrier between. PE 0
 * first learns that PE 2 has left the earlier barrier. */
static void one_after_the_other(int right, void (*first)(void), void (*second)(void))
{
    if (pe.me == 2) tell(0);
    if (pe.me == 0) {
        await();
        first();
        tell(2);
    }
    if (right) shmem_barrier_all();
    if (pe.me == 2) {
        await();
        second();
    }
}

static void add_wide(void) { shmem_long_atomic_add(&word.wide, 1, 1); }
static void add_narrow(void) { shmem_int_atomic_add(&word.narrow, 1, 1); }
static void set_real(void) { shmem_double_atomic_set(&word.real, 1, 1); }
static void put_plain(void) { shmem_long_p(&word.wide, 1, 1); }
static void mixed(int right) { one_after_the_other(right, add_wide, put_plain); }
static void mixed_get(int right) { one_after_the_other(right, put_plain, add_wide); }
static void widths(int right) { one_after_the_other(right, add_wide, add_narrow); }
static void types(int right) { one_after_the_other(right, add_wide, set_real); }

/* PE 0 completes nothing before PE 1 has seen the flag. */
static void put_and_tell(int right, void (*set_flag)(void))
{
    if (pe.me == 0) {
        shmem_long_put(a, b, N, 1);
        if (right) shmem_fence();
        set_flag();
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 2);
    } else if (pe.me == 1) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        shmem_long_p(&flag, 2, 0);
    }
}

static void flag_by_p(void) { shmem_long_p(&flag, 1, 1); }
static void flag_by_add(void) { shmem_long_atomic_inc(&flag, 1); }
static void unordered(int right) { put_and_tell(right, flag_by_p); }
static void unordered_add(int right) { put_and_tell(right, flag_by_add); }

/* Another PE's flag, and a put to another PE, are no finding. */
static void unordered_any(int right)
{
    static long flags[2];
    if (pe.me == 0) {
        shmem_long_put(a, b, N, right ? 2 : 1);
        shmem_long_p(&flags[1], 1, 1);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 2);
    } else if (pe.me == 1) {
        CHECK_EQ(shmem_long_wait_until_any(flags, 2, NULL, SHMEM_CMP_EQ, 1), 1);
        shmem_long_p(&flag, 2, 0);
    }
}

static void leak_block(int right)
{
    void *blocks[3];
    volatile int n = 3; /* one call, three times */
    for (int i = 0; i < n; i++) blocks[i] = shmem_malloc(100);
    for (int i = 0; right && i < n; i++) shmem_free(blocks[i]);
}

static void leak_ctx(int right)
{
    shmem_ctx_t ctx;
    if (pe.me != 1) return;
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    if (right) shmem_ctx_destroy(ctx);
}

static void leak_team(int right)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe.n, NULL, 0, &team);
    if (right) shmem_team_destroy(team);
}

/* Ten times at one place, once at another: two lines and a count. */
static void often(int right)
{
    long source = 0;
    for (volatile int i = 0; i < 10; i++) {
        if (pe.me == 1) shmem_long_put_nbi(a, &source, 1, pe.right);
        if (right) shmem_quiet();
        source++;
        shmem_quiet();
    }
}

static const struct {
    const char *name;
    void (*run)(int right);
} mistakes[] = {{"freed", freed},
                {"freed_source", freed_source},
                {"written", written},
                {"past_end", past_end},
                {"changed", changed},
                {"in_use", in_use},
                {"in_use_reduce", in_use_reduce},
                {"mixed", mixed},
                {"mixed_get", mixed_get},
                {"in_use_fetch", in_use_fetch},
                {"widths", widths},
                {"types", types},
                {"unordered", unordered},
                {"often", often},
                {"unordered_add", unordered_add},
                {"unordered_any", unordered_any},
                {"leak_block", leak_block},
                {"leak_ctx", leak_ctx},
                {"leak_team", leak_team}};

int main(int argc, char **argv)
{
    pe_begin();
    a = shmem_calloc(N, sizeof *a);
    b = shmem_calloc(N, sizeof *b);
    go = shmem_calloc(1, sizeof *go);
    for (size_t i = 0; argc > 1 && i < sizeof mistakes / sizeof *mistakes; i++)
        if (strcmp(argv[1], mistakes[i].name) == 0) mistakes[i].run(argc > 2);
    shmem_barrier_all();
    shmem_free(a);
    shmem_free(b);
    shmem_free((void *)(uintptr_t)go);
    return pe_end();
}
