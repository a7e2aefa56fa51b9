/* core/ops/strided.c: see rma.h.
 * The whole range is checked once; then aliased peers are a loop of copies, other peers a stream of puts or gets that
 * are completed together. */
#include "core/ops/rma.h"

#include "core/base/fatal.h"
#include "core/base/recorder.h"
#include "core/heap/static_data.h"
#include "core/ops/order.h"
#include "core/ops/target.h"

/* Bytes from the first to past the last block, or the end of the job. */
static size_t span_bytes(const char *routine, const char *argument, ptrdiff_t stride, const struct ist_stride *s)
{
    ptrdiff_t least = s->block_nelems > 0 && s->block_nelems < PTRDIFF_MAX ? (ptrdiff_t)s->block_nelems : 1;
    if (stride < least) ist_misuse(routine, "%s is %td; valid: at least %td", argument, stride, least);
    size_t last, nelems;
    if (__builtin_mul_overflow(s->n_blocks - 1, (size_t)stride, &last) ||
        __builtin_add_overflow(last, s->block_nelems, &nelems))
        ist_misuse(routine, "%s is %td for %zu blocks, which exceeds the address space", argument, stride, s->n_blocks);
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

/* Block i of a transfer of all. */
static struct ist_transfer block_of(const struct ist_transfer *all, const struct ist_stride *s, size_t i)
{
    struct ist_transfer block = *all;
    block.dest += (ptrdiff_t)i * s->dest * (ptrdiff_t)s->size;
    block.source += (ptrdiff_t)i * s->source * (ptrdiff_t)s->size;
    block.length_bytes = s->block_nelems * s->size;
    block.is_block = true;
    return block;
}

/* With ISTHMUS_CHECK: the blocks one by one, because the bytes between them are not touched. */
static void check_blocks(const struct ist_transfer *all, const struct ist_stride *s)
{
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct ist_transfer block = block_of(all, s, i);
        (void)ist_check_transfer(&block);
    }
}

/* By a form that returns at once: a round trip for each block would be most of the time. */
static void each_block(const struct ist_transfer *all, const struct ist_stride *s)
{
    bool is_put = all->kind == IST_TRANSFER_PUT;
    ist_check_enter(); /* for the program they are no operations of their own */
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct ist_transfer b = block_of(all, s, i);
        (is_put ? ist_put_nbi_slow : ist_get_nbi_slow)(b.ctx, b.dest, b.source, b.length_bytes, b.pe, b.routine);
    }
    ist_local_complete(all->ctx, all->routine);
    ist_check_leave();
}

static bool is_contiguous(const struct ist_stride *s)
{
    return (size_t)s->dest == s->block_nelems && (size_t)s->source == s->block_nelems;
}

static void copy_constants(const struct ist_transfer *all, const struct ist_stride *s)
{
    ist_require_buffer(all->routine, "dest", all->dest);
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct ist_transfer b = block_of(all, s, i);
        ist_copy_here(b.dest, b.source, b.length_bytes, b.routine);
    }
}

/* `all`: its length is that of the whole range on the other PE. */
static void move_blocks(const struct ist_transfer *all, const struct ist_stride *s)
{
    bool is_put = all->kind == IST_TRANSFER_PUT;
    ptrdiff_t size = (ptrdiff_t)s->size;
    struct ist_target far;
    ist_target_find(all, &far);
    ist_require_buffer(all->routine, ist_transfer_near_name(all), ist_transfer_near(all));
    if (!is_contiguous(s) && ist_check_applies()) check_blocks(all, s);
    if (is_contiguous(s))
        (is_put ? ist_put_bulk : ist_get_bulk)(all->ctx, all->dest, all->source, all->length_bytes, all->pe,
                                               all->routine);
    else if (far.alias != NULL && far.length_bytes == all->length_bytes && !ist_has_device_memory()) {
        ist_target_count(all, &far, far.segment->carrier, s->n_blocks * s->block_nelems * s->size);
        copy_elements(is_put ? far.alias : all->dest, is_put ? all->source : far.alias, s->dest * size,
                      s->source * size, s->n_blocks, s->block_nelems * s->size);
    } else
        each_block(all, s);
}

void ist_strided_put(ist_ctx *ctx, void *dest, const void *source, const struct ist_stride *s, int pe,
                     const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    ist_require_pe(ctx, pe, routine, "pe");
    if (s->n_blocks == 0 || s->block_nelems == 0) return;
    const struct ist_transfer all = ist_transfer_put(ctx, dest, source, span_bytes(routine, "dst", s->dest, s), pe,
                                                     routine);
    (void)span_bytes(routine, "sst", s->source, s);
    move_blocks(&all, s);
}

void ist_strided_get(ist_ctx *ctx, void *dest, const void *source, const struct ist_stride *s, int pe,
                     const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    ist_require_pe(ctx, pe, routine, "pe");
    if (s->n_blocks == 0 || s->block_nelems == 0) return;
    const struct ist_transfer all = ist_transfer_get(ctx, dest, source, span_bytes(routine, "sst", s->source, s), pe,
                                                     routine);
    (void)span_bytes(routine, "dst", s->dest, s);
    if (ist_symmetric_data_is_constant(source, all.length_bytes)) {
        ist_require_layout(&all, ist_team_to_world(ctx->team, pe), IST_SEGMENT_STATIC);
        copy_constants(&all, s);
        return;
    }
    move_blocks(&all, s);
    ist_order_loads(); /* as after a get */
}
