/* R111: NVSHMEM's predefined teams are constants; NODE has the PEs of this host, SAME_MYPE_NODE those with the same
 * number on other hosts. The test distinguishes hosts by their names. */
#include "nv.h"

#include <stdbool.h>

static const nvshmem_team_t handles[] = {NVSHMEM_TEAM_WORLD, NVSHMEM_TEAM_SHARED, NVSHMEMX_TEAM_NODE,
                                         NVSHMEMX_TEAM_SAME_MYPE_NODE};

static uint64_t name_of_host(void)
{
    char name[256] = "";
    uint64_t hash = 14695981039346656037u;
    CHECK_EQ(gethostname(name, sizeof name - 1), 0);
    for (const char *c = name; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return hash;
}

/* Of the PE `of`: how many PEs of its host have a lower number. */
static int place_on_host(const uint64_t *names, int of)
{
    int n = 0;
    for (int i = 0; i < of; i++) n += names[i] == names[of];
    return n;
}

int main(void)
{
    nv_begin();
    int *sum = nv_symmetric(2 * sizeof *sum);
    uint64_t *mine = nv_symmetric(sizeof *mine), *names = nv_symmetric((size_t)pe.n * sizeof *names);
    int n_here = 0, n_like_me = 0, n_like_me_before = 0;
    *mine = name_of_host();
    CHECK_EQ(nvshmem_uint64_fcollect(NVSHMEM_TEAM_WORLD, names, mine, 1), 0);
    for (int i = 0; i < pe.n; i++) {
        bool is_like_me = place_on_host(names, i) == place_on_host(names, pe.me);
        n_here += names[i] == names[pe.me];
        n_like_me += is_like_me;
        n_like_me_before += is_like_me && i < pe.me;
    }
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD), pe.n);
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD), pe.me);
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE), n_here);
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE), place_on_host(names, pe.me));
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE), n_like_me);
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEMX_TEAM_SAME_MYPE_NODE), n_like_me_before);
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEM_TEAM_INVALID), -1);
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID), -1);
    for (int i = 0; i < 4; i++) {
        int members = nvshmem_team_n_pes(handles[i]), me = nvshmem_team_my_pe(handles[i]);
        CHECK_EQ(nvshmem_team_translate_pe(handles[i], me, NVSHMEM_TEAM_WORLD), pe.me);
        sum[0] = 1;
        CHECK_EQ(nvshmem_int_sum_reduce(handles[i], &sum[1], &sum[0], 1), 0);
        CHECK_EQ(sum[1], members);
        CHECK_EQ(nvshmem_team_sync(handles[i]), 0);
    }
    return nv_end();
}
