/* R97: the result words of nonblocking fetches are filled at quiet, or at local_complete, however many there are. */
#include "check.h"

enum { N = 10000 };

static uint64_t counter;
static uint32_t narrow;

static void run(int by_local_complete)
{
    static uint64_t old[N];
    static uint32_t old_narrow[N];
    uint64_t first = shmem_uint64_atomic_fetch(&counter, pe.right);
    uint32_t first_narrow = shmem_uint32_atomic_fetch(&narrow, pe.right);
    memset(old, 0xee, sizeof old);
    memset(old_narrow, 0xee, sizeof old_narrow);
    for (int i = 0; i < N; i++) {
        shmem_uint64_atomic_fetch_add_nbi(&old[i], &counter, 2, pe.right);
        shmem_uint32_atomic_fetch_inc_nbi(&old_narrow[i], &narrow, pe.right);
    }
    if (by_local_complete)
        shmem_local_complete();
    else
        shmem_quiet();
    /* Only this PE counts there: each value once; their order among each other is not promised. */
    uint64_t sum = 0, expected = 0;
    for (uint64_t i = 0; i < N; i++) {
        CHECK(old[i] >= first && old[i] < first + 2 * N && (old[i] - first) % 2 == 0);
        CHECK(old_narrow[i] - first_narrow < N);
        sum += old[i] + old_narrow[i];
        expected += first + 2 * i + first_narrow + i;
    }
    CHECK_EQ(sum, expected);
}

int main(void)
{
    pe_begin();
    run(0);
    run(1);
    shmem_barrier_all();
    CHECK_EQ(counter, 4 * N);
    return pe_end();
}
