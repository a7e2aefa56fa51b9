/* A pair of malloc and free of 64 bytes, counted in barriers: the allocation itself costs no time beside them.
 * Not about fragmentation.
 * Read on: bench.h. */
#include "bench.h"

static void call_malloc_free(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_free(shmem_malloc(64));
}

static void bare_barrier(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_barrier_all();
}

int main(int argc, char **argv)
{
    static const struct bench_row row = {.name = "malloc + free of 64 B, in barriers",
                                         .call = call_malloc_free,
                                         .bare = bare_barrier,
                                         .reps = 1000,
                                         .budget = 4,
                                         .unit = "x"};
    struct bench_target target = bench_open(argc, argv, sizeof(long));
    bench_compare(&target, &row, true);
    return bench_close(&target);
}
