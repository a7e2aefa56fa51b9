/* putmem of eight bytes against the bare store of the same eight bytes.
 * Not about large puts: bench_bulk.c is.
 * Read on: bench.h. */
#include "bench.h"

static void call_putmem(const struct bench_target *target, long reps)
{
    long *dest = target->dest;
    int peer = target->peer;
    for (long i = 0; i < reps; i++) {
        shmem_putmem(dest, &i, sizeof i, peer);
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

int main(int argc, char **argv)
{
    static const struct bench_row rows[] = {
        {.name = "putmem of 8 B", .call = call_putmem, .bare = bare_store, .reps = 20000, .budget = 14, .unit = "x"},
    };
    struct bench_target target = bench_open(argc, argv, sizeof(long));
    bench_compare_all(&target, rows, sizeof rows / sizeof *rows);
    return bench_close(&target);
}
