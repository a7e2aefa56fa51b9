/* tests/unit/test_heap.c: no page of the heap is replaced while a block is cleared, and peers that have the heap's
 * descriptor can write its pages, and nothing else: a peer that made it shorter would kill every process that has it
 * mapped. What is allocated in it: test_alloc.c. */
#include "core/heap/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

enum { INTERNAL_BYTES = 1 << 20 }; /* of the area before the program's part */

static void length_of_the_heap_is_sealed(void **state)
{
    (void)state;
    struct ist_config config = {.heap_size_bytes = 1 << 20};
    struct stat before, after;
    if (ist_heap_init(&config, INTERNAL_BYTES, 1, ISTHMUS_MEM_HOST) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
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

/* The message names the setting that acts on memory of the host, and the limit. */
static void a_limit_of_addresses_is_named(void **state)
{
    (void)state;
    struct ist_config config = {.heap_size_bytes = (uint64_t)64 << 30};
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    low = before;
    low.rlim_cur = (rlim_t)16 << 30;
    if (low.rlim_cur > low.rlim_max) skip();
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    isthmus_status status = ist_heap_init(&config, INTERNAL_BYTES, 1, ISTHMUS_MEM_HOST);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, ISTHMUS_ERR_NO_MEMORY);
    assert_non_null(strstr(ist_fail_text(), "(ISTHMUS_HEAP_SIZE)"));
    assert_non_null(strstr(ist_fail_text(), "17179869184 bytes of them (ulimit -v)"));
}

/* ---- limits, and a size that nobody has asked for ---- */

static struct rlimit set_limit(int resource, rlim_t bytes)
{
    struct rlimit before, low;
    assert_int_equal(getrlimit((unsigned)resource, &before), 0);
    low = before;
    low.rlim_cur = bytes;
    if (bytes > low.rlim_max) skip();
    assert_int_equal(setrlimit((unsigned)resource, &low), 0);
    return before;
}

static rlim_t bytes_in_use(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Where there are no addresses for the usual size, the heap is smaller. */
static void few_addresses_make_it_smaller(void **state)
{
    enum { ROOM_BYTES = 512 << 20 };
    (void)state;
    const struct ist_config config = {.heap_size_bytes = 0};
    struct rlimit before = set_limit(RLIMIT_AS, bytes_in_use() + ROOM_BYTES);
    void *taken = mmap(NULL, ROOM_BYTES / 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    isthmus_status status = ist_heap_init(&config, INTERNAL_BYTES, 1, ISTHMUS_MEM_HOST);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(taken != MAP_FAILED && munmap(taken, ROOM_BYTES / 2) == 0);
    if (status != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
    assert_in_range(ist_heap.limit_bytes, 16 << 20, ROOM_BYTES / 2);
    ist_heap_fini();
}

/* As much as a file may have; a size that the user gives is refused instead, by a message with both. */
static void a_limit_of_files_makes_it_smaller(void **state)
{
    enum { FILE_BYTES = 12 << 20 };
    (void)state;
    struct ist_config config = {.heap_size_bytes = 0};
    struct rlimit before = set_limit(RLIMIT_FSIZE, FILE_BYTES);
    isthmus_status status = ist_heap_init(&config, INTERNAL_BYTES, 1, ISTHMUS_MEM_HOST);
    uint64_t limit_bytes = ist_heap.limit_bytes;
    ist_heap_fini();
    config.heap_size_bytes = FILE_BYTES;
    isthmus_status of_given = ist_heap_init(&config, INTERNAL_BYTES, 1, ISTHMUS_MEM_HOST);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, ISTHMUS_OK);
    assert_in_range(limit_bytes, FILE_BYTES / 2, FILE_BYTES);
    assert_int_equal(of_given, ISTHMUS_ERR_NO_MEMORY);
    assert_non_null(strstr(ist_fail_text(), "the file size limit of 12582912 bytes; raise 'ulimit -f' or lower"));
}

/* ---- clearing a block ---- */

enum { BLOCK_BYTES = 4 << 20 };

static char *open_block(void)
{
    struct ist_config config = {.heap_size_bytes = 16 << 20};
    if (ist_heap_init(&config, INTERNAL_BYTES, 1, ISTHMUS_MEM_HOST) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
    return ist_heap.user_base + (1 << 20);
}

/* A page in a pipe stands for one that an adapter has registered: its holder keeps that page, also when another is
 * mapped later. */
static void cleared_pages_stay_registered(void **state)
{
    (void)state;
    char *block = open_block(), *page = block + BLOCK_BYTES / 2, seen = '?';
    int pipe_fds[2];
    struct iovec registered = {.iov_base = page, .iov_len = 1};
    memset(block, 'O', BLOCK_BYTES);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(vmsplice(pipe_fds[1], &registered, 1, 0), 1);
    assert_int_equal(ist_heap_zero(block, BLOCK_BYTES), ISTHMUS_OK);
    for (size_t i = 0; i < BLOCK_BYTES; i++) assert_int_equal(block[i], 0);
    *page = 'N';
    assert_int_equal(read(pipe_fds[0], &seen, 1), 1);
    assert_int_equal(seen, 'N');
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    ist_heap_fini();
}

static int64_t used_blocks(void)
{
    struct stat heap;
    assert_int_equal(fstat(ist_heap.fd, &heap), 0);
    return (int64_t)heap.st_blocks;
}

static void pages_never_written_are_not_taken(void **state)
{
    (void)state;
    char *block = open_block();
    memset(block + BLOCK_BYTES / 2 - 1, 'O', 2); /* two pages */
    int64_t before = used_blocks();
    assert_true(before > 0);
    assert_int_equal(ist_heap_zero(block + 1, BLOCK_BYTES - 1), ISTHMUS_OK);
    assert_int_equal(used_blocks(), before);
    for (size_t i = 0; i < BLOCK_BYTES; i++) assert_int_equal(block[i], 0);
    ist_heap_fini();
}

static void only_the_block_is_cleared(void **state)
{
    (void)state;
    char *block = open_block();
    memset(block - 1, 'O', BLOCK_BYTES + 2);
    assert_int_equal(ist_heap_zero(block, BLOCK_BYTES), ISTHMUS_OK);
    for (size_t i = 0; i < BLOCK_BYTES; i++) assert_int_equal(block[i], 0);
    assert_int_equal(block[-1], 'O');
    assert_int_equal(block[BLOCK_BYTES], 'O');
    ist_heap_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(length_of_the_heap_is_sealed),      cmocka_unit_test(a_limit_of_addresses_is_named),
        cmocka_unit_test(cleared_pages_stay_registered),     cmocka_unit_test(pages_never_written_are_not_taken),
        cmocka_unit_test(only_the_block_is_cleared),         cmocka_unit_test(few_addresses_make_it_smaller),
        cmocka_unit_test(a_limit_of_files_makes_it_smaller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
