/* R144: signal updates are atomic with one another, with waits and tests: all PEs add to one signal, and the sum is
 * exact; here also with atomics on the same word. */
#include "check.h"

static uint64_t signal_word, mixed, data[64];

int main(void)
{
    pe_begin();
    uint64_t n = (uint64_t)pe_contended_rounds() / 2, total = n * (uint64_t)pe.n;
    int home = pe.n - 1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value = i;
        pe_collide(i);
        switch (i % 4) {
        case 0: shmem_uint64_put_signal(&data[pe.me % 64], &value, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, home); break;
        case 1: shmem_signal_add(&signal_word, 1, home); break;
        case 2: shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, &signal_word, 1, home); break;
        default: shmem_putmem_signal(NULL, NULL, 0, &signal_word, 1, SHMEM_SIGNAL_ADD, home); break;
        }
        if (i % 2)
            shmem_signal_add(&mixed, 1, home);
        else
            shmem_uint64_atomic_inc(&mixed, home);
    }
    if (pe.me == home) {
        CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, total), total);
        CHECK_EQ(shmem_signal_fetch(&signal_word), total);
    }
    shmem_barrier_all();
    if (pe.me == home) CHECK_EQ(shmem_signal_fetch(&mixed), total);
    return pe_end();
}
