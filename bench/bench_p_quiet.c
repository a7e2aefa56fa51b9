/* p and quiet, one after the other, against a store and a full barrier.
 * Not about waiting for a peer: with an alias of the peer, quiet ends on this CPU.
 * Read on: bench.h. */
#include "bench.h"

static void call_p_quiet(const struct bench_target *target, long reps)
{
    long *dest = target->dest;
    int peer = target->peer;
    for (long i = 0; i < reps; i++) {
        shmem_long_p(dest, i, peer);
        shmem_quiet();
        dest = bench_hide(dest);
        peer = bench_hide_int(peer);
    }
}

static void bare_store_barrier(const struct bench_target *target, long reps)
{
    long *alias = target->alias;
    for (long i = 0; i < reps; i++) {
        bench_store(alias, i);
        bench_full_barrier();
        alias = bench_hide(alias);
    }
}

static void bare_store_mfence(const struct bench_target *target, long reps)
{
    long *alias = target->alias;
    for (long i = 0; i < reps; i++) {
        bench_store(alias, i);
        bench_mfence();
        alias = bench_hide(alias);
    }
}

int main(int argc, char **argv)
{
    static const struct bench_row rows[] = {
        {.name = "p + quiet",
         .call = call_p_quiet,
         .bare = bare_store_barrier,
         .reps = 10000,
         .budget = 1.25,
         .unit = "x"},
        {.name = "p + quiet (bare: mfence)",
         .call = call_p_quiet,
         .bare = bare_store_mfence,
         .reps = 10000,
         .unit = "x"},
    };
    struct bench_target target = bench_open(argc, argv, sizeof(long));
    bench_compare_all(&target, rows, sizeof rows / sizeof *rows);
    return bench_close(&target);
}
