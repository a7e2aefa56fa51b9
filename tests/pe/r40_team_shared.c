/* R40: SHMEM_TEAM_SHARED holds exactly the PEs that get non-NULL pointers to each other's heap, at least the PE itself.
 * r40_team_shared [n]: and it has n members. */
#include "check.h"

int main(int argc, char **argv)
{
    pe_begin();
    void *blocks[] = {shmem_malloc(1), shmem_malloc(100000), shmem_align(4096, 10)};
    int n = shmem_team_n_pes(SHMEM_TEAM_SHARED), mine = shmem_team_my_pe(SHMEM_TEAM_SHARED);
    CHECK(n >= 1 && n <= pe.n && mine >= 0 && mine < n);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_SHARED, mine, SHMEM_TEAM_WORLD), pe.me);
    for (int other = 0; other < pe.n; other++) {
        int is_member = shmem_team_translate_pe(SHMEM_TEAM_WORLD, other, SHMEM_TEAM_SHARED) >= 0;
        for (size_t b = 0; argc < 2 && b < sizeof blocks / sizeof *blocks; b++)
            CHECK_EQ(shmem_ptr(blocks[b], other) != NULL, is_member);
    }
    if (argc > 1) CHECK_EQ(n, atoi(argv[1]));
    CHECK_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
    return pe_end();
}
