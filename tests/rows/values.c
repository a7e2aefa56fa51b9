#include "values.h"

#include "check_rows.h"

#include <complex.h>
#include <string.h>

bool kind_is_whole(enum row_kind kind) { return kind == ROW_BYTES || kind == ROW_S || kind == ROW_U; }

static struct number number_of_bits(struct row_type type, const void *element)
{
    struct number number = {0};
    memcpy(&number.bits, element, type.size < sizeof number.bits ? type.size : sizeof number.bits);
    if (type.kind == ROW_S && type.size < sizeof number.bits) {
        unsigned unused = 64 - 8 * (unsigned)type.size;
        number.bits = (uint64_t)((int64_t)(number.bits << unused) >> unused);
    }
    return number;
}

static float float_of_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Exact for the numbers of these tests: the bits cut off are zero. */
static uint16_t bf16_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

struct number number_get(struct row_type type, const void *element)
{
    union {
        _Float16 f16;
        uint16_t bf16;
        float f32;
        double f64;
        long double f80;
        float complex c32;
        double complex c64;
    } u;
    if (kind_is_whole(type.kind)) return number_of_bits(type, element);
    memcpy(&u, element, type.size);
    switch (type.kind) {
    case ROW_F16: return (struct number){.real = u.f16};
    case ROW_BF16: return (struct number){.real = float_of_bf16(u.bf16)};
    case ROW_F32: return (struct number){.real = u.f32};
    case ROW_F64: return (struct number){.real = u.f64};
    case ROW_F80: return (struct number){.real = u.f80};
    case ROW_C32: return (struct number){.real = crealf(u.c32), .imaginary = cimagf(u.c32)};
    default: return (struct number){.real = creal(u.c64), .imaginary = cimag(u.c64)};
    }
}

void number_put(struct row_type type, void *element, struct number number)
{
    double complex both = (double)number.real + (double)number.imaginary * (double complex)I;
    union {
        uint64_t bits;
        _Float16 f16;
        uint16_t bf16;
        float f32;
        double f64;
        long double f80;
        float complex c32;
        double complex c64;
    } u;
    memset(&u, 0, sizeof u);
    switch (type.kind) {
    case ROW_F16: u.f16 = (_Float16)number.real; break;
    case ROW_BF16: u.bf16 = bf16_of_float((float)number.real); break;
    case ROW_F32: u.f32 = (float)number.real; break;
    case ROW_F64: u.f64 = (double)number.real; break;
    case ROW_F80: u.f80 = number.real; break;
    case ROW_C32: u.c32 = (float complex)both; break;
    case ROW_C64: u.c64 = both; break;
    default: u.bits = number.bits; break;
    }
    memcpy(element, &u, type.size);
}

bool number_equal(struct row_type type, const void *a, const void *b)
{
    if (kind_is_whole(type.kind)) return memcmp(a, b, type.size) == 0;
    struct number x = number_get(type, a), y = number_get(type, b);
    return x.real == y.real && x.imaginary == y.imaginary;
}

static void fill(struct row_type type, void *elements, size_t n, uint64_t seed, bool units)
{
    unsigned char *at = elements;
    for (size_t i = 0; i < n; i++, at += type.size) {
        uint64_t random = random_of(seed, i);
        if (kind_is_whole(type.kind)) {
            for (size_t byte = 0; byte < type.size; byte++) at[byte] = (unsigned char)random_of(random, byte);
            continue;
        }
        bool is_complex = type.kind == ROW_C32 || type.kind == ROW_C64;
        int real = units ? 1 - 2 * (int)(random & 1) : (int)(random % 17) - 8;
        int imaginary = units ? 0 : (int)(random >> 32) % 5 - 2;
        if (units && is_complex && (random & 2) != 0) imaginary = real, real = 0; /* i or -i */
        if (units && (random & 0xf0) == 0) real *= 2, imaginary *= 2;
        number_put(type, at, (struct number){.real = real, .imaginary = is_complex ? imaginary : 0});
    }
}

void elements_fill(struct row_type type, void *elements, size_t n, uint64_t seed)
{
    fill(type, elements, n, seed, false);
}

void elements_fill_units(struct row_type type, void *elements, size_t n, uint64_t seed)
{
    fill(type, elements, n, seed, true);
}

static bool number_less(struct row_type type, struct number a, struct number b)
{
    if (type.kind == ROW_S) return (int64_t)a.bits < (int64_t)b.bits;
    return kind_is_whole(type.kind) ? a.bits < b.bits : a.real < b.real;
}

struct number number_combine(struct row_type type, const char *op, struct number a, struct number b)
{
    if (strcmp(op, "min") == 0) return number_less(type, a, b) ? a : b;
    if (strcmp(op, "max") == 0) return number_less(type, a, b) ? b : a;
    if (strcmp(op, "and") == 0) return (struct number){.bits = a.bits & b.bits};
    if (strcmp(op, "or") == 0) return (struct number){.bits = a.bits | b.bits};
    if (strcmp(op, "xor") == 0) return (struct number){.bits = a.bits ^ b.bits};
    if (strcmp(op, "sum") == 0) return (struct number){a.bits + b.bits, a.real + b.real, a.imaginary + b.imaginary};
    CHECK_THAT(strcmp(op, "prod") == 0, "%s is no operation", op);
    return (struct number){a.bits * b.bits, a.real * b.real - a.imaginary * b.imaginary,
                           a.real * b.imaginary + a.imaginary * b.real};
}
