/* core/ops/rma.c: puts and gets beyond the inline paths. See rma.h.
 * Bulk copies to aliased peers, then the slow path: first use, peers behind a transport, and misuse. */
#include "core/ops/rma.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/heap/symmetric_data.h"
#include "core/ops/operand.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/transport/flush.h"
#include "core/transport/memory.h"
#include "core/transport/progress.h"

#include <isthmus/copy_cpu.h>
#include <stdlib.h>

/* ---- slow: through a transport, or an alias that was not known a moment ago ---- */

typedef enum { BLOCKING, NBI } completion;

IST_INLINE void put_through(ist_ctx *ctx, const struct ist_target *to, const void *source,
                            const isthmus_lmem *source_mem, size_t length_bytes, completion mode, const char *routine)
{
    uint32_t carrier = to->segment->carrier;
    struct ist_channel *channel = ist_ctx_channel(ctx, carrier, routine);
    isthmus_path *path = to->peer->paths[carrier];
    isthmus_status status;
    ist_mark_written(ctx, to->peer, carrier);
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

IST_INLINE void get_through(ist_ctx *ctx, const struct ist_target *from, void *dest, const isthmus_lmem *dest_mem,
                            size_t length_bytes, completion mode, const char *routine)
{
    uint32_t carrier = from->segment->carrier;
    struct ist_channel *channel = ist_ctx_channel(ctx, carrier, routine);
    isthmus_path *path = from->peer->paths[carrier];
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
static void start_staged(ist_ctx *ctx, const struct ist_target *far, const char *near, char *stage, size_t length_bytes,
                         bool is_put, const char *routine)
{
    struct ist_target part = *far;
    for (size_t done = 0; done < length_bytes; done += STAGE_PART_BYTES) {
        size_t left = length_bytes - done, n = left < STAGE_PART_BYTES ? left : STAGE_PART_BYTES;
        part.offset_bytes = far->offset_bytes + done;
        if (is_put) {
            ist_copy_here(stage + done, near + done, n, routine);
            put_through(ctx, &part, stage + done, NULL, n, NBI, routine);
        } else {
            get_through(ctx, &part, stage + done, NULL, n, NBI, routine);
        }
    }
}

/* Through host memory, a part at a time: for carriers that neither know the kind nor stage it themselves. */
static void move_staged(ist_ctx *ctx, const struct ist_target *far, char *near, size_t length_bytes, bool is_put,
                        const char *routine)
{
    size_t at_once = length_bytes < STAGE_BYTES ? length_bytes : STAGE_BYTES;
    char *stage = malloc(at_once);
    struct ist_target part = *far;
    if (stage == NULL) ist_die(routine, ist_fail(ISTHMUS_ERR_NO_MEMORY, "no memory for a copy of %zu bytes", at_once));
    ist_check_enter(); /* the completions in here are not the program's */
    for (size_t done = 0; done < length_bytes; done += at_once) {
        size_t n = length_bytes - done < at_once ? length_bytes - done : at_once;
        part.offset_bytes = far->offset_bytes + done;
        start_staged(ctx, &part, near + done, stage, n, is_put, routine);
        ist_local_complete_transports(ctx, routine);
        if (!is_put) ist_copy_here(near + done, stage, n, routine);
    }
    ist_check_leave();
    free(stage);
}

/* ---- one range of any kind ---- */

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
    uint32_t kind = ist_operand_kind(source);
    size_t n = ist_operand_piece(source, to.length_bytes);
    const isthmus_lmem *mem;
    if (to.alias == NULL && is_taken(to.segment->carrier, kind, source, n, &mem))
        put_through(ctx, &to, source, mem, n, mode, routine);
    else if (to.alias == NULL)
        move_staged(ctx, &to, (char *)(uintptr_t)source, n, true, routine);
    else if (kind != ISTHMUS_MEM_HOST)
        ist_copy_here(to.alias, source, n, routine);
    else if (n <= IST_SMALL_BYTES)
        ist_copy_small(to.alias, source, n);
    else
        isthmus_copy_cpu(to.alias, source, n);
    if (n < length_bytes) /* the rest lies in the next extent */
        put_any(ctx, (char *)dest + n, (const char *)source + n, length_bytes - n, pe, routine, mode);
}

/* An adapter may have written `dest` past the device's driver, and reports the completion by way of host memory. */
static void flush_got(ist_ctx *ctx, completion mode)
{
    if (mode == BLOCKING)
        ist_flush_writes();
    else
        ist_store_relaxed(&ctx->has_device_gets, 1);
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
        ist_copy_here(dest, source, length_bytes, routine);
        return;
    }
    struct ist_target from;
    struct ist_access access = {routine, "source", source, length_bytes, 1, pe};
    ist_target_find(ctx, &access, &from);
    ist_require_buffer(routine, "dest", dest);
    if (ist_check_on && from.alias != NULL)
        ist_check_overlap(routine, dest, from.length_bytes, from.alias, from.length_bytes, false);
    uint32_t kind = ist_operand_kind(dest);
    size_t n = ist_operand_piece(dest, from.length_bytes);
    const isthmus_lmem *mem;
    if (from.alias == NULL && is_taken(from.segment->carrier, kind, dest, n, &mem))
        get_through(ctx, &from, dest, mem, n, mode, routine);
    else if (from.alias == NULL)
        move_staged(ctx, &from, dest, n, false, routine);
    else if (kind != ISTHMUS_MEM_HOST)
        ist_copy_here(dest, from.alias, n, routine);
    else
        isthmus_copy_cpu(dest, from.alias, n);
    if (kind != ISTHMUS_MEM_HOST) flush_got(ctx, mode);
    if (n < length_bytes) get_any(ctx, (char *)dest + n, (const char *)source + n, length_bytes - n, pe, routine, mode);
}

/* With ISTHMUS_CHECK, before the operation. `local` NULL: a value, and no buffer of the program. */
static void check_put(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                      completion mode)
{
    if (!ist_check_applies()) return;
    (void)ist_check_op(&(struct ist_checked_op){.routine = routine,
                                                .ctx = ctx,
                                                .pe = pe,
                                                .kind = IST_CHECK_WRITE,
                                                .remote_name = "dest",
                                                .local_name = "source",
                                                .remote = dest,
                                                .local = source,
                                                .length_bytes = length_bytes,
                                                .is_nbi = mode == NBI});
}

/* Returns true if the operation is held back until the context's completion. */
static bool check_get(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                      completion mode)
{
    if (!ist_check_applies()) return false;
    return ist_check_op(&(struct ist_checked_op){.routine = routine,
                                                 .ctx = ctx,
                                                 .pe = pe,
                                                 .kind = IST_CHECK_READ,
                                                 .remote_name = "source",
                                                 .local_name = "dest",
                                                 .remote = source,
                                                 .local = dest,
                                                 .length_bytes = length_bytes,
                                                 .is_nbi = mode == NBI});
}

/* A blocking read shows this PE what others have done so far. */
static void check_got(void)
{
    if (ist_check_applies()) ist_check_synchronised();
}

static void put_unusual(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                        completion mode)
{
    check_put(ctx, dest, source, length_bytes, pe, routine, mode);
    put_any(ctx, dest, source, length_bytes, pe, routine, mode);
}

static void get_unusual(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                        completion mode)
{
    if (check_get(ctx, dest, source, length_bytes, pe, routine, mode)) return;
    get_any(ctx, dest, source, length_bytes, pe, routine, mode);
    if (mode == BLOCKING) check_got();
}

IST_INLINE void put_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                         completion mode)
{
    struct ist_target to;
    bool is_usual = length_bytes > 0 && source != NULL && !ist_check_on && !ist_is_on_device(source);
    if (IST_LIKELY(is_usual && ist_target_known(ctx, dest, length_bytes, pe, &to)))
        put_through(ctx, &to, source, ist_operand_registration(to.segment->carrier, source, length_bytes), length_bytes,
                    mode, routine);
    else
        put_unusual(ctx, dest, source, length_bytes, pe, routine, mode);
}

IST_INLINE void get_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine,
                         completion mode)
{
    struct ist_target from;
    bool is_usual = length_bytes > 0 && dest != NULL && !ist_check_on && !ist_is_on_device(dest);
    if (IST_LIKELY(is_usual && ist_target_known(ctx, source, length_bytes, pe, &from)))
        get_through(ctx, &from, dest, ist_operand_registration(from.segment->carrier, dest, length_bytes), length_bytes,
                    mode, routine);
    else
        get_unusual(ctx, dest, source, length_bytes, pe, routine, mode);
}

void ist_put_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    put_slow(ctx, dest, source, length_bytes, pe, routine, BLOCKING);
}

void ist_get_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    get_slow(ctx, dest, source, length_bytes, pe, routine, BLOCKING);
    ist_order_loads();
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
    check_put(ctx, dest, NULL, size, pe, routine, BLOCKING);
    ist_target_find(ctx, &access, &to);
    if (to.alias != NULL)
        ist_copy_small(to.alias, (const char *)&bits, size);
    else
        put_through(ctx, &to, &bits, NULL, size, BLOCKING, routine);
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
    (void)check_get(ctx, NULL, source, size, pe, routine, BLOCKING);
    ist_target_find(ctx, &access, &from);
    if (from.alias != NULL)
        ist_copy_small((char *)&bits, from.alias, size);
    else
        get_through(ctx, &from, &bits, NULL, size, BLOCKING, routine);
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
    intptr_t delta = ist_ctx_delta(ctx, column, pe);
    return ist_is_aliased(delta) ? (char *)addr + delta : NULL;
}

void ist_put_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    char *alias = alias_of_range(ctx, (uintptr_t)dest, length_bytes, pe);
    if (IST_LIKELY(alias != NULL && source != NULL && !ist_has_device_memory()))
        isthmus_copy_cpu(alias, source, length_bytes);
    else
        ist_put_slow(ctx, dest, source, length_bytes, pe, routine);
}

void ist_get_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    const char *alias = alias_of_range(ctx, (uintptr_t)source, length_bytes, pe);
    if (IST_UNLIKELY(alias == NULL || dest == NULL || ist_has_device_memory())) {
        ist_get_slow(ctx, dest, source, length_bytes, pe, routine);
        return;
    }
    isthmus_copy_cpu(dest, alias, length_bytes);
    ist_order_loads();
}

void ist_put_nbi_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    char *alias = alias_of_range(ctx, (uintptr_t)dest, length_bytes, pe);
    if (IST_LIKELY(alias != NULL && source != NULL && !ist_has_device_memory()))
        isthmus_copy_cpu(alias, source, length_bytes);
    else
        ist_put_nbi_slow(ctx, dest, source, length_bytes, pe, routine);
}

void ist_get_nbi_bulk(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    const char *alias = alias_of_range(ctx, (uintptr_t)source, length_bytes, pe);
    if (IST_LIKELY(alias != NULL && dest != NULL && !ist_has_device_memory()))
        isthmus_copy_cpu(dest, alias, length_bytes);
    else
        ist_get_nbi_slow(ctx, dest, source, length_bytes, pe, routine);
}
