/* R71: barrier_all completes the default context's operations at their targets; other contexts need their own quiet. */
#include "check.h"

enum { WORDS = 2000 };

static uint64_t by_default[WORDS], by_ctx[WORDS];

int main(void)
{
    static uint64_t source[WORDS];
    shmem_ctx_t ctx;
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(1000); round++) {
        for (int i = 0; i < WORDS; i++) source[i] = round;
        shmem_uint64_put_nbi(by_default, source, WORDS, pe.right);
        shmem_ctx_uint64_put_nbi(ctx, by_ctx, source, WORDS, pe.right);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
        for (int i = 0; i < WORDS; i++) {
            CHECK_EQ(by_default[i], round);
            CHECK_EQ(by_ctx[i], round);
        }
        shmem_barrier_all();
    }
    return pe_end();
}
