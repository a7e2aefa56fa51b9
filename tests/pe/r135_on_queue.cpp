/* R135: the forms in a SYCL queue run after the events they are given and after the earlier ones of their queue, and
 * deliver results through the ret pointer. With tests/doubles/sycl in the place of SYCL. R133: C++ has overloads with
 * and without a team, and a template for each family. */
#include "check.h"

#include <ishmemx.h>

enum { N = 64 };

static long words[N], copied[N], gathered[16 * 2], sums[2];
static uint64_t signal_word;

/* Each put overwrites the data of the put before. */
static void check_order_in_a_queue(void)
{
    sycl::queue q;
    long values[N];
    for (long i = 0; i < N; i++) {
        values[i] = i;
        (void)ishmemx_long_put_on_queue(&words[0], &values[i], 1, pe.right, q);
    }
    sycl::event last = ishmemx_quiet_on_queue(q);
    last.wait();
    ishmem_barrier_all();
    CHECK_EQ(words[0], N - 1);
    ishmem_barrier_all();
}

static void check_dependencies_between_queues(void)
{
    sycl::queue a, b;
    long source[N];
    for (long i = 0; i < N; i++) source[i] = pe.me * 1000 + i;
    sycl::event put = ishmemx_put_on_queue(words, source, N, pe.right, a);
    sycl::event committed = ishmemx_quiet_on_queue(a, {put});
    sycl::event got = ishmemx_get_on_queue(copied, words, N, pe.right, b, {committed});
    got.wait();
    CHECK_BYTES(copied, source, sizeof source);
    ishmem_barrier_all();
}

static void check_results(void)
{
    sycl::queue q;
    uint64_t seen = 0;
    size_t any = 99;
    int status = -1;
    long mine[2] = {pe.me, 1};
    long *block = (long *)ishmem_malloc(sizeof mine);
    CHECK(block != nullptr);
    memcpy(block, mine, sizeof mine);
    (void)ishmemx_put_signal_on_queue(words, mine, 2, &signal_word, 5, ISHMEM_SIGNAL_SET, pe.right, q);
    ishmemx_signal_wait_until_on_queue(&signal_word, ISHMEM_CMP_EQ, 5, &seen, q).wait();
    CHECK_EQ(seen, 5);
    ishmemx_long_wait_until_any_on_queue(words, 2, nullptr, ISHMEM_CMP_EQ, 1, &any, q).wait();
    CHECK(any == 1 || (any == 0 && words[0] == 1));
    ishmemx_fcollect_on_queue(gathered, block, 2, &status, q).wait();
    CHECK_EQ(status, 0);
    for (int i = 0; i < pe.n; i++) CHECK_EQ(gathered[2 * i], i);
    ishmemx_long_sum_reduce_on_queue(ISHMEM_TEAM_INVALID, sums, block, 2, &status, q).wait();
    CHECK(status != 0);
    ishmemx_sum_reduce_on_queue(ISHMEM_TEAM_WORLD, sums, block, 2, nullptr, q).wait();
    CHECK_EQ(sums[1], pe.n);
    ishmemx_barrier_all_on_queue(q).wait();
    q.wait();
    ishmem_free(block);
}

static void check_overloads(void)
{
    long *block = (long *)ishmem_malloc(2 * sizeof *block);
    CHECK(block != nullptr);
    block[0] = block[1] = 3;
    CHECK_EQ(ishmem_long_sum_reduce(ISHMEM_TEAM_WORLD, sums, block, 2), 0);
    CHECK_EQ(ishmem_sum_reduce(sums, block, 2), 0);
    CHECK_EQ(ishmem_sum_reduce(ISHMEM_TEAM_SHARED, sums, block, 2), 0);
    ishmem_sync_all(); /* sums is reusable on all PEs */
    CHECK_EQ(ishmem_broadcastmem(ISHMEM_TEAM_WORLD, sums, block, sizeof sums, 0), 0);
    CHECK_EQ(sums[0], 3);
    ishmem_put(words, block, 2, pe.right);
    ishmem_atomic_add(&words[1], 4L, pe.right);
    ishmem_barrier_all();
    CHECK_EQ(ishmem_g(&words[1], pe.me), 7);
    CHECK_EQ(ishmem_test(&words[0], ISHMEM_CMP_GE, 3L), 1);
    ishmem_barrier_all();
    ishmemx_ibput(words, block, 1, 1, size_t{1}, size_t{2}, pe.right);
    ishmem_barrier_all();
    CHECK_EQ(words[1], 3);
    ishmem_free(block);
}

int main(void)
{
    pe_begin_threads(); /* tasks of a queue run on threads of their own */
    check_order_in_a_queue();
    check_dependencies_between_queues();
    check_results();
    check_overloads();
    return pe_end();
}
