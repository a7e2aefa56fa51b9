/* R109: sessions are hints: with any arguments, operations, fence and quiet work as without; one that runs already may
 * be started again, and stopping twice is harmless. */
#include "check.h"

enum { WORDS = 100 };

static uint64_t data[WORDS], flag, sum;

static void message(shmem_ctx_t ctx, uint64_t round)
{
    uint64_t source[WORDS];
    for (uint64_t i = 0; i < WORDS; i++) source[i] = round * 1000 + i;
    shmem_ctx_uint64_put_nbi(ctx, data, source, WORDS, pe.right);
    shmem_ctx_fence(ctx);
    shmem_ctx_uint64_atomic_set(ctx, &flag, round, pe.right);
    shmem_ctx_uint64_atomic_add(ctx, &sum, 1, 0);
    shmem_ctx_quiet(ctx);
    shmem_uint64_wait_until(&flag, SHMEM_CMP_GE, round);
    for (uint64_t i = 0; i < WORDS; i++) CHECK_EQ(data[i], round * 1000 + i);
    shmem_barrier_all();
    CHECK_EQ(shmem_ctx_uint64_g(ctx, &sum, 0), round * (uint64_t)pe.n);
    shmem_barrier_all();
}

int main(void)
{
    static const size_t hints[] = {0, 1, 1000, SIZE_MAX};
    shmem_ctx_t ctx[2] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx[1]), 0);
    for (uint64_t round = 1; round <= 16; round++) {
        shmem_ctx_session_config_t config = {.total_ops = hints[round % 4]};
        int is_configured = round % 3 != 0;
        long options = round % 2 == 0 ? SHMEM_CTX_SESSION_BATCH : 0;
        shmem_ctx_session_start(ctx[round % 2], options, is_configured ? &config : NULL,
                                is_configured ? SHMEM_CTX_SESSION_TOTAL_OPS : 0);
        shmem_ctx_session_start(ctx[round % 2], SHMEM_CTX_SESSION_BATCH, NULL, 0); /* merges */
        message(ctx[round % 2], round);
        shmem_ctx_session_stop(ctx[round % 2]);
        shmem_ctx_session_stop(ctx[round % 2]);
    }
    shmem_ctx_destroy(ctx[1]);
    return pe_end();
}
