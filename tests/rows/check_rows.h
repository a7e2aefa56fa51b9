/* tests/rows/check_rows.h: what the checks share: where a row's memory lies, seeds, comparing with a model, failing.
 *
 * Each row has a piece of symmetric memory, `dest`, full of POISON before the test, and another, `source`. A check has
 * three parts, each run for all rows of a program before the next one, with a barrier between: prepare fills the
 * source; act calls the routine, whose target is `right` where it has one, so that this PE's dest is written by `left`;
 * verify compares the whole of dest with an image of it that a model in plain C has made. */
#ifndef TESTS_ROWS_CHECK_ROWS_H
#define TESTS_ROWS_CHECK_ROWS_H

#include "rows.h"

enum { POISON = 0xa7, GUARD_BYTES = 64 };

/* What a check works on. */
struct item {
    const struct row *row;
    const char *op;                       /* what follows the check's name in the row */
    uint64_t seed;                        /* of this row, the same on all PEs */
    unsigned char *dest, *source, *image; /* symmetric, symmetric, private; room_bytes of each */
    size_t room_bytes;
    long *sync; /* of rows with active sets: for each team a pSync, and then a pWrk */
    unsigned char *work;
};

struct check {
    const char *name;
    void (*prepare)(struct item *);
    void (*act)(struct item *);
    void (*verify)(struct item *);
    size_t (*room)(void); /* bytes that the check needs; NULL: ROOM_BYTES */
};

enum { ROOM_BYTES = 1024 };

extern const struct check rma_checks[], amo_checks[], signal_checks[], wait_checks[], collective_checks[];

extern struct row_world {
    int me, n, right, left;
} world;

/* A number that follows from two others. */
uint64_t random_of(uint64_t seed, uint64_t index);

/* The seed of what PE `pe` has in the row's source. */
static inline uint64_t seed_of(const struct item *item, int pe) { return random_of(item->seed, (uint64_t)pe); }

/* The arguments of a call to `pe`, handles in place, all others zero. */
struct row_call call_to(const struct item *item, int pe);
void call(struct item *item, struct row_call *arguments);

/* Symmetric memory for the rows of one lane: collective. */
struct item *items_make(const struct row *rows, size_t n, int lane_number);
/* Part 0 to 2 of the row's check; not on lanes other than the first where only one may be in a call. */
void item_run(struct item *item, size_t part);
void item_out_of_time(int sig); /* a handler: names the row that this thread is in, and exits */

void *memory(void *pointer); /* which is not NULL */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define CHECK_THAT(condition, ...) ((condition) ? (void)lane.n_checks++ : fail(__VA_ARGS__))

/* The image is all poison, then has n elements at an offset, then is compared. Elements of floating-point types are
 * equal when their values are: padding and the sign of zero do not count. */
void image_clear(struct item *item);
void image_elements(struct item *item, size_t offset_bytes, size_t n, const void *elements);
void image_compare(struct item *item);
void image_compare_until(struct item *item, size_t end_bytes); /* only the bytes before end_bytes */

#endif
