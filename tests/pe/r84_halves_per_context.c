/* R84: the two halves act on one context and leave the others alone, at every thread level: what is issued on one
 * context is complete and visible after its own calls, while another has operations in flight. */
#include "check.h"

enum { WORDS = 2000 };

static uint64_t data[2][WORDS], flag;

static void run(const shmem_ctx_t *ctxs, uint64_t round)
{
    static uint64_t source[2][WORDS];
    for (int i = 0; i < WORDS; i++) source[0][i] = source[1][i] = round;
    shmem_ctx_uint64_put_nbi(ctxs[0], data[0], source[0], WORDS, pe.right);
    shmem_ctx_uint64_put_nbi(ctxs[1], data[1], source[1], WORDS, pe.right);
    shmem_ctx_local_complete(ctxs[1]);
    shmem_ctx_remote_commit(ctxs[1]);
    memset(source[1], 0xff, sizeof source[1]); /* the other one's source stays in use */
    shmem_ctx_uint64_atomic_set(ctxs[1], &flag, round, pe.right);
    shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
    for (int i = 0; i < WORDS; i++) CHECK_EQ(data[1][i], round);
    shmem_ctx_local_complete(ctxs[0]);
    shmem_ctx_remote_commit(ctxs[0]);
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++) CHECK_EQ(data[0][i], round);
    shmem_barrier_all();
}

int main(void)
{
    for (int level = SHMEM_THREAD_SINGLE; level <= SHMEM_THREAD_MULTIPLE; level++) {
        int provided;
        shmem_ctx_t ctxs[2] = {SHMEM_CTX_DEFAULT};
        pe_deadline(PE_DEADLINE_S);
        CHECK_EQ(shmem_init_thread(level, &provided), 0);
        pe_know();
        CHECK_EQ(shmem_ctx_create(0, &ctxs[1]), 0);
        for (uint64_t round = 1; round <= (uint64_t)pe_rounds(200); round++) run(ctxs, round + (uint64_t)level * 1000);
        shmem_ctx_destroy(ctxs[1]);
        shmem_finalize();
    }
    return 0;
}
