/* tests/static_data/test_failure.c: when the system refuses in the middle of a move, there or back, the program's
 * data is as it was. The linker puts the doubles below between static_data.c and the steps it is made of (--wrap). */
#include "core/heap/static_data_priv.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

isthmus_status __real_ist_static_image_find(const char *name, struct ist_static_image *out);
isthmus_status __wrap_ist_static_image_find(const char *name, struct ist_static_image *out);
isthmus_status __real_ist_static_copy_out(const struct ist_static_part *part, int fd, uint64_t fd_offset);
isthmus_status __wrap_ist_static_copy_out(const struct ist_static_part *part, int fd, uint64_t fd_offset);
isthmus_status __real_ist_static_map_shared(const struct ist_static_part *part, int fd, uint64_t fd_offset);
isthmus_status __wrap_ist_static_map_shared(const struct ist_static_part *part, int fd, uint64_t fd_offset);
struct ist_static_snapshot __real_ist_static_snapshot(const struct ist_static_part *part, int fd, uint64_t fd_offset,
                                                      uint64_t *budget_bytes);
struct ist_static_snapshot __wrap_ist_static_snapshot(const struct ist_static_part *part, int fd, uint64_t fd_offset,
                                                      uint64_t *budget_bytes);

enum { NEVER = 1000, BSS_LONGS = 64 * 512 };
static struct {
    int copies_left, maps_left, snapshots_left;
} allowed; /* calls that succeed before all others fail */

static volatile long data = 17;
static volatile long bss[BSS_LONGS];

/* The moved part in two halves: so that a failure can follow the move of the first. */
isthmus_status __wrap_ist_static_image_find(const char *name, struct ist_static_image *out)
{
    const isthmus_status status = __real_ist_static_image_find(name, out);
    assert_int_equal(status, ISTHMUS_OK);
    struct ist_static_part *last = &out->parts[out->n_parts - 1], *half = last + 1;
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t cut_bytes = last->length_bytes / 2 / page_bytes * page_bytes;
    assert_true(last->is_moved && cut_bytes > 0 && out->n_parts < IST_STATIC_PARTS_MAX);
    *half = *last;
    half->start += cut_bytes;
    half->length_bytes -= cut_bytes;
    half->file_bytes = last->file_bytes > cut_bytes ? last->file_bytes - cut_bytes : 0;
    last->length_bytes = cut_bytes;
    if (last->file_bytes > cut_bytes) last->file_bytes = cut_bytes;
    out->n_parts++;
    return status;
}

isthmus_status __wrap_ist_static_copy_out(const struct ist_static_part *part, int fd, uint64_t fd_offset)
{
    if (allowed.copies_left-- <= 0) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no more copies");
    return __real_ist_static_copy_out(part, fd, fd_offset);
}

isthmus_status __wrap_ist_static_map_shared(const struct ist_static_part *part, int fd, uint64_t fd_offset)
{
    if (allowed.maps_left <= 0) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no more maps");
    allowed.maps_left--;
    return __real_ist_static_map_shared(part, fd, fd_offset);
}

struct ist_static_snapshot __wrap_ist_static_snapshot(const struct ist_static_part *part, int fd, uint64_t fd_offset,
                                                      uint64_t *budget_bytes)
{
    const struct ist_static_snapshot none = {.pages = NULL};
    return allowed.snapshots_left-- > 0 ? __real_ist_static_snapshot(part, fd, fd_offset, budget_bytes) : none;
}

static void assert_private_and_intact(void)
{
    char line[512], permissions[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        assert_int_equal(sscanf(line, "%*s %7s", permissions), 1);
        if (strstr(line, "isthmus-static")) assert_int_equal(permissions[3], 'p'); /* not shared */
    }
    fclose(maps);
    assert_int_equal(data, 17);
    for (long i = 0; i < BSS_LONGS; i++) assert_int_equal(bss[i], i * i);
}

static int fill(void **state)
{
    (void)state;
    for (long i = 0; i < BSS_LONGS; i++) bss[i] = i * i;
    return 0;
}

static int lowest_free_descriptor(void)
{
    const int fd = dup(STDIN_FILENO);
    close(fd);
    return fd;
}

static void failed_move_leaves_private_data(void **state)
{
    (void)state;
    const int free_descriptor = lowest_free_descriptor();
    for (int n_good = 0;; n_good++) {
        struct ist_static_data moved = {0};
        allowed.copies_left = n_good / 2 + 1 + n_good % 2; /* frozen part first; then copy, map, copy, map */
        allowed.maps_left = n_good / 2;
        allowed.snapshots_left = NEVER;
        if (ist_static_data_init(&moved, NULL) == ISTHMUS_OK) {
            assert_true(n_good >= 3);
            allowed.snapshots_left = NEVER;
            ist_static_data_fini(&moved);
            return;
        }
        assert_null(moved.base);
        assert_private_and_intact();
        assert_int_equal(lowest_free_descriptor(), free_descriptor);
    }
}

static void way_back_without_memory_keeps_the_values(void **state)
{
    (void)state;
    for (int n_snapshots = 0; n_snapshots < 2; n_snapshots++) {
        struct ist_static_data moved = {0};
        allowed.copies_left = allowed.maps_left = NEVER;
        assert_int_equal(ist_static_data_init(&moved, NULL), ISTHMUS_OK);
        const uint64_t length_bytes = moved.length_bytes,
                       offset = (uint64_t)((const volatile char *)&data - moved.base);
        char *view = mmap(NULL, length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, moved.fd, 0);
        assert_true(view != MAP_FAILED);
        allowed.snapshots_left = n_snapshots;
        ist_static_data_fini(&moved);
        data = 18;
        assert_int_equal(*(volatile long *)(void *)(view + offset), 17); /* no peer sees it any more */
        data = 17;
        munmap(view, length_bytes);
        assert_private_and_intact();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(failed_move_leaves_private_data, fill),
        cmocka_unit_test_setup(way_back_without_memory_keeps_the_values, fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
