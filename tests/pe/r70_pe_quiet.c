/* R70: pe_quiet is a quiet for the listed PEs; with no PE it returns at once and ignores the pointer. Duplicates and
 * the calling PE are permitted. */
#include "check.h"

enum { WORDS = 3000 };

static uint64_t data[WORDS], flag;

static void put_and_complete(shmem_ctx_t ctx, uint64_t round)
{
    static uint64_t source[WORDS];
    const int listed[] = {pe.right, pe.me, pe.right};
    for (int i = 0; i < WORDS; i++) source[i] = round;
    shmem_ctx_uint64_put_nbi(ctx, data, source, WORDS, pe.right);
    if (ctx == SHMEM_CTX_DEFAULT && round % 2)
        shmem_pe_quiet(listed, 3);
    else
        shmem_ctx_pe_quiet(ctx, listed, 3);
    memset(source, 0xff, sizeof source);
    shmem_uint64_atomic_set(&flag, round, pe.right);
    shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
    for (int i = 0; i < WORDS; i++) CHECK_EQ(data[i], round);
    shmem_barrier_all();
}

int main(void)
{
    shmem_ctx_t ctx;
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_pe_quiet(ctx, NULL, 0);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, (const int[]){0}, 1);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(400); round++) {
        put_and_complete(SHMEM_CTX_DEFAULT, 2 * round);
        put_and_complete(ctx, 2 * round + 1);
    }
    shmem_ctx_destroy(ctx);
    return pe_end();
}
