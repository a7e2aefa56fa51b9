/* R24: a loop around test ends without any other call, and a PE that waits still serves operations on its memory: every
 * PE waits for the flag that the next one sets, after that one has used this PE's memory. */
#include "check.h"

static uint64_t flag, counter;
static long cell = 11;

static void use_neighbour(void)
{
    CHECK_EQ(shmem_long_g(&cell, pe.left), 11);
    shmem_uint64_atomic_add(&counter, 1, pe.left);
    CHECK(shmem_uint64_atomic_fetch(&counter, pe.left) >= 1);
    shmem_uint64_atomic_inc(&flag, pe.left);
}

int main(void)
{
    pe_begin();
    /* Once around the ring: all but one wait, and by and by each is woken and wakes its left neighbour. */
    if (pe.me != 0) shmem_uint64_wait_until(&flag, SHMEM_CMP_GE, 1);
    use_neighbour();
    if (pe.me == 0) shmem_uint64_wait_until(&flag, SHMEM_CMP_GE, 1);

    /* And with test. */
    if (pe.me != 0)
        while (!shmem_uint64_test(&flag, SHMEM_CMP_GE, 2)) {}
    use_neighbour();
    if (pe.me == 0)
        while (!shmem_uint64_test(&flag, SHMEM_CMP_GE, 2)) {}
    return pe_end();
}
