/* R47: private memory that ends on one PE, at each attempt of a call in turn: all PEs have the same block, or NULL and
 * nothing else; later blocks lie at equal offsets and the collectives go on. The last call of each kind meets no
 * failure. Preloaded: tests/doubles/memory. */
#include "check.h"

#include <dlfcn.h>
#include <nvshmem.h>
#include <sys/mman.h>

enum { MOST_PES = 16, BLOCKS = 300, BUFFER_BYTES = 1 << 16 };

static void (*arm)(long attempt, int stays_away);
static long (*disarm)(void);
static long mine[2], all[2 * MOST_PES], total;
static void *blocks[BLOCKS];

/* Returns how many failures the PEs have met, and checks that all of them have the same result. */
static long compare(const char *what, const void *result)
{
    long failures = 0;
    mine[0] = (long)((uintptr_t)result - (uintptr_t)blocks[0]);
    mine[1] = disarm();
    if (result == NULL) mine[0] = -1;
    shmem_long_fcollect(SHMEM_TEAM_WORLD, all, mine, 2);
    for (int i = 0; i < pe.n; i++) {
        if (all[2 * i] != all[0])
            check_fail(__FILE__, __LINE__, "%s: PE %d has %#lx, PE 0 %#lx", what, i, all[2 * i], all[0]);
        failures += all[2 * i + 1];
    }
    if (failures == 0) CHECK(result != NULL);
    shmem_barrier_all();
    total += failures;
    return failures;
}

static void *malloc_small(void *block) { return (void)block, shmem_malloc(96); }
static void *calloc_small(void *block) { return (void)block, shmem_calloc(3, 40); }
static void *align_some(void *block) { return (void)block, shmem_align(4096, 200); }
static void *hints(void *block) { return (void)block, shmem_malloc_with_hints(100, SHMEM_MALLOC_ATOMICS_REMOTE); }
static void *realloc_more(void *block) { return shmem_realloc(block, 3000); }
static void *realloc_less(void *block) { return shmem_realloc(block, 100); }
static void *malloc_growing(void *block) { return (void)block, shmem_malloc((size_t)100 << 20); }

/* The last result, after a call without a failure; others are freed. */
static void *until_none_fails(const char *what, void *(*call)(void *block), void *block, int victim)
{
    for (long attempt = 1;; attempt++) {
        if (pe.me == victim) arm(attempt, 0);
        void *result = call(block);
        if (compare(what, result) == 0) return result;
        if (result != NULL && block == NULL) shmem_free(result);
        if (result != NULL && block != NULL) return result; /* moved or resized in spite of the failure */
    }
}

static void use_buffer(int victim)
{
    void *at = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    for (long attempt = 1, failures = 1; failures > 0; attempt++) {
        if (pe.me == victim) arm(attempt, 0);
        void *made = nvshmemx_buffer_register_symmetric(at, BUFFER_BYTES, 0);
        failures = compare("register_symmetric", made != NULL ? blocks[0] : NULL);
        if (made != NULL) CHECK_EQ(nvshmemx_buffer_unregister_symmetric(at, BUFFER_BYTES), 0);
    }
    munmap(at, BUFFER_BYTES);
}

int main(int argc, char **argv)
{
    *(void **)(void *)&arm = dlsym(RTLD_DEFAULT, "memory_arm");
    *(void **)(void *)&disarm = dlsym(RTLD_DEFAULT, "memory_disarm");
    CHECK(arm != NULL && disarm != NULL);
    pe_begin();
    CHECK(pe.n <= MOST_PES);
    int victim = argc > 1 ? atoi(argv[1]) : pe.n - 1;
    void *(*const calls[])(void *) = {malloc_small, calloc_small, align_some, hints};
    shmem_barrier_all();
    blocks[0] = shmem_malloc(64);
    for (int i = 1; i < BLOCKS; i++) blocks[i] = until_none_fails("malloc and its like", calls[i % 4], NULL, victim);
    for (int i = 1; i < BLOCKS; i += 2)
        blocks[i] = until_none_fails("realloc, longer", realloc_more, blocks[i], victim);
    for (int i = 1; i < BLOCKS; i += 2)
        blocks[i] = until_none_fails("realloc, shorter", realloc_less, blocks[i], victim);
    shmem_free(until_none_fails("malloc that may grow the heap", malloc_growing, NULL, victim));
    use_buffer(victim);
    for (int i = 1; i < BLOCKS; i++) shmem_free(blocks[i]);
    blocks[1] = until_none_fails("malloc after all", malloc_small, NULL, victim);
    CHECK(total > 0);
    if (pe.me == 0) printf("memory that ends: %ld failures injected\n", total);
    return pe_end();
}
