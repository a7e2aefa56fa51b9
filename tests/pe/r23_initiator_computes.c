/* R23: what was started goes on while the initiator computes and makes no call: it stops computing when it sees the
 * reply of the PE that its nonblocking put with signal woke up. */
#include "check.h"

enum { BYTES = 16 << 20 };

static uint64_t arrived;
static volatile uint64_t answer;

int main(void)
{
    pe_begin();
    char *block = shmem_malloc(BYTES), *source = malloc(BYTES);
    CHECK(block != NULL && source != NULL);
    if (pe.me == 0) {
        memset(source, 'q', BYTES);
        shmem_putmem_signal_nbi(block, source, BYTES, &arrived, 1, SHMEM_SIGNAL_SET, pe.right);
        if (pe.right == 0) answer = 1; /* alone: no other PE can reply */
        while (answer == 0) {}
        shmem_quiet();
    }
    if (pe.left == 0) {
        shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
        CHECK_FILLED(block, 'q', BYTES);
        shmem_uint64_p((uint64_t *)&answer, 1, 0);
    }
    shmem_barrier_all();
    free(source);
    return pe_end();
}
