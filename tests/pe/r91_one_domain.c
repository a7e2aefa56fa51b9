/* R91, stronger here than the specification: contexts of TEAM_WORLD and of TEAM_SHARED exclude each other, too. */
#include "check.h"

static uint64_t counter;

int main(void)
{
    shmem_ctx_t shared, world;
    pe_begin();
    CHECK_EQ(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &shared), 0);
    CHECK_EQ(shmem_ctx_create(0, &world), 0);
    int n = pe_contended_rounds(), home = pe.n - 1;
    int home_in_shared = shmem_team_translate_pe(SHMEM_TEAM_WORLD, home, SHMEM_TEAM_SHARED);
    for (int i = 0; i < n; i++) {
        pe_collide((uint64_t)i);
        if (i % 3 == 0 && home_in_shared >= 0)
            shmem_ctx_uint64_atomic_inc(shared, &counter, home_in_shared);
        else if (i % 3 == 1)
            shmem_ctx_uint64_atomic_inc(world, &counter, home);
        else
            shmem_uint64_atomic_inc(&counter, home);
    }
    shmem_ctx_destroy(shared);
    shmem_ctx_destroy(world);
    shmem_barrier_all();
    if (pe.me == home) CHECK_EQ(counter, (uint64_t)n * (uint64_t)pe.n);
    return pe_end();
}
