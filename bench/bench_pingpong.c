/* p and wait_until to the peer and back against the bare ping-pong on the same two lines.
 * Not about waiting long: both PEs have a CPU of their own and spin.
 * Read on: bare_pingpong.h. */
#include "bare_pingpong.h"

static void call_p_wait(const struct bench_target *target, long reps)
{
    long *ball = target->dest;
    for (long last = bench_turn + reps; bench_turn < last;) {
        long turn = ++bench_turn;
        if (target->my_pe == 0) shmem_long_p(ball, turn, target->peer);
        shmem_long_wait_until(ball, SHMEM_CMP_EQ, turn);
        if (target->my_pe == 1) shmem_long_p(ball, turn, target->peer);
    }
}

int main(int argc, char **argv)
{
    static const struct bench_row row = {.name = "p + wait_until, round trip",
                                         .call = call_p_wait,
                                         .bare = bench_bare_pingpong,
                                         .reps = 2000,
                                         .budget = 1.25,
                                         .unit = "x"};
    struct bench_target target = bench_open(argc, argv, sizeof(long));
    if (target.n_pes != 2) bench_skip(&target, "needs exactly two PEs");
    bench_compare(&target, &row, true);
    return bench_close(&target);
}
