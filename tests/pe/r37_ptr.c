/* R37: ptr gives an address for direct loads and stores, linear over the object, usable as the private operand of other
 * calls; that of the calling PE is never NULL, others' are NULL only when there is none: with ISTHMUS_ALIAS=0, and on
 * other hosts. */
#include "check.h"

enum { WORDS = 64 };

static uint64_t statics[WORDS];

static int alias_expected(int other)
{
    const char *alias = getenv("ISTHMUS_ALIAS");
    if (alias != NULL && strcmp(alias, "0") == 0) return other == pe.me;
    return shmem_team_translate_pe(SHMEM_TEAM_WORLD, other, SHMEM_TEAM_SHARED) >= 0;
}

static void use(uint64_t *object)
{
    CHECK(shmem_ptr(object, pe.me) != NULL);
    CHECK(shmem_ptr(object + 5, pe.me) == (void *)((uint64_t *)shmem_ptr(object, pe.me) + 5));
    uint64_t *there = shmem_ptr(object, pe.right);
    CHECK((there != NULL) == alias_expected(pe.right));
    int is_stored_to = alias_expected(pe.left);
    if (there != NULL) {
        CHECK(shmem_ptr(object + WORDS - 1, pe.right) == (void *)(there + WORDS - 1));
        for (int i = 0; i < WORDS; i++) there[i] = (uint64_t)(pe.me * 1000 + i);
    }
    shmem_barrier_all();
    for (int i = 0; i < WORDS && is_stored_to; i++) CHECK_EQ(object[i], pe.left * 1000 + i);
    shmem_barrier_all();

    /* A get whose destination is the right neighbour's memory: this PE's data arrives there. */
    object[0] = (uint64_t)pe.me + 7;
    shmem_barrier_all();
    if (there != NULL) shmem_uint64_get(there + 1, object, 1, pe.me);
    shmem_barrier_all();
    if (is_stored_to) CHECK_EQ(object[1], pe.left + 7);
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
