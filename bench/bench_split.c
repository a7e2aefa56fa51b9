/* What the split of quiet into its halves gives a sender that uses a few buffers again and again: local_complete
 * returns when the buffers are free, quiet when the data has arrived. The argument is the delay between the hosts, for
 * the names of the rows; the network has it, not this program. Needs shmem_local_complete and shmem_remote_commit.
 * Read on: hosts.py, which starts this with several delays and draws them. */
#include "bench.h"

enum { BUFFER_BYTES = 4096, BUFFERS = 8, ROUNDS = 16, BURST = 64, REPEATS = 9 };

static double times_ns[2][REPEATS];

static void put_all(const struct bench_target *target, int n)
{
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)i * BUFFER_BYTES;
        shmem_putmem_nbi((char *)target->dest + at, (char *)target->local + at, BUFFER_BYTES, target->peer);
    }
}

/* One burst, until its buffers are free, or until it has arrived. */
static double burst_ns(const struct bench_target *target, bool is_split)
{
    double start_ns = bench_now_ns();
    put_all(target, BURST);
    if (is_split)
        shmem_local_complete();
    else
        shmem_quiet();
    double ns = bench_now_ns() - start_ns;
    shmem_quiet();
    return ns;
}

/* A round fills the same buffers as the one before. All of them have arrived at the end, in both ways. */
static double rounds_ns(const struct bench_target *target, bool is_split)
{
    double start_ns = bench_now_ns();
    for (int round = 0; round < ROUNDS; round++) {
        put_all(target, BUFFERS);
        if (is_split)
            shmem_local_complete();
        else
            shmem_quiet();
    }
    if (is_split) shmem_remote_commit();
    return (bench_now_ns() - start_ns) / ROUNDS;
}

/* The two ways in turn; the first turn warms up the connection. */
static void compare(const struct bench_target *target, const char *what, const char *delay_ms, double budget,
                    double (*way)(const struct bench_target *, bool))
{
    for (int repeat = -1; repeat < REPEATS; repeat++)
        for (int is_split = 0; is_split < 2; is_split++) {
            double ns = way(target, is_split != 0);
            if (repeat >= 0) times_ns[is_split][repeat] = ns;
        }
    double quiet_ns = bench_median(times_ns[0], REPEATS), split_ns = bench_median(times_ns[1], REPEATS);
    printf("row\t%s, %s ms of delay\t%.4g\t%.4g\t%.4g\t", what, delay_ms, split_ns, quiet_ns, split_ns / quiet_ns);
    printf(budget > 0 ? "%g\tx\n" : "-\tx\n", budget);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *delay_ms = argc > 1 ? argv[1] : "0";
    struct bench_target target = bench_open_anywhere(1, argv, (size_t)BURST * BUFFER_BYTES);
    if (target.my_pe == 0) {
        compare(&target, "64 puts of 4 KiB + local_complete (bare: quiet)", delay_ms, atof(delay_ms) == 5 ? 0.05 : 0,
                burst_ns);
        compare(&target, "8 buffers a round, local_complete (bare: quiet)", delay_ms, 0, rounds_ns);
    }
    shmem_barrier_all();
    return bench_close(&target);
}
