/* R52, R147, R150: what ISTHMUS_CHECK=1 finds; the argument names the mistake, which PE 1 of 3 makes. Expected lines
 * are in CMakeLists.txt. */
#include "check.h"

static long *a, *b;

static void wrong_routine(int odd) { odd ? shmem_free(a) : shmem_barrier_all(); }
static void wrong_size(int odd) { (void)shmem_malloc(odd ? 64 : 128); }
static void wrong_block(int odd) { shmem_free(odd ? a : b); }
static void wrong_root(int odd) { shmem_long_broadcast(SHMEM_TEAM_WORLD, a, b, 4, odd); }
static void wrong_count(int odd) { shmem_long_fcollect(SHMEM_TEAM_WORLD, a, b, odd ? 5 : 4); }
static void wrong_dest(int odd) { shmem_long_alltoall(SHMEM_TEAM_WORLD, odd ? a + 1 : a, b, 4); }
static void wrong_operator(int odd)
{
    odd ? shmem_long_max_reduce(SHMEM_TEAM_WORLD, a, b, 4) : shmem_long_sum_reduce(SHMEM_TEAM_WORLD, a, b, 4);
}
static void wrong_sync(int odd) { odd ? shmem_sync_all() : (void)shmem_team_sync(SHMEM_TEAM_WORLD); }
static void wrong_split(int odd)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, odd, 1, 2, NULL, 0, &team);
}
static void dead_team(int odd)
{
    shmem_team_t team;
    (void)odd;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe.n, NULL, 0, &team);
    shmem_team_destroy(team);
    shmem_long_fcollect(team, a, b, 1);
}
static void no_team(int odd)
{
    (void)odd;
    shmem_team_sync(SHMEM_TEAM_INVALID);
}
static void overlap_reduce(int odd) { (void)odd, shmem_long_sum_reduce(SHMEM_TEAM_WORLD, a, a + 1, 4); }
static void overlap_put(int odd)
{
    if (odd) shmem_long_put(a, a + 2, 100, pe.me);
}
static void overlap_get(int odd)
{
    if (odd) shmem_long_get(a + 2, a, 100, pe.me);
}
static void overlap_signal(int odd)
{
    if (odd) shmem_long_put_signal(a, b, 4, (uint64_t *)(void *)(a + 3), 1, SHMEM_SIGNAL_SET, pe.right);
}
static void overlap_iput(int odd)
{
    if (odd) shmem_long_iput(a + 1, a, 2, 3, 10, pe.me);
}
static void nothing(int odd)
{
    long sum = 0;
    (void)odd;
    for (int i = 0; i < 100; i++) {
        a[0] = pe.me;
        CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, a, a, 1), 0);
        CHECK_EQ(shmem_long_collect(SHMEM_TEAM_WORLD, b, a, (size_t)pe.me), 0);
        shmem_long_put(b + 50, a, 1, pe.right);
        shmem_long_iput(a + 101, a + 100, 2, 2, 10, pe.me); /* interleaved, without overlap */
        shmem_long_put_signal(a + 200, b, 4, (uint64_t *)(void *)(a + 204), 1, SHMEM_SIGNAL_SET, pe.right);
        shmem_barrier_all();
        sum += b[50];
        shmem_sync_all();
    }
    CHECK_EQ(sum, 100 * pe.n * (pe.n - 1) / 2);
}

static const struct {
    const char *name;
    void (*run)(int odd);
} mistakes[] = {{"routine", wrong_routine},   {"size", wrong_size},   {"block", wrong_block},
                {"root", wrong_root},         {"count", wrong_count}, {"dest", wrong_dest},
                {"operator", wrong_operator}, {"sync", wrong_sync},   {"split", wrong_split},
                {"team", dead_team},          {"no_team", no_team},   {"reduce", overlap_reduce},
                {"put", overlap_put},         {"get", overlap_get},   {"signal", overlap_signal},
                {"iput", overlap_iput},       {"none", nothing}};

int main(int argc, char **argv)
{
    pe_begin();
    a = shmem_calloc(1000, sizeof *a);
    b = shmem_calloc(1000, sizeof *b);
    for (size_t i = 0; argc > 1 && i < sizeof mistakes / sizeof *mistakes; i++)
        if (strcmp(argv[1], mistakes[i].name) == 0) mistakes[i].run(pe.me == 1);
    return pe_end();
}
