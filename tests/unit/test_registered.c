/* Unit tests of core/heap/registered.c with a transport of our own: what reaches it, and what happens when it, or the memory
 * for the table, fails (R55). Ranges and return values of the API: tests/pe/r54_buffer_register.c. */
#include "core/heap/registered.h"
#include "core/transport/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int n_registered;
static bool refuses, is_memory_short;
static struct isthmus_mem last;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { CAN_BE_SHORT = 1 };
void *__libc_realloc(void *block, size_t bytes);
void *realloc(void *block, size_t bytes) { return is_memory_short ? NULL : __libc_realloc(block, bytes); }
#else
enum { CAN_BE_SHORT = 0 };
#endif

static isthmus_status fake_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    if (refuses) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no keys left");
    last = *mem;
    n_registered++;
    *out = (isthmus_lmem *)(void *)tr;
    return ISTHMUS_OK;
}

static void fake_unregister(isthmus_lmem *lmem)
{
    assert_non_null(lmem);
    n_registered--;
}

static int set_up(void **state)
{
    static char handle;
    (void)state;
    memset(&ist_registry, 0, sizeof ist_registry);
    ist_registry.n = 2; /* the first one is not open */
    ist_registry.list[0].ops.register_local = ist_registry.list[1].ops.register_local = fake_register;
    ist_registry.list[1].ops.unregister_local = fake_unregister;
    ist_registry.list[1].state = IST_TRANSPORT_OPEN;
    ist_registry.list[1].traits.kinds_local = 1u << ISTHMUS_MEM_HOST;
    ist_registry.list[1].handle = (isthmus_tr *)(void *)&handle;
    n_registered = 0;
    refuses = is_memory_short = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ist_registered_remove_all();
    assert_int_equal(n_registered, 0);
    return 0;
}

static char room[1024];

static void transports_hear_of_it(void **state)
{
    (void)state;
    assert_int_equal(ist_registered_add(room + 8, 100), ISTHMUS_OK);
    assert_int_equal(n_registered, 1);
    assert_ptr_equal(last.addr, room + 8);
    assert_int_equal(last.length_bytes, 100);
    assert_int_equal(ist_registered_remove(room), ISTHMUS_ERR_INVALID);
    assert_int_equal(n_registered, 1);
    assert_int_equal(ist_registered_remove(room + 8), ISTHMUS_OK);
    assert_int_equal(n_registered, 0);
}

static void other_kinds_are_not_bothered(void **state)
{
    (void)state;
    ist_registry.list[1].traits.kinds_local = 1u << ISTHMUS_MEM_CUDA;
    assert_int_equal(ist_registered_add(room, 100), ISTHMUS_OK);
    assert_int_equal(n_registered, 0);
}

static void a_transport_that_fails_is_an_internal_error(void **state)
{
    (void)state;
    assert_int_equal(ist_registered_add(room, 100), ISTHMUS_OK);
    refuses = true;
    assert_int_equal(ist_registered_add(room + 200, 100), ISTHMUS_ERR_IO);
    assert_string_equal(ist_fail_text(), "no keys left");
    refuses = false;
    assert_int_equal(ist_registered_add(room + 50, 100), ISTHMUS_ERR_INVALID); /* the first one is still there */
    assert_int_equal(ist_registered_add(room + 200, 100), ISTHMUS_OK);
}

static void no_memory_for_the_table(void **state)
{
    (void)state;
    if (!CAN_BE_SHORT) skip();
    is_memory_short = true;
    assert_int_equal(ist_registered_add(room, 100), ISTHMUS_ERR_NO_MEMORY);
    is_memory_short = false;
    assert_int_equal(n_registered, 0);
    assert_int_equal(ist_registered_add(room, 100), ISTHMUS_OK);
}

/* Many, in any order; each gap takes exactly what fits. */
static void ranges_do_not_overlap(void **state)
{
    (void)state;
    for (size_t i = 0; i < 32; i++) assert_int_equal(ist_registered_add(room + (i * 11 % 32) * 32, 16), ISTHMUS_OK);
    for (size_t i = 0; i < 31; i++) {
        assert_int_equal(ist_registered_add(room + i * 32 + 16, 17), ISTHMUS_ERR_INVALID);
        assert_int_equal(ist_registered_add(room + i * 32 + 15, 16), ISTHMUS_ERR_INVALID);
        assert_int_equal(ist_registered_add(room + i * 32 + 16, 16), ISTHMUS_OK);
    }
    assert_int_equal(n_registered, 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(transports_hear_of_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_kinds_are_not_bothered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_transport_that_fails_is_an_internal_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory_for_the_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_do_not_overlap, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
