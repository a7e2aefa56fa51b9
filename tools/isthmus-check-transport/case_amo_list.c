/* tools/isthmus-check-transport/case_amo_list.c: memory.1: atomics on this process's own memory, many at once. */
#include "cases.h"

#include <isthmus/amo_cpu.h>

#include <string.h>

enum { GUARD = 0x5a, EXTENT_BYTES = 4096, LIST_WORDS = 5, MOST_LISTED = 200 };

/* Several operations on each word, most of which give another result in another order. */
static struct isthmus_memory_amo listed(const struct ct_extent *extent, uint32_t i)
{
    static const uint32_t ops[] = {ISTHMUS_AMO_ADD, ISTHMUS_AMO_SET, ISTHMUS_AMO_XOR,         ISTHMUS_AMO_OR,
                                   ISTHMUS_AMO_AND, ISTHMUS_AMO_ADD, ISTHMUS_AMO_COMPARE_SWAP};
    uint32_t at = 1 + i % LIST_WORDS, op = ops[(i + 1) % (sizeof ops / sizeof *ops)];
    return (struct isthmus_memory_amo){.addr = extent->base + 8 * (size_t)at,
                                       .operand = 0x9e3779b97f4a7c15ull * (i + 1),
                                       .compare = i,
                                       .op = op,
                                       .bits = i % 3 == 2 ? ISTHMUS_BITS32 : ISTHMUS_BITS64};
}

static void try_list(struct ct_extent *extent, const struct isthmus_memory *memory, uint32_t n)
{
    struct isthmus_memory_amo list[MOST_LISTED];
    uint64_t want[LIST_WORDS + 2];
    memset(want, GUARD, sizeof want);
    ct_extent_fill(extent, GUARD);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = listed(extent, i);
        (void)isthmus_amo_cpu(list[i].op, &want[((char *)list[i].addr - extent->base) / 8], list[i].operand,
                              list[i].compare, (size_t)1 << list[i].bits);
    }
    CT_OK(memory->amo_list(extent->p->tr, list, n));
    const uint8_t *got = ct_extent_view(extent, 0, sizeof want);
    for (uint32_t i = 0; i < LIST_WORDS + 2; i++) {
        uint64_t word;
        memcpy(&word, got + 8 * (size_t)i, sizeof word);
        CT_CHECK(word == want[i], "after a list of %u operations word %u is %#llx, expected %#llx", n, i,
                 (unsigned long long)word, (unsigned long long)want[i]);
    }
}

void ct_case_amo_list(struct ct_process *p)
{
    static const uint32_t lengths[] = {1, 2, 7, 63, 64, 65, 66, 130, MOST_LISTED};
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, EXTENT_BYTES, &channel);
    if (p->reach[0].atomics_domain == ISTHMUS_DOMAIN_NONE) ct_skip("%s executes no atomics", p->t->name);
    const struct isthmus_memory *memory = p->t->extension(p->tr, "memory.1");
    if (memory == NULL || !ISTHMUS_HAS(memory, amo_list)) ct_skip("%s executes no lists of atomics", p->t->name);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) try_list(&extent, memory, lengths[i]);
    ct_end(p, &extent, &channel);
}
