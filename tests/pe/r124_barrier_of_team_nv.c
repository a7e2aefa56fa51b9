/* R124: nvshmem_barrier on a team synchronises it and completes the operations of its members. */
#include "nv.h"

enum { WORDS = 2000 };

int main(void)
{
    nv_begin();
    uint64_t *dest = nv_symmetric(WORDS * sizeof *dest), *source = nv_symmetric(WORDS * sizeof *source);
    nvshmem_team_t even = NVSHMEM_TEAM_INVALID, odd = NVSHMEM_TEAM_INVALID;
    CHECK_EQ(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (pe.n + 1) / 2, NULL, 0, &even), 0);
    if (pe.n > 1) CHECK_EQ(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 1, 2, pe.n / 2, NULL, 0, &odd), 0);
    nvshmem_team_t team = pe.me % 2 == 0 ? even : odd;
    int n = nvshmem_team_n_pes(team), me = nvshmem_team_my_pe(team);
    int right = nvshmem_team_translate_pe(team, (me + 1) % n, NVSHMEM_TEAM_WORLD);
    int left = nvshmem_team_translate_pe(team, (me + n - 1) % n, NVSHMEM_TEAM_WORLD);
    for (int round = 1; round <= pe_rounds(1000); round++) {
        for (int i = 0; i < WORDS; i++) source[i] = (uint64_t)(round * 1000000 + pe.me * 10000 + i);
        nvshmem_uint64_put_nbi(dest, source, WORDS, right);
        CHECK_EQ(nvshmem_barrier(team), 0);
        for (int i = 0; i < WORDS; i++) CHECK_EQ(dest[i], round * 1000000 + left * 10000 + i);
        CHECK_EQ(nvshmem_barrier(team), 0);
    }
    nvshmem_team_destroy(team);
    return nv_end();
}
