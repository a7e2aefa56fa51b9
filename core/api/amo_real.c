/* core/api/amo_real.c: atomic sums of real numbers. See amo_entry.h.
 * No transport adds them, so a sum is a compare and swap of the bits, which is repeated until no other update came
 * between: atomic towards every other atomic on the word, as both are executed by the word's home. */
#include "core/api/amo_entry.h"

#include "core/base/fatal.h"

static uint64_t sum_of(uint64_t old, const void *value, enum ist_combine_type type, size_t size)
{
    _Alignas(8) unsigned char element[8], sum[8];
    isthmus_bits_to_(element, old, size);
    ist_combine_of(IST_SUM, type)(sum, element, value, 1);
    return isthmus_bits_of_(sum, size);
}

/* `size` is constant at every call. */
IST_INLINE uint64_t fetch_add(ist_ctx *ctx, void *dest, const void *value, int pe, enum ist_combine_type type,
                              size_t size, const char *routine)
{
    const struct ist_amo fetch = {.op = ISTHMUS_AMO_FETCH, .size = (uint32_t)size};
    uint64_t seen = ist_amo(ctx, dest, fetch, ISTHMUS_AMO_FETCHING, pe, routine), old;
    do {
        old = seen;
        const struct ist_amo swap = {
            .op = ISTHMUS_AMO_COMPARE_SWAP,
            .size = (uint32_t)size,
            .operand = sum_of(old, value, type, size),
            .compare = old,
        };
        seen = ist_amo(ctx, dest, swap, ISTHMUS_AMO_FETCHING, pe, routine);
    } while (seen != old);
    return old;
}

void ist_entry_real_fetch_add(ist_ctx *ctx, void *result, void *dest, const void *value, int pe,
                              enum ist_combine_type type, const char *routine)
{
    uint64_t old;
    switch (ist_combine_size(type)) {
    case 2: old = fetch_add(ctx, dest, value, pe, type, 2, routine); break;
    case 4: old = fetch_add(ctx, dest, value, pe, type, 4, routine); break;
    default: old = fetch_add(ctx, dest, value, pe, type, 8, routine);
    }
    isthmus_bits_to_(result, old, ist_combine_size(type));
}
