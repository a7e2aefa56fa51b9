/* R133: a collective of Intel SHMEM without a team is one on the world; both forms, typed and as templates. */
#include <ishmem.h>
#include <ishmemx.h>

#include "check.h"

int main()
{
    pe_deadline(PE_DEADLINE_S);
    ishmem_init();
    pe.me = ishmem_my_pe();
    pe.n = ishmem_n_pes();
    size_t n = static_cast<size_t>(pe.n);
    auto *source = static_cast<long *>(ishmem_calloc(n, sizeof(long)));
    auto *dest = static_cast<long *>(ishmem_calloc(8 * n, sizeof(long)));
    CHECK(source != nullptr && dest != nullptr);
    for (int i = 0; i < pe.n; i++) source[i] = 100 * pe.me + i;
    ishmem_barrier_all();

    CHECK_EQ(ishmem_long_broadcast(dest, source, n, pe.n - 1), 0);
    CHECK_EQ(ishmem_broadcast(ISHMEM_TEAM_WORLD, dest + n, source, n, pe.n - 1), 0);
    CHECK_EQ(ishmem_long_alltoall(dest + 2 * n, source, 1), 0);
    CHECK_EQ(ishmem_alltoall(ISHMEM_TEAM_WORLD, dest + 3 * n, source, 1), 0);
    CHECK_EQ(ishmem_fcollect(dest + 4 * n, source, 1), 0);
    CHECK_EQ(ishmem_long_collect(ISHMEM_TEAM_WORLD, dest + 5 * n, source, 1), 0);
    CHECK_EQ(ishmem_max_reduce(dest + 6 * n, source, n), 0);
    CHECK_EQ(ishmem_long_sum_inscan(ISHMEM_TEAM_WORLD, dest + 7 * n, source, n), 0);
    for (int i = 0; i < pe.n; i++) {
        CHECK_EQ(dest[i], 100 * (pe.n - 1) + i);
        CHECK_EQ(dest[pe.n + i], dest[i]);
        CHECK_EQ(dest[2 * pe.n + i], 100 * i + pe.me);
        CHECK_EQ(dest[3 * pe.n + i], 100 * i + pe.me);
        CHECK_EQ(dest[4 * pe.n + i], 100 * i);
        CHECK_EQ(dest[5 * pe.n + i], 100 * i);
        CHECK_EQ(dest[6 * pe.n + i], 100 * (pe.n - 1) + i);
        CHECK_EQ(dest[7 * pe.n + i], 50 * pe.me * (pe.me + 1) + (pe.me + 1) * i);
    }
    ishmem_finalize();
    return 0;
}
