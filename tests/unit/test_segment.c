/* Unit tests of core/transport/segment.c: which registration holds a local operand in symmetric memory. Transports of our own:
 * 0 takes a segment once and whole, 1 in extents, 2 is not open. */
#include "core/transport/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WHOLE, EXTENTS, CLOSED, LENGTH = 4096, FIRST = 1024 };
static char memory[LENGTH], other[64];

/* The registration is the address of what was exposed. */
static isthmus_status fake_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                                  isthmus_lmem **out)
{
    (void)tr;
    *key_bytes = 1;
    memset(key, 0, 1);
    *out = (isthmus_lmem *)mem->addr;
    return ISTHMUS_OK;
}

static void fake_unregister(isthmus_lmem *lmem) { (void)lmem; }

static isthmus_status fake_put(ist_boot *boot, const char *key, const void *value, size_t value_bytes)
{
    (void)boot, (void)key, (void)value, (void)value_bytes;
    return ISTHMUS_OK;
}

static const struct ist_boot_ops boot_ops = {.name = "fake", .put = fake_put};
static ist_boot boot = {.ops = &boot_ops, .n_pes = 1};

static int set_up(void **state)
{
    (void)state;
    memset(&ist_registry, 0, sizeof ist_registry);
    ist_registry.n = 3;
    for (uint32_t i = 0; i < CLOSED; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        t->state = IST_TRANSPORT_OPEN;
        t->traits.kinds_expose = 1u << ISTHMUS_MEM_HOST;
        t->ops.expose = fake_expose;
        t->ops.unregister_local = fake_unregister;
    }
    ist_registry.list[WHOLE].traits.traits = ISTHMUS_TRAIT_SPARSE;
    struct isthmus_mem mem = {
        .struct_size = sizeof mem, .device = -1, .fd = -1, .addr = memory, .length_bytes = LENGTH};
    return ist_segment_expose(IST_SEGMENT_HEAP, "the symmetric heap", &mem, FIRST);
}

static int tear_down(void **state)
{
    (void)state;
    ist_segments_withdraw();
    return 0;
}

static void *found(uint32_t transport, const void *addr, size_t length_bytes)
{
    return (void *)(uintptr_t)ist_segment_lmem(transport, addr, length_bytes);
}

static void extents_have_their_own(void **state)
{
    (void)state;
    assert_ptr_equal(found(EXTENTS, memory, FIRST), memory);
    assert_null(found(EXTENTS, memory + FIRST - 1, 2)); /* its end is not exposed */
    assert_null(found(EXTENTS, memory + FIRST, 1));
    assert_int_equal(ist_segment_grow(&boot, "card", IST_SEGMENT_HEAP, 2 * FIRST, 1), ISTHMUS_OK);
    assert_ptr_equal(found(EXTENTS, memory + FIRST - 1, 1), memory);
    assert_ptr_equal(found(EXTENTS, memory + FIRST, FIRST), memory + FIRST);
    assert_null(found(EXTENTS, memory + FIRST - 1, 2)); /* in two */
}

static void a_whole_one_is_whole(void **state)
{
    (void)state;
    assert_ptr_equal(found(WHOLE, memory + FIRST - 1, LENGTH - FIRST + 1), memory);
    assert_null(found(WHOLE, memory + 1, LENGTH));
}

static void others_have_none(void **state)
{
    (void)state;
    assert_null(found(CLOSED, memory, 1));
    assert_null(found(EXTENTS, other, 1));
    assert_null(found(WHOLE, other, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(extents_have_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_whole_one_is_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_have_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
