/* tests/unit/test_alloc.c: the allocator of a symmetric segment against a shadow model, and at its limits.
 * ISTHMUS_TEST_SEED=N repeats a random run; the seed of a run is printed. */
#include "core/heap/alloc_priv.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define ANY_ALIGN 1

static ist_alloc *make(uint64_t managed_bytes)
{
    ist_alloc *alloc = NULL;
    assert_int_equal(ist_alloc_create(managed_bytes, &alloc), ISTHMUS_OK);
    return alloc;
}

static void assert_sound(const ist_alloc *alloc)
{
    if (!ist_alloc_check(alloc)) fail_msg("%s", ist_fail_text());
}

static void assert_all_free(const ist_alloc *alloc)
{
    struct ist_alloc_stats stats;
    ist_alloc_stats(alloc, &stats);
    assert_int_equal(stats.live_blocks, 0);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.largest_free_bytes, stats.managed_bytes);
    assert_sound(alloc);
}

/* --- the shadow model: live blocks in address order, searched by brute force --- */

enum { SHADOW_ROOM = 2000 };
struct shadow_block {
    uint64_t offset, size_bytes;
};
struct shadow {
    uint64_t managed_bytes;
    size_t n;
    struct shadow_block blocks[SHADOW_ROOM];
};

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }
static uint64_t block_end(const struct shadow_block *b) { return b->offset + round_up(b->size_bytes, 64); }

static void shadow_insert(struct shadow *shadow, uint64_t offset, uint64_t size_bytes)
{
    size_t at = 0;
    while (at < shadow->n && shadow->blocks[at].offset < offset) at++;
    assert_true(at == 0 || block_end(&shadow->blocks[at - 1]) <= offset);
    const uint64_t end = round_up(offset + size_bytes, 64);
    assert_true(end <= (at < shadow->n ? shadow->blocks[at].offset : shadow->managed_bytes));
    memmove(&shadow->blocks[at + 1], &shadow->blocks[at], (shadow->n - at) * sizeof shadow->blocks[0]);
    shadow->blocks[at] = (struct shadow_block){offset, size_bytes};
    shadow->n++;
}

static void shadow_remove(struct shadow *shadow, size_t at)
{
    shadow->n--;
    memmove(&shadow->blocks[at], &shadow->blocks[at + 1], (shadow->n - at) * sizeof shadow->blocks[0]);
}

static bool shadow_fits(const struct shadow *shadow, uint64_t size_bytes, uint64_t align_bytes)
{
    uint64_t gap = 0;
    for (size_t i = 0; i <= shadow->n; i++) {
        const uint64_t end = i < shadow->n ? shadow->blocks[i].offset : shadow->managed_bytes;
        const uint64_t start = round_up(gap, align_bytes < 64 ? 64 : align_bytes);
        if (start <= end && end - start >= size_bytes) return true;
        if (i < shadow->n) gap = block_end(&shadow->blocks[i]);
    }
    return false;
}

/* --- random sequences --- */

static uint64_t random_next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Mostly small, sometimes large: the exponent is uniform. */
static uint64_t random_size(uint64_t *state, unsigned max_bits)
{
    const unsigned bits = (unsigned)(random_next(state) % max_bits);
    return 1 + (random_next(state) & ((UINT64_C(2) << bits) - 1));
}

static void step_take(ist_alloc *alloc, struct shadow *shadow, uint64_t *state)
{
    const uint64_t size_bytes = random_size(state, 18);
    const uint64_t align_bytes = random_next(state) % 4 ? 8 : UINT64_C(1) << random_next(state) % 20;
    const bool fits = shadow_fits(shadow, size_bytes, align_bytes);
    const uint64_t needed = ist_alloc_needed(alloc, size_bytes, align_bytes);
    const uint64_t room = ist_alloc_room(alloc, size_bytes, align_bytes);
    const uint64_t offset = shadow->n < SHADOW_ROOM ? ist_alloc_take(alloc, size_bytes, align_bytes) : IST_ALLOC_NONE;
    if (shadow->n == SHADOW_ROOM) return;
    assert_int_equal(offset != IST_ALLOC_NONE, fits);
    assert_int_equal(room, offset);
    if (!fits) {
        assert_true(needed > shadow->managed_bytes);
        return;
    }
    assert_int_equal(needed, shadow->managed_bytes);
    assert_int_equal(offset % align_bytes, 0);
    assert_int_equal(offset % 64, 0);
    shadow_insert(shadow, offset, size_bytes);
    assert_int_equal(ist_alloc_size(alloc, offset), size_bytes);
}

static void step_give(ist_alloc *alloc, struct shadow *shadow, uint64_t *state)
{
    if (shadow->n == 0) return;
    const size_t at = random_next(state) % shadow->n;
    assert_true(ist_alloc_give(alloc, shadow->blocks[at].offset));
    assert_false(ist_alloc_give(alloc, shadow->blocks[at].offset));
    shadow_remove(shadow, at);
}

static void step_resize(ist_alloc *alloc, struct shadow *shadow, uint64_t *state)
{
    if (shadow->n == 0) return;
    const size_t at = random_next(state) % shadow->n;
    const struct shadow_block old = shadow->blocks[at];
    const uint64_t size_bytes = random_size(state, 18);
    const uint64_t limit = at + 1 < shadow->n ? shadow->blocks[at + 1].offset : shadow->managed_bytes;
    const bool fits = size_bytes <= limit - old.offset;
    assert_int_equal(ist_alloc_can_resize(alloc, old.offset, size_bytes), fits);
    assert_int_equal(ist_alloc_resize(alloc, old.offset, size_bytes), fits);
    assert_int_equal(ist_alloc_size(alloc, old.offset), fits ? size_bytes : old.size_bytes);
    if (fits) shadow->blocks[at].size_bytes = size_bytes;
}

static void step_find(const ist_alloc *alloc, const struct shadow *shadow, uint64_t *state)
{
    const uint64_t offset = random_next(state) % (shadow->managed_bytes + 1);
    uint64_t start = 0, size_bytes = 0;
    const struct shadow_block *expected = NULL;
    for (size_t i = 0; i < shadow->n; i++) {
        const struct shadow_block *b = &shadow->blocks[i];
        if (offset >= b->offset && offset - b->offset < b->size_bytes) expected = b;
    }
    assert_int_equal(ist_alloc_find(alloc, offset, &start, &size_bytes), expected != NULL);
    if (!expected) return;
    assert_int_equal(start, expected->offset);
    assert_int_equal(size_bytes, expected->size_bytes);
}

static void step_grow(ist_alloc *alloc, struct shadow *shadow, uint64_t *state)
{
    if (shadow->managed_bytes >= 16 * MIB) return;
    shadow->managed_bytes += round_up(random_size(state, 16), 64);
    assert_int_equal(ist_alloc_grow(alloc, shadow->managed_bytes), ISTHMUS_OK);
}

static void random_run(uint64_t seed, int n_steps)
{
    static struct shadow shadow;
    shadow.n = 0;
    shadow.managed_bytes = 1 * MIB;
    ist_alloc *alloc = make(shadow.managed_bytes);
    uint64_t state = seed;
    for (int i = 0; i < n_steps; i++) {
        const uint64_t action = random_next(&state) % 100;
        if (action < 45)
            step_take(alloc, &shadow, &state);
        else if (action < 80)
            step_give(alloc, &shadow, &state);
        else if (action < 92)
            step_resize(alloc, &shadow, &state);
        else if (action < 98)
            step_find(alloc, &shadow, &state);
        else
            step_grow(alloc, &shadow, &state);
        assert_sound(alloc);
    }
    while (shadow.n) step_give(alloc, &shadow, &state);
    assert_all_free(alloc);
    ist_alloc_destroy(alloc);
}

static void agrees_with_a_shadow_model(void **unused)
{
    (void)unused;
    const char *given = getenv("ISTHMUS_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    print_message("ISTHMUS_TEST_SEED=%" PRIu64 "\n", seed);
    for (uint64_t run = 0; run < 8; run++) random_run(seed + run, 4000);
}

static void same_calls_give_same_offsets(void **unused)
{
    (void)unused;
    enum { N = 300 };
    uint64_t offsets[2][N];
    for (int pe = 0; pe < 2; pe++) {
        uint64_t state = 7;
        void *const disturbance = malloc(pe ? 12345 : 1); /* private memory lies elsewhere on the other PE */
        ist_alloc *alloc = make(1 * MIB);
        for (int i = 0; i < N; i++) {
            offsets[pe][i] = ist_alloc_take(alloc, random_size(&state, 14), UINT64_C(1) << random_next(&state) % 14);
            const uint64_t given = offsets[pe][random_next(&state) % (unsigned)(i + 1)];
            if (i % 3 == 0) ist_alloc_give(alloc, given);
        }
        ist_alloc_destroy(alloc);
        free(disturbance);
    }
    assert_memory_equal(offsets[0], offsets[1], sizeof offsets[0]);
}

/* --- limits --- */

static void whole_range_in_one_block(void **unused)
{
    (void)unused;
    const uint64_t sizes[] = {64, 64 * MIB, 64 * MIB - 64, 100 * MIB + 192, UINT64_C(1) << 48, UINT64_C(1) << 62};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ist_alloc *alloc = make(sizes[i]);
        assert_int_equal(ist_alloc_take(alloc, sizes[i] + 1, ANY_ALIGN), IST_ALLOC_NONE);
        assert_int_equal(ist_alloc_take(alloc, sizes[i], ANY_ALIGN), 0);
        assert_int_equal(ist_alloc_take(alloc, 1, ANY_ALIGN), IST_ALLOC_NONE);
        assert_sound(alloc);
        assert_true(ist_alloc_give(alloc, 0));
        assert_all_free(alloc);
        ist_alloc_destroy(alloc);
    }
}

static void exact_fit_behind_a_longer_block_is_found(void **unused)
{
    (void)unused;
    ist_alloc *alloc = make(4 * MIB);
    const uint64_t hole_bytes = 1 * MIB + 64; /* not the first size of its class: the good-fit search passes over it */
    const uint64_t hole = ist_alloc_take(alloc, hole_bytes, ANY_ALIGN);
    const uint64_t rest = ist_alloc_take(alloc, 3 * MIB - 64, ANY_ALIGN);
    assert_true(hole != IST_ALLOC_NONE && rest != IST_ALLOC_NONE);
    assert_true(ist_alloc_give(alloc, hole));
    assert_int_equal(ist_alloc_take(alloc, hole_bytes + 1, ANY_ALIGN), IST_ALLOC_NONE);
    assert_int_equal(ist_alloc_take(alloc, hole_bytes, ANY_ALIGN), hole);
    ist_alloc_destroy(alloc);
}

static void alignment_up_to_a_gibibyte(void **unused)
{
    (void)unused;
    ist_alloc *alloc = make(16 * GIB);
    assert_int_equal(ist_alloc_take(alloc, 1, ANY_ALIGN), 0); /* nothing is aligned by luck */
    uint64_t offsets[31];
    for (unsigned bit = 0; bit <= 30; bit++) {
        offsets[bit] = ist_alloc_take(alloc, 100, UINT64_C(1) << bit);
        assert_true(offsets[bit] != IST_ALLOC_NONE);
        assert_int_equal(offsets[bit] & ((UINT64_C(1) << bit) - 1), 0);
        assert_sound(alloc);
    }
    assert_int_equal(ist_alloc_take(alloc, 1, UINT64_C(1) << 63), IST_ALLOC_NONE);
    for (unsigned bit = 0; bit <= 30; bit++) assert_true(ist_alloc_give(alloc, offsets[bit]));
    assert_true(ist_alloc_give(alloc, 0));
    assert_all_free(alloc);
    assert_int_equal(ist_alloc_take(alloc, 16 * GIB, UINT64_C(1) << 63), 0); /* offset 0 suits any alignment */
    ist_alloc_destroy(alloc);
}

static void gap_before_an_aligned_block_is_used(void **unused)
{
    (void)unused;
    ist_alloc *alloc = make(2 * MIB);
    assert_int_equal(ist_alloc_take(alloc, 64, ANY_ALIGN), 0);
    assert_int_equal(ist_alloc_take(alloc, 1 * MIB, 1 * MIB), 1 * MIB);
    assert_int_equal(ist_alloc_take(alloc, 1 * MIB - 64, ANY_ALIGN), 64);
    ist_alloc_destroy(alloc);
}

static void refuses_what_is_no_request(void **unused)
{
    (void)unused;
    ist_alloc *alloc = make(1 * MIB);
    const uint64_t sizes[] = {0, 1 * MIB + 1, UINT64_C(1) << 62, (UINT64_C(1) << 62) + 1, UINT64_MAX - 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(ist_alloc_take(alloc, sizes[i], ANY_ALIGN), IST_ALLOC_NONE);
        assert_int_equal(ist_alloc_take(alloc, sizes[i], UINT64_C(1) << 63), IST_ALLOC_NONE);
    }
    const uint64_t aligns[] = {0, 3, 24, 96, UINT64_MAX};
    for (size_t i = 0; i < sizeof aligns / sizeof aligns[0]; i++)
        assert_int_equal(ist_alloc_take(alloc, 8, aligns[i]), IST_ALLOC_NONE);
    assert_false(ist_alloc_give(alloc, 0));
    assert_false(ist_alloc_give(alloc, IST_ALLOC_NONE));
    const uint64_t block = ist_alloc_take(alloc, 200, ANY_ALIGN);
    assert_false(ist_alloc_give(alloc, block + 1));
    assert_false(ist_alloc_give(alloc, block + 64));
    assert_false(ist_alloc_resize(alloc, block, 0));
    assert_false(ist_alloc_resize(alloc, block, UINT64_MAX));
    assert_false(ist_alloc_resize(alloc, block + 64, 8));
    assert_int_equal(ist_alloc_size(alloc, block), 200);
    assert_int_equal(ist_alloc_size(alloc, block + 64), 0);
    assert_true(ist_alloc_give(alloc, block));
    assert_all_free(alloc);
    ist_alloc_destroy(alloc);
    ist_alloc_destroy(NULL);
}

static void exhaustion_and_recovery(void **unused)
{
    (void)unused;
    enum { N = 4096 };
    static uint64_t offsets[N];
    ist_alloc *alloc = make(N * 64);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) assert_true((offsets[i] = ist_alloc_take(alloc, 64, ANY_ALIGN)) != IST_ALLOC_NONE);
        assert_int_equal(ist_alloc_take(alloc, 1, ANY_ALIGN), IST_ALLOC_NONE);
        assert_true(alloc->n_live >> alloc->bucket_bits <= 1); /* so many look-ups stay short */
        for (int i = 0; i < N; i += 2) assert_true(ist_alloc_give(alloc, offsets[i]));
        assert_int_equal(ist_alloc_take(alloc, 65, ANY_ALIGN), IST_ALLOC_NONE); /* half is free, in single granules */
        assert_sound(alloc);
        for (int i = 1; i < N; i += 2) assert_true(ist_alloc_give(alloc, offsets[i]));
        assert_all_free(alloc);
    }
    ist_alloc_destroy(alloc);
}

/* --- growth --- */

static void growth_joins_the_free_end(void **unused)
{
    (void)unused;
    ist_alloc *alloc = make(0);
    assert_int_equal(ist_alloc_take(alloc, 1, ANY_ALIGN), IST_ALLOC_NONE);
    assert_int_equal(ist_alloc_grow(alloc, 4 * KIB), ISTHMUS_OK);
    assert_int_equal(ist_alloc_grow(alloc, 8 * KIB), ISTHMUS_OK);
    assert_int_equal(ist_alloc_take(alloc, 8 * KIB, ANY_ALIGN), 0);
    assert_int_equal(ist_alloc_grow(alloc, 12 * KIB), ISTHMUS_OK);
    assert_int_equal(ist_alloc_take(alloc, 4 * KIB, ANY_ALIGN), 8 * KIB);
    assert_sound(alloc);
    assert_int_equal(ist_alloc_grow(alloc, 8 * KIB), ISTHMUS_ERR_INVALID);
    assert_int_equal(ist_alloc_grow(alloc, 16 * KIB + 1), ISTHMUS_ERR_INVALID);
    assert_int_equal(ist_alloc_grow(alloc, UINT64_MAX - 63), ISTHMUS_ERR_INVALID);
    ist_alloc_destroy(alloc);
}

static void needed_is_exact(void **unused)
{
    (void)unused;
    const uint64_t aligns[] = {8, 64, 4 * KIB, 1 * MIB};
    for (size_t i = 0; i < sizeof aligns / sizeof aligns[0]; i++) {
        for (int last_is_free = 0; last_is_free < 2; last_is_free++) {
            ist_alloc *alloc = make(128 * KIB);
            const uint64_t size_bytes = 1 * MIB + 100;
            assert_int_equal(ist_alloc_take(alloc, last_is_free ? 100 * KIB : 128 * KIB, ANY_ALIGN), 0);
            const uint64_t needed = ist_alloc_needed(alloc, size_bytes, aligns[i]);
            assert_int_equal(ist_alloc_grow(alloc, needed - 64), ISTHMUS_OK);
            assert_int_equal(ist_alloc_take(alloc, size_bytes, aligns[i]), IST_ALLOC_NONE);
            assert_int_equal(ist_alloc_grow(alloc, needed), ISTHMUS_OK);
            assert_int_equal(ist_alloc_needed(alloc, size_bytes, aligns[i]), needed);
            assert_true(ist_alloc_take(alloc, size_bytes, aligns[i]) != IST_ALLOC_NONE);
            assert_int_equal(ist_alloc_needed(alloc, UINT64_C(1) << 62, 8), UINT64_MAX);
            assert_int_equal(ist_alloc_needed(alloc, UINT64_MAX, 8), UINT64_MAX);
            assert_int_equal(ist_alloc_needed(alloc, 8, UINT64_C(1) << 63), UINT64_MAX);
            assert_int_equal(ist_alloc_needed(alloc, 8, 3), UINT64_MAX);
            ist_alloc_destroy(alloc);
        }
    }
}

static void resize_in_place(void **unused)
{
    (void)unused;
    ist_alloc *alloc = make(64 * KIB);
    struct ist_alloc_stats stats;
    const uint64_t block = ist_alloc_take(alloc, 1000, ANY_ALIGN);
    assert_true(ist_alloc_resize(alloc, block, 64 * KIB));
    ist_alloc_stats(alloc, &stats);
    assert_int_equal(stats.largest_free_bytes, 0);
    assert_true(ist_alloc_resize(alloc, block, 1));
    ist_alloc_stats(alloc, &stats);
    assert_int_equal(stats.largest_free_bytes, 64 * KIB - 64);
    assert_int_equal(stats.used_bytes, 64);
    const uint64_t wall = ist_alloc_take(alloc, 64, ANY_ALIGN);
    assert_int_equal(wall, 64);
    assert_false(ist_alloc_resize(alloc, block, 65));
    assert_true(ist_alloc_resize(alloc, block, 64));
    assert_sound(alloc);
    ist_alloc_destroy(alloc);
}

/* PEs agree by these answers before they change anything. */
static void asking_changes_nothing(void **unused)
{
    (void)unused;
    ist_alloc *alloc = make(8 * KIB);
    const uint64_t first = ist_alloc_take(alloc, 100, ANY_ALIGN), second = ist_alloc_take(alloc, 100, ANY_ALIGN);
    struct ist_alloc_stats before, after;
    ist_alloc_stats(alloc, &before);
    assert_int_equal(ist_alloc_room(alloc, 64, ANY_ALIGN), second + 128);
    assert_int_equal(ist_alloc_room(alloc, 64, 4 * KIB), 4 * KIB);
    assert_int_equal(ist_alloc_room(alloc, 0, ANY_ALIGN), IST_ALLOC_NONE);
    assert_int_equal(ist_alloc_room(alloc, 64, 3), IST_ALLOC_NONE);
    assert_int_equal(ist_alloc_room(alloc, 8 * KIB, ANY_ALIGN), IST_ALLOC_NONE);
    assert_int_equal(ist_alloc_room(alloc, UINT64_MAX, ANY_ALIGN), IST_ALLOC_NONE);
    assert_true(ist_alloc_can_resize(alloc, first, 128));
    assert_false(ist_alloc_can_resize(alloc, first, 129)); /* its neighbour lives */
    assert_true(ist_alloc_can_resize(alloc, second, 8 * KIB - second));
    assert_false(ist_alloc_can_resize(alloc, second, 8 * KIB - second + 1));
    assert_false(ist_alloc_can_resize(alloc, second, UINT64_MAX));
    assert_false(ist_alloc_can_resize(alloc, first, 0));
    assert_false(ist_alloc_can_resize(alloc, first + 64, 64)); /* no block starts there */
    ist_alloc_stats(alloc, &after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_sound(alloc);
    ist_alloc_destroy(alloc);
}

/* --- private memory runs out --- */

static int array_calls_left;
static void *resize_array_until_out(void *array, size_t bytes)
{
    return array_calls_left-- > 0 ? realloc(array, bytes) : NULL;
}

/* A failing call has left the same offsets, sizes and statistics behind; a copy that has memory behaves equally. */
static void without_memory_nothing_changes(void **unused)
{
    (void)unused;
    enum { N = 2000 };
    for (int n_allowed = 0; n_allowed < 12; n_allowed++) {
        ist_alloc *poor = make(1 * MIB), *rich = make(1 * MIB);
        poor->resize_array = resize_array_until_out;
        array_calls_left = n_allowed;
        uint64_t state = 99;
        int n_failed = 0;
        for (int i = 0; i < N; i++) {
            const uint64_t size_bytes = 1 + random_next(&state) % 300;
            const uint64_t align_bytes = i % 5 ? 8 : 256;
            struct ist_alloc_stats before, after;
            ist_alloc_stats(poor, &before);
            const uint64_t offset = ist_alloc_take(poor, size_bytes, align_bytes);
            if (offset != IST_ALLOC_NONE) {
                assert_int_equal(ist_alloc_take(rich, size_bytes, align_bytes), offset);
                continue;
            }
            n_failed++;
            assert_int_equal(ist_alloc_room(poor, size_bytes, align_bytes),
                             ist_alloc_room(rich, size_bytes, align_bytes));
            ist_alloc_stats(poor, &after);
            assert_memory_equal(&before, &after, sizeof before);
            assert_sound(poor);
            assert_int_equal(ist_alloc_reserve(poor), ISTHMUS_ERR_NO_MEMORY);
            array_calls_left = 1;
            assert_int_equal(ist_alloc_reserve(poor), ISTHMUS_OK);
            array_calls_left = 0; /* reserved: the same call now succeeds without memory */
            assert_int_equal(ist_alloc_take(poor, size_bytes, align_bytes),
                             ist_alloc_take(rich, size_bytes, align_bytes));
        }
        assert_true(n_failed > 0 || n_allowed > 5);
        assert_sound(poor);
        ist_alloc_destroy(poor);
        ist_alloc_destroy(rich);
    }
}

static void resize_and_grow_without_memory(void **unused)
{
    (void)unused;
    ist_alloc *alloc = make(64 * KIB);
    alloc->resize_array = resize_array_until_out;
    array_calls_left = 0;
    while (ist_alloc_take(alloc, 128, ANY_ALIGN) != IST_ALLOC_NONE) continue;
    while (ist_alloc_blocks_reserve(alloc, 1)) assert_true(ist_alloc_resize(alloc, alloc->n_live * 128 - 256, 64));
    assert_sound(alloc);
    assert_false(ist_alloc_resize(alloc, 0, 64));
    assert_true(ist_alloc_can_resize(alloc, 0, 64)); /* with private memory */
    assert_int_equal(ist_alloc_size(alloc, 0), 128);
    assert_int_equal(ist_alloc_grow(alloc, 128 * KIB), ISTHMUS_ERR_NO_MEMORY);
    assert_sound(alloc);
    assert_true(ist_alloc_give(alloc, 128)); /* a release never needs memory */
    assert_sound(alloc);
    ist_alloc_destroy(alloc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_shadow_model),
        cmocka_unit_test(same_calls_give_same_offsets),
        cmocka_unit_test(whole_range_in_one_block),
        cmocka_unit_test(exact_fit_behind_a_longer_block_is_found),
        cmocka_unit_test(alignment_up_to_a_gibibyte),
        cmocka_unit_test(gap_before_an_aligned_block_is_used),
        cmocka_unit_test(refuses_what_is_no_request),
        cmocka_unit_test(exhaustion_and_recovery),
        cmocka_unit_test(growth_joins_the_free_end),
        cmocka_unit_test(needed_is_exact),
        cmocka_unit_test(resize_in_place),
        cmocka_unit_test(asking_changes_nothing),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(resize_and_grow_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
