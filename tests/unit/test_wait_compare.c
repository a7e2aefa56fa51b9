/* tests/unit/test_wait_compare.c: the six comparisons of wait and test, at the boundaries of every size and signedness
 * (R137), against C's own operators on the type. */
#include "core/sync/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Boundary values of every type that their low bytes form: 0, small ones, the ends of signed and unsigned ranges. */
static const uint64_t values[] = {0,
                                  1,
                                  2,
                                  0x7e,
                                  0x7f,
                                  0x80,
                                  0xff,
                                  0x7ffe,
                                  0x7fff,
                                  0x8000,
                                  0x8001,
                                  0xfffe,
                                  0xffff,
                                  0x10000,
                                  0x7ffffffe,
                                  0x7fffffff,
                                  0x80000000,
                                  0x80000001,
                                  0xfffffffe,
                                  0xffffffff,
                                  0x100000000,
                                  INT64_MAX - 1,
                                  INT64_MAX,
                                  (uint64_t)INT64_MAX + 1,
                                  (uint64_t)INT64_MAX + 2,
                                  UINT64_MAX - 1,
                                  UINT64_MAX};
enum { N_VALUES = sizeof values / sizeof *values };

/* For one type: a function that compares as C does, and one that compares as shmem_TYPENAME_test does. */
#define FOR_TYPE(name, type, is_signed)                                                                  \
    static bool c_##name(int cmp, uint64_t a, uint64_t b) { return in_c(cmp, ORDER((type)a, (type)b)); } \
    static bool ours_##name(int cmp, uint64_t a, uint64_t b) { return ours(cmp, a, b, sizeof(type), is_signed); }
#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b) ? 1 : 0)

static bool in_c(int cmp, int order)
{
    switch (cmp) {
    case IST_CMP_EQ: return order == 0;
    case IST_CMP_NE: return order != 0;
    case IST_CMP_GT: return order > 0;
    case IST_CMP_GE: return order >= 0;
    case IST_CMP_LT: return order < 0;
    default: return order <= 0;
    }
}

/* The variable is in memory, with other bytes around it; the value has the bits of the type and zeros above. */
static bool ours(int cmp, uint64_t variable, uint64_t value, size_t size, bool is_signed)
{
    uint64_t memory[3] = {UINT64_MAX, 0x5a5a5a5a5a5a5a5a, UINT64_MAX}, bits = 0;
    memcpy(&memory[1], &variable, size); /* little-endian: the low bytes */
    memcpy(&bits, &value, size);
    return ist_compare(cmp, ist_wait_load(&memory[1], size), bits, size, is_signed);
}

FOR_TYPE(int16, int16_t, true)
FOR_TYPE(uint16, uint16_t, false)
FOR_TYPE(int32, int32_t, true)
FOR_TYPE(uint32, uint32_t, false)
FOR_TYPE(int64, int64_t, true)
FOR_TYPE(uint64, uint64_t, false)

struct type {
    const char *name;
    bool (*c)(int cmp, uint64_t a, uint64_t b);
    bool (*ours)(int cmp, uint64_t a, uint64_t b);
};

static void comparisons_are_those_of_c(void **state)
{
    const struct type *type = *state;
    for (int i = 0; i < N_VALUES; i++)
        for (int j = 0; j < N_VALUES; j++)
            for (int cmp = 0; cmp < IST_CMP_COUNT; cmp++)
                if (type->ours(cmp, values[i], values[j]) != type->c(cmp, values[i], values[j]))
                    fail_msg("%s: comparison %d of %#llx with %#llx", type->name, cmp, (unsigned long long)values[i],
                             (unsigned long long)values[j]);
}

/* What a wait returns is the variable's bits, and the first poll already counts. */
static void a_wait_that_holds_returns_the_value(void **state)
{
    (void)state;
    int32_t negative = -5;
    uint64_t largest = UINT64_MAX;
    int16_t lowest = INT16_MIN;
    assert_true(ist_wait_for(&negative, IST_CMP_LT, 0, 4, true, "wait") == (uint32_t)-5);
    assert_true(ist_wait_for(&negative, IST_CMP_GT, 0, 4, false, "wait") == (uint32_t)-5);
    assert_true(ist_wait_for(&largest, IST_CMP_GE, UINT64_MAX, 8, false, "wait") == UINT64_MAX);
    assert_true(ist_wait_for(&largest, IST_CMP_LT, 0, 8, true, "wait") == UINT64_MAX);
    assert_true(ist_wait_for(&lowest, IST_CMP_LE, 0x8000, 2, true, "wait") == 0x8000);
}

static void loads_take_no_byte_beside(void **state)
{
    (void)state;
    uint64_t word = 0x1122334455667788;
    assert_true(ist_wait_load(&word, 2) == 0x7788);
    assert_true(ist_wait_load(&word, 4) == 0x55667788);
    assert_true(ist_wait_load(&word, 8) == word);
}

int main(void)
{
    static struct type types[] = {{"int16", c_int16, ours_int16}, {"uint16", c_uint16, ours_uint16},
                                  {"int32", c_int32, ours_int32}, {"uint32", c_uint32, ours_uint32},
                                  {"int64", c_int64, ours_int64}, {"uint64", c_uint64, ours_uint64}};
    const struct CMUnitTest tests[] = {
        {"int16: comparisons are those of C", comparisons_are_those_of_c, NULL, NULL, &types[0]},
        {"uint16: comparisons are those of C", comparisons_are_those_of_c, NULL, NULL, &types[1]},
        {"int32: comparisons are those of C", comparisons_are_those_of_c, NULL, NULL, &types[2]},
        {"uint32: comparisons are those of C", comparisons_are_those_of_c, NULL, NULL, &types[3]},
        {"int64: comparisons are those of C", comparisons_are_those_of_c, NULL, NULL, &types[4]},
        {"uint64: comparisons are those of C", comparisons_are_those_of_c, NULL, NULL, &types[5]},
        cmocka_unit_test(a_wait_that_holds_returns_the_value),
        cmocka_unit_test(loads_take_no_byte_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
