/* tests/static_data/test_hooks.c: UCX, whose registration caches watch the unmappings of a process, learns of each page
 * that static data moved, there and back. With its own library of hooks, as MPI libraries use it. */
#include "core/heap/static_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucm/api/ucm.h>

#include <cmocka.h>

enum { N_LONGS = 1 << 16 };
static volatile long data = 1;
static volatile long bss[N_LONGS];

/* Not in static data: UCX calls while it is moved. */
struct seen {
    uintptr_t first, last; /* of the object that is watched */
    int n_events;
};

static void on_unmapped(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    struct seen *seen = arg;
    const uintptr_t start = (uintptr_t)event->vm_unmapped.address, end = start + event->vm_unmapped.size;
    if (type == UCM_EVENT_VM_UNMAPPED && start <= seen->first && seen->last < end) seen->n_events++;
}

static struct seen *watch(const volatile void *object, size_t n_bytes)
{
    struct seen *seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    seen->first = (uintptr_t)object;
    seen->last = seen->first + n_bytes - 1;
    if (ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, on_unmapped, seen) != UCS_OK) skip();
    return seen;
}

static void unwatch(struct seen *seen)
{
    ucm_unset_event_handler(UCM_EVENT_VM_UNMAPPED, on_unmapped, seen);
    munmap(seen, sizeof *seen);
}

static void the_executables_data_is_announced(void **state)
{
    (void)state;
    struct ist_static_data moved = {0};
    struct seen *seen = watch(bss, sizeof bss);
    bss[17] = 4711;
    if (ist_static_data_init(&moved, NULL) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
    assert_int_equal(seen->n_events, 1);
    assert_int_equal(bss[17], 4711);
    ist_static_data_fini(&moved);
    assert_int_equal(seen->n_events, 2);
    assert_int_equal(bss[17], 4711);
    assert_int_equal(data, 1);
    unwatch(seen);
}

static void a_buffer_is_announced(void **state)
{
    (void)state;
    enum { BYTES = 1 << 16 };
    char *buffer = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ist_static_data moved = {0};
    struct seen *seen = watch(buffer + 4096, BYTES - 4096);
    for (int i = 0; i < BYTES; i++) buffer[i] = (char)(i % 100);
    if (ist_static_range_init(&moved, buffer, BYTES) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
    assert_int_equal(seen->n_events, 1);
    ist_static_data_fini(&moved);
    assert_int_equal(seen->n_events, 2);
    for (int i = 0; i < BYTES; i++) assert_int_equal(buffer[i], i % 100);
    unwatch(seen);
    munmap(buffer, BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_executables_data_is_announced),
        cmocka_unit_test(a_buffer_is_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
