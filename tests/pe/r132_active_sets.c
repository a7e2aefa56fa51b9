/* R132: the deprecated forms on every active set: results, pSync restored to SHMEM_SYNC_VALUE after each call, one
 * pSync for consecutive barriers and syncs of a set, disjoint sets at the same time. pSync is initialised at compile
 * time. */
#include "check.h"

#include <stdbool.h>

enum { NELEMS = 6, PES_MAX = 16, WORK = NELEMS / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE };
#define SYNC_ARRAY(size)                     \
    {                                        \
        [0 ...(size) - 1] = SHMEM_SYNC_VALUE \
    }

static long barrier_sync[SHMEM_BARRIER_SYNC_SIZE] = SYNC_ARRAY(SHMEM_BARRIER_SYNC_SIZE);
static long broadcast_sync[SHMEM_BCAST_SYNC_SIZE] = SYNC_ARRAY(SHMEM_BCAST_SYNC_SIZE);
static long collect_sync[2][SHMEM_COLLECT_SYNC_SIZE] = {SYNC_ARRAY(SHMEM_COLLECT_SYNC_SIZE),
                                                        SYNC_ARRAY(SHMEM_COLLECT_SYNC_SIZE)};
static long reduce_sync[2][SHMEM_REDUCE_SYNC_SIZE] = {SYNC_ARRAY(SHMEM_REDUCE_SYNC_SIZE),
                                                      SYNC_ARRAY(SHMEM_REDUCE_SYNC_SIZE)};
static long alltoall_sync[SHMEM_ALLTOALL_SYNC_SIZE] = SYNC_ARRAY(SHMEM_ALLTOALL_SYNC_SIZE);
static long alltoalls_sync[SHMEM_ALLTOALLS_SYNC_SIZE] = SYNC_ARRAY(SHMEM_ALLTOALLS_SYNC_SIZE);

static uint32_t source[PES_MAX * NELEMS], dest[PES_MAX * NELEMS];
static long longs[NELEMS], long_results[2][NELEMS], work[2][WORK];
static double doubles[NELEMS], double_work[WORK];
static long arrived;

static struct {
    int start, log_stride, size, my_number;
} set;

static int member(int number) { return set.start + number * (1 << set.log_stride); }

static void check_restored(const long *sync, size_t n)
{
    for (size_t i = 0; i < n; i++) CHECK_EQ(sync[i], SHMEM_SYNC_VALUE);
}

#define RESTORED(sync) check_restored(sync, sizeof(sync) / sizeof(long))

/* dest is free on all members, and full of a value that no PE sends. */
static void prepare(void)
{
    for (size_t i = 0; i < PES_MAX * NELEMS; i++) source[i] = (uint32_t)(pe.me * 1000) + (uint32_t)i, dest[i] = 7777777;
    shmem_barrier(set.start, set.log_stride, set.size, barrier_sync);
}

static void expect_block(int number, uint32_t first, size_t from)
{
    for (size_t i = 0; i < NELEMS; i++) CHECK_EQ(dest[(size_t)number * NELEMS + i], first + from + i);
}

static void meet(void)
{
    int right = member((set.my_number + 1) % set.size), left = member((set.my_number + set.size - 1) % set.size);
    for (int round = 1; round <= 3; round++) {
        shmem_long_p(&arrived, round * 100 + pe.me, right);
        shmem_barrier(set.start, set.log_stride, set.size, barrier_sync);
        CHECK_EQ(arrived, round * 100 + left);
        shmem_sync(set.start, set.log_stride, set.size, barrier_sync);
    }
}

static void move(void)
{
    prepare();
    int root = set.size - 1;
    shmem_broadcast32(dest, source, NELEMS, root, set.start, set.log_stride, set.size, broadcast_sync);
    if (set.my_number == root)
        CHECK_EQ(dest[0], 7777777);
    else
        expect_block(0, (uint32_t)(member(root) * 1000), 0);
    RESTORED(broadcast_sync);

    prepare();
    shmem_fcollect32(dest, source, NELEMS, set.start, set.log_stride, set.size, collect_sync[0]);
    for (int i = 0; i < set.size; i++) expect_block(i, (uint32_t)(member(i) * 1000), 0);
    RESTORED(collect_sync[0]);

    prepare();
    size_t at = 0;
    shmem_collect32(dest, source, (size_t)set.my_number % 3, set.start, set.log_stride, set.size, collect_sync[1]);
    for (int i = 0; i < set.size; i++)
        for (uint32_t k = 0; k < (uint32_t)i % 3; k++) CHECK_EQ(dest[at++], (uint32_t)(member(i) * 1000) + k);
    RESTORED(collect_sync[1]);

    prepare();
    size_t mine = (size_t)set.my_number * NELEMS;
    shmem_alltoall32(dest, source, NELEMS, set.start, set.log_stride, set.size, alltoall_sync);
    for (int i = 0; i < set.size; i++) expect_block(i, (uint32_t)(member(i) * 1000), mine);
    RESTORED(alltoall_sync);

    prepare();
    shmem_alltoalls32(dest, source, 1, 1, NELEMS, set.start, set.log_stride, set.size, alltoalls_sync);
    for (int i = 0; i < set.size; i++) expect_block(i, (uint32_t)(member(i) * 1000), mine);
    RESTORED(alltoalls_sync);
}

/* The second reduction takes the other pSync and pWrk: the first ones may be in use on other members. */
static void reduce(void)
{
    long sum = 0, most = member(set.size - 1);
    for (int i = 0; i < set.size; i++) sum += member(i);
    for (int i = 0; i < NELEMS; i++) longs[i] = pe.me + i, doubles[i] = pe.me;
    prepare();
    shmem_long_sum_to_all(long_results[0], longs, NELEMS, set.start, set.log_stride, set.size, work[0], reduce_sync[0]);
    shmem_long_max_to_all(long_results[1], longs, NELEMS, set.start, set.log_stride, set.size, work[1], reduce_sync[1]);
    for (int i = 0; i < NELEMS; i++) CHECK_EQ(long_results[0][i], sum + (long)set.size * i);
    for (int i = 0; i < NELEMS; i++) CHECK_EQ(long_results[1][i], most + i);
    prepare();
    shmem_double_sum_to_all(doubles, doubles, NELEMS, set.start, set.log_stride, set.size, double_work, reduce_sync[0]);
    for (int i = 0; i < NELEMS; i++) CHECK(doubles[i] == (double)sum);
    RESTORED(reduce_sync[0]);
    RESTORED(reduce_sync[1]);
}

static void use_set(int start, int log_stride, int size)
{
    set.start = start, set.log_stride = log_stride, set.size = size, set.my_number = -1;
    for (int i = 0; i < size; i++)
        if (member(i) == pe.me) set.my_number = i;
    if (set.my_number < 0) return;
    meet();
    move();
    reduce();
}

static void use_all_sets(void)
{
    for (int log_stride = 0; 1 << log_stride <= pe.n; log_stride++)
        for (int start = 0; start < pe.n; start++)
            for (int size = 1; start + (size - 1) * (1 << log_stride) < pe.n; size++) {
                use_set(start, log_stride, size);
                shmem_sync_all(); /* before it, another member may be in the next call on the same pSync */
                RESTORED(barrier_sync);
                shmem_sync_all(); /* the next set has other members and the same pSync */
            }
}

int main(void)
{
    pe_begin();
    if (pe.n > PES_MAX) pe_skip("the buffers are made for 16 PEs");
    use_all_sets();
    for (int round = 0; round < 20; round++) use_set(pe.me % 2, 1, (pe.n - pe.me % 2 + 1) / 2); /* both at once */
    shmem_barrier_all();
    return pe_end();
}
