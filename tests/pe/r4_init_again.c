/* R4: initialisers nest, only the last finalize releases, and a new init gives a fresh library; nothing accumulates. */
#include "footprint.h"

#include <malloc.h>
#include <sys/resource.h>

/* OpenPMIX 4.2 loses about 40 pages in each init and finalize of its own; a heap block that stays would be 256. */
enum { ROUNDS = 20, FIRST_STEADY = 3, BLOCK_BYTES = 1 << 20, MAPPED_BYTES = 64 << 10 };
#ifdef __SANITIZE_ADDRESS__
enum { PMIX_LOSES_PAGES = 160 };
extern const char *__asan_default_options(void);
extern __attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1"; /* what is freed is not to be counted */
}
#else
enum { PMIX_LOSES_PAGES = 80 };
#endif

static int n_mappings_of_ours(void)
{
    char line[600];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) n += strstr(line, "isthmus-heap") != NULL;
    fclose(maps);
    return n;
}

/* A table that grows later, beside threads, stops them: core/base/process.h. */
static int descriptors_have_room(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           footprint_room_for_descriptors() >= (int)(limit.rlim_cur < 4096 ? limit.rlim_cur : 4096);
}

static int is_initialized(void)
{
    int initialized = -1;
    shmem_query_initialized(&initialized);
    return initialized;
}

static void use(char *block)
{
    shmem_putmem(block, &pe.me, sizeof pe.me, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*(int *)(void *)block, pe.left);
}

int main(void)
{
    int descriptors = 0;
    long pages = 0;
    /* Else malloc learns that large blocks come again, and keeps them at times: those of libfabric are 80 MiB. */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        pe_begin();
        CHECK(descriptors_have_room());
        pe_begin();
        char *block = shmem_malloc(BLOCK_BYTES);
        CHECK(block != NULL);
        memset(block, round, BLOCK_BYTES);
        shmem_barrier_all();
        use(block);
        shmem_finalize();
        CHECK(is_initialized());
        use(block);
        shmem_finalize();
        CHECK(!is_initialized());
        CHECK_EQ(n_mappings_of_ours(), 0);
        if (round == FIRST_STEADY) {
            descriptors = footprint_descriptors();
            (void)malloc_trim(0);
            pages = footprint_resident_pages();
        }
    }
    CHECK_EQ(footprint_descriptors(), descriptors);
    (void)malloc_trim(0);
    if (footprint_is_known()) CHECK(footprint_resident_pages() - pages < (ROUNDS - FIRST_STEADY) * PMIX_LOSES_PAGES);
    return 0;
}
