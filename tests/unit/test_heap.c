/* tests/unit/test_heap.c: peers that have the heap's descriptor can write its pages, and nothing else: whoever made it shorter would
 * kill all that have it mapped. What is allocated in it: test_alloc.c. */
#include "core/heap/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void length_of_the_heap_is_sealed(void **state)
{
    (void)state;
    struct ist_config config = {.heap_size_bytes = 1 << 20};
    struct stat before, after;
    if (ist_heap_init(&config, 1, ISTHMUS_MEM_HOST) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
    assert_int_equal(fstat(ist_heap.fd, &before), 0);
    assert_true(before.st_size >= 1 << 20);
    errno = 0;
    assert_int_equal(ftruncate(ist_heap.fd, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(ist_heap.fd, 2 * before.st_size), -1);
    assert_int_equal(fstat(ist_heap.fd, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(fcntl(ist_heap.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ist_heap_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(length_of_the_heap_is_sealed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
