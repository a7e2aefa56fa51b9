/* core/coll/combine.c: see coll.h. One loop per operation and type, simple enough for the compiler to vectorise. */
#include "core/coll/coll.h"

#include <complex.h>
#include <string.h>

/* The 16-bit floating point types by hand: neither compilers nor machines agree on having them. */

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of_bf16(uint16_t half) { return float_of_bits((uint32_t)half << 16); }

static uint16_t bf16_of_float(float value)
{
    uint32_t bits = bits_of_float(value);
    if (value != value) return (uint16_t)(bits >> 16 | 0x40); /* a quiet NaN stays one */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float float_of_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest >= 0x7c00) return float_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13); /* infinity, NaN */
    if (rest >= 0x400) return float_of_bits(sign | ((rest << 13) + (112u << 23)));
    float tiny = (float)rest * 0x1p-24f; /* subnormal: exact in float */
    return sign != 0 ? -tiny : tiny;
}

static uint16_t f16_of_float(float value)
{
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x47800000) return (uint16_t)(sign | 0x7c00); /* 65536 and more; 65520 rounds up below */
    if (rest >= 0x38800000) return (uint16_t)(sign | ((rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13));
    /* Subnormal: adding 0.5 puts its last bit where float's rounding cuts. */
    uint32_t rounded = bits_of_float(float_of_bits(rest) + 0.5f) - 0x3f000000;
    return (uint16_t)(sign | rounded);
}

/* DEFINE(name, element type, expression of x and y) */
#define DEFINE(name, T, expression)                                                   \
    static void name(void *out, const void *a, const void *b, size_t nelems)          \
    {                                                                                 \
        T *o = out;             /* NOLINT(bugprone-macro-parentheses): T is a type */ \
        const T *p = a, *q = b; /* NOLINT(bugprone-macro-parentheses) */              \
        for (size_t i = 0; i < nelems; i++) {                                         \
            T x = p[i], y = q[i];                                                     \
            o[i] = (T)(expression);                                                   \
        }                                                                             \
    }

/* Sums and products of integers wrap: they are computed without sign, and not in int, where 16-bit products
 * overflow. */
#define DEFINE_INTEGER(suffix, T, U)                               \
    DEFINE(sum_##suffix, T, (U)((U)x + (U)y))                      \
    DEFINE(prod_##suffix, T, (U)((uint64_t)(U)x * (uint64_t)(U)y)) \
    DEFINE(min_##suffix, T, x < y ? x : y)                         \
    DEFINE(max_##suffix, T, x > y ? x : y)                         \
    DEFINE(and_##suffix, T, x &y)                                  \
    DEFINE(or_##suffix, T, x | y)                                  \
    DEFINE(xor_##suffix, T, x ^ y)

#define DEFINE_REAL(suffix, T)             \
    DEFINE(sum_##suffix, T, x + y)         \
    DEFINE(prod_##suffix, T, x *y)         \
    DEFINE(min_##suffix, T, x < y ? x : y) \
    DEFINE(max_##suffix, T, x > y ? x : y)

#define DEFINE_16_BIT(suffix)                                                                       \
    DEFINE(sum_##suffix, uint16_t, suffix##_of_float(float_of_##suffix(x) + float_of_##suffix(y)))  \
    DEFINE(prod_##suffix, uint16_t, suffix##_of_float(float_of_##suffix(x) * float_of_##suffix(y))) \
    DEFINE(min_##suffix, uint16_t, float_of_##suffix(x) < float_of_##suffix(y) ? x : y)             \
    DEFINE(max_##suffix, uint16_t, float_of_##suffix(x) > float_of_##suffix(y) ? x : y)

#define DEFINE_COMPLEX(suffix, T)  \
    DEFINE(sum_##suffix, T, x + y) \
    DEFINE(prod_##suffix, T, x *y)

DEFINE_INTEGER(s8, int8_t, uint8_t)
DEFINE_INTEGER(s16, int16_t, uint16_t)
DEFINE_INTEGER(s32, int32_t, uint32_t)
DEFINE_INTEGER(s64, int64_t, uint64_t)
DEFINE_INTEGER(u8, uint8_t, uint8_t)
DEFINE_INTEGER(u16, uint16_t, uint16_t)
DEFINE_INTEGER(u32, uint32_t, uint32_t)
DEFINE_INTEGER(u64, uint64_t, uint64_t)
DEFINE_16_BIT(f16)
DEFINE_16_BIT(bf16)
DEFINE_REAL(f32, float)
DEFINE_REAL(f64, double)
DEFINE_REAL(f80, long double)
DEFINE_COMPLEX(c32, float _Complex)
DEFINE_COMPLEX(c64, double _Complex)

#define ARITHMETIC(suffix) [IST_SUM] = sum_##suffix, [IST_PROD] = prod_##suffix
#define ORDER(suffix) [IST_MIN] = min_##suffix, [IST_MAX] = max_##suffix
#define BITS(suffix) [IST_AND] = and_##suffix, [IST_OR] = or_##suffix, [IST_XOR] = xor_##suffix
#define INTEGER(TYPE, suffix) [TYPE] = {ARITHMETIC(suffix), ORDER(suffix), BITS(suffix)}
#define REAL(TYPE, suffix) [TYPE] = {ARITHMETIC(suffix), ORDER(suffix)}

static ist_combine *const combines[IST_COMBINE_TYPES][IST_COMBINE_OPS] = {
    INTEGER(IST_S8, s8),
    INTEGER(IST_S16, s16),
    INTEGER(IST_S32, s32),
    INTEGER(IST_S64, s64),
    INTEGER(IST_U8, u8),
    INTEGER(IST_U16, u16),
    INTEGER(IST_U32, u32),
    INTEGER(IST_U64, u64),
    REAL(IST_F16, f16),
    REAL(IST_BF16, bf16),
    REAL(IST_F32, f32),
    REAL(IST_F64, f64),
    REAL(IST_F80, f80),
    [IST_C32] = {ARITHMETIC(c32)},
    [IST_C64] = {ARITHMETIC(c64)},
};

static const uint8_t sizes[IST_COMBINE_TYPES] = {
    [IST_S8] = 1,  [IST_S16] = 2, [IST_S32] = 4,  [IST_S64] = 8, [IST_U8] = 1,
    [IST_U16] = 2, [IST_U32] = 4, [IST_U64] = 8,  [IST_F16] = 2, [IST_BF16] = 2,
    [IST_F32] = 4, [IST_F64] = 8, [IST_F80] = 16, [IST_C32] = 8, [IST_C64] = 16,
};

ist_combine *ist_combine_of(enum ist_combine_op op, enum ist_combine_type type) { return combines[type][op]; }

size_t ist_combine_size(enum ist_combine_type type) { return sizes[type]; }
