/* Unit tests of core/heap/registered.c with a transport of the test: the calls that reach it, and what happens when it,
 * or the memory for the table, fails (R55); the results of look-ups, beside changes too. Ranges and return values of
 * the API: tests/pe/r54_buffer_register.c. */
#include "core/heap/registered.h"
#include "core/transport/memory.h"
#include "core/transport/route.h"
#include "core/transport/segment.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int n_registered;
static bool refuses, is_memory_short;
static struct isthmus_mem last;
static isthmus_lmem *next_lmem; /* what the transport hands out; NULL: its handle */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { CAN_BE_SHORT = 1 };
void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes) { return is_memory_short ? NULL : __libc_malloc(bytes); }
#else
enum { CAN_BE_SHORT = 0 };
#endif

static isthmus_status fake_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    if (refuses) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no keys left");
    last = *mem;
    n_registered++;
    *out = next_lmem != NULL ? next_lmem : (isthmus_lmem *)(void *)tr;
    return ISTHMUS_OK;
}

static void fake_unregister(isthmus_lmem *lmem)
{
    assert_non_null(lmem);
    n_registered--;
}

/* ---- a device whose driver knows two ranges ---- */

static char on_device[256], managed[64];

static isthmus_status fake_kind_of(isthmus_tr *tr, const void *addr, struct isthmus_mem *out)
{
    (void)tr;
    uintptr_t at = (uintptr_t)addr;
    if (at - (uintptr_t)managed < sizeof managed) return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "managed memory");
    if (at - (uintptr_t)on_device < sizeof on_device)
        *out = (struct isthmus_mem){.struct_size = sizeof *out,
                                    .kind = ISTHMUS_MEM_CUDA,
                                    .device = 3,
                                    .fd = -1,
                                    .addr = on_device,
                                    .length_bytes = sizeof on_device};
    return ISTHMUS_OK;
}

static int32_t fake_device(isthmus_tr *tr, uint32_t kind)
{
    (void)tr;
    return kind == ISTHMUS_MEM_CUDA ? 3 : -1;
}

static isthmus_status fake_view(const isthmus_rmem *remote, void **addr)
{
    (void)remote, (void)addr;
    return ISTHMUS_ERR_UNSUPPORTED;
}

static isthmus_status fake_copy(isthmus_tr *tr, void *dest, const void *source, size_t length_bytes)
{
    (void)tr;
    memcpy(dest, source, length_bytes);
    return ISTHMUS_OK;
}

static const void *no_extension(isthmus_tr *tr, const char *name)
{
    (void)tr, (void)name;
    return NULL;
}

static const void *memory_extension(isthmus_tr *tr, const char *name)
{
    static const struct isthmus_memory memory = {.struct_size = sizeof memory,
                                                 .kind_of = fake_kind_of,
                                                 .device = fake_device,
                                                 .device_view = fake_view,
                                                 .copy = fake_copy};
    (void)tr;
    return strcmp(name, "memory.1") == 0 ? &memory : NULL;
}

static void set_extensions(const void *(*extension)(isthmus_tr *tr, const char *name))
{
    struct ist_transport *t = &ist_registry.list[1];
    t->ops.extension = extension;
    ist_abi_complete_extensions(&t->ops, t->handle, &t->extensions);
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
    set_extensions(no_extension);
    n_registered = 0;
    refuses = is_memory_short = false;
    next_lmem = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ist_registered_fini();
    assert_int_equal(n_registered, 0);
    ist_memory_forget();
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

static void memory_of_devices_is_known_by_its_kind(void **state)
{
    (void)state;
    set_extensions(memory_extension);
    ist_registry.list[1].traits.kinds_alloc = 1u << ISTHMUS_MEM_CUDA;
    ist_registry.list[1].traits.kinds_local = 1u << ISTHMUS_MEM_HOST | 1u << ISTHMUS_MEM_CUDA;
    assert_int_equal(ist_registered_add(room, 100), ISTHMUS_OK);
    assert_int_equal(last.kind, ISTHMUS_MEM_HOST);
    assert_false(ist_has_device_memory());
    assert_int_equal(ist_registered_add(on_device + 16, 240), ISTHMUS_OK);
    assert_int_equal(last.kind, ISTHMUS_MEM_CUDA);
    assert_int_equal(last.device, 3);
    assert_true(ist_has_device_memory());
    uint32_t kind = ISTHMUS_MEM_HOST;
    assert_true(ist_registered_holds(on_device + 16, &kind));
    assert_int_equal(kind, ISTHMUS_MEM_CUDA);
    assert_false(ist_registered_holds(on_device + 15, &kind));
    assert_true(ist_registered_holds(room, &kind));
    assert_int_equal(kind, ISTHMUS_MEM_HOST);
    assert_int_equal(ist_registered_remove(on_device + 16), ISTHMUS_OK);
    assert_int_equal(ist_registered_add(on_device + 200, 57), ISTHMUS_ERR_INVALID); /* its end was not allocated */
    assert_int_equal(ist_registered_add(managed, 8), ISTHMUS_ERR_INVALID);
    ist_registry.list[1].traits.kinds_alloc = 0; /* no transport can copy it */
    ist_memory_forget();
    assert_int_equal(ist_registered_add(on_device, 8), ISTHMUS_ERR_IO);
    ist_rows_fini();
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

/* Many, in any order; each gap takes a range of exactly its size. */
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

/* ---- look-ups: the second transport, which is the one that is open ---- */

static void *found(const void *addr, size_t length_bytes)
{
    return (void *)(uintptr_t)ist_registered_find(1, addr, length_bytes);
}

static void what_lies_inside_is_found(void **state)
{
    static char first, second;
    (void)state;
    assert_null(found(room, 1));
    next_lmem = (isthmus_lmem *)(void *)&first;
    assert_int_equal(ist_registered_add(room + 100, 50), ISTHMUS_OK);
    next_lmem = (isthmus_lmem *)(void *)&second;
    assert_int_equal(ist_registered_add(room + 150, 50), ISTHMUS_OK);
    assert_ptr_equal(found(room + 100, 50), &first);
    assert_ptr_equal(found(room + 149, 1), &first);
    assert_ptr_equal(found(room + 150, 50), &second);
    assert_null(found(room + 99, 2));   /* begins before */
    assert_null(found(room + 149, 2));  /* in two */
    assert_null(found(room + 150, 51)); /* ends behind */
    assert_null(found(room + 150, SIZE_MAX));
    assert_null(found(room + 200, 1));
    assert_null(ist_registered_find(0, room + 100, 1)); /* the transport that is not open */
    assert_int_equal(ist_registered_remove(room + 100), ISTHMUS_OK);
    assert_null(found(room + 100, 1));
    assert_ptr_equal(found(room + 150, 1), &second);
}

enum { N_LASTING = 300, N_CHANGES = 20000, N_READERS = 2 };
static char lasting[N_LASTING * 16];
static bool changes_end;

/* Each lasting buffer has its own address as registration: nothing else may ever be found for it. */
static void *look_up_lasting(void *arg)
{
    size_t n_wrong = 0;
    for (size_t i = 0; !__atomic_load_n(&changes_end, __ATOMIC_RELAXED); i++) {
        char *addr = lasting + i * 7 % N_LASTING * 16;
        n_wrong += found(addr + 2, 4) != addr;
    }
    *(size_t *)arg = n_wrong;
    return NULL;
}

/* Others are added and removed between them: lists move, and grow. */
static void look_ups_beside_changes(void **state)
{
    (void)state;
    pthread_t readers[N_READERS];
    size_t n_wrong[N_READERS];
    for (size_t i = 0; i < N_LASTING; i++) {
        next_lmem = (isthmus_lmem *)(void *)(lasting + i * 16);
        assert_int_equal(ist_registered_add(lasting + i * 16, 8), ISTHMUS_OK);
    }
    changes_end = false;
    for (size_t i = 0; i < N_READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, look_up_lasting, &n_wrong[i]), 0);
    next_lmem = (isthmus_lmem *)(void *)room;
    for (size_t i = 0; i < N_CHANGES; i++) {
        char *addr = lasting + i * 11 % N_LASTING * 16 + 8;
        isthmus_status status = i / N_LASTING % 2 == 0 ? ist_registered_add(addr, 8) : ist_registered_remove(addr);
        assert_int_equal(status, ISTHMUS_OK);
    }
    __atomic_store_n(&changes_end, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < N_READERS; i++) {
        assert_int_equal(pthread_join(readers[i], NULL), 0);
        assert_int_equal(n_wrong[i], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(transports_hear_of_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_kinds_are_not_bothered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_of_devices_is_known_by_its_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_transport_that_fails_is_an_internal_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory_for_the_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_do_not_overlap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_lies_inside_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(look_ups_beside_changes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
