/* Waits and tests, with each comparison and at values whose order depends on the signedness of the type.
 *
 * Two groups of four elements: RISING goes from low to high, FALLING from high to low, by a store of the left
 * neighbour; but element SKIPPED of each stays as it is, and the status array excludes it. */
#include "check_rows.h"
#include "values.h"

#include <string.h>

enum { RISING = GUARD_BYTES, FALLING = 256, N = 4, SKIPPED = 2 };

static const int status[N] = {[SKIPPED] = 1}, all_excluded[N] = {1, 1, 1, 1};

static const struct comparison {
    enum face_cmp cmp;
    size_t group;
    bool with_high; /* compare with the high value, else with the low one: true after the store, false before */
} comparisons[FACE_CMPS] = {
    {CMP_EQ, RISING, true}, {CMP_NE, RISING, false}, {CMP_GT, RISING, false},
    {CMP_GE, RISING, true}, {CMP_LT, FALLING, true}, {CMP_LE, FALLING, false},
};

static bool row_is(const struct item *item, const char *part) { return strstr(item->row->check, part) != NULL; }

/* Four elements of the low or the high value. */
static void fill(const struct item *item, void *elements, bool high)
{
    struct row_type type = item->row->type;
    uint64_t low = type.kind == ROW_S ? (uint64_t)-3 : 3, top = type.kind == ROW_S ? 4 : (uint64_t)-3;
    for (size_t i = 0; i < N; i++)
        number_put(type, (unsigned char *)elements + i * type.size, (struct number){.bits = high ? top : low});
}

/* The routine with comparison `i`, over all elements that the status array leaves, or one. */
static long long compare(struct item *item, const struct comparison *with, const int *excluded, size_t nelems)
{
    uint64_t values[N];
    size_t indices[N] = {N, N, N, N};
    struct row_call c = call_to(item, world.right);
    fill(item, values, with->with_high);
    c.dest = item->dest + with->group;
    c.cmp = face.cmp[with->cmp];
    c.cmp_value = c.cmp_values = values;
    c.status = excluded, c.nelems = nelems, c.indices = indices;
    call(item, &c);
    if ((item->row->flags & ROW_STREAM) != 0) face.complete();
    if (!row_is(item, "_some") || nelems == 0) return c.returned;
    CHECK_THAT(c.returned >= 0 && c.returned < N, "%lld indices", c.returned);
    for (long long k = 0; k < c.returned; k++) {
        CHECK_THAT(indices[k] < N && indices[k] != SKIPPED, "index %zu of an element that is not in the set",
                   indices[k]);
        CHECK_THAT(k == 0 || indices[k] != indices[k - 1], "index %zu twice", indices[k]);
    }
    return c.returned;
}

/* The condition of the wait holds. */
static void check_changed(const struct item *item, size_t group, size_t index)
{
    uint64_t after[N];
    size_t size = item->row->type.size;
    fill(item, after, group == RISING);
    CHECK_THAT(memcmp(item->dest + group + index * size, after, size) == 0, "element %zu is not what was waited for",
               index);
}

static void expect(const struct item *item, long long seen, long long expected)
{
    if (!row_is(item, "test") && !row_is(item, "_any") && !row_is(item, "_some")) return; /* returns nothing */
    CHECK_THAT(seen == expected, "returned %lld, expected %lld", seen, expected);
}

static void compare_empty(struct item *item, const int *excluded, size_t nelems)
{
    if (!row_is(item, "_all") && !row_is(item, "_any") && !row_is(item, "_some")) return;
    expect(item, compare(item, &comparisons[0], excluded, nelems),
           row_is(item, "_all")   ? 1
           : row_is(item, "_any") ? -1
                                  : 0);
}

/* The comparison holds for the elements that were stored: what was returned, and that a wait did wait for it. */
static void check_held(const struct item *item, const struct comparison *with, long long seen)
{
    bool waits_for_all = row_is(item, "wait") && !row_is(item, "_any") && !row_is(item, "_some");
    if (row_is(item, "_any")) {
        CHECK_THAT(seen >= 0 && seen < N && seen != SKIPPED, "returned index %lld", seen);
        check_changed(item, with->group, (size_t)seen);
    } else if (row_is(item, "_some")) {
        CHECK_THAT(seen >= 1, "found none");
    } else {
        expect(item, seen, 1);
    }
    for (size_t i = 0; waits_for_all && i < (row_is(item, "_all") ? N : 1); i++)
        if (i != SKIPPED) check_changed(item, with->group, i);
}

static void compare_each(struct item *item, bool holds)
{
    for (size_t i = 0; i < FACE_CMPS; i++) {
        if (row_is(item, "wait_ne") && comparisons[i].cmp != CMP_NE) continue;
        long long seen = compare(item, &comparisons[i], status, N);
        if (holds)
            check_held(item, &comparisons[i], seen);
        else
            expect(item, seen, row_is(item, "_any") ? -1 : 0);
    }
}

static void prepare(struct item *item)
{
    fill(item, item->dest + RISING, false);
    fill(item, item->dest + FALLING, true);
    compare_empty(item, NULL, 0);
    compare_empty(item, all_excluded, N);
    if (row_is(item, "test")) compare_each(item, false);
}

static void act(struct item *item)
{
    size_t size = item->row->type.size;
    uint64_t low[N], high[N];
    fill(item, low, false);
    fill(item, high, true);
    for (size_t i = 0; i < N; i++) {
        if (i == SKIPPED) continue;
        face.store(item->dest + RISING + i * size, high, size, world.right);
        face.store(item->dest + FALLING + i * size, low, size, world.right);
    }
    if (row_is(item, "wait")) compare_each(item, true);
}

static void verify(struct item *item)
{
    size_t size = item->row->type.size;
    uint64_t rising[N], falling[N];
    if (row_is(item, "test")) compare_each(item, true);
    fill(item, rising, true);
    fill(item, falling, false);
    memcpy((char *)rising + SKIPPED * size, falling, size);
    memcpy((char *)falling + SKIPPED * size, rising, size);
    image_clear(item);
    image_elements(item, RISING, N, rising);
    image_elements(item, FALLING, N, falling);
    image_compare(item);
}

#define WAIT_CHECK(name)                 \
    {                                    \
        name, prepare, act, verify, NULL \
    }

const struct check wait_checks[] = {
    WAIT_CHECK("wait_until"),
    WAIT_CHECK("wait_until_all"),
    WAIT_CHECK("wait_until_any"),
    WAIT_CHECK("wait_until_some"),
    WAIT_CHECK("wait_until_all_vector"),
    WAIT_CHECK("wait_until_any_vector"),
    WAIT_CHECK("wait_until_some_vector"),
    WAIT_CHECK("wait_ne"),
    WAIT_CHECK("test"),
    WAIT_CHECK("test_all"),
    WAIT_CHECK("test_any"),
    WAIT_CHECK("test_some"),
    WAIT_CHECK("test_all_vector"),
    WAIT_CHECK("test_any_vector"),
    WAIT_CHECK("test_some_vector"),
    {NULL, NULL, NULL, NULL, NULL},
};
