/* The library that r13_loaded.c loads. Its static data is not symmetric, so it uses the heap. */
#include <shmem.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int loaded_begin(void);
EXPORTED int loaded_work(void);
EXPORTED int loaded_end(void);

int loaded_begin(void)
{
    shmem_init();
    return 0;
}

int loaded_work(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *cell = shmem_calloc(1, sizeof *cell);
    if (cell == NULL) return 1;
    shmem_long_p(cell, me + 1, (me + 1) % n);
    shmem_barrier_all();
    int is_right = *cell == (me + n - 1) % n + 1;
    shmem_free(cell);
    return !is_right;
}

int loaded_end(void)
{
    shmem_finalize();
    return 0;
}
