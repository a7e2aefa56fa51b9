/* core/api/rma_entry.h: entry functions of the typed put, get and signal: elements become bytes here.
 * The point to step into with a debugger. `size` is that of an element and constant at every call. */
#ifndef IST_API_RMA_ENTRY_H
#define IST_API_RMA_ENTRY_H

#include "core/api/constants.h"
#include "core/ops/amo.h"
#include "core/ops/rma.h"
#include "core/ops/target.h"

/* Small counts cannot overflow; for others the product is checked. */
IST_INLINE size_t ist_bytes_of(size_t nelems, size_t size, const char *routine)
{
    if (IST_LIKELY(nelems <= UINT32_MAX)) return nelems * size;
    return ist_require_length(routine, "nelems", nelems, size);
}

IST_INLINE void ist_entry_put(ist_ctx *ctx, void *dest, const void *source, size_t nelems, int pe, size_t size,
                              const char *routine)
{
    ist_put(ctx, dest, source, ist_bytes_of(nelems, size, routine), pe, routine);
}

IST_INLINE void ist_entry_get(ist_ctx *ctx, void *dest, const void *source, size_t nelems, int pe, size_t size,
                              const char *routine)
{
    ist_get(ctx, dest, source, ist_bytes_of(nelems, size, routine), pe, routine);
}

IST_INLINE void ist_entry_put_nbi(ist_ctx *ctx, void *dest, const void *source, size_t nelems, int pe, size_t size,
                                  const char *routine)
{
    ist_put_nbi(ctx, dest, source, ist_bytes_of(nelems, size, routine), pe, routine);
}

IST_INLINE void ist_entry_get_nbi(ist_ctx *ctx, void *dest, const void *source, size_t nelems, int pe, size_t size,
                                  const char *routine)
{
    ist_get_nbi(ctx, dest, source, ist_bytes_of(nelems, size, routine), pe, routine);
}

IST_INLINE void ist_entry_p(ist_ctx *ctx, void *dest, const void *value, int pe, size_t size, const char *routine)
{
    if (size <= 8)
        ist_p(ctx, dest, isthmus_bits_of_(value, size), size, pe, routine);
    else
        ist_put(ctx, dest, value, size, pe, routine);
}

IST_INLINE void ist_entry_g(ist_ctx *ctx, void *result, const void *source, int pe, size_t size, const char *routine)
{
    if (size <= 8)
        isthmus_bits_to_(result, ist_g(ctx, source, size, pe, routine), size);
    else
        ist_get(ctx, result, source, size, pe, routine);
}

IST_INLINE void ist_entry_ibput(ist_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                size_t bsize, size_t nblocks, int pe, size_t size, const char *routine)
{
    struct ist_stride stride = {dst, sst, bsize, nblocks, size};
    ist_strided_put(ctx, dest, source, &stride, pe, routine);
}

IST_INLINE void ist_entry_ibget(ist_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                size_t bsize, size_t nblocks, int pe, size_t size, const char *routine)
{
    struct ist_stride stride = {dst, sst, bsize, nblocks, size};
    ist_strided_get(ctx, dest, source, &stride, pe, routine);
}

IST_INLINE void ist_entry_iput(ist_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t nelems, int pe, size_t size, const char *routine)
{
    ist_entry_ibput(ctx, dest, source, dst, sst, 1, nelems, pe, size, routine);
}

IST_INLINE void ist_entry_iget(ist_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t nelems, int pe, size_t size, const char *routine)
{
    ist_entry_ibget(ctx, dest, source, dst, sst, 1, nelems, pe, size, routine);
}

IST_INLINE void ist_entry_put_signal(ist_ctx *ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                     uint64_t signal, int sig_op, int pe, size_t size, const char *routine)
{
    struct ist_signal update = {sig_addr, signal, sig_op};
    ist_put_signal(ctx, dest, source, ist_bytes_of(nelems, size, routine), &update, pe, routine);
}

IST_INLINE void ist_entry_put_signal_nbi(ist_ctx *ctx, void *dest, const void *source, size_t nelems,
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, size_t size,
                                         const char *routine)
{
    struct ist_signal update = {sig_addr, signal, sig_op};
    ist_put_signal_nbi(ctx, dest, source, ist_bytes_of(nelems, size, routine), &update, pe, routine);
}

IST_INLINE void ist_entry_signal_update(ist_ctx *ctx, uint32_t op, uint64_t *sig_addr, uint64_t signal, int pe,
                                        const char *routine)
{
    struct ist_amo amo = {.op = op, .size = sizeof *sig_addr, .operand = signal};
    (void)ist_amo(ctx, sig_addr, amo, 0, pe, routine);
}

/* sig_op is one of the two: the conversion of the face's constant has checked it. */
IST_INLINE void ist_entry_signal_op(ist_ctx *ctx, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                    const char *routine)
{
    if (sig_op == IST_SIGNAL_ADD)
        ist_entry_signal_update(ctx, ISTHMUS_AMO_ADD, sig_addr, signal, pe, routine);
    else
        ist_entry_signal_update(ctx, ISTHMUS_AMO_SET, sig_addr, signal, pe, routine);
}

/* A signal of this PE itself. */
IST_INLINE void ist_entry_signal_reset(ist_ctx *ctx, uint64_t *sig_addr, const char *routine)
{
    ist_entry_signal_update(ctx, ISTHMUS_AMO_SET, sig_addr, 0, ist_team_world.my_pe, routine);
}

#endif
