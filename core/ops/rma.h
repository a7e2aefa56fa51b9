/* core/ops/rma.h: put and get: the inline fast paths, and their slow paths.
 * Not strided forms (strided.h) nor the typed entry points (api/).
 * Fast: one aligned element, or up to IST_SMALL_BYTES, to a peer with an alias: two dependent loads (row, then data),
 * no call. Everything else, mistakes included, repeats the work from the start in a function of its own.
 *
 * A blocking read is done when it returns (R62): the PE's later accesses, reads by g, get, a load or a wait included,
 * are ordered after it. Hence acquire loads in g, and ist_order_loads() after the copy of a get; both pair with the
 * fence, quiet or atomic between the writer's accesses. On x86-64 they hold back the compiler only. p and put are
 * relaxed: puts are in no order without a fence (R61). */
#ifndef IST_OPS_RMA_H
#define IST_OPS_RMA_H

#include "core/base/atomic.h"
#include "core/ctx/ctx.h"

#include <string.h>

/* Slow paths: any size, any peer; they end the job on misuse. */
void ist_p_slow(ist_ctx *ctx, void *dest, uint64_t bits, int pe, const char *routine, size_t size) IST_COLD;
uint64_t ist_g_slow(ist_ctx *ctx, const void *source, int pe, const char *routine, size_t size) IST_COLD;
void ist_put_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
    IST_COLD;
void ist_get_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
    IST_COLD;
void ist_put_nbi_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
    IST_COLD;
void ist_get_nbi_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
    IST_COLD;

/* More than IST_SMALL_BYTES: a call is cheap beside the copy. */
void ist_put_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine);
void ist_get_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine);
void ist_put_nbi_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine);
void ist_get_nbi_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine);

IST_INLINE unsigned ist_log2_of(size_t size) /* constant wherever it is called */
{
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
}

/* Up to IST_SMALL_BYTES; every byte is written once, and 1, 2, 4 or 8 bytes by one store: a peer that waits for the
 * last word of a short put, and resets it at once, must not find it set again. */
IST_INLINE void ist_copy_small(char *dest, const char *source, size_t length_bytes)
{
    while (length_bytes >= 16) {
        memcpy(dest, source, 16);
        dest += 16, source += 16, length_bytes -= 16;
    }
    if (length_bytes & 8) {
        memcpy(dest, source, 8);
        dest += 8, source += 8;
    }
    if (length_bytes & 4) {
        memcpy(dest, source, 4);
        dest += 4, source += 4;
    }
    if (length_bytes & 2) {
        memcpy(dest, source, 2);
        dest += 2, source += 2;
    }
    if (length_bytes & 1) *dest = *source;
}

/* One element of 1, 2, 4 or 8 bytes, whose value is in the low end of `bits`. */
IST_INLINE void ist_p(ist_ctx *ctx, void *dest, uint64_t bits, size_t size, int pe, const char *routine)
{
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_element((uintptr_t)dest, ist_log2_of(size)), pe);
    if (IST_UNLIKELY(!ist_is_aliased(delta))) {
        ist_p_slow(ctx, dest, bits, pe, routine, size);
        return;
    }
    char *at = (char *)dest + delta;
    switch (size) {
    case 1: ist_store_relaxed((uint8_t *)at, (uint8_t)bits); break;
    case 2: ist_store_relaxed((uint16_t *)(void *)at, (uint16_t)bits); break;
    case 4: ist_store_relaxed((uint32_t *)(void *)at, (uint32_t)bits); break;
    default: ist_store_relaxed((uint64_t *)(void *)at, bits); break;
    }
}

IST_INLINE uint64_t ist_g(ist_ctx *ctx, const void *source, size_t size, int pe, const char *routine)
{
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_element((uintptr_t)source, ist_log2_of(size)), pe);
    if (IST_UNLIKELY(!ist_is_aliased(delta))) return ist_g_slow(ctx, source, pe, routine, size);
    const char *at = (const char *)source + delta;
    switch (size) {
    case 1: return ist_load_acquire((const uint8_t *)at);
    case 2: return ist_load_acquire((const uint16_t *)(const void *)at);
    case 4: return ist_load_acquire((const uint32_t *)(const void *)at);
    default: return ist_load_acquire((const uint64_t *)(const void *)at);
    }
}

IST_INLINE void ist_put(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    if (length_bytes > IST_SMALL_BYTES) {
        ist_put_bulk(ctx, dest, source, length_bytes, pe, routine);
        return;
    }
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_small((uintptr_t)dest), pe);
    if (IST_UNLIKELY(!ist_is_aliased(delta) || source == NULL)) {
        ist_put_slow(ctx, dest, source, length_bytes, pe, routine);
        return;
    }
    ist_copy_small((char *)dest + delta, source, length_bytes);
}

IST_INLINE void ist_get(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    if (length_bytes > IST_SMALL_BYTES) {
        ist_get_bulk(ctx, dest, source, length_bytes, pe, routine);
        return;
    }
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_small((uintptr_t)source), pe);
    if (IST_UNLIKELY(!ist_is_aliased(delta) || dest == NULL)) {
        ist_get_slow(ctx, dest, source, length_bytes, pe, routine);
        return;
    }
    ist_copy_small(dest, (const char *)source + delta, length_bytes);
    ist_order_loads();
}

/* Copies to and from aliased memory are made at once, so that nbi differs only where a transport has to be called; the
 * reads of a get_nbi are ordered before later loads once quiet or local_complete has ordered it. */
IST_INLINE void ist_put_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe,
                            const char *routine)
{
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_small((uintptr_t)dest), pe);
    if (IST_LIKELY(length_bytes <= IST_SMALL_BYTES && ist_is_aliased(delta) && source != NULL))
        ist_copy_small((char *)dest + delta, source, length_bytes);
    else
        ist_put_nbi_bulk(ctx, dest, source, length_bytes, pe, routine);
}

IST_INLINE void ist_get_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe,
                            const char *routine)
{
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_small((uintptr_t)source), pe);
    if (IST_LIKELY(length_bytes <= IST_SMALL_BYTES && ist_is_aliased(delta) && dest != NULL))
        ist_copy_small(dest, (const char *)source + delta, length_bytes);
    else
        ist_get_nbi_bulk(ctx, dest, source, length_bytes, pe, routine);
}

#endif
