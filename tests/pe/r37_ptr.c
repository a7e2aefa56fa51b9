/* R37: ptr gives an address for direct loads and stores, linear over the object, usable as the private operand of other
 * calls; the own PE's is never NULL, others' are NULL only when there is none (ISTHMUS_ALIAS=0 here). */
#include "check.h"

enum { WORDS = 64 };

static uint64_t statics[WORDS];

static int aliases_expected(void)
{
    const char *alias = getenv("ISTHMUS_ALIAS");
    return alias == NULL || strcmp(alias, "0") != 0;
}

static void use(uint64_t *object)
{
    CHECK(shmem_ptr(object, pe.me) != NULL);
    CHECK(shmem_ptr(object + 5, pe.me) == (void *)((uint64_t *)shmem_ptr(object, pe.me) + 5));
    uint64_t *there = shmem_ptr(object, pe.right);
    CHECK((there != NULL) == (aliases_expected() || pe.n == 1));
    if (there == NULL) return;
    CHECK(shmem_ptr(object + WORDS - 1, pe.right) == (void *)(there + WORDS - 1));
    for (int i = 0; i < WORDS; i++) there[i] = (uint64_t)(pe.me * 1000 + i);
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++) CHECK_EQ(object[i], pe.left * 1000 + i);
    shmem_barrier_all();

    /* A get whose destination is the right neighbour's memory: what I have arrives there. */
    object[0] = (uint64_t)pe.me + 7;
    shmem_barrier_all();
    shmem_uint64_get(there + 1, object, 1, pe.me);
    shmem_barrier_all();
    CHECK_EQ(object[1], pe.left + 7);
    shmem_barrier_all();
}

int main(void)
{
    long on_stack = 0;
    pe_begin();
    uint64_t *block = shmem_malloc(WORDS * sizeof *block);
    CHECK(block != NULL);
    use(block);
    use(statics);
    CHECK(shmem_ptr(&on_stack, pe.me) == NULL);
    CHECK(shmem_ptr(block, -1) == NULL);
    CHECK(shmem_ptr(block, pe.n) == NULL);
    return pe_end();
}
