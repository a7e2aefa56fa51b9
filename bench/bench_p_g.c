/* One long to and from the peer: p and g against the bare store and load.
 * Not about completion: bench_p_quiet.c is.
 * Read on: bench.h. */
#include "bench.h"

static void call_p(const struct bench_target *target, long reps)
{
    long *dest = target->dest;
    int peer = target->peer;
    for (long i = 0; i < reps; i++) {
        shmem_long_p(dest, i, peer);
        dest = bench_hide(dest);
        peer = bench_hide_int(peer);
    }
}

static void bare_store(const struct bench_target *target, long reps)
{
    long *alias = target->alias;
    for (long i = 0; i < reps; i++) {
        bench_store(alias, i);
        alias = bench_hide(alias);
    }
}

static void call_g(const struct bench_target *target, long reps)
{
    long *dest = target->dest, sum = 0;
    int peer = target->peer;
    for (long i = 0; i < reps; i++) {
        sum += shmem_long_g(dest, peer);
        dest = bench_hide(dest);
        peer = bench_hide_int(peer);
    }
    *(long *)target->local = sum;
}

static void bare_load(const struct bench_target *target, long reps)
{
    long *alias = target->alias, sum = 0;
    for (long i = 0; i < reps; i++) {
        sum += bench_load(alias);
        alias = bench_hide(alias);
    }
    *(long *)target->local = sum;
}

int main(int argc, char **argv)
{
    static const struct bench_row rows[] = {
        {.name = "p of a long", .call = call_p, .bare = bare_store, .reps = 20000, .budget = 8, .unit = "x"},
        {.name = "g of a long", .call = call_g, .bare = bare_load, .reps = 20000, .budget = 8, .unit = "x"},
    };
    struct bench_target target = bench_open(argc, argv, sizeof(long));
    bench_compare_all(&target, rows, sizeof rows / sizeof *rows);
    return bench_close(&target);
}
