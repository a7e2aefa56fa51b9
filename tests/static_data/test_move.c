/* tests/static_data/test_move.c: static data that has been moved behaves as before, and a peer reaches it. Built
 * several ways: what the linker makes of an executable decides where its data lies (CMakeLists.txt). */
#include "core/heap/static_data.h"

#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE_LONGS = 512, BSS_LONGS = 100 * PAGE_LONGS };

static struct ist_static_data moved;
static char *peer_view; /* where a peer on the host has mapped the descriptor */
static uint64_t peer_length_bytes;

static volatile long initialised[3] = {11, 22, 33};
static volatile long zero[BSS_LONGS];
static volatile long *volatile pointer = &initialised[1];
static const volatile char *const constants[] = {"relocated", "constants"}; /* in RELRO when position independent */
static _Atomic long counter;
static _Thread_local long of_thread;
extern char __bss_start[], _end[];
extern ElfW(Dyn) _DYNAMIC[];

static volatile long *function_static(void)
{
    static volatile long value = 44;
    return &value;
}

static bool is_inside(const volatile void *address)
{
    const char *a = (const char *)address;
    return a >= moved.base && a < moved.base + moved.length_bytes;
}

/* The peer's pointer to an object of this process; not inlined, so that the compiler assumes nothing about it. */
__attribute__((noinline)) static void *at_peer(const volatile void *object)
{
    assert_true(is_inside(object));
    return peer_view + ((const char *)object - moved.base);
}

static volatile long *long_at_peer(const volatile long *object) { return at_peer(object); }

static int move_there(void **state)
{
    (void)state;
    if (ist_static_data_init(&moved, NULL)) {
        print_error("%s\n", ist_fail_text());
        return -1;
    }
    peer_length_bytes = moved.length_bytes;
    peer_view = mmap(NULL, peer_length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, moved.fd, 0);
    return peer_view == MAP_FAILED ? -1 : 0;
}

static int move_back(void **state)
{
    (void)state;
    ist_static_data_fini(&moved);
    return munmap(peer_view, peer_length_bytes);
}

static void covers_data_and_bss_and_nothing_else(void **state)
{
    (void)state;
    long on_stack = 1;
    long *allocated = malloc(sizeof *allocated);
    assert_true(is_inside(initialised) && is_inside(zero) && is_inside(&pointer) && is_inside(function_static()));
    assert_true(is_inside(__bss_start) && is_inside((char *)((uintptr_t)_end - 1)));
    assert_false(is_inside(&on_stack));
    assert_false(is_inside(allocated));
    assert_false(is_inside(&of_thread));
    assert_false(is_inside((const void *)(uintptr_t)move_there));
    free(allocated);
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal((uintptr_t)moved.base % page_bytes, 0);
    assert_int_equal(moved.length_bytes % page_bytes, 0);
    assert_int_equal(moved.frozen_bytes % page_bytes, 0);
}

static void values_and_addresses_are_as_before(void **state)
{
    (void)state;
    zero[7 * PAGE_LONGS] = 77;
    *function_static() += 1;
    const long before = *function_static();
    const volatile long *const addresses[] = {initialised, zero, function_static()};
    for (int cycle = 0; cycle < 2; cycle++) {
        move_back(state);
        assert_int_equal(move_there(state), 0);
        assert_int_equal(initialised[0], 11);
        assert_int_equal(*pointer, 22);
        assert_ptr_equal(pointer, &initialised[1]);
        assert_int_equal(*function_static(), before);
        for (int i = 0; i < BSS_LONGS; i++) assert_int_equal(zero[i], i == 7 * PAGE_LONGS ? 77 : 0);
        assert_string_equal((const char *)constants[0], "relocated");
        assert_ptr_equal(addresses[2], function_static());
    }
    zero[7 * PAGE_LONGS] = 0;
}

/* Sanitizers keep guards between globals that only they may read; they must ignore this comparison. */
__attribute__((no_sanitize("address", "thread"))) static bool is_equal(const char *a, const char *b, uint64_t n_bytes)
{
    for (uint64_t i = 0; i < n_bytes; i++) {
        if (*(const volatile char *)(a + i) != *(const volatile char *)(b + i)) return false;
    }
    return true;
}

/* Page by page: a linker may leave a hole between two segments, which msync() refuses with ENOMEM. */
static bool peer_sees_the_same(void)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    for (uint64_t at = 0; at < moved.length_bytes; at += page_bytes) {
        if (msync(moved.base + at, page_bytes, MS_ASYNC) != 0) continue;
        if (!is_equal(moved.base + at, peer_view + at, page_bytes)) return false;
    }
    return true;
}

static void peer_sees_all_of_it(void **state)
{
    (void)state;
    assert_true(peer_sees_the_same());
    initialised[2] = 333;
    zero[50 * PAGE_LONGS] = 55;
    *function_static() = 444;
    assert_int_equal(*long_at_peer(&initialised[2]), 333);
    assert_int_equal(*long_at_peer(&zero[50 * PAGE_LONGS]), 55);
    assert_int_equal(*long_at_peer(function_static()), 444);
    assert_true(peer_sees_the_same());
    initialised[2] = 33;
    zero[50 * PAGE_LONGS] = 0;
}

static void peer_writes_all_of_it(void **state)
{
    (void)state;
    *long_at_peer(&initialised[2]) = 3333;
    *long_at_peer(&zero[99 * PAGE_LONGS]) = 99;
    *long_at_peer(function_static()) = 4444;
    assert_int_equal(initialised[2], 3333);
    assert_int_equal(zero[99 * PAGE_LONGS], 99);
    assert_int_equal(*function_static(), 4444);
    initialised[2] = 33;
    zero[99 * PAGE_LONGS] = 0;
}

static void atomics_of_two_processes_exclude_one_another(void **state)
{
    (void)state;
    enum { N = 200000 };
    _Atomic long *remote = at_peer((const volatile void *)&counter);
    atomic_store_explicit(&counter, 0, memory_order_seq_cst);
    const pid_t peer = fork();
    for (int i = 0; i < N; i++) atomic_fetch_add_explicit(peer ? &counter : remote, 1, memory_order_seq_cst);
    if (peer == 0) _exit(0);
    assert_int_equal(waitpid(peer, NULL, 0), peer);
    assert_int_equal(atomic_load_explicit(&counter, memory_order_seq_cst), 2 * N);
}

static void relro_is_frozen_and_readable_by_peers(void **state)
{
    (void)state;
    if (moved.frozen_bytes == 0) return; /* -z norelro; CMakeLists.txt gives the expected number of the others */
    assert_in_range((uintptr_t)_DYNAMIC, (uintptr_t)moved.base, (uintptr_t)moved.base + moved.frozen_bytes - 1);
    assert_false((uintptr_t)initialised < (uintptr_t)moved.base + moved.frozen_bytes);
    assert_memory_equal(at_peer(_DYNAMIC), _DYNAMIC, sizeof _DYNAMIC[0]);
    if (is_inside(constants)) assert_memory_equal(at_peer(constants), constants, sizeof constants);
}

static void relro_is_as_this_variant_was_linked(void **state)
{
    (void)state;
#ifdef EXPECT_NO_RELRO
    assert_int_equal(moved.frozen_bytes, 0);
    assert_true(is_inside(_DYNAMIC));
#else
    assert_true(moved.frozen_bytes > 0);
#endif
}

/* Each of these is called here for the first time: with lazy binding, its address is written to moved memory now. */
static void first_calls_of_library_functions(void **state)
{
    (void)state;
    const imaxdiv_t result = imaxdiv(17, 5);
    assert_int_equal(result.quot, 3);
    char text[] = "c,b,a", *rest = text;
    assert_string_equal(strsep(&rest, ","), "c");
    assert_int_equal(strverscmp("a2", "a10") < 0, 1);
}

/* Copies of these variables lie in a position dependent executable's bss, and the C library uses them there. */
static void copy_relocated_variables(void **state)
{
    (void)state;
    assert_int_equal(setenv("IST_TEST_STATIC_DATA", "there", 1), 0);
    assert_string_equal(getenv("IST_TEST_STATIC_DATA"), "there");
    assert_non_null(environ);
    FILE *const original = stdout;
    char *text = NULL;
    size_t n_bytes = 0;
    stdout = open_memstream(&text, &n_bytes);
    printf("to %s", "memory");
    fclose(stdout);
    stdout = original;
    assert_string_equal(text, "to memory");
    free(text);
    fprintf(stdout, "stdout works\n");
}

static void break_heap_behind_bss_grows(void **state)
{
    (void)state;
    enum { N = 3 << 20 };
    char *start = sbrk(N);
    if (start == (char *)-1) skip(); /* something else lies behind it, as under valgrind */
    memset(start, 0x5a, N);
    assert_true(start >= moved.base + moved.length_bytes || start + N <= moved.base);
    for (int i = 0; i < N; i++) assert_int_equal(start[i], 0x5a);
    move_back(state);
    for (int i = 0; i < N; i++) assert_int_equal(start[i], 0x5a);
    assert_int_equal(move_there(state), 0);
}

static void last_values_stay_after_fini(void **state)
{
    (void)state;
    volatile long *const remote_data = long_at_peer(&initialised[0]), *const remote_bss = long_at_peer(&zero[4000]);
    initialised[1] = 222;
    *remote_data = 111;
    *remote_bss = 4000;
    ist_static_data_fini(&moved);
    assert_null(moved.base);
    assert_int_equal(initialised[0], 111);
    assert_int_equal(initialised[1], 222);
    assert_int_equal(zero[4000], 4000);
    *remote_data = *remote_bss = -1; /* a late write of a peer reaches no data */
    assert_int_equal(initialised[0], 111);
    assert_int_equal(zero[4000], 4000);
    initialised[0] = 11;
    initialised[1] = 22;
    zero[4000] = 0;
    assert_int_equal(*remote_data, -1);
}

/* Without stdio: a sanitizer's allocator would map memory for its buffers, and count as a leak. */
static int count_maps_with(const char *part)
{
    char text[256 << 10] = "";
    const int fd = open("/proc/self/maps", O_RDONLY);
    assert_true(fd >= 0);
    for (ssize_t n = 1, n_bytes = 0; n > 0; n_bytes += n)
        n = read(fd, text + n_bytes, sizeof text - 1 - (size_t)n_bytes);
    close(fd);
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) count++;
    return count;
}

static long address_space_pages(void)
{
    char text[128] = "";
    const int fd = open("/proc/self/statm", O_RDONLY);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtol(text, NULL, 10);
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void twenty_cycles_leave_nothing_behind(void **state)
{
    int n_maps = 0, n_descriptors = 0;
    long n_pages = 0;
    for (int cycle = 0; cycle < 20; cycle++) {
        move_back(state);
        if (cycle == 1) n_maps = count_maps_with("\n");
        if (cycle == 1) n_descriptors = count_descriptors();
        if (cycle == 1) n_pages = address_space_pages();
        assert_int_equal(count_maps_with("isthmus-static"), 0);
        assert_int_equal(move_there(state), 0);
    }
    move_back(state);
    assert_int_equal(count_maps_with("\n"), n_maps);
    assert_int_equal(count_descriptors(), n_descriptors);
    assert_int_equal(address_space_pages(), n_pages);
    assert_int_equal(move_there(state), 0);
}

#define MOVED_TEST(name) cmocka_unit_test_setup_teardown(name, move_there, move_back)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOVED_TEST(covers_data_and_bss_and_nothing_else),
        MOVED_TEST(values_and_addresses_are_as_before),
        MOVED_TEST(peer_sees_all_of_it),
        MOVED_TEST(peer_writes_all_of_it),
        MOVED_TEST(atomics_of_two_processes_exclude_one_another),
        MOVED_TEST(relro_is_frozen_and_readable_by_peers),
        MOVED_TEST(relro_is_as_this_variant_was_linked),
        MOVED_TEST(first_calls_of_library_functions),
        MOVED_TEST(copy_relocated_variables),
        MOVED_TEST(break_heap_behind_bss_grows),
        MOVED_TEST(last_values_stay_after_fini),
        MOVED_TEST(twenty_cycles_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
