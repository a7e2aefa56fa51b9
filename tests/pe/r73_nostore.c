/* R73: a context with SHMEM_CTX_NOSTORE orders and completes its operations as any other; stores are another
 * context's. */
#include "check.h"

enum { WORDS = 1000 };

static uint64_t data[WORDS], flag;

int main(void)
{
    static uint64_t source[WORDS];
    shmem_ctx_t ctx;
    pe_begin();
    CHECK_EQ(shmem_ctx_create(SHMEM_CTX_NOSTORE, &ctx), 0);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(2000); round++) {
        for (int i = 0; i < WORDS; i++) source[i] = round;
        shmem_ctx_uint64_put_nbi(ctx, data, source, WORDS, pe.right);
        if (round % 2)
            shmem_ctx_fence(ctx);
        else
            shmem_ctx_quiet(ctx);
        shmem_ctx_uint64_atomic_set(ctx, &flag, round, pe.right);
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
        for (int i = 0; i < WORDS; i++) CHECK_EQ(data[i], round);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
    }
    shmem_ctx_destroy(ctx);
    return pe_end();
}
