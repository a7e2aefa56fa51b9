/* tests/static_data/test_left_out.c: pages of static data that the program itself has protected or mapped anew stay as
 * they are, there and back and in a child of fork(); the pages around them move. */
#include "core/heap/static_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, N_PAGES = 64, FIRST = 9 };

static _Alignas(PAGE) char bss[N_PAGES][PAGE];
static _Alignas(PAGE) char data[N_PAGES][PAGE] = {{1}};
static struct ist_static_data moved;
static char *page; /* the first of two of the program's own, in one of the arrays */

/* ---- what lies there ---- */

struct sight {
    char access[8], file[64];
};

static struct sight look(const char *at)
{
    struct sight sight = {"none", ""};
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        struct sight seen = {"", ""};
        uintptr_t start, end;
        if (sscanf(line, "%lx-%lx %7s %*x %*s %*u %63s", &start, &end, seen.access, seen.file) >= 3 &&
            (uintptr_t)at >= start && (uintptr_t)at < end)
            sight = seen;
    }
    if (maps != NULL) fclose(maps);
    return sight;
}

static bool is_moved(const char *at) { return strstr(look(at).file, "isthmus-static") != NULL; }

static void assert_same(const struct sight *seen, const struct sight *expected)
{
    assert_string_equal(seen->access, expected->access);
    assert_string_equal(seen->file, expected->file);
}

/* ---- what a program does to its pages ---- */

static void change_protection(int prot) { assert_int_equal(mprotect(page, 2 * PAGE, prot), 0); }
static void guard(void) { change_protection(PROT_NONE); }
static void read_only(void) { change_protection(PROT_READ); }
static void unmap(void) { assert_int_equal(munmap(page, 2 * PAGE), 0); }

static void map(int flags, int fd)
{
    assert_ptr_equal(mmap(page, 2 * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0), page);
    memcpy(page, "own", 4);
}

static void map_file(int flags)
{
    const int fd = memfd_create("program", 0);
    assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
    map(flags, fd);
    close(fd);
}
static void shared_file(void) { map_file(MAP_SHARED); }
static void private_file(void) { map_file(MAP_PRIVATE); }
static void shared_memory(void) { map(MAP_SHARED | MAP_ANONYMOUS, -1); }

static void (*const deeds[])(void) = {guard, read_only, unmap, shared_file, private_file, shared_memory};
enum { N_DEEDS = sizeof deeds / sizeof *deeds };

static void there(void)
{
    if (ist_static_data_init(&moved, NULL) == ISTHMUS_OK) return;
    print_error("%s\n", ist_fail_text());
    fail();
}

/* In a child: pages stay as they are done to. `before`: done before the first move, else between it and the rest. */
static void check(void (*deed)(void), bool before)
{
    bss[FIRST - 1][0] = bss[FIRST + 2][0] = 7;
    if (before) deed();
    const struct sight done = look(page);
    there();
    if (!before) deed();
    const struct sight kept = look(page);
    if (before) assert_same(&kept, &done);
    assert_true(is_moved(page - 1) && is_moved(page + 2 * PAGE) && is_moved((char *)&moved));
    ist_static_data_fini(&moved);
    assert_true(!is_moved(page - 1));
    struct sight after = look(page);
    if (!before && strstr(kept.file, "isthmus-static") != NULL) { /* protected only: the pages go back */
        assert_memory_equal(after.access, kept.access, 3);
        return;
    }
    assert_same(&after, &kept);
    there();
    after = look(page);
    assert_same(&after, &kept);
    if (deed == shared_file || deed == private_file || deed == shared_memory) assert_string_equal(page, "own");
    ist_static_data_fini(&moved);
    after = look(page);
    assert_same(&after, &kept);
    assert_int_equal(bss[FIRST - 1][0], 7);
    assert_int_equal(bss[FIRST + 2][0], 7);
}

static void in_child(void (*deed)(void), bool before)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        check(deed, before);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void pages_stay_that_were_changed(bool before)
{
    for (int i = 0; i < N_DEEDS; i++) {
        page = bss[FIRST];
        in_child(deeds[i], before);
        page = data[FIRST];
        in_child(deeds[i], before);
    }
}

static void pages_changed_before_stay(void **state)
{
    (void)state;
    pages_stay_that_were_changed(true);
}

static void pages_changed_between_stay(void **state)
{
    (void)state;
    pages_stay_that_were_changed(false);
}

static void child_of_fork_has_them(void **state)
{
    (void)state;
    for (int i = 0; i < N_DEEDS; i++) {
        page = bss[FIRST];
        const pid_t worker = fork();
        int status = 1;
        if (worker == 0) {
            there();
            bss[FIRST - 1][5] = 6;
            deeds[i]();
            const struct sight done = look(page);
            const pid_t child = fork();
            if (child == 0) {
                const struct sight seen = look(page);
                const bool is_same = memcmp(seen.access, done.access, 3) == 0 && bss[FIRST - 1][5] == 6;
                _exit(is_same && !is_moved(page) && !is_moved(bss[FIRST - 1]) ? 0 : 1);
            }
            _exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 2);
        }
        assert_int_equal(waitpid(worker, &status, 0), worker);
        assert_int_equal(status, 0);
    }
}

static void too_many_pieces_are_an_error(void **state)
{
    (void)state;
    static _Alignas(PAGE) char stacks[600][2][PAGE];
    for (int i = 0; i < 600; i++) assert_int_equal(mprotect(stacks[i][0], PAGE, PROT_NONE), 0);
    assert_int_equal(ist_static_data_init(&moved, NULL), ISTHMUS_ERR_UNSUPPORTED);
    assert_non_null(strstr(ist_fail_text(), "in more than 512 pieces"));
    for (int i = 200; i < 600; i++) assert_int_equal(mprotect(stacks[i][0], PAGE, PROT_READ | PROT_WRITE), 0);
    there();
    for (int i = 0; i < 200; i++) {
        assert_string_equal(look(stacks[i][0]).access, "---p");
        assert_true(is_moved(stacks[i][1]));
    }
    ist_static_data_fini(&moved);
    for (int i = 0; i < 200; i++) {
        assert_string_equal(look(stacks[i][0]).access, "---p");
        assert_int_equal(mprotect(stacks[i][0], PAGE, PROT_READ | PROT_WRITE), 0); /* a search for leaks reads all */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_changed_before_stay),
        cmocka_unit_test(pages_changed_between_stay),
        cmocka_unit_test(child_of_fork_has_them),
        cmocka_unit_test(too_many_pieces_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
