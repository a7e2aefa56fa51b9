/* tests/threads/stress_teams.c: the parts of the stress job that concern all PEs of a lane. */
#include "stress.h"

void teams_begin(uint64_t seed)
{
    pe_know();
    pe.seed = seed;
}

/* Each collective has another half of dest and source than the one before: a PE may be one call ahead. */
static long *half_of(struct lane *lane, long *block, int call) { return block + (call + lane->step) % 2 * (WORDS / 2); }

static void fill(struct lane *lane)
{
    for (int i = 0; i < 2 * pe.n; i++) lane->source[i] = stress_value(lane, pe.me, i);
}

static void check_blocks(const struct lane *lane, const long *dest, int nelems)
{
    for (int from = 0; from < pe.n; from++)
        for (int i = 0; i < nelems; i++) CHECK_EQ(dest[from * nelems + i], stress_value(lane, from, i));
}

static void gather(struct lane *lane)
{
    fill(lane);
    CHECK_EQ(shmem_long_fcollect(lane->team, lane->dest, lane->source, 2), 0);
    check_blocks(lane, lane->dest, 2);
    CHECK_EQ(shmem_team_sync(lane->team), 0);
    CHECK_EQ(shmem_long_collect(lane->team, lane->dest, lane->source, (size_t)pe.me % 2 + 1), 0);
    long *at = lane->dest;
    for (int from = 0; from < pe.n; from++)
        for (int i = 0; i < from % 2 + 1; i++) CHECK_EQ(*at++, stress_value(lane, from, i));
    CHECK_EQ(shmem_team_sync(lane->team), 0);
}

static void exchange(struct lane *lane)
{
    fill(lane);
    CHECK_EQ(shmem_long_alltoall(lane->team, lane->dest, lane->source, 1), 0);
    for (int from = 0; from < pe.n; from++) CHECK_EQ(lane->dest[from], stress_value(lane, from, pe.me));
    CHECK_EQ(shmem_team_sync(lane->team), 0);
    CHECK_EQ(shmem_long_alltoalls(lane->team, lane->dest, lane->source, 2, 2, 1), 0);
    for (int from = 0; from < pe.n; from++) CHECK_EQ(lane->dest[2 * from], stress_value(lane, from, 2 * pe.me));
    CHECK_EQ(shmem_team_sync(lane->team), 0);
}

static void send_from_one(struct lane *lane)
{
    int root = (int)(lane->step % pe.n);
    fill(lane);
    CHECK_EQ(shmem_long_broadcast(lane->team, lane->dest, lane->source, 3, root), 0);
    for (int i = 0; i < 3; i++) CHECK_EQ(lane->dest[i], stress_value(lane, root, i));
    CHECK_EQ(shmem_team_sync(lane->team), 0);
}

static void reduce(struct lane *lane)
{
    long n = pe.n, me = pe.me, sum = n * (n - 1) / 2, *dest = lane->dest;
    for (int i = 0; i < 3; i++) lane->source[i] = lane->step + me + i;
    CHECK_EQ(shmem_long_sum_reduce(lane->team, half_of(lane, dest, 0), lane->source, 3), 0);
    for (int i = 0; i < 3; i++) CHECK_EQ(half_of(lane, dest, 0)[i], n * (lane->step + i) + sum);
    CHECK_EQ(shmem_long_max_reduce(lane->team, half_of(lane, dest, 1), lane->source, 3), 0);
    CHECK_EQ(half_of(lane, dest, 1)[0], lane->step + n - 1);
    CHECK_EQ(shmem_long_min_reduce(lane->team, half_of(lane, dest, 0), lane->source, 3), 0);
    CHECK_EQ(half_of(lane, dest, 0)[0], lane->step);
    CHECK_EQ(shmem_long_sum_inscan(lane->team, half_of(lane, dest, 1), lane->source, 1), 0);
    CHECK_EQ(half_of(lane, dest, 1)[0], (me + 1) * lane->step + me * (me + 1) / 2);
    CHECK_EQ(shmem_team_sync(lane->team), 0);
    CHECK_EQ(shmem_long_sum_exscan(lane->team, half_of(lane, dest, 0), lane->source, 1), 0);
    if (me > 0) CHECK_EQ(half_of(lane, dest, 0)[0], me * lane->step + me * (me - 1) / 2);
    CHECK_EQ(shmem_team_sync(lane->team), 0);
    unsigned long *bits = (unsigned long *)lane->source, *all = (unsigned long *)dest;
    bits[0] = 1ul << me;
    CHECK_EQ(shmem_ulong_or_reduce(lane->team, all, bits, 1), 0);
    CHECK_EQ(all[0], (1ul << n) - 1);
    CHECK_EQ(shmem_ulong_xor_reduce(lane->team, all + 1, bits, 1), 0);
    CHECK_EQ(all[1], (1ul << n) - 1);
    CHECK_EQ(shmem_ulong_and_reduce(lane->team, all + 2, bits, 1), 0);
    CHECK_EQ(all[2], n == 1 ? 1 : 0);
    CHECK_EQ(shmem_long_prod_reduce(lane->team, dest + 3, lane->source, 1), 0);
    CHECK_EQ(dest[3], 1l << sum);
    CHECK_EQ(shmem_team_sync(lane->team), 0);
}

void part_collectives(struct lane *lane)
{
    static void (*const kinds[])(struct lane *) = {gather, exchange, send_from_one, reduce};
    kinds[random_below(&lane->steps_random, 4)](lane);
    size_t commit = random_below(&lane->steps_random, 8);
    if (commit == 0) shmem_team_remote_commit(lane->team);
    if (commit == 1) shmemx_team_remote_commit(lane->team);
}

void part_other_faces(struct lane *lane)
{
    nvshmem_team_t team;
    ishmem_team_t part;
    long *dest = lane->dest, n = pe.n;
    for (int i = 0; i < pe.n; i++) lane->source[i] = stress_value(lane, pe.me, i);
    CHECK_EQ(nvshmem_long_fcollect(lane->nv, dest, lane->source, 1), 0);
    for (int from = 0; from < pe.n; from++) CHECK_EQ(dest[from], stress_value(lane, from, 0));
    CHECK_EQ(nvshmem_team_sync(lane->nv), 0);
    CHECK_EQ(nvshmem_long_alltoall(lane->nv, dest, lane->source, 1), 0);
    for (int from = 0; from < pe.n; from++) CHECK_EQ(dest[from], stress_value(lane, from, pe.me));
    CHECK_EQ(nvshmem_barrier(lane->nv), 0);
    CHECK_EQ(nvshmem_long_broadcast(lane->nv, dest, lane->source, 1, pe.n - 1), 0);
    CHECK_EQ(dest[0], stress_value(lane, pe.n - 1, 0));
    CHECK_EQ(ishmem_team_sync(lane->is), 0);
    CHECK_EQ(nvshmem_long_sum_reducescatter(lane->nv, dest, lane->source, 1), 0);
    CHECK_EQ(dest[0], n * stress_value(lane, 0, pe.me) + 100 * n * (n - 1) / 2);
    CHECK_EQ(ishmem_team_sync(lane->is), 0);
    CHECK_EQ(nvshmem_long_max_reduce(lane->nv, dest, lane->source, 1), 0);
    CHECK_EQ(dest[0], stress_value(lane, pe.n - 1, 0));
    CHECK_EQ(nvshmem_team_split_strided(lane->nv, pe.n - 1, -1, pe.n, NULL, 0, &team), 0);
    CHECK_EQ(nvshmem_team_my_pe(team), pe.n - 1 - pe.me);
    CHECK_EQ(ishmem_team_split_strided(lane->is, 0, 1, pe.n, NULL, 0, &part), 0);
    CHECK_EQ(ishmem_team_sync(part), 0);
    ishmem_team_destroy(part);
    nvshmem_team_destroy(team);
}

/* A part of the lane's team, and both halves of a matrix. */
void part_splits(struct lane *lane)
{
    const shmem_team_config_t wanted = {.num_contexts = lane->number + 1};
    shmem_team_config_t config = {.num_contexts = -1};
    shmem_team_t team = SHMEM_TEAM_INVALID, row, column;
    int start = (int)random_below(&lane->steps_random, (size_t)pe.n), n = pe.n - start;
    CHECK_EQ(shmem_team_split_strided(lane->team, start, 1, n, &wanted, SHMEM_TEAM_NUM_CONTEXTS, &team), 0);
    CHECK_EQ(team != SHMEM_TEAM_INVALID, pe.me >= start);
    if (team != SHMEM_TEAM_INVALID) {
        CHECK_EQ(shmem_team_n_pes(team), n);
        CHECK_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
        CHECK_EQ(config.num_contexts, wanted.num_contexts);
        CHECK_EQ(shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD), start);
        lane->source[0] = lane->step;
        CHECK_EQ(shmem_long_sum_reduce(team, lane->dest, lane->source, 1), 0);
        CHECK_EQ(lane->dest[0], lane->step * n);
        shmem_team_destroy(team);
    }
    CHECK_EQ(shmem_team_split_2d(lane->team, 2, NULL, 0, &row, NULL, 0, &column), 0);
    CHECK_EQ(shmem_team_my_pe(row), pe.me % 2);
    CHECK_EQ(shmem_team_my_pe(column), pe.me / 2);
    CHECK_EQ(shmem_team_sync(row), 0);
    shmem_team_destroy(column);
    shmem_team_destroy(row);
    faces_split(lane);
}

/* A member in turn makes the id, and the others get it. */
void part_team_init(struct lane *lane)
{
    int source = (int)(lane->step % pe.n), place = (pe.me + lane->number) % pe.n;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmemx_team_uniqueid_t id = 0;
    if (pe.me == source) CHECK_EQ(nvshmemx_team_get_uniqueid(&id), 0);
    lane->source[0] = (long)id;
    CHECK_EQ(shmem_long_broadcast(lane->team, lane->dest, lane->source, 1, source), 0);
    config.uniqueid = (nvshmemx_team_uniqueid_t)lane->dest[0];
    CHECK_EQ(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, pe.n, place), 0);
    CHECK_EQ(nvshmem_team_my_pe(team), place);
    nvshmem_team_get_config(team, &config);
    CHECK_EQ(config.uniqueid, (nvshmemx_team_uniqueid_t)lane->dest[0]);
    CHECK_EQ(nvshmem_team_translate_pe(team, place, NVSHMEM_TEAM_WORLD), pe.me);
    CHECK_EQ(shmem_team_sync(lane->team), 0);
    lane->source[0] = 1 + place;
    CHECK_EQ(nvshmem_long_sum_reduce(team, lane->dest, lane->source, 1), 0);
    CHECK_EQ(lane->dest[0], pe.n * (pe.n + 1) / 2);
    nvshmem_team_destroy(team);
    CHECK_EQ(shmem_team_sync(lane->team), 0);
}
