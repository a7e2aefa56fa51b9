/* core/coll/combine.h: the arithmetic of reductions: out[i] = a[i] op b[i].
 * One function for each pair of operation and machine type that the APIs have; none for the others. */
#ifndef IST_COLL_COMBINE_H
#define IST_COLL_COMBINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ist_combine_op { IST_SUM, IST_PROD, IST_MIN, IST_MAX, IST_AND, IST_OR, IST_XOR, IST_COMBINE_OPS };

/* Machine types: the representations of the APIs' C types on the supported machines. F16 and BF16 are computed in float
 * and rounded to nearest even. */
enum ist_combine_type {
    IST_S8,
    IST_S16,
    IST_S32,
    IST_S64,
    IST_U8,
    IST_U16,
    IST_U32,
    IST_U64,
    IST_F16,
    IST_BF16,
    IST_F32,
    IST_F64,
    IST_F80, /* long double */
    IST_C32, /* float _Complex */
    IST_C64, /* double _Complex */
    IST_COMBINE_TYPES
};

/* out may be a or b, or overlap neither. Integer sums and products wrap. */
typedef void ist_combine(void *out, const void *a, const void *b, size_t nelems);

ist_combine *ist_combine_of(enum ist_combine_op op, enum ist_combine_type type); /* NULL if the APIs do not have it */
size_t ist_combine_size(enum ist_combine_type type);                             /* bytes of an element */

#endif
