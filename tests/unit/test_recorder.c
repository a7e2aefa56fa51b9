/* tests/unit/test_recorder.c: core/base/recorder.c without a job: what levels record, and what is in the file while the
 * profile is on. */
#include "core/base/recorder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_RECORDS = 64, N_EVENTS = 2 };

static char file[] = "/tmp/isthmus_recorder.XXXXXX";

static int open_part(void **state)
{
    (void)state;
    int fd = mkstemp(file);
    if (fd < 0) return -1;
    close(fd);
    return 0;
}

static int remove_part(void **state)
{
    (void)state;
    return unlink(file);
}

static void call(const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
}

/* The file as another process sees it. */
static void read_file(struct ist_profile_record out[N_RECORDS])
{
    memset(out, 0, N_RECORDS * sizeof *out);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, out, N_RECORDS * sizeof *out) > 0);
    close(fd);
}

static uint64_t n_calls(void)
{
    struct ist_profile_record records[N_RECORDS];
    uint64_t n = 0;
    read_file(records);
    for (int i = 0; i < N_RECORDS; i++)
        if (records[i].kind == IST_PROFILE_ROUTINE) n += records[i].calls.n;
    return n;
}

static void start(void)
{
    const struct ist_profile_settings settings = {
        .file = file, .pe = 3, .n_pes = 4, .job = 77, .n_events_most = N_EVENTS};
    assert_int_equal(ist_profile_open(&settings), ISTHMUS_OK);
    ist_profile_start();
}

static void level_0_records_nothing(void **state)
{
    (void)state;
    start();
    call("first");
    ist_profile_set_level(0);
    call("first");
    ist_profile_set_level(-1); /* no level */
    call("first");
    assert_int_equal(n_calls(), 1);
    ist_profile_set_level(1);
    call("first");
    ist_profile_set_level(9);
    call("second");
    assert_int_equal(n_calls(), 3);
    ist_profile_close(true);
}

static void a_call_that_level_0_interrupts_is_left_out(void **state)
{
    (void)state;
    start();
    const struct ist_profile_call outer = ist_profile_begin("outer");
    ist_profile_set_level(0);
    call("inner");
    ist_profile_end(&outer);
    ist_profile_set_level(1);
    call("outer");
    assert_int_equal(n_calls(), 1);
    ist_profile_close(true);
}

static void the_level_is_set_before_init_and_outlasts_finalize(void **state)
{
    (void)state;
    size_t n;
    ist_profile_set_level(0);
    start();
    call("first");
    const struct ist_profile_record *records = ist_profile_stop(&n);
    assert_int_equal(records[0].head.wall_ns, 0); /* of what was recorded: nothing */
    ist_profile_set_level(2);
    call("first");
    assert_int_equal(n_calls(), 0);
    ist_profile_close(true);
    start();
    call("first");
    assert_int_equal(n_calls(), 1);
    records = ist_profile_stop(&n);
    assert_true(records[0].head.wall_ns > 0);
    ist_profile_close(true);
}

static void a_flush_completes_the_head(void **state)
{
    (void)state;
    struct ist_profile_record records[N_RECORDS];
    start();
    for (int i = 0; i < N_EVENTS + 5; i++) call("first");
    read_file(records);
    assert_int_equal(records[0].head.n_events_left_out, 0);
    ist_profile_set_level(2);
    read_file(records);
    assert_int_equal(records[0].head.n_events_left_out, 5);
    assert_int_equal(records[0].head.job, 77);
    assert_int_equal(records[0].head.n_records, 0); /* that would be the end */
    ist_profile_close(true);
}

static void a_call_that_is_passed_on_leaves_its_bytes(void **state)
{
    (void)state;
    struct ist_profile_record records[N_RECORDS];
    const struct ist_profile_moved moved = {.pe = 1, .what = IST_PROFILE_PUT};
    start();
    const struct ist_profile_call passed = ist_profile_begin("put");
    ist_profile_count(&moved, 100);
    ist_profile_pass_on(&passed);
    const struct ist_profile_call made = ist_profile_begin("put");
    ist_profile_count(&moved, 11);
    ist_profile_end(&made);
    read_file(records);
    assert_int_equal(n_calls(), 1);
    for (int i = 0; i < N_RECORDS; i++)
        if (records[i].kind == IST_PROFILE_ROUTINE) assert_int_equal(records[i].calls.bytes, 111);
    ist_profile_close(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_0_records_nothing),
        cmocka_unit_test(a_call_that_level_0_interrupts_is_left_out),
        cmocka_unit_test(the_level_is_set_before_init_and_outlasts_finalize),
        cmocka_unit_test(a_flush_completes_the_head),
        cmocka_unit_test(a_call_that_is_passed_on_leaves_its_bytes),
    };
    return cmocka_run_group_tests(tests, open_part, remove_part);
}
