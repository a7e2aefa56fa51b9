/* R119: nvshmemx_team_init makes a team of any PEs in any order, which share nothing but an id; others do not call it.
 * The id may come from a PE that is not in the team, and serves once. */
#include "check.h"

#include <nvshmem.h>

static uint64_t id;
static long sum, one, gathered[64], mine;

/* The id of PE `maker`, on all PEs. */
static void share_id(int maker)
{
    shmem_barrier_all();
    if (pe.me == maker) {
        nvshmemx_team_uniqueid_t fresh = 0;
        CHECK_EQ(nvshmemx_team_get_uniqueid(&fresh), 0);
        CHECK(fresh != 0);
        for (int to = 0; to < pe.n; to++) shmem_uint64_p(&id, fresh, to);
    }
    shmem_barrier_all();
}

static nvshmem_team_t join(int n, int place)
{
    nvshmem_team_t team = 12345;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    config.uniqueid = id;
    CHECK_EQ(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n, place), 0);
    CHECK(team > NVSHMEMX_TEAM_SAME_MYPE_NODE);
    CHECK_EQ(nvshmem_team_n_pes(team), n);
    CHECK_EQ(nvshmem_team_my_pe(team), place);
    nvshmem_team_get_config(team, &config);
    CHECK_EQ(config.uniqueid, id);
    return team;
}

/* Collectives of the members while the other PEs do not take part. */
static void use(nvshmem_team_t team, const int *members, int n)
{
    one = 1, mine = pe.me;
    CHECK_EQ(nvshmem_long_sum_reduce(team, &sum, &one, 1), 0);
    CHECK_EQ(sum, n);
    CHECK_EQ(nvshmem_long_fcollect(team, gathered, &mine, 1), 0);
    for (int i = 0; i < n; i++) CHECK_EQ(gathered[i], members[i]);
    for (int i = 0; i < n; i++) CHECK_EQ(nvshmem_team_translate_pe(team, i, NVSHMEM_TEAM_WORLD), members[i]);
    nvshmem_team_sync(team);
    nvshmem_team_destroy(team);
}

static void make_and_use(const int *members, int n, int maker)
{
    int place = -1;
    share_id(maker);
    for (int i = 0; i < n; i++)
        if (members[i] == pe.me) place = i;
    if (place >= 0) {
        nvshmem_team_t team = join(n, place);
        use(team, members, n);
    } else {
        dawdle_us(100);
    }
}

static void check_refusals(void)
{
    nvshmem_team_t team = 12345;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    const long mask = NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID;
    share_id(0);
    CHECK(nvshmemx_team_init(&team, &config, mask, 1, 0) != 0); /* no id */
    CHECK_EQ(team, NVSHMEM_TEAM_INVALID);
    config.uniqueid = id;
    CHECK(nvshmemx_team_init(&team, &config, 0, 1, 0) != 0);
    CHECK(nvshmemx_team_init(&team, NULL, mask, 1, 0) != 0);
    CHECK(nvshmemx_team_init(&team, &config, mask, pe.n, pe.n) != 0);
    CHECK(nvshmemx_team_init(&team, &config, mask, 0, 0) != 0);
    if (pe.n >= 3 && pe.me < 3) /* two with the same place: an error on all three */
        CHECK(nvshmemx_team_init(&team, &config, mask, 3, pe.me == 2 ? 1 : pe.me) != 0);
    CHECK_EQ(team, NVSHMEM_TEAM_INVALID);
}

int main(int argc, char **argv)
{
    pe_begin();
    int members[64], n = 0;
    if (argc > 1 && strcmp(argv[1], "one") == 0) {
        share_id(0);
        CHECK_EQ(nvshmem_team_n_pes(join(pe.n, pe.me)), pe.n);
        return pe_end();
    }
    for (int i = pe.n - 1; i >= 0; i -= 2) members[n++] = i; /* every second one, backwards */
    for (int round = 0; round < 5; round++) make_and_use(members, n, round % pe.n);
    for (int i = 0; i < pe.n; i++) members[i] = (i + 1) % pe.n;
    make_and_use(members, pe.n, pe.n - 1);
    if (pe.n >= 6) make_and_use((const int[]){5, 0, 3}, 3, 1);
    for (int i = 0; i < 40; i++) make_and_use(&(const int){pe.n - 1}, 1, 0); /* ids are used again and again */
    check_refusals();
    return pe_end();
}
