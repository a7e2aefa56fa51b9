/* barrier_all and sync_all: of two PEs against the bare ping-pong's round trip, of more in nanoseconds.
 * Not about large jobs: with more PEs than CPUs it shows whether waiting PEs let the others run.
 * Read on: bare_pingpong.h. */
#include "bare_pingpong.h"

static void call_barrier_all(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_barrier_all();
}

static void call_sync_all(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_sync_all();
}

static void compare_two(const struct bench_target *target, const char *name, bench_batch *call)
{
    struct bench_row row = {.call = call, .bare = bench_bare_pingpong, .reps = 2000, .budget = 1.0, .unit = "x"};
    row.name = name;
    bench_compare(target, &row, true);
}

/* Few repetitions: where a runtime only spins, each one may take milliseconds. */
static void measure_many(const struct bench_target *target, const char *routine, bench_batch *call)
{
    char name[64];
    snprintf(name, sizeof name, "%s of %d", routine, target->n_pes);
    struct bench_row row = {.name = name, .call = call, .reps = 100, .unit = "ns"};
    row.budget = target->n_pes == 4 ? 3000 : 0;
    bench_compare(target, &row, true);
}

int main(int argc, char **argv)
{
    struct bench_target target = bench_open(argc, argv, sizeof(long));
    if (target.n_pes == 2) {
        compare_two(&target, "barrier_all of 2", call_barrier_all);
        compare_two(&target, "sync_all of 2", call_sync_all);
    } else {
        measure_many(&target, "barrier_all", call_barrier_all);
        measure_many(&target, "sync_all", call_sync_all);
    }
    return bench_close(&target);
}
