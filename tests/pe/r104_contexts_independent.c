/* R104: every context is ordered and completed on its own: fences and quiets of each order and complete its operations
 * while others have theirs in flight. */
#include "check.h"

enum { CONTEXTS = 4, WORDS = 800 };

static struct {
    uint64_t data[WORDS], flag;
} box[CONTEXTS];

int main(void)
{
    static uint64_t source[CONTEXTS][WORDS];
    shmem_ctx_t ctxs[CONTEXTS] = {SHMEM_CTX_DEFAULT};
    pe_begin();
    for (int c = 1; c < CONTEXTS; c++) CHECK_EQ(shmem_ctx_create(c == 2 ? SHMEM_CTX_PRIVATE : 0, &ctxs[c]), 0);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(1000); round++) {
        for (int c = 0; c < CONTEXTS; c++) {
            for (int i = 0; i < WORDS; i++) source[c][i] = round + (uint64_t)c;
            shmem_ctx_uint64_put_nbi(ctxs[c], box[c].data, source[c], WORDS, pe.right);
        }
        for (int c = CONTEXTS - 1; c >= 0; c--) {
            if (c % 2)
                shmem_ctx_fence(ctxs[c]);
            else
                shmem_ctx_quiet(ctxs[c]);
            shmem_ctx_uint64_atomic_set(ctxs[c], &box[c].flag, round, pe.right);
        }
        for (int c = 0; c < CONTEXTS; c++) {
            shmem_uint64_wait_until(&box[c].flag, SHMEM_CMP_EQ, round);
            for (int i = 0; i < WORDS; i++) CHECK_EQ(box[c].data[i], round + (uint64_t)c);
        }
        for (int c = 0; c < CONTEXTS; c++) shmem_ctx_quiet(ctxs[c]);
        shmem_barrier_all();
    }
    for (int c = 1; c < CONTEXTS; c++) shmem_ctx_destroy(ctxs[c]);
    return pe_end();
}
