/* core/ops/rma.h: put and get: fast paths first, their slow paths, and the strided forms. Not the typed entry points
 * (api/).
 * Fast: one aligned element, or up to IST_SMALL_BYTES, to a peer with an alias: two dependent loads (row, then data),
 * no call (isthmus/inline.h). Everything else, mistakes included, repeats the work from the start in a function of its
 * own.
 *
 * A blocking read is done when it returns (R62): the PE's later accesses, reads by g, get, a load or a wait included,
 * are ordered after it. Hence acquire loads in g, and isthmus_order_loads_() after the copy of a get; both pair with
 * the fence, quiet or atomic between the writer's accesses. On x86-64 they hold back the compiler only. p and put are
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

/* One element of 1, 2, 4 or 8 bytes, whose value is in the low end of `bits`. */
IST_INLINE void ist_p(ist_ctx *ctx, void *dest, uint64_t bits, size_t size, int pe, const char *routine)
{
    if (!isthmus_p_(ist_ctx_row(ctx, pe), dest, &bits, size)) ist_p_slow(ctx, dest, bits, pe, routine, size);
}

IST_INLINE uint64_t ist_g(ist_ctx *ctx, const void *source, size_t size, int pe, const char *routine)
{
    uint64_t bits = 0;
    return isthmus_g_(ist_ctx_row(ctx, pe), &bits, source, size) ? bits : ist_g_slow(ctx, source, pe, routine, size);
}

IST_INLINE void ist_put(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    if (length_bytes > IST_SMALL_BYTES)
        ist_put_bulk(ctx, dest, source, length_bytes, pe, routine);
    else if (!isthmus_put_(ist_ctx_row(ctx, pe), dest, source, length_bytes))
        ist_put_slow(ctx, dest, source, length_bytes, pe, routine);
}

IST_INLINE void ist_get(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    if (length_bytes > IST_SMALL_BYTES)
        ist_get_bulk(ctx, dest, source, length_bytes, pe, routine);
    else if (!isthmus_get_(ist_ctx_row(ctx, pe), dest, source, length_bytes))
        ist_get_slow(ctx, dest, source, length_bytes, pe, routine);
}

/* Copies to and from aliased memory are made at once, so that nbi differs only where a transport has to be called; the
 * reads of a get_nbi are ordered before later loads once quiet or local_complete has ordered it. */
IST_INLINE void ist_put_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe,
                            const char *routine)
{
    if (!isthmus_put_(ist_ctx_row(ctx, pe), dest, source, length_bytes))
        ist_put_nbi_bulk(ctx, dest, source, length_bytes, pe, routine);
}

IST_INLINE void ist_get_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe,
                            const char *routine)
{
    if (!isthmus_get_nbi_(ist_ctx_row(ctx, pe), dest, source, length_bytes))
        ist_get_nbi_bulk(ctx, dest, source, length_bytes, pe, routine);
}

/* ---- strided forms (strided.c) ----
 * Blocks that lie at regular distances on both sides. iput and iget are the case of one element per block. Strides are
 * in elements, as in the specification. */

struct ist_stride {
    ptrdiff_t dest, source; /* elements from the start of one block to the next */
    size_t block_nelems, n_blocks;
    size_t size; /* bytes of an element */
};

void ist_strided_put(ist_ctx *ctx, void *dest, const void *source, const struct ist_stride *stride, int pe,
                     const char *routine);
void ist_strided_get(ist_ctx *ctx, void *dest, const void *source, const struct ist_stride *stride, int pe,
                     const char *routine);

#endif
