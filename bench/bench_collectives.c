/* Collectives on data, of two PEs and, with more PEs than CPUs, of four: time per call, back to back.
 * Not about large jobs. Team forms where the SHMEM has them, else the active-set forms of before 1.5.
 * Read on: bench.h; the algorithms are in core/coll. */
#include "bench.h"

enum { MEGA = 1 << 20, KILO = 1 << 10 };

static long *source, *dest;
static size_t nelems; /* of the row being measured */

#if defined(SHMEM_TEAM_WORLD)
static void call_broadcast(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, nelems, 0);
}

static void call_sum_reduce(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, nelems);
}

static void call_fcollect(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, nelems);
}

static void call_alltoall(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, nelems);
}

static void open_sets(void) {}
#else
/* Two sets of work arrays in turn, as the rules for consecutive calls require. */
static long
    sync_of[2][SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE];
static long *work_of[2];

static void open_sets(void)
{
    for (size_t i = 0; i < sizeof sync_of[0] / sizeof(long); i++) sync_of[0][i] = sync_of[1][i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < 2; i++)
        work_of[i] = shmem_malloc((MEGA / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof(long));
    shmem_barrier_all();
}

static void call_broadcast(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) shmem_broadcast64(dest, source, nelems, 0, 0, 0, target->n_pes, sync_of[i % 2]);
}

static void call_sum_reduce(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_long_sum_to_all(dest, source, (int)nelems, 0, 0, target->n_pes, work_of[i % 2], sync_of[i % 2]);
}

static void call_fcollect(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) shmem_fcollect64(dest, source, nelems, 0, 0, target->n_pes, sync_of[i % 2]);
}

static void call_alltoall(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) shmem_alltoall64(dest, source, nelems, 0, 0, target->n_pes, sync_of[i % 2]);
}
#endif

struct measure {
    const char *name;
    bench_batch *call;
    size_t nelems;
    long reps;
    double budget_ns;
};

static const struct measure of_two[] = {
    {"broadcast of 8 B to 2", call_broadcast, 1, 2000, 100},
    {"broadcast of 1 MiB to 2", call_broadcast, MEGA / sizeof(long), 20, 25e3},
    {"sum_reduce of 1 long, 2 PEs", call_sum_reduce, 1, 2000, 130},
    {"sum_reduce of 1024 longs, 2 PEs", call_sum_reduce, KILO, 200, 1500},
    {"sum_reduce of 1 M longs, 2 PEs", call_sum_reduce, MEGA, 2, 700e3},
    {"fcollect of 8 B, 2 PEs", call_fcollect, 1, 2000, 120},
    {"alltoall of 8 B, 2 PEs", call_alltoall, 1, 2000, 150},
};

static const struct measure of_four[] = {
    {"sum_reduce of 1 long, 4 PEs", call_sum_reduce, 1, 100, 5000},
    {"broadcast of 8 B to 4", call_broadcast, 1, 100, 0},
    {"fcollect of 8 B, 4 PEs", call_fcollect, 1, 100, 0},
};

int main(int argc, char **argv)
{
    struct bench_target target = bench_open(argc, argv, sizeof(long));
    const struct measure *list = target.n_pes == 2 ? of_two : of_four;
    size_t n = target.n_pes == 2 ? sizeof of_two / sizeof *of_two : sizeof of_four / sizeof *of_four;
    source = shmem_calloc(MEGA, sizeof(long));
    dest = shmem_calloc(MEGA, sizeof(long));
    if (source == NULL || dest == NULL) bench_skip(&target, "not enough memory");
    open_sets();
    for (size_t i = 0; i < n; i++) {
        struct bench_row row = {.name = list[i].name, .call = list[i].call, .reps = list[i].reps, .unit = "ns"};
        row.budget = list[i].budget_ns;
        nelems = list[i].nelems;
        bench_compare(&target, &row, true);
    }
    return bench_close(&target);
}
