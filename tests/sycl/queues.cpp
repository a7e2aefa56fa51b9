/* tests/sycl/queues.cpp: R135: the forms in a SYCL queue run after the events they are given and after the earlier ones
 * of their queue, and deliver results through the ret pointer. Each form alone: rows_queue (tests/rows). */
#include "tests/pe/check.h"

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

/* Queues that the program has destroyed do not stay with the library. */
static void check_queues_end(void)
{
    enum { QUEUES = 8 };
    for (int i = 0; i < QUEUES; i++) {
        sycl::queue q;
        ishmemx_quiet_on_queue(q).wait();
    }
    CHECK_EQ(isthmus_queues_::get().last.size(), 1);
}

int main(void)
{
    pe_begin_threads(); /* tasks of a queue run on threads of their own */
    check_order_in_a_queue();
    check_dependencies_between_queues();
    check_results();
    check_queues_end();
    return pe_end();
}
