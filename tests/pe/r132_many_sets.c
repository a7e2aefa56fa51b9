/* R132: a job may use any number of distinct active sets, in any order, more than ISTHMUS_TEAMS_MAX included. The PEs
 * draw the same sets; each PE calls for those that it is in, so that sets that overlap are in different phases on
 * different PEs. */
#include "check.h"

enum { SETS = 5000, IN_A_ROW = 4, NELEMS = 3, WORK = NELEMS / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE };

/* Each set of a row has pSync and data of its own: its members may be in another set of the row still. */
static long sync_array[IN_A_ROW][SHMEM_SYNC_SIZE], barrier_array[IN_A_ROW][SHMEM_SYNC_SIZE], work[IN_A_ROW][WORK];
static long source[IN_A_ROW][NELEMS], sums[IN_A_ROW][NELEMS];
static uint64_t words[IN_A_ROW][NELEMS], given[IN_A_ROW][NELEMS], arrived[IN_A_ROW];

struct set {
    int start, log_stride, size, my_number;
};

static struct set draw(uint64_t *random)
{
    struct set set = {.start = (int)random_below(random, (size_t)pe.n), .my_number = -1};
    while (set.log_stride < 4 && random_below(random, 2) == 1) set.log_stride++;
    int most = (pe.n - 1 - set.start) / (1 << set.log_stride) + 1, distance = pe.me - set.start;
    set.size = 1 + (int)random_below(random, (size_t)most);
    if (distance >= 0 && distance % (1 << set.log_stride) == 0 && distance >> set.log_stride < set.size)
        set.my_number = distance >> set.log_stride;
    return set;
}

static void sum(const struct set *set, int row, int round)
{
    long expected = 0;
    for (int i = 0; i < set->size; i++) expected += set->start + i * (1 << set->log_stride) + round;
    for (int i = 0; i < NELEMS; i++) source[row][i] = pe.me + round;
    shmem_long_sum_to_all(sums[row], source[row], NELEMS, set->start, set->log_stride, set->size, work[row],
                          sync_array[row]);
    for (int i = 0; i < NELEMS; i++) CHECK_EQ(sums[row][i], expected);
}

static void broadcast(const struct set *set, int row, int round)
{
    uint64_t from = (uint64_t)round << 8 | (uint64_t)row;
    for (int i = 0; i < NELEMS; i++) given[row][i] = from, words[row][i] = 0;
    shmem_barrier(set->start, set->log_stride, set->size, barrier_array[row]);
    shmem_broadcast64(words[row], given[row], NELEMS, 0, set->start, set->log_stride, set->size, sync_array[row]);
    for (int i = 0; i < NELEMS; i++) CHECK_EQ(words[row][i], set->my_number == 0 ? 0 : from);
}

/* One pSync may serve barriers and syncs one after another. */
static void meet(const struct set *set, int row, int round)
{
    int right = set->start + (set->my_number + 1) % set->size * (1 << set->log_stride);
    for (uint64_t i = 1; i <= 3; i++) {
        shmem_uint64_p(&arrived[row], (uint64_t)round << 8 | i, right);
        shmem_barrier(set->start, set->log_stride, set->size, barrier_array[row]);
        CHECK_EQ(arrived[row], (uint64_t)round << 8 | i);
        shmem_sync(set->start, set->log_stride, set->size, barrier_array[row]);
    }
}

int main(void)
{
    pe_begin();
    pe_seed();
    uint64_t random = pe.seed;
    int n_sets = pe_part_of(pe.n <= 16 ? SETS / 5 : SETS);
    for (int round = 0; round < n_sets; round++) {
        int row = round % IN_A_ROW;
        size_t what = random_below(&random, 3);
        struct set set = draw(&random);
        if (row == 0) shmem_barrier_all(); /* the next row reuses this row's memory */
        if (set.my_number < 0) continue;
        (what == 0 ? sum : what == 1 ? broadcast : meet)(&set, row, round);
        for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
            CHECK_EQ(sync_array[row][i] | barrier_array[row][i], SHMEM_SYNC_VALUE);
    }
    shmem_barrier_all();
    return pe_end();
}
