/* refused put | put_large | get | add | adds | fetch: PE 0 alone uses memory of PE 1's device, whose driver fails
 * (GPU_DOUBLE_FAIL): the job ends with one message, of the PE that has made the call, with the error text of that
 * driver.
 * refused set | signal: with no room for a kernel at PE 1 (cuLaunchKernel fails) nothing is refused.
 * refused own_put | own_get: the driver of PE 0 fails, on whose device the local operand lies. */
#include "device.h"

enum { LARGE = 3 << 20 };

static char globals[LARGE];

static void use(const char *what, char *heap, char *mine)
{
    uint64_t *word = (uint64_t *)(void *)heap;
    if (strcmp(what, "put") == 0)
        shmem_putmem(heap, mine, 100, 1);
    else if (strcmp(what, "put_large") == 0)
        shmem_putmem_nbi(heap, mine, LARGE, 1);
    else if (strcmp(what, "get") == 0)
        shmem_getmem(mine, heap, LARGE, 1);
    else if (strcmp(what, "own_put") == 0)
        shmem_putmem(globals, heap, LARGE, 1);
    else if (strcmp(what, "own_get") == 0)
        shmem_getmem_nbi(heap, globals, LARGE, 1);
    else if (strcmp(what, "set") == 0)
        shmem_uint64_atomic_set(word, 1, 1);
    else if (strcmp(what, "signal") == 0)
        shmem_putmem_signal(heap + 64, mine, 100, word, 1, SHMEM_SIGNAL_SET, 1);
    else if (strcmp(what, "add") == 0)
        shmem_uint64_atomic_add(word, 1, 1);
    else if (strcmp(what, "adds") == 0)
        for (int i = 0; i < 50; i++) shmem_uint64_atomic_add(word + i, 1, 1); /* several of them in one launch */
    else
        (void)shmem_uint64_atomic_fetch_add(word, 1, 1);
    shmem_quiet();
}

int main(int argc, char **argv)
{
    pe_begin();
    char *heap = shmem_malloc(LARGE), *mine = calloc(1, LARGE);
    CHECK(argc > 1 && heap != NULL && mine != NULL);
    if (pe.me == 0) use(argv[1], heap, mine);
    shmem_barrier_all(); /* its flags are the host's */
    printf("nothing was refused\n");
    free(mine);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
