/* R145: signal_set and signal_add without data; signal_fetch reads the PE's own; signal_wait_until returns a value that
 * satisfied, also while it keeps changing. */
#include "check.h"

static uint64_t signal_word, running, stop;

int main(void)
{
    shmem_ctx_t ctx;
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    shmem_signal_set(&signal_word, 40, pe.right);
    CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 40), 40);
    shmem_barrier_all();
    shmem_signal_add(&signal_word, 2, pe.right);
    CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_GT, 40), 42);
    shmem_barrier_all();
    shmem_ctx_signal_add(ctx, &signal_word, (uint64_t)-2, pe.right);
    CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_LT, 42), 40);
    shmem_barrier_all();
    shmem_ctx_signal_set(ctx, &signal_word, UINT64_MAX, pe.right);
    CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_NE, 40), UINT64_MAX);
    CHECK_EQ(shmem_signal_fetch(&signal_word), UINT64_MAX);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();

    /* The left neighbour cycles it through eight values until this PE sets `stop`. */
    if (pe.me % 2 == 0 && pe.me + 1 < pe.n)
        for (uint64_t i = 0; shmem_signal_fetch(&stop) == 0; i++) {
            shmem_signal_set(&running, i % 8, pe.right);
            sched_yield(); /* with more PEs than cores the other one may miss many values */
        }
    if (pe.me % 2 == 1) {
        for (int i = 0; i < pe_rounds(400); i++) {
            CHECK(shmem_signal_wait_until(&running, SHMEM_CMP_GE, 5) >= 5);
            CHECK(shmem_signal_wait_until(&running, SHMEM_CMP_LT, 2) < 2);
            CHECK_EQ(shmem_signal_wait_until(&running, SHMEM_CMP_EQ, 3), 3);
        }
        shmem_signal_set(&stop, 1, pe.left);
    }
    return pe_end();
}
