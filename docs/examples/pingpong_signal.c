/* Two PEs play ping-pong with data and its signal in one call; prints the round trip per size.
 * Not a benchmark: bench/ has those, with the bare operation beside each.
 * Read on: hello.c is smaller, sample_sort.c is a whole program. */
#define _POSIX_C_SOURCE 200809L

#include <shmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LARGEST_BYTES = 1 << 18, ROUNDS = 200 };

static char ball[LARGEST_BYTES];
static uint64_t hits; /* how often the ball has reached this PE */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* PE 0 serves. A PE that sees the signal has all of the ball; there is no barrier and no fence. */
static void play(int me, size_t length_bytes)
{
    static char racket[LARGEST_BYTES];
    static uint64_t hits_before;
    for (uint64_t round = hits_before + 1; round <= hits_before + ROUNDS; round++) {
        if (me == 0) {
            memset(racket, (int)(round & 0x7f), length_bytes);
            shmem_putmem_signal(ball, racket, length_bytes, &hits, round, SHMEM_SIGNAL_SET, 1);
        }
        shmem_signal_wait_until(&hits, SHMEM_CMP_EQ, round);
        if (me == 1) shmem_putmem_signal(ball, ball, length_bytes, &hits, round, SHMEM_SIGNAL_SET, 0);
    }
    hits_before += ROUNDS;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    bool enough = shmem_n_pes() >= 2;
    if (!enough) fprintf(stderr, "pingpong_signal: it takes two PEs\n");
    for (size_t length_bytes = 8; enough && length_bytes <= LARGEST_BYTES; length_bytes *= 8) {
        shmem_barrier_all();
        double start_us = now_us();
        if (me < 2) play(me, length_bytes);
        double round_us = (now_us() - start_us) / ROUNDS;
        if (me == 0) printf("%8zu bytes  round trip %9.3f us\n", length_bytes, round_us);
    }
    shmem_finalize();
    return enough ? 0 : 1;
}
