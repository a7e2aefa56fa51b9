/* tests/unit/test_device_numbers.c: what kernels compute, against the host: comparisons, and reductions of all
 * types. */
#define ISTHMUS_DEVICE_CPU
#include "core/coll/coll.h"

#include <isthmus/device.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* ---- comparisons ---- */

/* In the order of NVSHMEM_CMP_EQ NE GT LE LT GE. */
static int compared(int cmp, int is_less, int is_equal)
{
    const int results[] = {is_equal, !is_equal, !is_less && !is_equal, is_less || is_equal, is_less, !is_less};
    return results[cmp];
}

static const int64_t ends[] = {0, 1, -1, 2, -2, INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
enum { N_ENDS = sizeof ends / sizeof ends[0] };

static int64_t signed_of(int64_t value, size_t size)
{
    return size == 2 ? (int16_t)value : size == 4 ? (int32_t)value : value;
}

static uint64_t unsigned_of(int64_t value, size_t size)
{
    return size == 2 ? (uint16_t)value : size == 4 ? (uint32_t)value : (uint64_t)value;
}

static void comparisons_are_those_of_the_type(void **state)
{
    (void)state;
    for (size_t size = 2; size <= 8; size *= 2)
        for (int i = 0; i < N_ENDS; i++)
            for (int k = 0; k < N_ENDS; k++)
                for (int cmp = 0; cmp < 6; cmp++) {
                    unsigned relations = isthmus_dev_relations_of_nvshmem(cmp);
                    int64_t a = signed_of(ends[i], size), b = signed_of(ends[k], size);
                    uint64_t c = unsigned_of(ends[i], size), d = unsigned_of(ends[k], size);
                    assert_int_equal(isthmus_dev_holds((uint64_t)a, relations, (uint64_t)b, size, 1),
                                     compared(cmp, a < b, a == b));
                    assert_int_equal(isthmus_dev_holds(c, relations, d, size, 0), compared(cmp, c < d, c == d));
                }
}

/* ---- reductions ---- */

static const struct kind {
    enum ist_combine_type type;
    int number;
    size_t size;
} kinds[] = {
    {IST_S8, ISTHMUS_DEV_SIGNED, 1},    {IST_S16, ISTHMUS_DEV_SIGNED, 2},   {IST_S32, ISTHMUS_DEV_SIGNED, 4},
    {IST_S64, ISTHMUS_DEV_SIGNED, 8},   {IST_U8, ISTHMUS_DEV_UNSIGNED, 1},  {IST_U16, ISTHMUS_DEV_UNSIGNED, 2},
    {IST_U32, ISTHMUS_DEV_UNSIGNED, 4}, {IST_U64, ISTHMUS_DEV_UNSIGNED, 8}, {IST_F32, ISTHMUS_DEV_FLOAT, 4},
    {IST_F64, ISTHMUS_DEV_FLOAT, 8},    {IST_F16, ISTHMUS_DEV_HALF, 2},     {IST_BF16, ISTHMUS_DEV_BFLOAT, 2},
};

static const struct operation {
    enum ist_combine_op op;
    int reduction;
} operations[] = {{IST_AND, ISTHMUS_DEV_AND},  {IST_OR, ISTHMUS_DEV_OR},   {IST_XOR, ISTHMUS_DEV_XOR},
                  {IST_MAX, ISTHMUS_DEV_MAX},  {IST_MIN, ISTHMUS_DEV_MIN}, {IST_SUM, ISTHMUS_DEV_SUM},
                  {IST_PROD, ISTHMUS_DEV_PROD}};

static bool is_nan(const struct kind *kind, uint64_t bits)
{
    switch (kind->type) {
    case IST_F16: return (bits & 0x7fff) > 0x7c00;
    case IST_BF16: return (bits & 0x7fff) > 0x7f80;
    case IST_F32: return (bits & 0x7fffffff) > 0x7f800000;
    case IST_F64: return (bits & INT64_MAX) > 0x7ff0000000000000;
    default: return false;
    }
}

static void check_pair(const struct kind *kind, const struct operation *operation, uint64_t a, uint64_t b)
{
    struct isthmus_dev_reduce how = {operation->reduction, kind->number, kind->size};
    ist_combine *combine = ist_combine_of(operation->op, kind->type);
    uint64_t bits = kind->size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * kind->size) - 1, expected = 0;
    if (combine == NULL) return;
    a &= bits, b &= bits;
    combine(&expected, &a, &b, 1);
    uint64_t seen = isthmus_dev_combine(how, a, b) & bits;
    if (is_nan(kind, expected) && is_nan(kind, seen)) return;
    if (seen != expected)
        print_error("type %d, operation %d: %llx and %llx\n", (int)kind->type, (int)operation->op,
                    (unsigned long long)a, (unsigned long long)b);
    assert_int_equal(seen, expected);
}

static void reductions_are_those_of_the_host(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++)
            for (int i = 0; i < 20000; i++)
                check_pair(&kinds[k], &operations[o], random_bits(), i % 3 == 0 ? random_bits() & 0xff : random_bits());
}

/* Small and large exponents together, which random bits seldom have. */
static void halves_are_rounded_as_on_the_host(void **state)
{
    static const struct kind half = {IST_F16, ISTHMUS_DEV_HALF, 2};
    static const struct operation sum = {IST_SUM, ISTHMUS_DEV_SUM}, product = {IST_PROD, ISTHMUS_DEV_PROD};
    (void)state;
    for (uint64_t a = 0; a < 0x10000; a++) {
        check_pair(&half, &sum, a, 0x0001);
        check_pair(&half, &sum, a, 0x7bff);
        check_pair(&half, &product, a, 0x3555);
        check_pair(&half, &product, a, 0x1234);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_are_those_of_the_type),
        cmocka_unit_test(reductions_are_those_of_the_host),
        cmocka_unit_test(halves_are_rounded_as_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
