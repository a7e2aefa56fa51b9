/* R139: all, any and some over arrays: which entries count, what is returned, nothing written that is not to be
 * written; entries that always hold do not hide others. */
#include "check.h"

enum { N = 64 };

static uint64_t vars[N];

static void check_untouched(const int *status)
{
    for (int i = 0; i < N; i++) CHECK_EQ(status[i], i % 3 == 0 ? 0 : i);
}

/* Entries with i % 3 == 0 take part; of those the ones with i % 2 == 0 hold 7. */
static void run_status(void)
{
    int status[N];
    size_t found[N], n;
    for (int i = 0; i < N; i++) status[i] = i % 3 == 0 ? 0 : i, vars[i] = i % 2 == 0 ? 7 : 1;
    CHECK_EQ(shmem_uint64_test_all(vars, N, status, SHMEM_CMP_EQ, 7), 0);
    size_t any = shmem_uint64_test_any(vars, N, status, SHMEM_CMP_EQ, 7);
    CHECK(any < N && any % 6 == 0);
    CHECK_EQ(shmem_uint64_test_any(vars, N, status, SHMEM_CMP_EQ, 2), SIZE_MAX);
    memset(found, 0xff, sizeof found);
    n = shmem_uint64_test_some(vars, N, found, status, SHMEM_CMP_EQ, 7);
    CHECK(n >= 1 && n <= (N + 5) / 6);
    for (size_t i = 0; i < n; i++) {
        CHECK(found[i] < N && found[i] % 6 == 0);
        for (size_t k = 0; k < i; k++) CHECK(found[k] != found[i]);
    }
    for (size_t i = n; i < N; i++) CHECK_EQ(found[i], SIZE_MAX);
    CHECK_EQ(shmem_uint64_test_some(vars, N, found, status, SHMEM_CMP_EQ, 2), 0);
    any = shmem_uint64_wait_until_any(vars, N, status, SHMEM_CMP_NE, 7);
    CHECK(any < N && any % 6 == 3);
    n = shmem_uint64_wait_until_some(vars, N, found, status, SHMEM_CMP_NE, 7);
    CHECK(n >= 1 && found[0] % 6 == 3);
    shmem_uint64_wait_until_all(vars, N, status, SHMEM_CMP_GE, 1);
    check_untouched(status);

    for (int i = 0; i < N; i++) vars[i] = 5;
    CHECK_EQ(shmem_uint64_test_all(vars, N, NULL, SHMEM_CMP_EQ, 5), 1);
    vars[N - 1] = 6;
    CHECK_EQ(shmem_uint64_test_all(vars, N, NULL, SHMEM_CMP_EQ, 5), 0);
    CHECK_EQ(shmem_uint64_test_any(vars, N, NULL, SHMEM_CMP_EQ, 6), N - 1);
    n = shmem_uint64_test_some(vars, N, found, NULL, SHMEM_CMP_EQ, 6);
    CHECK(n == 1 && found[0] == N - 1);
}

/* No entry, or none that takes part. */
static void run_empty(void)
{
    int none[N];
    size_t found[N];
    for (int i = 0; i < N; i++) none[i] = 1;
    for (int turn = 0; turn < 2; turn++) {
        size_t n = turn == 0 ? N : 0;
        uint64_t *v = turn == 0 ? vars : NULL;
        shmem_uint64_wait_until_all(v, n, none, SHMEM_CMP_EQ, 1234);
        CHECK_EQ(shmem_uint64_wait_until_any(v, n, none, SHMEM_CMP_EQ, 1234), SIZE_MAX);
        CHECK_EQ(shmem_uint64_wait_until_some(v, n, found, none, SHMEM_CMP_EQ, 1234), 0);
        CHECK_EQ(shmem_uint64_test_all(v, n, none, SHMEM_CMP_EQ, 1234), 1);
        CHECK_EQ(shmem_uint64_test_any(v, n, none, SHMEM_CMP_EQ, 1234), SIZE_MAX);
        CHECK_EQ(shmem_uint64_test_some(v, n, found, none, SHMEM_CMP_EQ, 1234), 0);
    }
}

/* Entry 0 always holds, the last one too, others begin and cease to hold: each that holds is reported in the end. */
static void run_fairness(void)
{
    for (int last = N - 1; last > 0; last -= 13) {
        int tries = 0;
        memset(vars, 0, sizeof vars);
        vars[0] = vars[last] = 1;
        while (shmem_uint64_test_any(vars, N, NULL, SHMEM_CMP_EQ, 1) != (size_t)last) CHECK(++tries < 10000);
        for (tries = 0; shmem_uint64_wait_until_any(vars, N, NULL, SHMEM_CMP_EQ, 1) != (size_t)last;)
            CHECK(++tries < 10000);
    }
}

/* Peers raise entries one after the other, in an order of their own; each is returned once. */
static void run_with_peers(void)
{
    static uint64_t flags[N];
    int done[N] = {0}, n_done = 0;
    size_t found[N];
    shmem_barrier_all();
    for (int i = 0; i < N; i++) shmem_uint64_atomic_set(&flags[(i * 27 + pe.me) % N], 1, pe.right);
    while (n_done < N) {
        size_t n = shmem_uint64_wait_until_some(flags, N, found, done, SHMEM_CMP_EQ, 1);
        CHECK(n > 0 && n <= (size_t)(N - n_done));
        for (size_t i = 0; i < n; i++) {
            CHECK_EQ(done[found[i]], 0);
            done[found[i]] = 1;
            n_done++;
        }
    }
    CHECK_EQ(shmem_uint64_wait_until_some(flags, N, found, done, SHMEM_CMP_EQ, 1), 0);
}

int main(void)
{
    pe_begin();
    run_status();
    run_empty();
    run_fairness();
    run_with_peers();
    return pe_end();
}
