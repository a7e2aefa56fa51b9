/* A quiet after one put where PE 0 has connections to all other PEs, against the same in a context that has one
 * connection only. Transports give contexts parts of their own, so that connections of one are not those of another
 * (ib: as long as it has workers).
 * Not about what a connection costs. Read on: bench.h; hosts.py starts this on hosts made of namespaces. */
#include "bench.h"

enum { FEW = 1000 };

static shmem_ctx_t with_one;

static void call_among_many(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) {
        shmem_putmem(target->dest, target->local, 8, target->n_pes - 1);
        shmem_quiet();
    }
}

static void bare_with_one(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) {
        shmem_ctx_putmem(with_one, target->dest, target->local, 8, target->n_pes - 1);
        shmem_ctx_quiet(with_one);
    }
}

int main(int argc, char **argv)
{
    const struct bench_row rows[] = {
        {"put + quiet, all PEs connected (bare: one)", call_among_many, bare_with_one, FEW, 1.2, "x"}};
    struct bench_target target = bench_open_anywhere(argc, argv, 8);
    if (target.n_pes < 3) bench_skip(&target, "needs three PEs");
    if (target.my_pe == 0) {
        for (int pe = 1; pe < target.n_pes; pe++) shmem_putmem(target.dest, target.local, 8, pe);
        if (shmem_ctx_create(0, &with_one) != 0) shmem_global_exit(EXIT_FAILURE);
    }
    bench_compare_all(&target, rows, 1);
    if (target.my_pe == 0) shmem_ctx_destroy(with_one);
    return bench_close(&target);
}
