/* core/ops/rma.c: puts and gets beyond the inline paths. See rma.h.
 * Bulk copies to aliased peers, then the slow path: first use, peers behind a transport, and misuse. */
#include "core/ops/rma.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/heap/registered.h"
#include "core/heap/symmetric_data.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/transport/progress.h"
#include "core/transport/segment.h"

#include <isthmus/copy_cpu.h>

/* ---- slow: through a transport, or an alias that was not known a moment ago ---- */

typedef enum { BLOCKING, NBI } completion;

/* The registration that holds a local operand, for the transport that is to move it; NULL: nobody has registered all of it. */
static const isthmus_lmem *registration_of(uint32_t carrier, const void *addr, size_t length_bytes)
{
    const isthmus_lmem *symmetric = ist_segment_lmem(carrier, addr, length_bytes);
    return symmetric != NULL ? symmetric : ist_registered_find(carrier, addr, length_bytes);
}

IST_INLINE void put_through(ist_ctx *ctx, const struct ist_target *to, const void *source, size_t length_bytes,
                            completion mode, const char *routine)
{
    uint32_t carrier = to->segment->carrier;
    struct ist_channel *channel = ist_ctx_channel(ctx, carrier, routine);
    isthmus_path *path = to->peer->paths[carrier];
    const isthmus_lmem *source_mem = registration_of(carrier, source, length_bytes);
    isthmus_status status;
    ist_mark_used(ctx, carrier);
    if (mode == BLOCKING) ist_note_call(IST_NOTE_TRANSPORT, routine, to->peer->card.pe);
    for (;;) {
        ist_ctx_enter(ctx, carrier);
        status = mode == NBI ? channel->ops.put_nbi(channel->chan, path, to->extent->rmem, to->offset_bytes, source,
                                                    source_mem, length_bytes)
                             : channel->ops.put(channel->chan, path, to->extent->rmem, to->offset_bytes, source,
                                                source_mem, length_bytes);
        ist_ctx_leave(ctx, carrier);
        if (status != ISTHMUS_ERR_AGAIN) break;
        if (mode == NBI) ist_note_call(IST_NOTE_TRANSPORT, routine, to->peer->card.pe); /* not so quick, then */
        ist_progress_poll();
    }
    ist_note_over();
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

IST_INLINE void get_through(ist_ctx *ctx, const struct ist_target *from, void *dest, size_t length_bytes,
                            completion mode, const char *routine)
{
    uint32_t carrier = from->segment->carrier;
    struct ist_channel *channel = ist_ctx_channel(ctx, carrier, routine);
    isthmus_path *path = from->peer->paths[carrier];
    const isthmus_lmem *dest_mem = registration_of(carrier, dest, length_bytes);
    isthmus_status status;
    ist_mark_used(ctx, carrier);
    if (mode == BLOCKING) ist_note_call(IST_NOTE_TRANSPORT, routine, from->peer->card.pe);
    for (;;) {
        ist_ctx_enter(ctx, carrier);
        status = mode == NBI ? channel->ops.get_nbi(channel->chan, path, from->extent->rmem, from->offset_bytes, dest,
                                                    dest_mem, length_bytes)
                             : channel->ops.get(channel->chan, path, from->extent->rmem, from->offset_bytes, dest,
                                                dest_mem, length_bytes);
        ist_ctx_leave(ctx, carrier);
        if (status != ISTHMUS_ERR_AGAIN) break;
        if (mode == NBI) ist_note_call(IST_NOTE_TRANSPORT, routine, from->peer->card.pe); /* not so quick, then */
        ist_progress_poll();
    }
    ist_note_over();
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

static void put_any(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                    completion mode)
{
    if (length_bytes == 0) {
        ist_require_pe(ctx, pe, routine, "pe");
        return;
    }
    struct ist_target to;
    struct ist_access access = {routine, "dest", dest, length_bytes, 1, pe};
    ist_target_find(ctx, &access, &to);
    ist_require_buffer(routine, "source", source);
    if (ist_check_on && to.alias != NULL)
        ist_check_overlap(routine, to.alias, to.length_bytes, source, to.length_bytes, false);
    if (to.alias == NULL)
        put_through(ctx, &to, source, to.length_bytes, mode, routine);
    else if (to.length_bytes <= IST_SMALL_BYTES)
        ist_copy_small(to.alias, source, to.length_bytes);
    else
        isthmus_copy_cpu(to.alias, source, to.length_bytes);
    if (to.length_bytes < length_bytes) /* the rest lies in the next extent */
        put_any(ctx, (char *)dest + to.length_bytes, (const char *)source + to.length_bytes,
                length_bytes - to.length_bytes, pe, routine, mode);
}

static void get_any(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                    completion mode)
{
    if (length_bytes == 0) {
        ist_require_pe(ctx, pe, routine, "pe");
        return;
    }
    if (ist_symmetric_data_is_constant(source, length_bytes)) {
        ist_require_pe(ctx, pe, routine, "pe");
        ist_require_buffer(routine, "dest", dest);
        memcpy(dest, source, length_bytes);
        return;
    }
    struct ist_target from;
    struct ist_access access = {routine, "source", source, length_bytes, 1, pe};
    ist_target_find(ctx, &access, &from);
    ist_require_buffer(routine, "dest", dest);
    if (ist_check_on && from.alias != NULL)
        ist_check_overlap(routine, dest, from.length_bytes, from.alias, from.length_bytes, false);
    if (from.alias == NULL)
        get_through(ctx, &from, dest, from.length_bytes, mode, routine);
    else
        isthmus_copy_cpu(dest, from.alias, from.length_bytes);
    if (from.length_bytes < length_bytes)
        get_any(ctx, (char *)dest + from.length_bytes, (const char *)source + from.length_bytes,
                length_bytes - from.length_bytes, pe, routine, mode);
}

IST_INLINE void put_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                         completion mode)
{
    struct ist_target to;
    bool is_usual = length_bytes > 0 && source != NULL && !ist_check_on;
    if (IST_LIKELY(is_usual && ist_target_known(ctx, dest, length_bytes, pe, &to)))
        put_through(ctx, &to, source, length_bytes, mode, routine);
    else
        put_any(ctx, dest, source, length_bytes, pe, routine, mode);
}

IST_INLINE void get_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                         completion mode)
{
    struct ist_target from;
    bool is_usual = length_bytes > 0 && dest != NULL && !ist_check_on;
    if (IST_LIKELY(is_usual && ist_target_known(ctx, source, length_bytes, pe, &from)))
        get_through(ctx, &from, dest, length_bytes, mode, routine);
    else
        get_any(ctx, dest, source, length_bytes, pe, routine, mode);
}

void ist_put_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    put_slow(ctx, dest, source, length_bytes, pe, routine, BLOCKING);
}

void ist_get_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    get_slow(ctx, dest, source, length_bytes, pe, routine, BLOCKING);
}

void ist_put_nbi_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    put_slow(ctx, dest, source, length_bytes, pe, routine, NBI);
}

void ist_get_nbi_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    get_slow(ctx, dest, source, length_bytes, pe, routine, NBI);
}

/* An element knows its alignment; the value is little-endian in `bits`, as the only processors we run on have it. */
void ist_p_slow(ist_ctx *ctx, void *dest, uint64_t bits, int pe, const char *routine, size_t size)
{
    struct ist_target to;
    struct ist_access access = {routine, "dest", dest, size, size, pe};
    ist_target_find(ctx, &access, &to);
    if (to.alias != NULL)
        ist_copy_small(to.alias, (const char *)&bits, size);
    else
        put_through(ctx, &to, &bits, size, BLOCKING, routine);
}

uint64_t ist_g_slow(ist_ctx *ctx, const void *source, int pe, const char *routine, size_t size)
{
    struct ist_target from;
    struct ist_access access = {routine, "source", source, size, size, pe};
    uint64_t bits = 0;
    if (ist_symmetric_data_is_constant(source, size)) {
        get_any(ctx, &bits, source, size, pe, routine, BLOCKING);
        return bits;
    }
    ist_target_find(ctx, &access, &from);
    if (from.alias != NULL)
        ist_copy_small((char *)&bits, from.alias, size);
    else
        get_through(ctx, &from, &bits, size, BLOCKING, routine);
    return bits;
}

/* ---- bulk: aliased peers without the slow path's book-keeping ---- */

/* The alias of a range that lies in one of the two windows as a whole; NULL: not that simple. */
static inline char *alias_of_range(const ist_ctx *ctx, uintptr_t addr, size_t length_bytes, int pe)
{
    const struct ist_windows *w = &ist_windows;
    uintptr_t in_heap = addr - w->heap.base, in_statics = addr - w->statics.base;
    size_t column = 0;
    if (in_heap < w->heap.length_bytes && length_bytes <= w->heap.length_bytes - in_heap)
        column = 1;
    else if (in_statics < w->statics.length_bytes && length_bytes <= w->statics.length_bytes - in_statics)
        column = 2;
    intptr_t delta = ist_ctx_delta(ctx, column, pe);
    return ist_is_aliased(delta) ? (char *)addr + delta : NULL;
}

void ist_put_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    char *alias = alias_of_range(ctx, (uintptr_t)dest, length_bytes, pe);
    if (IST_LIKELY(alias != NULL && source != NULL))
        isthmus_copy_cpu(alias, source, length_bytes);
    else
        ist_put_slow(ctx, dest, source, length_bytes, pe, routine);
}

void ist_get_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    const char *alias = alias_of_range(ctx, (uintptr_t)source, length_bytes, pe);
    if (IST_LIKELY(alias != NULL && dest != NULL))
        isthmus_copy_cpu(dest, alias, length_bytes);
    else
        ist_get_slow(ctx, dest, source, length_bytes, pe, routine);
}

void ist_put_nbi_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    char *alias = alias_of_range(ctx, (uintptr_t)dest, length_bytes, pe);
    if (IST_LIKELY(alias != NULL && source != NULL))
        isthmus_copy_cpu(alias, source, length_bytes);
    else
        ist_put_nbi_slow(ctx, dest, source, length_bytes, pe, routine);
}

void ist_get_nbi_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    const char *alias = alias_of_range(ctx, (uintptr_t)source, length_bytes, pe);
    if (IST_LIKELY(alias != NULL && dest != NULL))
        isthmus_copy_cpu(dest, alias, length_bytes);
    else
        ist_get_nbi_slow(ctx, dest, source, length_bytes, pe, routine);
}
