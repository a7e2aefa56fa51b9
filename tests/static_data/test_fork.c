/* tests/static_data/test_fork.c: a child of fork() has its own copy of moved static data; the parent's stays shared.
 * Usage: test_fork [NAME]: one test or all. */
#include "core/heap/static_data.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE_LONGS = 512, BSS_LONGS = 2000 * PAGE_LONGS }; /* 8 MB */

static struct ist_static_data moved;
static char *peer_view;
static uint64_t peer_length_bytes;

static volatile long data = 1;
static volatile long bss[BSS_LONGS];

static volatile long *long_at_peer(const volatile long *object)
{
    return (volatile long *)(void *)(peer_view + ((const volatile char *)object - moved.base));
}

static int move_there(void **state)
{
    (void)state;
    data = 1;
    if (ist_static_data_init(&moved, NULL)) return -1;
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

/* --- a child reports what it found by its exit status: 0, or the number of the first expectation that failed --- */

static int exit_status_of(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void expect_in_child(bool holds, int number)
{
    if (!holds) _exit(number);
}

struct turns { /* two pipes: "your turn" */
    int to_child[2], to_parent[2];
};

static struct turns turns_create(void)
{
    struct turns turns;
    assert_int_equal(pipe(turns.to_child) | pipe(turns.to_parent), 0);
    return turns;
}

static void turns_destroy(const struct turns *turns)
{
    for (int i = 0; i < 2; i++) close(turns->to_child[i]), close(turns->to_parent[i]);
}

static bool turn_pass(const int *end) { return write(end[1], "", 1) == 1; }
static bool turn_wait(const int *end) { return read(end[0], &(char){0}, 1) == 1; }

/* Whether the process has the descriptor mapped where its static data is. */
static bool is_shared_mapping_left(void)
{
    char line[512];
    bool is_left = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        const uintptr_t start = strtoull(line, NULL, 16);
        const uintptr_t base = (uintptr_t)moved.base;
        is_left |= strstr(line, "isthmus-static") && strstr(line, "rw-s ") && start >= base &&
                   start < base + moved.length_bytes;
    }
    return maps == NULL || fclose(maps) || is_left;
}

/* --- tests --- */

static void child_is_private(void **state)
{
    (void)state;
    const struct turns turns = turns_create();
    assert_true(is_shared_mapping_left());
    const pid_t child = fork();
    if (child == 0) {
        expect_in_child(!is_shared_mapping_left(), 1);
        expect_in_child(fcntl(moved.fd, F_GETFD) < 0 && errno == EBADF, 2);
        data = 2;
        bss[1000 * PAGE_LONGS] = 2;
        expect_in_child(turn_pass(turns.to_parent) && turn_wait(turns.to_child), 3);
        expect_in_child(data == 2 && bss[1000 * PAGE_LONGS] == 2 && bss[2000] == 0 && bss[3000] == 0, 4);
        _exit(0);
    }
    assert_true(turn_wait(turns.to_parent));
    assert_int_equal(data, 1);
    assert_int_equal(bss[1000 * PAGE_LONGS], 0);
    data = 3;
    bss[2000] = 3;
    *long_at_peer(&bss[3000]) = 3;
    assert_true(turn_pass(turns.to_child));
    assert_int_equal(exit_status_of(child), 0);
    assert_int_equal(data, 3);
    turns_destroy(&turns);
    bss[2000] = bss[3000] = 0;
}

static void child_has_the_values_of_the_fork(void **state)
{
    (void)state;
    for (long i = 0; i < BSS_LONGS; i++) bss[i] = i % 7000 < 3500 ? i : 0; /* pages with, without, and partly */
    *long_at_peer(&data) = 5;
    const pid_t child = fork();
    if (child == 0) {
        for (long i = 0; i < BSS_LONGS; i++) expect_in_child(bss[i] == (i % 7000 < 3500 ? i : 0), 1);
        expect_in_child(data == 5, 2);
        char *text = strdup("an ordinary process"); /* libraries work, stdio buffers included */
        printf("a child is %s\n", text);
        free(text);
        fflush(stdout);
        _exit(0);
    }
    assert_int_equal(exit_status_of(child), 0);
    for (long i = 0; i < BSS_LONGS; i++) bss[i] = 0;
}

/* Without stdio, which allocates and frees buffers. */
static uint64_t address_space_bytes(void)
{
    char text[128] = "";
    const int fd = open("/proc/self/statm", O_RDONLY);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void parent_goes_on_sharing(void **state)
{
    (void)state;
    uint64_t before_bytes = 0;
    for (long i = 0; i < 20; i++) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        assert_int_equal(exit_status_of(child), 0);
        data = i;
        assert_int_equal(*long_at_peer(&data), i);
        *long_at_peer(&bss[i]) = i;
        assert_int_equal(bss[i], i);
        if (i == 0) before_bytes = address_space_bytes();
    }
    assert_int_equal(address_space_bytes(), before_bytes); /* the snapshots are freed */
    assert_true(is_shared_mapping_left());
}

static void grandchild_is_private(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        data = 2;
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            expect_in_child(data == 2, 1);
            data = 3;
            _exit(0);
        }
        expect_in_child(exit_status_of(grandchild) == 0 && data == 2, 2);
        ist_static_data_fini(&moved); /* no effect on the parent's data, nor on a descriptor that was reused */
        expect_in_child(data == 2 && moved.base == NULL, 3);
        _exit(0);
    }
    assert_int_equal(exit_status_of(child), 0);
    assert_int_equal(data, 1);
}

static _Atomic long counter;
static _Atomic bool is_stopping;

static void *count(void *total)
{
    while (!atomic_load_explicit(&is_stopping, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
        ++*(long *)total;
    }
    return NULL;
}

static void threads_of_the_parent_lose_no_update(void **state)
{
    (void)state;
    enum { N = 3 };
    pthread_t threads[N];
    long totals[N] = {0};
    atomic_store_explicit(&is_stopping, false, memory_order_relaxed);
    atomic_store_explicit(&counter, 0, memory_order_relaxed);
    for (int i = 0; i < N; i++) assert_int_equal(pthread_create(&threads[i], NULL, count, &totals[i]), 0);
    for (int i = 0; i < 40; i++) {
        const pid_t child = fork();
        if (child == 0) {
            for (int j = 0; j < 1000; j++) atomic_fetch_add_explicit(&counter, 1000000, memory_order_relaxed);
            _exit(0);
        }
        assert_int_equal(exit_status_of(child), 0);
    }
    atomic_store_explicit(&is_stopping, true, memory_order_relaxed);
    for (int i = 0; i < N; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load_explicit(&counter, memory_order_relaxed), totals[0] + totals[1] + totals[2]);
}

/* Handlers of the program, registered before any init: in the parent the data is shared as usual, in the child it is
 * private. */
static volatile long prepared, handled_in_child;
static volatile bool has_handlers;
static void program_prepares(void) { prepared = data; }
static void program_handles_child(void)
{
    if (!has_handlers) return;
    handled_in_child = prepared + 1;
    data = 77;
}

static void programs_own_fork_handlers(void **state)
{
    (void)state;
    data = 41;
    has_handlers = true;
    const pid_t child = fork();
    has_handlers = false;
    if (child == 0) {
        expect_in_child(prepared == 41 && handled_in_child == 42 && data == 77, 1);
        _exit(0);
    }
    assert_int_equal(exit_status_of(child), 0);
    assert_int_equal(prepared, 41);
    assert_int_equal(handled_in_child, 0);
    assert_int_equal(data, 41);
}

static volatile long hook_calls[3];
static void hook_first(void) { hook_calls[0] = 10 + hook_calls[1]; }
static void hook_second(void) { hook_calls[1]++; }
static void hook_is_private(void) { hook_calls[2] += is_shared_mapping_left() ? 100 : 1; }

static void hooks_run_in_the_child_only(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) { /* registered again by each init of the runtime */
        ist_fork_on_child(hook_first);
        ist_fork_on_child(hook_second);
        ist_fork_on_child(hook_is_private);
    }
    const pid_t child = fork();
    if (child == 0) {
        expect_in_child(hook_calls[0] == 10, 1);
        expect_in_child(hook_calls[1] == 1, 2);
        expect_in_child(hook_calls[2] == 1, 3);
        _exit(0);
    }
    assert_int_equal(exit_status_of(child), 0);
    assert_true(hook_calls[0] == 0 && hook_calls[1] == 0 && hook_calls[2] == 0);
}

static volatile sig_atomic_t is_signal_due, n_signals;
static void on_signal(int number)
{
    (void)number;
    n_signals = n_signals + 1;
}
static void hook_raises(void)
{
    if (is_signal_due) raise(SIGUSR1);
    if (n_signals) _exit(99); /* it must wait for the end of the handlers */
}

static void signals_wait_until_the_child_is_private(void **state)
{
    (void)state;
    sigset_t before = {{0}}, after = {{0}}; /* the system fills in less than the type holds */
    ist_fork_on_child(hook_raises);
    is_signal_due = 1;
    n_signals = 0;
    signal(SIGUSR1, on_signal);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    const pid_t child = fork();
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    if (child == 0) {
        expect_in_child(n_signals == 1, 1);
        expect_in_child(memcmp(&before, &after, sizeof before) == 0, 2);
        _exit(0);
    }
    is_signal_due = 0;
    assert_int_equal(exit_status_of(child), 0);
    assert_int_equal(n_signals, 0);
    assert_memory_equal(&before, &after, sizeof before);
    signal(SIGUSR1, SIG_DFL);
}

static void system_popen_and_spawn_work(void **state)
{
    (void)state;
    char line[64] = "";
    assert_int_equal(system("exit 3") >> 8, 3);
    FILE *pipe_end = popen("echo from a shell", "r");
    assert_non_null(pipe_end);
    assert_non_null(fgets(line, sizeof line, pipe_end));
    assert_string_equal(line, "from a shell\n");
    assert_int_equal(pclose(pipe_end), 0);
    pid_t child;
    char *arguments[] = {(char *)"sh", (char *)"-c", (char *)"exit 4", NULL};
    assert_int_equal(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ), 0);
    assert_int_equal(exit_status_of(child), 4);
    child = fork();
    if (child == 0) {
        execvp("sh", arguments);
        _exit(1);
    }
    assert_int_equal(exit_status_of(child), 4);
    data = 8;
    assert_int_equal(*long_at_peer(&data), 8);
}

/* Enough for the stack and stdio, not for 8 MB of bss. */
static void child_ends_when_there_is_no_memory_for_its_copy(void **state)
{
    (void)state;
    int error_end[2];
    assert_int_equal(pipe(error_end), 0);
    const int original = dup(STDERR_FILENO);
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    low = old;
    low.rlim_cur = address_space_bytes() + (2 << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    dup2(error_end[1], STDERR_FILENO);
    const pid_t child = fork();
    if (child == 0) {
        data = 666;
        _exit(0);
    }
    const int status = exit_status_of(child);
    dup2(original, STDERR_FILENO);
    setrlimit(RLIMIT_AS, &old);
    close(original);
    close(error_end[1]);
    char text[512] = "";
    const ssize_t n_bytes = read(error_end[0], text, sizeof text - 1);
    close(error_end[0]);
    assert_int_equal(status, 127);
    assert_int_equal(data, 1);
    assert_true(n_bytes > 0);
    assert_non_null(strstr(text, "isthmus: fork: no memory"));
    assert_ptr_equal(strchr(text, '\n'), text + n_bytes - 1); /* one line */
    data = 9;
    assert_int_equal(*long_at_peer(&data), 9);
}

/* More than a fork copies: the child has all values of the fork while no process writes, what it writes is its own, and
 * what the parent had to copy is bounded. */
static volatile long large[(IST_STATIC_FORK_COPY_BYTES + (16 << 20)) / sizeof(long)];

static void a_large_program_copies_a_part(void **state)
{
    (void)state;
    enum { N = sizeof large / sizeof large[0] };
    struct rusage before, after;
    for (long i = 0; i < N; i += PAGE_LONGS) large[i] = i;
    data = 21;
    getrusage(RUSAGE_SELF, &before);
    const pid_t child = fork();
    if (child == 0) {
        for (long i = 0; i < N; i += PAGE_LONGS) expect_in_child(large[i] == i, 1);
        large[0] = large[N - PAGE_LONGS] = data = -1;
        expect_in_child(large[N - PAGE_LONGS] == -1, 2);
        expect_in_child(!is_shared_mapping_left(), 3);
        _exit(0);
    }
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(exit_status_of(child), 0);
    assert_in_range(after.ru_minflt - before.ru_minflt, 0, (IST_STATIC_FORK_COPY_BYTES + (4 << 20)) / 4096);
    assert_int_equal(large[0], 0);
    assert_int_equal(large[N - PAGE_LONGS], N - PAGE_LONGS);
    assert_int_equal(data, 21);
    large[N - PAGE_LONGS] = 5;
    assert_int_equal(*long_at_peer(&large[N - PAGE_LONGS]), 5);
}

static void without_moved_data_fork_is_as_ever(void **state)
{
    ist_static_data_fini(&moved);
    const pid_t child = fork();
    if (child == 0) {
        data = 2;
        _exit(0);
    }
    assert_int_equal(exit_status_of(child), 0);
    assert_int_equal(data, 1);
    munmap(peer_view, peer_length_bytes);
    assert_int_equal(move_there(state), 0);
}

#define MOVED_TEST(name) cmocka_unit_test_setup_teardown(name, move_there, move_back)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        MOVED_TEST(child_is_private),
        MOVED_TEST(child_has_the_values_of_the_fork),
        MOVED_TEST(parent_goes_on_sharing),
        MOVED_TEST(grandchild_is_private),
        MOVED_TEST(threads_of_the_parent_lose_no_update),
        MOVED_TEST(programs_own_fork_handlers),
        MOVED_TEST(hooks_run_in_the_child_only),
        MOVED_TEST(signals_wait_until_the_child_is_private),
        MOVED_TEST(system_popen_and_spawn_work),
        MOVED_TEST(child_ends_when_there_is_no_memory_for_its_copy),
        MOVED_TEST(a_large_program_copies_a_part),
        MOVED_TEST(without_moved_data_fork_is_as_ever),
    };
    pthread_atfork(program_prepares, NULL, program_handles_child);
    if (argc > 1) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) is_known |= strcmp(tests[i].name, argv[1]) == 0;
        if (!is_known) return 2; /* a filter that matches nothing would pass */
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
