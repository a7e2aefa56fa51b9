/* tests/unit/test_status.c: texts of failures and names of codes. */
#include "core/base/status.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void every_code_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(ist_status_name(ISTHMUS_OK), "OK");
    assert_string_equal(ist_status_name(ISTHMUS_ERR_NO_MEMORY), "NO_MEMORY");
    assert_string_equal(ist_status_name(ISTHMUS_ERR_VERSION), "VERSION");
    for (isthmus_status code = 0; code >= ISTHMUS_ERR_REFUSED; code--)
        assert_string_not_equal(ist_status_name(code), "?");
}

static void other_numbers_have_no_name(void **state)
{
    (void)state;
    assert_string_equal(ist_status_name(1), "?");
    assert_string_equal(ist_status_name(ISTHMUS_ERR_REFUSED - 1), "?");
    assert_string_equal(ist_status_name(INT32_MIN), "?");
}

static void fail_keeps_the_text_and_returns_the_code(void **state)
{
    (void)state;
    errno = ENOSPC;
    assert_int_equal(ist_fail(ISTHMUS_ERR_IO, "read of %d bytes", 7), ISTHMUS_ERR_IO);
    assert_string_equal(ist_fail_text(), "read of 7 bytes");
    assert_int_equal(errno, ENOSPC);
}

static void a_text_may_quote_the_one_before(void **state)
{
    (void)state;
    ist_fail(ISTHMUS_ERR_IO, "inner");
    ist_fail(ISTHMUS_ERR_IO, "outer: %s", ist_fail_text());
    assert_string_equal(ist_fail_text(), "outer: inner");
}

static void fail_errno_adds_the_reason(void **state)
{
    (void)state;
    errno = ENOENT;
    assert_int_equal(ist_fail_errno(ISTHMUS_ERR_NO_DEVICE, "open %s", "/dev/x"), ISTHMUS_ERR_NO_DEVICE);
    assert_string_equal(ist_fail_text(), "open /dev/x: No such file or directory");
    assert_int_equal(errno, ENOENT);
}

static void fail_memory_names_the_purpose_and_the_remedy(void **state)
{
    (void)state;
    errno = ENOENT;
    assert_int_equal(ist_fail_memory("the routes to %d PEs", 3), ISTHMUS_ERR_NO_MEMORY);
    assert_string_equal(ist_fail_text(),
                        "no memory for the routes to 3 PEs; start fewer PEs on this host, or raise its memory limit");
    assert_int_equal(errno, ENOENT);
}

static void a_long_text_is_cut(void **state)
{
    (void)state;
    char longer[5000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    ist_fail(ISTHMUS_ERR_IO, "%s", longer);
    size_t length = strlen(ist_fail_text());
    assert_in_range(length, 100, sizeof longer - 2);
    assert_string_equal(ist_fail_text() + length - 4, "x...");

    for (size_t room = 1000; room < 1040; room++) { /* around the end of the buffer, where ": reason" begins */
        errno = ENOENT;
        ist_fail_errno(ISTHMUS_ERR_IO, "%.*s", (int)room, longer);
        assert_in_range(strlen(ist_fail_text()), 1000, 1023);
    }
}

static void *fail_in_a_thread(void *unused)
{
    (void)unused;
    const char *before = ist_fail_text();
    if (*before != '\0') return (void *)before;
    ist_fail(ISTHMUS_ERR_IO, "the thread's own");
    return NULL;
}

static void each_thread_has_its_own_text(void **state)
{
    (void)state;
    pthread_t thread;
    void *seen;
    ist_fail(ISTHMUS_ERR_IO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, fail_in_a_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, &seen), 0);
    assert_null(seen);
    assert_string_equal(ist_fail_text(), "mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_name),
        cmocka_unit_test(other_numbers_have_no_name),
        cmocka_unit_test(fail_keeps_the_text_and_returns_the_code),
        cmocka_unit_test(a_text_may_quote_the_one_before),
        cmocka_unit_test(fail_errno_adds_the_reason),
        cmocka_unit_test(fail_memory_names_the_purpose_and_the_remedy),
        cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(each_thread_has_its_own_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
