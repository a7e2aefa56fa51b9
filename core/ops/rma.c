/* core/ops/rma.c: puts and gets beyond the inline paths. See rma.h.
 * Bulk copies to aliased peers, then the slow path: first use, peers behind a transport, and misuse. */
#include "core/ops/rma.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/base/recorder.h"
#include "core/heap/static_data.h"
#include "core/ops/commit.h"
#include "core/ops/region.h"
#include "core/ops/target.h"
#include "core/transport/memory.h"

#include <isthmus/copy_cpu.h>
#include <stdlib.h>

/* ---- slow: through a transport, or an alias that was not known a moment ago ---- */

/* One call of a data slot. `near`: the side on this PE, and `near_mem` its registration. */
IST_INLINE isthmus_status call_slot(const struct ist_transfer *t, const struct ist_channel *channel,
                                    const struct ist_target *far, char *near, const isthmus_lmem *near_mem, size_t n)
{
    const struct isthmus_data_ops *ops = &channel->ops;
    isthmus_path *path = far->peer->paths[far->segment->carrier];
    if (t->kind == IST_TRANSFER_PUT)
        return (t->is_nbi ? ops->put_nbi : ops->put)(channel->chan, path, far->extent->rmem, far->offset_bytes, near,
                                                     near_mem, n);
    return (t->is_nbi ? ops->get_nbi : ops->get)(channel->chan, path, far->extent->rmem, far->offset_bytes, near,
                                                 near_mem, n);
}

/* Copies leave the function, so that the originals stay in registers: ist_transfer_copy(). */
IST_INLINE bool put_in_region(const struct ist_transfer *t, const struct ist_target *far, const char *near,
                              const isthmus_lmem *near_mem, size_t n)
{
    const struct ist_transfer what = ist_transfer_copy(t);
    const struct ist_target there = {.peer = far->peer,
                                     .segment = far->segment,
                                     .extent = far->extent,
                                     .alias = far->alias,
                                     .offset_bytes = far->offset_bytes,
                                     .length_bytes = far->length_bytes};
    return ist_region_put(&what, &there, near, near_mem, n);
}

/* The first n bytes at `far`, by its carrier. */
IST_INLINE void move_through(const struct ist_transfer *t, const struct ist_target *far, char *near,
                             const isthmus_lmem *near_mem, size_t n)
{
    uint32_t carrier = far->segment->carrier;
    struct ist_channel *channel = ist_ctx_channel(t->ctx, carrier, t->routine);
    isthmus_status status;
    if (t->kind == IST_TRANSFER_PUT)
        ist_mark_written(t->ctx, far->peer, carrier);
    else
        ist_mark_used(t->ctx, carrier);
    if (t->kind == IST_TRANSFER_PUT && IST_UNLIKELY(ist_region.is_batching) && put_in_region(t, far, near, near_mem, n))
        return;
    if (t->kind == IST_TRANSFER_GET) ist_region_post(); /* a loop of gets is a wait */
    if (t->is_nbi)
        ist_note_quick_call(t->routine, far->peer->card.pe);
    else
        ist_note_call(IST_NOTE_TRANSPORT, t->routine, far->peer->card.pe);
    for (;;) {
        ist_ctx_enter(t->ctx, carrier);
        status = call_slot(t, channel, far, near, near_mem, n);
        ist_ctx_leave(t->ctx, carrier);
        if (status != ISTHMUS_ERR_AGAIN) break;
        ist_make_room(t->ctx, carrier, channel);
    }
    ist_note_over();
    if (status != ISTHMUS_OK) ist_die(t->routine, status);
}

/* ---- local operands that the processor, or the carrier, cannot touch ---- */

enum { STAGE_BYTES = 1 << 20, STAGE_PART_BYTES = 256 << 10 };

/* Returns true if the carrier moves this operand directly; `mem` is then its registration for the carrier. */
static bool is_taken(uint32_t carrier, uint32_t kind, const void *addr, size_t length_bytes, const isthmus_lmem **mem)
{
    *mem = ist_operand_registration(carrier, addr, length_bytes);
    if (IST_LIKELY(kind == ISTHMUS_MEM_HOST)) return true;
    if ((ist_registry.list[carrier].traits.kinds_local >> kind & 1) == 0) return false;
    if (*mem == NULL) *mem = ist_memory_any(carrier, kind);
    return *mem != NULL;
}

/* While the carrier moves one part, the device's driver copies the next. */
static void start_staged(const struct ist_transfer *t, const struct ist_target *far, const char *near, char *stage,
                         size_t length_bytes)
{
    struct ist_target part = *far;
    for (size_t done = 0; done < length_bytes; done += STAGE_PART_BYTES) {
        size_t left = length_bytes - done, n = left < STAGE_PART_BYTES ? left : STAGE_PART_BYTES;
        part.offset_bytes = far->offset_bytes + done;
        if (t->kind == IST_TRANSFER_PUT) ist_copy_here(stage + done, near + done, n, t->routine);
        move_through(t, &part, stage + done, NULL, n);
    }
}

/* Through host memory, a part at a time: for carriers that neither know the kind nor stage it themselves. */
static void move_staged(const struct ist_transfer *t, const struct ist_target *far, char *near, size_t length_bytes)
{
    size_t at_once = length_bytes < STAGE_BYTES ? length_bytes : STAGE_BYTES;
    char *stage = malloc(at_once);
    struct ist_target part = *far;
    struct ist_transfer in_parts = *t;
    in_parts.is_nbi = true;
    if (stage == NULL) ist_die(t->routine, ist_fail_memory("a copy of %zu bytes", at_once));
    ist_check_enter(); /* the completions in here are not the program's */
    for (size_t done = 0; done < length_bytes; done += at_once) {
        size_t n = length_bytes - done < at_once ? length_bytes - done : at_once;
        part.offset_bytes = far->offset_bytes + done;
        start_staged(&in_parts, &part, near + done, stage, n);
        ist_local_complete_transports(t->ctx, t->routine);
        if (t->kind == IST_TRANSFER_GET) ist_copy_here(near + done, stage, n, t->routine);
    }
    ist_check_leave();
    free(stage);
}

/* ---- one range of any kind ---- */

/* Where the other side can be loaded and stored. */
static void move_by_alias(const struct ist_transfer *t, char *alias, char *near, size_t n)
{
    char *to = t->kind == IST_TRANSFER_PUT ? alias : near, *from = t->kind == IST_TRANSFER_PUT ? near : alias;
    if (ist_is_on_device(near))
        ist_copy_here(to, from, n, t->routine);
    else if (n <= IST_SMALL_BYTES)
        isthmus_copy_small_(to, from, n);
    else
        isthmus_copy_cpu(to, from, n);
}

/* A transport may have written `dest` past the device's driver, and reports the completion by way of host memory. */
static void flush_got(const struct ist_transfer *t)
{
    if (t->is_nbi)
        ist_store_relaxed(&t->ctx->has_device_gets, 1);
    else
        ist_flush_writes();
}

static void check_overlap(const struct ist_transfer *t, const struct ist_target *far)
{
    bool is_put = t->kind == IST_TRANSFER_PUT;
    if (ist_check_on && far->alias != NULL)
        ist_check_overlap(t->routine, is_put ? far->alias : t->dest, far->length_bytes, is_put ? t->source : far->alias,
                          far->length_bytes, false);
}

/* As much as one extent and one registration hold; returns how much. */
static size_t move_piece(const struct ist_transfer *t)
{
    struct ist_target far;
    const isthmus_lmem *mem;
    char *near = ist_transfer_near(t);
    ist_target_find(t, &far);
    ist_require_buffer(t->routine, ist_transfer_near_name(t), near);
    check_overlap(t, &far);
    uint32_t kind = ist_operand_kind(near);
    size_t n = ist_operand_piece(near, far.length_bytes);
    ist_target_count(t, &far, far.segment->carrier, n);
    if (far.alias != NULL)
        move_by_alias(t, far.alias, near, n);
    else if (is_taken(far.segment->carrier, kind, near, n, &mem))
        move_through(t, &far, near, mem, n);
    else
        move_staged(t, &far, near, n);
    if (t->kind == IST_TRANSFER_GET && kind != ISTHMUS_MEM_HOST) flush_got(t);
    return n;
}

static bool is_of_constant(const struct ist_transfer *t)
{
    return t->kind == IST_TRANSFER_GET && ist_symmetric_data_is_constant(t->source, t->length_bytes);
}

static void move_any(const struct ist_transfer *t)
{
    struct ist_transfer left = *t;
    if (t->length_bytes == 0) ist_require_pe(t->ctx, t->pe, t->routine, "pe");
    if (t->length_bytes > 0 && is_of_constant(t)) {
        ist_require_layout(t, ist_require_pe(t->ctx, t->pe, t->routine, "pe"), IST_SEGMENT_STATIC);
        ist_require_buffer(t->routine, "dest", t->dest);
        ist_copy_here(t->dest, t->source, t->length_bytes, t->routine);
        return;
    }
    while (left.length_bytes > 0) {
        size_t n = move_piece(&left);
        left.dest += n, left.source += n, left.length_bytes -= n;
    }
}

/* ---- the four routines ---- */

/* A blocking read shows this PE what others have done so far. */
static void check_got(void)
{
    if (ist_check_applies()) ist_check_synchronised();
}

static IST_COLD void move_unusual(const struct ist_transfer *t)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(t->routine);
    if (ist_check_applies() && ist_check_transfer(t)) return;
    move_any(t);
    if (t->kind == IST_TRANSFER_GET && !t->is_nbi) check_got();
}

/* A transfer of host memory to or from a peer behind a transport that was used before. */
IST_INLINE void move_slow(const struct ist_transfer *t)
{
    struct ist_target far;
    char *near = ist_transfer_near(t);
    bool is_usual = t->length_bytes > 0 && near != NULL && !ist_ctx_is_watched && !ist_is_on_device(near);
    if (IST_LIKELY(is_usual && ist_target_known(t, &far))) {
        move_through(t, &far, near, ist_operand_registration(far.segment->carrier, near, t->length_bytes),
                     t->length_bytes);
    } else {
        const struct ist_transfer unusual = ist_transfer_copy(t);
        move_unusual(&unusual);
    }
}

void ist_put_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    const struct ist_transfer t = ist_transfer_put(ctx, dest, source, length_bytes, pe, routine);
    move_slow(&t);
}

void ist_get_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    const struct ist_transfer t = ist_transfer_get(ctx, dest, source, length_bytes, pe, routine);
    move_slow(&t);
    ist_order_loads();
}

void ist_put_nbi_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    struct ist_transfer t = ist_transfer_put(ctx, dest, source, length_bytes, pe, routine);
    t.is_nbi = true;
    move_slow(&t);
}

void ist_get_nbi_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    struct ist_transfer t = ist_transfer_get(ctx, dest, source, length_bytes, pe, routine);
    t.is_nbi = true;
    move_slow(&t);
}

/* An element knows its alignment; the value is little-endian in `bits`, as the only processors we run on have it. */
IST_INLINE void p_far(ist_ctx *ctx, void *dest, uint64_t bits, int pe, const char *routine, size_t size)
{
    struct ist_target far;
    struct ist_transfer t = ist_transfer_put(ctx, dest, NULL, size, pe, routine);
    t.align_bytes = size;
    ist_target_of_element(&t, &far);
    ist_target_count(&t, &far, far.segment->carrier, size);
    if (far.alias != NULL)
        isthmus_copy_small_(far.alias, (const char *)&bits, size);
    else
        move_through(&t, &far, (char *)&bits, NULL, size);
}

static IST_COLD void p_recorded(ist_ctx *ctx, void *dest, uint64_t bits, int pe, const char *routine, size_t size)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    p_far(ctx, dest, bits, pe, routine, size);
}

/* Without a scope in the usual case, which would keep a record on the stack: kernels' requests come here. */
void ist_p_slow(ist_ctx *ctx, void *dest, uint64_t bits, int pe, const char *routine, size_t size)
{
    if (IST_UNLIKELY(ist_load_relaxed(&ist_profile_on)))
        p_recorded(ctx, dest, bits, pe, routine, size);
    else
        p_far(ctx, dest, bits, pe, routine, size);
}

uint64_t ist_g_slow(ist_ctx *ctx, const void *source, int pe, const char *routine, size_t size)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    struct ist_target far;
    struct ist_transfer t = ist_transfer_get(ctx, NULL, source, size, pe, routine);
    uint64_t bits = 0;
    t.align_bytes = size;
    bool is_known = ist_target_known_element(&t, &far);
    if (!is_known && is_of_constant(&t)) {
        const struct ist_transfer constant = ist_transfer_get(ctx, &bits, source, size, pe, routine);
        move_any(&constant);
        return bits;
    }
    if (!is_known) {
        const struct ist_transfer unusual = ist_transfer_copy(&t);
        ist_target_find_element(&unusual, &far);
    }
    ist_target_count(&t, &far, far.segment->carrier, size);
    if (far.alias != NULL)
        isthmus_copy_small_((char *)&bits, far.alias, size);
    else
        move_through(&t, &far, (char *)&bits, NULL, size);
    ist_order_loads();
    check_got();
    return bits;
}

/* ---- bulk: aliased peers without the slow path's book-keeping ---- */

/* Returns the alias of a range that lies in one of the two windows as a whole, else NULL. */
static inline char *alias_of_range(const ist_ctx *ctx, uintptr_t addr, size_t length_bytes, int pe)
{
    const struct ist_windows *w = &ist_windows;
    uintptr_t in_heap = addr - w->heap.base, in_statics = addr - w->statics.base;
    size_t column = 0;
    if (in_heap < w->heap.length_bytes && length_bytes <= w->heap.length_bytes - in_heap)
        column = 1;
    else if (in_statics < w->statics.length_bytes && length_bytes <= w->statics.length_bytes - in_statics)
        column = 2;
    const struct isthmus_row *row = ist_ctx_row(ctx, pe);
    return row != NULL ? isthmus_alias_(isthmus_delta_(row, column), (const void *)addr) : NULL;
}

/* These return false if nothing was copied. */
IST_INLINE bool put_at_once(const ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe)
{
    char *alias = alias_of_range(ctx, (uintptr_t)dest, length_bytes, pe);
    if (IST_UNLIKELY(alias == NULL || source == NULL || ist_has_device_memory())) return false;
    isthmus_copy_cpu(alias, source, length_bytes);
    return true;
}

IST_INLINE bool get_at_once(const ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe)
{
    const char *alias = alias_of_range(ctx, (uintptr_t)source, length_bytes, pe);
    if (IST_UNLIKELY(alias == NULL || dest == NULL || ist_has_device_memory())) return false;
    isthmus_copy_cpu(dest, alias, length_bytes);
    return true;
}

void ist_put_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    if (!put_at_once(ctx, dest, source, length_bytes, pe)) ist_put_slow(ctx, dest, source, length_bytes, pe, routine);
}

void ist_get_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    if (get_at_once(ctx, dest, source, length_bytes, pe))
        ist_order_loads();
    else
        ist_get_slow(ctx, dest, source, length_bytes, pe, routine);
}

void ist_put_nbi_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    if (!put_at_once(ctx, dest, source, length_bytes, pe))
        ist_put_nbi_slow(ctx, dest, source, length_bytes, pe, routine);
}

void ist_get_nbi_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    if (!get_at_once(ctx, dest, source, length_bytes, pe))
        ist_get_nbi_slow(ctx, dest, source, length_bytes, pe, routine);
}
