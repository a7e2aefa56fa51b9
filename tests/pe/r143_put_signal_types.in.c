/* R143: put with signal of every type and size, with and without context. expand.py repeats the parts between the
 * marks. */
#include "check.h"

enum { N = 37 };

static shmem_ctx_t ctx;
static uint64_t signal_word, expected_signal;

static void await_signal(void) { shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, ++expected_signal); }

#define SIGNAL &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right

/*@for rma@*/
static TYPE dest_NAME[N];

static void put_NAME(void)
{
    TYPE source[N];
    for (int i = 0; i < N; i++) source[i] = (TYPE)(i + 1);
    for (int way = 0; way < 4; way++) {
        memset(dest_NAME, 0, sizeof dest_NAME);
        shmem_barrier_all();
        if (way == 0) shmem_NAME_put_signal(dest_NAME, source, N - 1, SIGNAL);
        if (way == 1) shmem_ctx_NAME_put_signal(ctx, dest_NAME, source, N - 1, SIGNAL);
        if (way == 2) shmem_NAME_put_signal_nbi(dest_NAME, source, N - 1, SIGNAL);
        if (way == 3) shmem_ctx_NAME_put_signal_nbi(ctx, dest_NAME, source, N - 1, SIGNAL);
        await_signal();
        for (int i = 0; i < N - 1; i++) CHECK(dest_NAME[i] == (TYPE)(i + 1));
        CHECK(dest_NAME[N - 1] == (TYPE)0);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
    }
}

/*@end@*/
static unsigned char bytes[16 * N] __attribute__((aligned(16)));

static void put_sizes(void)
{
    static unsigned char source[16 * N] __attribute__((aligned(16)));
    static const size_t widths[] = {1, 2, 4, 8, 16, 1};
    for (size_t i = 0; i < sizeof source; i++) source[i] = (unsigned char)(i * 3 + 1);
    for (int way = 0; way < 24; way++) {
        size_t n = widths[way / 4] * (N - 1);
        memset(bytes, 0, sizeof bytes);
        shmem_barrier_all();
        switch (way) {
        case 0: shmem_put8_signal(bytes, source, N - 1, SIGNAL); break;
        case 1: shmem_ctx_put8_signal(ctx, bytes, source, N - 1, SIGNAL); break;
        case 2: shmem_put8_signal_nbi(bytes, source, N - 1, SIGNAL); break;
        case 3: shmem_ctx_put8_signal_nbi(ctx, bytes, source, N - 1, SIGNAL); break;
        case 4: shmem_put16_signal(bytes, source, N - 1, SIGNAL); break;
        case 5: shmem_ctx_put16_signal(ctx, bytes, source, N - 1, SIGNAL); break;
        case 6: shmem_put16_signal_nbi(bytes, source, N - 1, SIGNAL); break;
        case 7: shmem_ctx_put16_signal_nbi(ctx, bytes, source, N - 1, SIGNAL); break;
        case 8: shmem_put32_signal(bytes, source, N - 1, SIGNAL); break;
        case 9: shmem_ctx_put32_signal(ctx, bytes, source, N - 1, SIGNAL); break;
        case 10: shmem_put32_signal_nbi(bytes, source, N - 1, SIGNAL); break;
        case 11: shmem_ctx_put32_signal_nbi(ctx, bytes, source, N - 1, SIGNAL); break;
        case 12: shmem_put64_signal(bytes, source, N - 1, SIGNAL); break;
        case 13: shmem_ctx_put64_signal(ctx, bytes, source, N - 1, SIGNAL); break;
        case 14: shmem_put64_signal_nbi(bytes, source, N - 1, SIGNAL); break;
        case 15: shmem_ctx_put64_signal_nbi(ctx, bytes, source, N - 1, SIGNAL); break;
        case 16: shmem_put128_signal(bytes, source, N - 1, SIGNAL); break;
        case 17: shmem_ctx_put128_signal(ctx, bytes, source, N - 1, SIGNAL); break;
        case 18: shmem_put128_signal_nbi(bytes, source, N - 1, SIGNAL); break;
        case 19: shmem_ctx_put128_signal_nbi(ctx, bytes, source, N - 1, SIGNAL); break;
        case 20: shmem_putmem_signal(bytes, source, N - 1, SIGNAL); break;
        case 21: shmem_ctx_putmem_signal(ctx, bytes, source, N - 1, SIGNAL); break;
        case 22: shmem_putmem_signal_nbi(bytes, source, N - 1, SIGNAL); break;
        default: shmem_ctx_putmem_signal_nbi(ctx, bytes, source, N - 1, SIGNAL); break;
        }
        await_signal();
        CHECK_BYTES(bytes, source, n);
        CHECK_FILLED(bytes + n, 0, sizeof bytes - n);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
    }
}

int main(void)
{
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    /*@for rma@*/
    put_NAME();
    /*@end@*/
    put_sizes();
    shmem_ctx_destroy(ctx);
    return pe_end();
}
