/* R26: a symmetric address is the calling PE's own; heaps and static data may lie at different addresses on different
 * PEs. Each PE maps a different amount of memory before init, so that they do. */
#include "check.h"

#include <sys/mman.h>

enum { MAX_PES = 64 };

static uint64_t word = 1, heap_at[MAX_PES], static_at[MAX_PES];

struct record {
    int id;
    struct {
        long values[3];
    } inner;
};

static void use(struct record *r)
{
    shmem_long_p(&r->inner.values[2], pe.me + 50, pe.right); /* arithmetic inside one object */
    shmem_int_p(&r->id, pe.me, pe.right);
    shmem_barrier_all();
    CHECK_EQ(r->inner.values[2], pe.left + 50);
    CHECK_EQ(shmem_long_g(r->inner.values + 2, pe.right), pe.me + 50);
    CHECK_EQ(shmem_long_atomic_fetch_add(&r->inner.values[0], 1, pe.right), 0);
}

int main(void)
{
    static struct record statics;
    const char *rank = getenv("PMIX_RANK");
    size_t padding = (size_t)(1 + (rank != NULL ? atoi(rank) : 0)) << 24;
    CHECK(mmap(NULL, padding, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    pe_begin();
    CHECK(pe.n <= MAX_PES);
    struct record *block = shmem_calloc(1, sizeof *block);
    CHECK(block != NULL);
    for (int to = 0; to < pe.n; to++) {
        shmem_uint64_p(&heap_at[pe.me], (uint64_t)(uintptr_t)block, to);
        shmem_uint64_p(&static_at[pe.me], (uint64_t)(uintptr_t)&word, to);
    }
    shmem_barrier_all();
    int differ = 0;
    for (int i = 1; i < pe.n; i++) differ += heap_at[i] != heap_at[0];
    if (pe.me == 0) printf("%d of %d heaps lie elsewhere than PE 0's\n", differ, pe.n);
    use(block);
    use(&statics);
    return pe_end();
}
