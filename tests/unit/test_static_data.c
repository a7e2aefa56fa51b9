/* tests/unit/test_static_data.c: moving static data: which objects, what is refused, the properties of the descriptor.
 * How moved data behaves, in each kind of executable and around fork(), is in tests/static_data. */
#include "core/heap/static_data.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE_BYTES = 4096, PAGE_LONGS = PAGE_BYTES / 8, BSS_LONGS = 64 * PAGE_LONGS, LARGE_PAGES = 5000 };

static volatile long data = 17;
static _Alignas(PAGE_BYTES) volatile long bss[BSS_LONGS];
static _Alignas(PAGE_BYTES) volatile long large[LARGE_PAGES][PAGE_LONGS];

static struct ist_static_data move(const char *name)
{
    struct ist_static_data moved = {0};
    if (ist_static_data_init(&moved, name)) fail_msg("%s", ist_fail_text());
    return moved;
}

static void assert_refused(const char *name, isthmus_status expected)
{
    struct ist_static_data moved = {0};
    assert_int_equal(ist_static_data_init(&moved, name), expected);
    assert_null(moved.base); /* written on success only */
    data = 18;
    assert_int_equal(data, 18);
    data = 17;
}

static void fini_takes_what_was_never_moved(void **state)
{
    (void)state;
    struct ist_static_data nothing = {0};
    ist_static_data_fini(&nothing);
    ist_static_data_fini(&nothing);
    assert_null(nothing.base);
    assert_int_equal(nothing.fd, -1);
}

static void empty_name_is_the_executable(void **state)
{
    (void)state;
    struct ist_static_data moved = move("");
    assert_in_range((uintptr_t)&data, (uintptr_t)moved.base, (uintptr_t)moved.base + moved.length_bytes - 1);
    ist_static_data_fini(&moved);
}

static void same_data_twice_is_refused(void **state)
{
    (void)state;
    struct ist_static_data moved = move(NULL);
    assert_refused("", ISTHMUS_ERR_INVALID);
    data = 5;
    long seen = 0;
    assert_int_equal(pread(moved.fd, &seen, sizeof seen, (const volatile char *)&data - moved.base), sizeof seen);
    assert_int_equal(seen, 5); /* the first move is still in force */
    data = 17;
    ist_static_data_fini(&moved);
}

static void unknown_object_is_refused_by_name(void **state)
{
    (void)state;
    assert_refused("libnowhere.so", ISTHMUS_ERR_INVALID);
    assert_non_null(strstr(ist_fail_text(), "libnowhere.so"));
    assert_refused("libcmock", ISTHMUS_ERR_INVALID); /* the start of a name is no name */
}

static void object_without_writable_data_is_empty(void **state)
{
    (void)state;
    if (!getauxval(AT_SYSINFO_EHDR)) skip(); /* valgrind hides it */
    struct ist_static_data moved = move("linux-vdso.so.1");
    assert_null(moved.base);
    assert_int_equal(moved.fd, -1);
    ist_static_data_fini(&moved);
}

/* The test library itself: its counts must not be lost. */
static void shared_object_by_name(void **state)
{
    (void)state;
    const char *const names[] = {"libcmocka.so", "libcmocka.so.0"};
    for (int i = 0; i < 2; i++) {
        struct ist_static_data executable = move(NULL), library = move(names[i]);
        assert_non_null(library.base);
        assert_true(library.base + library.length_bytes <= executable.base ||
                    executable.base + executable.length_bytes <= library.base);
        struct ist_static_data *const order[] = {i ? &library : &executable, i ? &executable : &library};
        ist_static_data_fini(order[0]);
        ist_static_data_fini(order[1]);
    }
}

static void descriptor_cannot_be_resized_and_closes_at_exec(void **state)
{
    (void)state;
    struct ist_static_data moved = move(NULL);
    struct stat file;
    assert_int_equal(fstat(moved.fd, &file), 0);
    assert_int_equal(file.st_size, moved.length_bytes);
    assert_int_equal(ftruncate(moved.fd, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(moved.fd, file.st_size * 2), -1);
    assert_int_equal(fcntl(moved.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE),
                     -1); /* nor can a peer forbid others to map it */
    assert_true(fcntl(moved.fd, F_GETFD) & FD_CLOEXEC);
    ist_static_data_fini(&moved);
}

static bool is_hole(const struct ist_static_data *moved, const volatile void *page)
{
    const off_t offset = (const volatile char *)page - moved->base;
    return lseek(moved->fd, offset, SEEK_HOLE) == offset;
}

static void every_page_that_is_not_zero_is_copied(void **state)
{
    (void)state;
    for (long i = 0; i < LARGE_PAGES; i++) large[i][i % 2 ? 0 : PAGE_LONGS - 1] = i; /* one word each, first or last */
    for (long i = 4; i < LARGE_PAGES; i += 100) large[i][0] = large[i][PAGE_LONGS - 1] = 0;
    for (int way = 0; way < 2; way++) {
        struct ist_static_data moved = move(NULL);
        for (long i = 0; way == 0 && i < LARGE_PAGES; i++) {
            if (i % 100 != 4) assert_int_equal(large[i][i % 2 ? 0 : PAGE_LONGS - 1], i);
        }
        if (sysconf(_SC_PAGESIZE) == PAGE_BYTES) assert_true(is_hole(&moved, large[4]) && !is_hole(&moved, large[5]));
        ist_static_data_fini(&moved);
        for (long i = 0; i < LARGE_PAGES; i++)
            assert_int_equal(large[i][i % 2 ? 0 : PAGE_LONGS - 1], i % 100 == 4 ? 0 : i);
    }
}

static int lowest_free_descriptor(void)
{
    const int fd = dup(STDIN_FILENO);
    close(fd);
    return fd;
}

static struct rlimit limit_set(__rlimit_resource_t resource, rlim_t soft)
{
    struct rlimit old, low;
    assert_int_equal(getrlimit(resource, &old), 0);
    low = (struct rlimit){.rlim_cur = soft, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(resource, &low), 0);
    return old;
}

static void no_descriptor_left_is_an_error(void **state)
{
    (void)state;
    const struct rlimit old = limit_set(RLIMIT_NOFILE, (rlim_t)lowest_free_descriptor());
    assert_refused(NULL, ISTHMUS_ERR_NO_MEMORY);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_non_null(strstr(ist_fail_text(), strerror(EMFILE)));
    struct ist_static_data moved = move(NULL);
    ist_static_data_fini(&moved);
}

/* One descriptor is left, so /proc/self/pagemap cannot be opened: as in a sandbox without /proc. */
static void without_pagemap_the_result_is_the_same(void **state)
{
    (void)state;
    bss[10 * PAGE_LONGS] = 10;
    bss[BSS_LONGS - 1] = 11;
    const struct rlimit old = limit_set(RLIMIT_NOFILE, (rlim_t)lowest_free_descriptor() + 1);
    struct ist_static_data moved = {0};
    const isthmus_status status = ist_static_data_init(&moved, NULL);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(status, ISTHMUS_OK);
    for (long i = 0; i < BSS_LONGS - 1; i++) assert_int_equal(bss[i], i == 10 * PAGE_LONGS ? 10 : 0);
    assert_int_equal(bss[BSS_LONGS - 1], 11);
    assert_int_equal(data, 17);
    ist_static_data_fini(&moved);
}

static void file_size_limit_is_an_error_and_no_signal(void **state)
{
    (void)state;
    const struct rlimit old = limit_set(RLIMIT_FSIZE, 4096);
    assert_refused(NULL, ISTHMUS_ERR_NO_MEMORY);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_non_null(strstr(ist_fail_text(), "ulimit -f"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fini_takes_what_was_never_moved),
        cmocka_unit_test(empty_name_is_the_executable),
        cmocka_unit_test(same_data_twice_is_refused),
        cmocka_unit_test(unknown_object_is_refused_by_name),
        cmocka_unit_test(object_without_writable_data_is_empty),
        cmocka_unit_test(shared_object_by_name),
        cmocka_unit_test(descriptor_cannot_be_resized_and_closes_at_exec),
        cmocka_unit_test(every_page_that_is_not_zero_is_copied),
        cmocka_unit_test(no_descriptor_left_is_an_error),
        cmocka_unit_test(without_pagemap_the_result_is_the_same),
        cmocka_unit_test(file_size_limit_is_an_error_and_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
