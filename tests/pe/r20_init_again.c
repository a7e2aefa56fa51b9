/* R20: a start that failed on all PEs can be repeated, here with a size of the heap that is possible. */
#include "check.h"

#include <stdlib.h>

static long from_next;

int main(void)
{
    int provided;
    pe_deadline(PE_DEADLINE_S);
    CHECK_EQ(setenv("ISTHMUS_HEAP_SIZE", "4000000g", 1), 0);
    CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0);
    CHECK_EQ(setenv("ISTHMUS_HEAP_SIZE", "16m", 1), 0);
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided), 0);
    pe_know();
    shmem_long_p(&from_next, pe.me + 1, (pe.me + 1) % pe.n);
    shmem_barrier_all();
    CHECK_EQ(from_next, (pe.me + pe.n - 1) % pe.n + 1);
    return pe_end();
}
