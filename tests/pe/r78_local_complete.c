/* R78: after local_complete sources may be reused, and nonblocking gets and fetched values have arrived. Visibility at
 * the target is not promised: quiet precedes the target's reads. */
#include "check.h"

enum { WORDS = 5000, COUNTERS = 50 };

static uint64_t area[WORDS], readable[WORDS], counters[COUNTERS], flag;

static void run(shmem_ctx_t ctx, uint64_t round)
{
    static uint64_t source[WORDS], dest[WORDS], fetched[COUNTERS];
    for (int i = 0; i < WORDS; i++) source[i] = round;
    memset(fetched, 0xff, sizeof fetched);
    memset(dest, 0xff, sizeof dest);
    shmem_ctx_uint64_put_nbi(ctx, area, source, WORDS, pe.right);
    shmem_ctx_uint64_get_nbi(ctx, dest, readable, WORDS, pe.right);
    for (int i = 0; i < COUNTERS; i++)
        shmem_ctx_uint64_atomic_fetch_add_nbi(ctx, &fetched[i], &counters[i], 1, pe.right);
    if (ctx == SHMEM_CTX_DEFAULT && round % 2)
        shmem_local_complete();
    else
        shmem_ctx_local_complete(ctx);
    memset(source, 0xee, sizeof source);
    for (int i = 0; i < WORDS; i++) CHECK_EQ(dest[i], pe.right * 100000 + i);
    for (int i = 0; i < COUNTERS; i++) CHECK_EQ(fetched[i], round - 1);

    shmem_ctx_quiet(ctx);
    shmem_ctx_uint64_atomic_set(ctx, &flag, round, pe.right);
    shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
    for (int i = 0; i < WORDS; i++) CHECK_EQ(area[i], round);
    shmem_barrier_all();
}

int main(void)
{
    shmem_ctx_t ctx;
    pe_begin();
    for (int i = 0; i < WORDS; i++) readable[i] = (uint64_t)(pe.me * 100000 + i);
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    shmem_barrier_all();
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(600); round++)
        run(round % 3 ? SHMEM_CTX_DEFAULT : ctx, round);
    shmem_ctx_destroy(ctx);
    return pe_end();
}
