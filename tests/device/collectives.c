/* R122 to R131 with operands in memory of a device, in static data, and one in each: every collective, for sizes around
 * the limits between algorithms, on the world and on a team of every other PE. */
#include "device.h"

enum { MOST = 20000 };

static long static_source[MOST], static_dest[MOST], mirror[MOST];
static long *source, *dest;
static const size_t sizes[] = {0, 1, 7, 33, 600, 5000};

static bool is_static(const void *at) { return at == static_source || at == static_dest; }

static void write_source(size_t n, long first, long step)
{
    for (size_t i = 0; i < n; i++) mirror[i] = first + (long)i * step;
    if (is_static(source))
        memcpy(source, mirror, n * sizeof *mirror);
    else if (n > 0)
        to_heap(source, mirror, n * sizeof *mirror);
}

static void clear_dest(size_t n)
{
    if (is_static(dest))
        memset(dest, 0xff, n * sizeof *dest);
    else if (n > 0)
        fill_heap(dest, 0xff, n * sizeof *dest);
}

/* From the dest's element `at` on. */
static void read_dest(size_t at, size_t n)
{
    if (is_static(dest))
        memcpy(mirror, dest + at, n * sizeof *mirror);
    else if (n > 0)
        from_heap(mirror, dest + at, n * sizeof *mirror);
}

static void expect(size_t at, size_t n, long first, long step)
{
    read_dest(at, n);
    for (size_t i = 0; i < n; i++) CHECK_EQ(mirror[i], first + (long)i * step);
}

static void movers(shmem_team_t team, int me, int n_pes, size_t n)
{
    size_t at = 0, part = n / 4, my_part = (size_t)me % 5 * part;
    write_source(n, 1000 * me, 1);
    clear_dest(n);
    shmem_team_sync(team);
    CHECK_EQ(shmem_long_broadcast(team, dest, source, n, n_pes - 1), 0);
    expect(0, n, 1000 * (n_pes - 1), 1);
    shmem_team_sync(team);
    if (n * (size_t)n_pes > MOST) return;

    CHECK_EQ(shmem_long_fcollect(team, dest, source, n), 0);
    for (int other = 0; other < n_pes; other++) expect((size_t)other * n, n, 1000 * other, 1);
    shmem_team_sync(team);

    CHECK_EQ(shmem_long_collect(team, dest, source, my_part), 0);
    for (int other = 0; other < n_pes; at += (size_t)other % 5 * part, other++)
        expect(at, (size_t)other % 5 * part, 1000 * other, 1);
    shmem_team_sync(team);

    write_source(n * (size_t)n_pes, 100000 * me, 1);
    CHECK_EQ(shmem_long_alltoall(team, dest, source, n), 0);
    for (int other = 0; other < n_pes; other++) expect((size_t)other * n, n, 100000 * other + (long)n * me, 1);
    shmem_team_sync(team);

    n /= 3;
    write_source(2 * n * (size_t)n_pes, 100000 * me, 1);
    CHECK_EQ(shmem_long_alltoalls(team, dest, source, 1, 2, n), 0);
    for (int other = 0; other < n_pes; other++) expect((size_t)other * n, n, 100000 * other + 2 * (long)n * me, 2);
    shmem_team_sync(team);
}

static void reductions(shmem_team_t team, int me, int n_pes, size_t n)
{
    long pes = n_pes, sum = pes * (pes - 1) / 2, before = me * (long)(me - 1) / 2;
    write_source(n, me, 1);
    shmem_team_sync(team);
    CHECK_EQ(shmem_long_sum_reduce(team, dest, source, n), 0);
    expect(0, n, sum, pes);
    shmem_team_sync(team);
    CHECK_EQ(shmem_long_max_reduce(team, source, source, n), 0); /* in place */
    shmem_team_sync(team);

    write_source(n, me, 1);
    CHECK_EQ(shmem_long_sum_inscan(team, dest, source, n), 0);
    expect(0, n, before + me, me + 1);
    shmem_team_sync(team);
    CHECK_EQ(shmem_long_sum_exscan(team, dest, source, n), 0);
    expect(0, n, before, me);
    shmem_team_sync(team);
}

static void all_sizes(shmem_team_t team)
{
    if (team == SHMEM_TEAM_INVALID) return;
    int me = shmem_team_my_pe(team), n_pes = shmem_team_n_pes(team);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        movers(team, me, n_pes, sizes[i]);
        reductions(team, me, n_pes, sizes[i]);
    }
}

int main(void)
{
    pe_begin();
    shmem_team_t odd;
    long *heap_source = shmem_malloc(sizeof static_source), *heap_dest = shmem_malloc(sizeof static_dest);
    long *const sources[] = {heap_source, heap_source, static_source}, *const dests[] = {heap_dest, static_dest,
                                                                                         heap_dest};
    CHECK(heap_source != NULL && heap_dest != NULL);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pe.n + 1) / 2, NULL, 0, &odd), 0);
    for (int i = 0; i < 3; i++) {
        source = sources[i], dest = dests[i];
        shmem_barrier_all();
        all_sizes(SHMEM_TEAM_WORLD);
        all_sizes(odd);
    }
    shmem_finalize();
    return 0;
}
