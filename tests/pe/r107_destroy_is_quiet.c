/* R107: ctx_destroy completes the context's operations first; finalize destroys the remaining contexts. */
#include "check.h"

enum { WORDS = 3000 };

static uint64_t data[WORDS], flag;

int main(void)
{
    static uint64_t source[WORDS];
    shmem_ctx_t ctx;
    pe_begin();
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(1000); round++) {
        CHECK_EQ(shmem_ctx_create(round % 2 ? SHMEM_CTX_PRIVATE : 0, &ctx), 0);
        for (int i = 0; i < WORDS; i++) source[i] = round;
        shmem_ctx_uint64_put_nbi(ctx, data, source, WORDS, pe.right);
        shmem_ctx_destroy(ctx);
        memset(source, 0xff, sizeof source);
        shmem_uint64_atomic_set(&flag, round, pe.right);
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
        for (int i = 0; i < WORDS; i++) CHECK_EQ(data[i], round);
        shmem_barrier_all();
    }
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), 0);
    return pe_end();
}
