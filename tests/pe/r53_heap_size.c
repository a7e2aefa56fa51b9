/* R53: the heap offers at least the bytes requested, in one piece; what is reserved and not used costs no memory.
 * r53_heap_size BYTES: a block of that size fits. */
#include "check.h"

static long resident_bytes(void)
{
    long size, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fscanf(statm, "%ld %ld", &size, &resident) == 2);
    fclose(statm);
    return resident * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)1 << 30; /* without a limit: it grows */
    pe_begin();
    shmem_barrier_all(); /* connects: what a network needs for that is not the heap's */
    long before = resident_bytes();
    char *block = shmem_malloc(bytes);
    CHECK(block != NULL);
    CHECK(resident_bytes() - before < 4 << 20);
    CHECK_EQ(block[bytes / 2], 0);
    shmem_putmem(block + bytes - 1, "z", 1, pe.right);
    shmem_barrier_all();
    CHECK_EQ(block[bytes - 1], 'z');
    if (argc > 1) CHECK(shmem_malloc(bytes) == NULL); /* it is a limit, too */
    shmem_free(block);
    CHECK((block = shmem_malloc(bytes)) != NULL);
    return pe_end();
}
