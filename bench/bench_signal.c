/* A put with signal beside a put of the same size, both blocking and with a quiet behind them: what the signal costs.
 * PE 0 measures, over the transport that leads to PE 1; PE 1 serves it in a wait of the library.
 * Not about the time until the signal is seen. A second argument selects the rows with it in their name, a
 * third is the number of operations in a batch.
 * ISTHMUS_IB_UCX names the UCX. Read on: bench.h; hosts.py starts this on hosts made of namespaces. */
#include "bench.h"
#include "packets.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20, FEW = 500, FEW_LARGE = 20 };

static uint64_t arrived; /* in another extent than the data */

static void put_signal(const struct bench_target *target, size_t length_bytes, long reps)
{
    for (long i = 0; i < reps; i++) {
        shmem_putmem_signal(target->dest, target->local, length_bytes, &arrived, (uint64_t)i, SHMEM_SIGNAL_SET,
                            target->peer);
        shmem_quiet();
    }
}

static void put(const struct bench_target *target, size_t length_bytes, long reps)
{
    for (long i = 0; i < reps; i++) {
        shmem_putmem(target->dest, target->local, length_bytes, target->peer);
        shmem_quiet();
    }
}

#define SIZE(name, bytes)                                                                                      \
    static void call_##name(const struct bench_target *target, long reps) { put_signal(target, bytes, reps); } \
    static void bare_##name(const struct bench_target *target, long reps) { put(target, bytes, reps); }
SIZE(word, 8)
SIZE(short, 1024)
SIZE(page, 4096)
SIZE(long, 65536)
SIZE(most, MOST_BYTES)

int main(int argc, char **argv)
{
    struct bench_row rows[] = {
        {"put_signal of 8 B + quiet (bare: put + quiet)", call_word, bare_word, FEW, 1.3, "x"},
        {"put_signal of 1 KiB + quiet (bare: put + quiet)", call_short, bare_short, FEW, 1.3, "x"},
        {"put_signal of 4 KiB + quiet (bare: put + quiet)", call_page, bare_page, FEW, 1.3, "x"},
        {"put_signal of 64 KiB + quiet (bare: put + quiet)", call_long, bare_long, FEW, 1.3, "x"},
        {"put_signal of 1 MiB + quiet (bare: put + quiet)", call_most, bare_most, FEW_LARGE, 1.3, "x"},
    };
    struct bench_target target = bench_open_anywhere(argc, argv, MOST_BYTES);
    bench_pin(target.my_pe, target.n_pes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && target.my_pe == 0; i++) {
        if (argc >= 3 && strstr(rows[i].name, argv[2]) == NULL) continue;
        if (argc >= 4) rows[i].reps = atol(argv[3]);
        bench_compare(&target, &rows[i], false);
        bench_count_packets(&target, &rows[i], false);
    }
    shmem_barrier_all();
    return bench_close(&target);
}
