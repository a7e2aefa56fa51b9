/* tests/static_data/test_huge_bss.c: gibibytes of untouched bss cost no memory and next to no time: at init,
 * at fork, at fini. Time is printed; the test asserts its causes, page faults and pages. */
#include "core/heap/static_data.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HUGE_BYTES ((uint64_t)HUGE_GIB << 30)
static volatile char huge[HUGE_BYTES];

enum { MAX_FAULTS = 4000, MAX_RESIDENT_KIB = 16 << 10, MAX_DESCRIPTOR_KIB = 4 << 10 };

struct usage {
    long n_faults, resident_kib;
    struct timespec time;
};

static struct usage usage_now(void)
{
    struct rusage own;
    struct usage usage = {0};
    long n_pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(file, "%*d %ld", &n_pages), 1);
    fclose(file);
    usage.resident_kib = n_pages * (sysconf(_SC_PAGESIZE) / 1024);
    getrusage(RUSAGE_SELF, &own);
    usage.n_faults = own.ru_minflt;
    clock_gettime(CLOCK_MONOTONIC, &usage.time);
    return usage;
}

static void assert_cheap(const char *what, struct usage before)
{
    const struct usage after = usage_now();
    const long us = (after.time.tv_sec - before.time.tv_sec) * 1000000 +
                    (after.time.tv_nsec - before.time.tv_nsec) / 1000;
    print_message("%s: %ld us, %ld page faults, %ld KiB more resident\n", what, us, after.n_faults - before.n_faults,
                  after.resident_kib - before.resident_kib);
    assert_true(after.n_faults - before.n_faults < MAX_FAULTS);
    assert_true(after.resident_kib - before.resident_kib < MAX_RESIDENT_KIB);
}

static void untouched_pages_cost_nothing(void **state)
{
    (void)state;
    struct ist_static_data moved = {0};
    struct stat file;
    const uint64_t touched[] = {0, 12345, HUGE_BYTES / 2, HUGE_BYTES / 4 * 3};
    for (size_t i = 0; i < 4; i++) huge[touched[i]] = (char)(i + 1);

    struct usage before = usage_now();
    assert_int_equal(ist_static_data_init(&moved, NULL), ISTHMUS_OK);
    assert_cheap("init", before);
    assert_true(moved.length_bytes > HUGE_BYTES);
    assert_int_equal(fstat(moved.fd, &file), 0);
    print_message("the descriptor holds %lld KiB\n", (long long)file.st_blocks / 2);
    assert_true(file.st_blocks / 2 < MAX_DESCRIPTOR_KIB);
    for (size_t i = 0; i < 4; i++) assert_int_equal(huge[touched[i]], i + 1);

    before = usage_now();
    const pid_t child = fork();
    if (child == 0) {
        int n_wrong = 0;
        for (size_t i = 0; i < 4; i++) n_wrong += huge[touched[i]] != (char)(i + 1);
        huge[0] = 9;
        _exit(n_wrong);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_cheap("fork", before);

    before = usage_now();
    ist_static_data_fini(&moved);
    assert_cheap("fini", before);
    for (size_t i = 0; i < 4; i++) assert_int_equal(huge[touched[i]], i + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched_pages_cost_nothing),
        cmocka_unit_test(untouched_pages_cost_nothing), /* private again after a fini, it is as before */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
