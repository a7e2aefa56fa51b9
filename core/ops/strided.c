/* core/ops/strided.c: see strided.h.
 * The whole range is checked once; then aliased peers are a loop of copies, other peers a stream of puts or gets that
 * are completed together. */
#include "core/ops/strided.h"

#include "core/base/fatal.h"
#include "core/heap/symmetric_data.h"
#include "core/ops/operand.h"
#include "core/ops/order.h"
#include "core/ops/rma.h"
#include "core/ops/target.h"
#include "core/transport/segment.h"

/* Bytes from the first to past the last block, or the end of the job. */
static size_t span_bytes(const char *routine, const char *argument, ptrdiff_t stride, const struct ist_stride *s)
{
    ptrdiff_t least = s->block_nelems > 0 && s->block_nelems < PTRDIFF_MAX ? (ptrdiff_t)s->block_nelems : 1;
    if (stride < least) ist_misuse(routine, "%s is %td; valid: at least %td", argument, stride, least);
    size_t last, nelems;
    if (__builtin_mul_overflow(s->n_blocks - 1, (size_t)stride, &last) ||
        __builtin_add_overflow(last, s->block_nelems, &nelems))
        ist_misuse(routine, "%s is %td and there are %zu blocks, which is more than there are addresses", argument,
                   stride, s->n_blocks);
    return ist_require_length(routine, argument, nelems, s->size);
}

/* A loop whose copies have a constant size. */
static void copy_elements(char *dest, const char *source, ptrdiff_t dest_bytes, ptrdiff_t source_bytes, size_t n,
                          size_t size)
{
#define COPY_LOOP(bytes) \
    for (; n > 0; n--, dest += dest_bytes, source += source_bytes) memcpy(dest, source, bytes)
    switch (size) {
    case 1: COPY_LOOP(1); break;
    case 2: COPY_LOOP(2); break;
    case 4: COPY_LOOP(4); break;
    case 8: COPY_LOOP(8); break;
    default: COPY_LOOP(size); break;
    }
#undef COPY_LOOP
}

/* With ISTHMUS_CHECK: the blocks one by one, because the bytes between them are not touched. */
static void check_blocks(ist_ctx *ctx, char *dest, const char *source, const struct ist_stride *s, int pe,
                         const char *routine, enum ist_check_kind kind)
{
    ptrdiff_t size = (ptrdiff_t)s->size;
    for (size_t i = 0; i < s->n_blocks; i++) {
        char *to = dest + (ptrdiff_t)i * s->dest * size;
        const char *from = source + (ptrdiff_t)i * s->source * size;
        bool is_read = kind == IST_CHECK_READ;
        (void)ist_check_op(&(struct ist_checked_op){.routine = routine,
                                                    .ctx = ctx,
                                                    .pe = pe,
                                                    .kind = kind,
                                                    .remote_name = is_read ? "source" : "dest",
                                                    .local_name = is_read ? "dest" : "source",
                                                    .remote = is_read ? from : to,
                                                    .local = is_read ? to : from,
                                                    .length_bytes = s->block_nelems * s->size,
                                                    .is_block = true});
    }
}

typedef void (*block_fn)(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe,
                         const char *routine);

/* `move` is a form that returns at once: a round trip for each block would be most of the time. */
static void each_block(ist_ctx *ctx, char *dest, const char *source, const struct ist_stride *s, int pe,
                       const char *routine, block_fn move)
{
    ptrdiff_t size = (ptrdiff_t)s->size;
    ist_check_enter(); /* for the program they are no operations of their own */
    for (size_t i = 0; i < s->n_blocks; i++)
        move(ctx, dest + (ptrdiff_t)i * s->dest * size, source + (ptrdiff_t)i * s->source * size,
             s->block_nelems * s->size, pe, routine);
    ist_local_complete(ctx, routine);
    ist_check_leave();
}

static bool is_contiguous(const struct ist_stride *s)
{
    return (size_t)s->dest == s->block_nelems && (size_t)s->source == s->block_nelems;
}

void ist_strided_put(ist_ctx *ctx, void *dest, const void *source, const struct ist_stride *s, int pe,
                     const char *routine)
{
    ist_require_pe(ctx, pe, routine, "pe");
    if (s->n_blocks == 0 || s->block_nelems == 0) return;
    struct ist_target to;
    struct ist_access access = {routine, "dest", dest, span_bytes(routine, "dst", s->dest, s), 1, pe};
    (void)span_bytes(routine, "sst", s->source, s);
    ist_target_find(ctx, &access, &to);
    ist_require_buffer(routine, "source", source);
    ptrdiff_t size = (ptrdiff_t)s->size;
    if (!is_contiguous(s) && ist_check_applies()) check_blocks(ctx, dest, source, s, pe, routine, IST_CHECK_WRITE);
    if (is_contiguous(s))
        ist_put_bulk(ctx, dest, source, access.length_bytes, pe, routine);
    else if (to.alias != NULL && to.length_bytes == access.length_bytes && !ist_has_device_memory())
        copy_elements(to.alias, source, s->dest * size, s->source * size, s->n_blocks, s->block_nelems * s->size);
    else
        each_block(ctx, dest, source, s, pe, routine, ist_put_nbi_slow);
}

/* Constants of the executable lie in no segment, and are the same on every PE. */
static bool is_constant(const void *source, size_t length_bytes)
{
    return ist_segment_of(source, 1) < 0 && ist_symmetric_data_is_constant(source, length_bytes);
}

static void copy_constants(char *dest, const char *source, const struct ist_stride *s, const char *routine)
{
    ptrdiff_t size = (ptrdiff_t)s->size;
    for (size_t i = 0; i < s->n_blocks; i++)
        ist_copy_here(dest + (ptrdiff_t)i * s->dest * size, source + (ptrdiff_t)i * s->source * size,
                      s->block_nelems * s->size, routine);
}

void ist_strided_get(ist_ctx *ctx, void *dest, const void *source, const struct ist_stride *s, int pe,
                     const char *routine)
{
    ist_require_pe(ctx, pe, routine, "pe");
    if (s->n_blocks == 0 || s->block_nelems == 0) return;
    struct ist_target from;
    struct ist_access access = {routine, "source", source, span_bytes(routine, "sst", s->source, s), 1, pe};
    (void)span_bytes(routine, "dst", s->dest, s);
    if (is_constant(source, access.length_bytes)) {
        ist_require_buffer(routine, "dest", dest);
        copy_constants(dest, source, s, routine);
        return;
    }
    ist_target_find(ctx, &access, &from);
    ist_require_buffer(routine, "dest", dest);
    ptrdiff_t size = (ptrdiff_t)s->size;
    if (!is_contiguous(s) && ist_check_applies()) check_blocks(ctx, dest, source, s, pe, routine, IST_CHECK_READ);
    if (is_contiguous(s))
        ist_get_bulk(ctx, dest, source, access.length_bytes, pe, routine);
    else if (from.alias != NULL && from.length_bytes == access.length_bytes && !ist_has_device_memory())
        copy_elements(dest, from.alias, s->dest * size, s->source * size, s->n_blocks, s->block_nelems * s->size);
    else
        each_block(ctx, dest, source, s, pe, routine, ist_get_nbi_slow);
    ist_order_loads(); /* as after a get */
}
