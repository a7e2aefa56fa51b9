/* R81: quiet is local_complete and then remote_commit: the pair makes a nonblocking put and the caller's own stores
 * visible to all PEs, and lets the source be reused. */
#include "check.h"

enum { WORDS = 1000 };

static uint64_t theirs[WORDS], own[WORDS], flag;

static void both_halves(shmem_ctx_t ctx, int use_ctx_form)
{
    if (use_ctx_form) {
        shmem_ctx_local_complete(ctx);
        shmem_ctx_remote_commit(ctx);
    } else {
        shmem_local_complete();
        shmem_remote_commit();
    }
}

static void check_filled_with(const uint64_t *seen, uint64_t round)
{
    for (int i = 0; i < WORDS; i++) CHECK_EQ(seen[i], round);
}

int main(void)
{
    static uint64_t source[WORDS], seen[WORDS];
    shmem_ctx_t ctx;
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(3000); round++) {
        int on_ctx = round % 2 == 0;
        for (int i = 0; i < WORDS; i++) source[i] = own[i] = round;
        shmem_ctx_uint64_put_nbi(on_ctx ? ctx : SHMEM_CTX_DEFAULT, theirs, source, WORDS, pe.right);
        both_halves(ctx, on_ctx);
        memset(source, 0xff, sizeof source);
        shmem_uint64_atomic_set(&flag, round, (pe.me + 2) % pe.n);
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
        int writer = (pe.me + 2 * pe.n - 2) % pe.n;
        shmem_uint64_get(seen, theirs, WORDS, (writer + 1) % pe.n);
        check_filled_with(seen, round);
        shmem_uint64_get(seen, own, WORDS, writer);
        check_filled_with(seen, round);
        shmem_barrier_all();
    }
    shmem_ctx_destroy(ctx);
    return pe_end();
}
