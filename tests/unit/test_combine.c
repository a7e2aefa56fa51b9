/* tests/unit/test_combine.c: the arithmetic of reductions against plain C, and the 16-bit floating point types against
 * arithmetic in double. */
#include "core/coll/coll.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_pair_that_the_apis_have_exists_and_no_other(void **state)
{
    (void)state;
    for (int type = 0; type < IST_COMBINE_TYPES; type++) {
        bool is_integer = type <= IST_U64, is_complex = type >= IST_C32;
        assert_true(ist_combine_size(type) > 0);
        for (int op = 0; op < IST_COMBINE_OPS; op++) {
            bool expected = op <= IST_PROD || (op <= IST_MAX && !is_complex) || (op >= IST_AND && is_integer);
            assert_int_equal(ist_combine_of(op, type) != NULL, expected);
        }
    }
}

static void integers_wrap(void **state)
{
    (void)state;
    int8_t a8[] = {127, -128}, b8[] = {1, -1}, o8[2];
    ist_combine_of(IST_SUM, IST_S8)(o8, a8, b8, 2);
    assert_int_equal(o8[0], -128);
    assert_int_equal(o8[1], 127);
    int64_t a64 = INT64_MAX, b64 = 2, o64;
    ist_combine_of(IST_PROD, IST_S64)(&o64, &a64, &b64, 1);
    assert_int_equal(o64, -2);
    uint16_t a16 = 65535, b16 = 65535, o16;
    ist_combine_of(IST_PROD, IST_U16)(&o16, &a16, &b16, 1);
    assert_int_equal(o16, 1);
}

static void signs_count_in_comparisons(void **state)
{
    (void)state;
    int32_t a = -1, b = 1, o;
    ist_combine_of(IST_MAX, IST_S32)(&o, &a, &b, 1);
    assert_int_equal(o, 1);
    ist_combine_of(IST_MAX, IST_U32)(&o, &a, &b, 1);
    assert_int_equal(o, -1);
    ist_combine_of(IST_MIN, IST_U32)(&o, &a, &b, 1);
    assert_int_equal(o, 1);
}

static void results_may_replace_an_operand(void **state)
{
    (void)state;
    long double a[] = {1.5L, -2.0L}, b[] = {0.25L, 8.0L};
    ist_combine_of(IST_SUM, IST_F80)(a, a, b, 2);
    assert_true(a[0] == 1.75L && a[1] == 6.0L);
    ist_combine_of(IST_MIN, IST_F80)(b, a, b, 2);
    assert_true(b[0] == 0.25L && b[1] == 6.0L);
}

static void complex_numbers_multiply(void **state)
{
    (void)state;
    double _Complex a = 1.0 + 2.0 * I, b = 3.0 - 1.0 * I, o;
    ist_combine_of(IST_PROD, IST_C64)(&o, &a, &b, 1);
    assert_true(creal(o) == 5.0 && cimag(o) == 5.0);
}

/* The value of a 16-bit number with so many bits of exponent and fraction, by its definition. */
static double value_of(uint16_t bits, int exponent_bits, int fraction_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    double fraction = bits & ((1 << fraction_bits) - 1), sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(1 + ldexp(fraction, -fraction_bits), exponent - bias);
}

/* The nearest number of the type, ties to even: by search among neighbours of the result. */
static void check_rounding(enum ist_combine_type type, int exponent_bits, int fraction_bits)
{
    ist_combine *sum = ist_combine_of(IST_SUM, type);
    for (uint32_t i = 0; i < 0x10000; i += 7) {
        for (uint32_t j = 0; j < 0x10000; j += 997) {
            uint16_t a = (uint16_t)i, b = (uint16_t)j, o;
            double exact = value_of(a, exponent_bits, fraction_bits) + value_of(b, exponent_bits, fraction_bits);
            sum(&o, &a, &b, 1);
            double seen = value_of(o, exponent_bits, fraction_bits);
            if (isnan(exact)) {
                assert_true(isnan(seen));
                continue;
            }
            if (isinf(seen) || isinf(exact)) {
                double largest = value_of((uint16_t)(((1u << exponent_bits) - 1) << fraction_bits) - 1, exponent_bits,
                                          fraction_bits);
                assert_true(isinf(exact) ? exact == seen : fabs(exact) > largest);
                continue;
            }
            double below = value_of((uint16_t)(o - 1), exponent_bits, fraction_bits);
            double above = value_of((uint16_t)(o + 1), exponent_bits, fraction_bits);
            double error = fabs(exact - seen);
            if (isfinite(below)) assert_true(error <= fabs(exact - below));
            if (isfinite(above)) assert_true(error <= fabs(exact - above));
            if ((isfinite(below) && error == fabs(exact - below) && below != seen) ||
                (isfinite(above) && error == fabs(exact - above) && above != seen))
                assert_int_equal(o & 1, 0);
        }
    }
}

static void half_rounds_to_nearest_even(void **state)
{
    (void)state;
    check_rounding(IST_F16, 5, 10);
}

static void bfloat16_rounds_to_nearest_even(void **state)
{
    (void)state;
    check_rounding(IST_BF16, 8, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_that_the_apis_have_exists_and_no_other),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(signs_count_in_comparisons),
        cmocka_unit_test(results_may_replace_an_operand),
        cmocka_unit_test(complex_numbers_multiply),
        cmocka_unit_test(half_rounds_to_nearest_even),
        cmocka_unit_test(bfloat16_rounds_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
