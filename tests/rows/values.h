/* tests/rows/values.h: elements of every type as numbers: making them, comparing them, and the arithmetic of the model.
 * Numbers of floating-point types are small and whole, so that no order of operations changes a sum or product. */
#ifndef TESTS_ROWS_VALUES_H
#define TESTS_ROWS_VALUES_H

#include "rows.h"

struct number {
    uint64_t bits;               /* of integers and plain bytes, widened by their signedness */
    long double real, imaginary; /* of the others */
};

struct number number_get(struct row_type type, const void *element);
void number_put(struct row_type type, void *element, struct number number);
bool number_equal(struct row_type type, const void *a, const void *b);

bool kind_is_whole(enum row_kind kind); /* an integer, or plain bytes */

/* n elements that follow from the seed; units: such that no product of sixteen is too large */
void elements_fill(struct row_type type, void *elements, size_t n, uint64_t seed);
void elements_fill_units(struct row_type type, void *elements, size_t n, uint64_t seed);

/* a op b for op one of sum prod min max and or xor */
struct number number_combine(struct row_type type, const char *op, struct number a, struct number b);

#endif
