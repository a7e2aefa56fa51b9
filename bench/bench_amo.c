/* Fetching atomics on the peer's long against the bare locked instruction.
 * Not about contention: no other PE touches the location.
 * Read on: bench.h. */
#include "bench.h"

static void call_fetch_add(const struct bench_target *target, long reps)
{
    long *dest = target->dest, sum = 0;
    int peer = target->peer;
    for (long i = 0; i < reps; i++) {
        sum += shmem_long_atomic_fetch_add(dest, i, peer);
        dest = bench_hide(dest);
        peer = bench_hide_int(peer);
    }
    *(long *)target->local = sum;
}

static void bare_fetch_add(const struct bench_target *target, long reps)
{
    long *alias = target->alias, sum = 0;
    for (long i = 0; i < reps; i++) {
        sum += __atomic_fetch_add(alias, i, __ATOMIC_SEQ_CST);
        alias = bench_hide(alias);
    }
    *(long *)target->local = sum;
}

/* Every swap succeeds: the location counts along with the loop. */
static void call_compare_swap(const struct bench_target *target, long reps)
{
    long *dest = target->dest, sum = 0;
    int peer = target->peer;
    bench_store(target->alias, 0);
    for (long i = 0; i < reps; i++) {
        sum += shmem_long_atomic_compare_swap(dest, i, i + 1, peer);
        dest = bench_hide(dest);
        peer = bench_hide_int(peer);
    }
    *(long *)target->local = sum;
}

static void bare_compare_swap(const struct bench_target *target, long reps)
{
    long *alias = target->alias, sum = 0;
    bench_store(alias, 0);
    for (long i = 0; i < reps; i++) {
        long seen = i;
        __atomic_compare_exchange_n(alias, &seen, i + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        sum += seen;
        alias = bench_hide(alias);
    }
    *(long *)target->local = sum;
}

int main(int argc, char **argv)
{
    static const struct bench_row rows[] = {
        {.name = "fetch_add",
         .call = call_fetch_add,
         .bare = bare_fetch_add,
         .reps = 10000,
         .budget = 1.6,
         .unit = "x"},
        {.name = "compare_swap",
         .call = call_compare_swap,
         .bare = bare_compare_swap,
         .reps = 10000,
         .budget = 1.6,
         .unit = "x"},
    };
    struct bench_target target = bench_open(argc, argv, sizeof(long));
    bench_compare_all(&target, rows, sizeof rows / sizeof *rows);
    return bench_close(&target);
}
