/* core/api/amo_entry.h: entry functions of the typed atomics: values become bits here.
 * Fetch, set and swap are the same on the bits of floating point types; sums of those are in amo_real.c. */
#ifndef IST_API_AMO_ENTRY_H
#define IST_API_AMO_ENTRY_H

#include "core/coll/coll.h"
#include "core/ops/amo.h"

IST_INLINE struct ist_amo ist_amo_of(uint32_t op, const void *value, const void *cond, size_t size)
{
    return (struct ist_amo){
        .op = op,
        .size = (uint32_t)size,
        .operand = value != NULL ? isthmus_bits_of_(value, size) : 1, /* no value: increment */
        .compare = cond != NULL ? isthmus_bits_of_(cond, size) : 0,
    };
}

IST_INLINE void ist_entry_update(ist_ctx *ctx, uint32_t op, void *dest, const void *value, int pe, size_t size,
                                 const char *routine)
{
    (void)ist_amo(ctx, dest, ist_amo_of(op, value, NULL, size), 0, pe, routine);
}

IST_INLINE void ist_entry_inc(ist_ctx *ctx, void *dest, int pe, size_t size, const char *routine)
{
    (void)ist_amo(ctx, dest, ist_amo_of(ISTHMUS_AMO_ADD, NULL, NULL, size), 0, pe, routine);
}

IST_INLINE void ist_entry_fetch_update(ist_ctx *ctx, uint32_t op, void *result, void *dest, const void *value, int pe,
                                       size_t size, const char *routine)
{
    isthmus_bits_to_(result, ist_amo(ctx, dest, ist_amo_of(op, value, NULL, size), ISTHMUS_AMO_FETCHING, pe, routine),
                     size);
}

IST_INLINE void ist_entry_fetch(ist_ctx *ctx, void *result, const void *source, int pe, size_t size,
                                const char *routine)
{
    void *dest = (void *)(uintptr_t)source; /* a fetch writes nothing */
    struct ist_amo amo = ist_amo_of(ISTHMUS_AMO_FETCH, NULL, NULL, size);
    isthmus_bits_to_(result, ist_amo(ctx, dest, amo, ISTHMUS_AMO_FETCHING, pe, routine), size);
}

IST_INLINE void ist_entry_fetch_inc(ist_ctx *ctx, void *result, void *dest, int pe, size_t size, const char *routine)
{
    ist_entry_fetch_update(ctx, ISTHMUS_AMO_ADD, result, dest, NULL, pe, size, routine);
}

IST_INLINE void ist_entry_compare_swap(ist_ctx *ctx, void *result, void *dest, const void *cond, const void *value,
                                       int pe, size_t size, const char *routine)
{
    struct ist_amo amo = ist_amo_of(ISTHMUS_AMO_COMPARE_SWAP, value, cond, size);
    isthmus_bits_to_(result, ist_amo(ctx, dest, amo, ISTHMUS_AMO_FETCHING, pe, routine), size);
}

/* amo_real.c: sums of real numbers, by compare and swap; the old value goes to *result. */
void ist_entry_real_fetch_add(ist_ctx *ctx, void *result, void *dest, const void *value, int pe,
                              enum ist_combine_type type, const char *routine);

IST_INLINE void ist_entry_real_add(ist_ctx *ctx, void *dest, const void *value, int pe, enum ist_combine_type type,
                                   const char *routine)
{
    uint64_t old;
    ist_entry_real_fetch_add(ctx, &old, dest, value, pe, type, routine);
}

IST_INLINE void ist_entry_fetch_update_nbi(ist_ctx *ctx, uint32_t op, void *fetch, void *dest, const void *value,
                                           int pe, size_t size, const char *routine)
{
    ist_amo_nbi(ctx, fetch, dest, ist_amo_of(op, value, NULL, size), pe, routine);
}

IST_INLINE void ist_entry_fetch_nbi(ist_ctx *ctx, void *fetch, const void *source, int pe, size_t size,
                                    const char *routine)
{
    void *dest = (void *)(uintptr_t)source;
    ist_amo_nbi(ctx, fetch, dest, ist_amo_of(ISTHMUS_AMO_FETCH, NULL, NULL, size), pe, routine);
}

IST_INLINE void ist_entry_fetch_inc_nbi(ist_ctx *ctx, void *fetch, void *dest, int pe, size_t size, const char *routine)
{
    ist_amo_nbi(ctx, fetch, dest, ist_amo_of(ISTHMUS_AMO_ADD, NULL, NULL, size), pe, routine);
}

IST_INLINE void ist_entry_compare_swap_nbi(ist_ctx *ctx, void *fetch, void *dest, const void *cond, const void *value,
                                           int pe, size_t size, const char *routine)
{
    ist_amo_nbi(ctx, fetch, dest, ist_amo_of(ISTHMUS_AMO_COMPARE_SWAP, value, cond, size), pe, routine);
}

#endif
