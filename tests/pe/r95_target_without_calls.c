/* R95: atomics on a PE that makes no calls are executed all the same, and exactly. */
#include "check.h"

static uint64_t counter;
static volatile uint64_t finished; /* on the last PE, which reads it by plain loads */

int main(void)
{
    pe_begin();
    uint64_t n = (uint64_t)pe_contended_rounds();
    int target = pe.n - 1;
    if (pe.me != target || pe.n == 1) {
        for (uint64_t i = 0; i < n; i++) (void)shmem_uint64_atomic_fetch_add(&counter, 1, target);
        shmem_uint64_atomic_inc((uint64_t *)&finished, target);
    }
    uint64_t others = pe.n > 1 ? (uint64_t)pe.n - 1 : 1;
    while (pe.me == target && finished < others) {}
    if (pe.me == target) CHECK_EQ(counter, n * others);
    return pe_end();
}
