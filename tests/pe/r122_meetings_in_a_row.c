/* R122: the next collective may start at once, whichever it is; no PE leaves one before all have entered it, however
 * late one of them is. */
#include "check.h"

static uint64_t entered;

static void meet(int way)
{
    switch (way) {
    case 0: shmem_barrier_all(); break;
    case 1: shmem_sync_all(); break;
    case 2: CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0); break;
    default: shmem_team_remote_commit(SHMEM_TEAM_WORLD);
    }
}

int main(void)
{
    pe_begin();
    pe_seed();
    uint64_t common = pe.seed;
    shmem_barrier_all();
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(20000); round++) {
        int late = (int)random_below(&common, 50 * (size_t)pe.n), way = (int)random_below(&common, 4);
        if (late == pe.me) dawdle_us(50);
        shmem_uint64_atomic_inc(&entered, 0);
        shmem_quiet();
        meet(way);
        uint64_t n = shmem_uint64_atomic_fetch(&entered, 0);
        if (n < round * (uint64_t)pe.n || n > (round + 1) * (uint64_t)pe.n)
            check_fail(__FILE__, __LINE__, "after meeting %" PRIu64 " of kind %d, %" PRIu64 " had entered", round, way,
                       n);
        if (way == 1) CHECK_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
    }
    for (int i = 0; i < pe_rounds(20000); i++) meet(i % 4);
    return pe_end();
}
