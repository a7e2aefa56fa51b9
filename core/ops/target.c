/* core/ops/target.c: see target.h. The texts of misuse are here, so that every routine reports a mistake in the same
 * words. */
#include "core/ops/target.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/base/process.h"
#include "core/heap/heap.h"
#include "core/ops/checker.h"
#include "core/transport/choose.h"
#include "core/transport/memory.h"
#include "core/transport/segment.h"

#include <inttypes.h>
#include <stdio.h>

/* Of checker.h. */
bool ist_check_on;
const struct ist_checker *ist_checker;
_Thread_local int ist_check_depth;

bool ist_check_is_on_program(void) { return ist_check_depth == 0 && ist_sync_now == NULL; }

void ist_require_ctx(const ist_ctx *ctx, const char *routine)
{
    if (ctx->is_valid) return;
    if (ctx == &ist_ctx_invalid && ist_ctx_default.is_valid)
        ist_misuse(routine, "ctx is SHMEM_CTX_INVALID; valid: SHMEM_CTX_DEFAULT or a context that was created");
    ist_misuse(routine, "called outside shmem_init and shmem_finalize");
}

int ist_require_pe(const ist_ctx *ctx, int pe, const char *routine, const char *argument)
{
    ist_require_ctx(ctx, routine);
    if (pe < 0 || pe >= ctx->team->n_pes)
        ist_misuse(routine, "%s is %d; valid: 0 to %d", argument, pe, ctx->team->n_pes - 1);
    return ist_team_to_world(ctx->team, pe);
}

void ist_require_buffer(const char *routine, const char *argument, const void *addr)
{
    if (addr == NULL) ist_misuse(routine, "%s is NULL; valid: the address of a buffer", argument);
}

size_t ist_require_length(const char *routine, const char *argument, size_t nelems, size_t size)
{
    size_t length_bytes;
    if (__builtin_mul_overflow(nelems, size, &length_bytes) || length_bytes > SIZE_MAX / 2)
        ist_misuse(routine, "%s is %zu (%lld as a signed number); valid: 0 to %zu elements of %zu bytes", argument,
                   nelems, (long long)nelems, SIZE_MAX / 2 / size, size);
    return length_bytes;
}

static void list_segment(const struct ist_segment *segment, char *out, size_t room, size_t *used)
{
    const struct isthmus_mem *mem = &segment->mem;
    if (mem->length_bytes == 0 || *used >= room) return;
    int n = snprintf(out + *used, room - *used, "%s%s %p to %p", *used > 0 ? ", " : "", segment->name, mem->addr,
                     (void *)((char *)mem->addr + mem->length_bytes));
    *used += n > 0 ? (size_t)n : 0;
}

/* "the symmetric heap 0x.. to 0x.., static data 0x.. to 0x..": the program's symmetric memory. */
static void list_segments(char *out, size_t room)
{
    size_t used = 0;
    list_segment(&ist_segments.list[ist_heap.segment], out, room, &used);
    for (uint32_t s = 0; s < ist_segments.n; s++)
        if (s != IST_SEGMENT_HEAP && s != IST_SEGMENT_STREAMS && s != ist_heap.segment)
            list_segment(&ist_segments.list[s], out, room, &used);
}

static _Noreturn void refuse_addr(const char *routine, const char *argument, const void *addr, size_t length_bytes)
{
    int s = ist_segment_of(addr, 1);
    if (addr == NULL) ist_misuse(routine, "%s is NULL; valid: the address of symmetric memory", argument);
    int around = ist_segment_around(addr, length_bytes);
    if (around >= 0)
        ist_misuse(routine,
                   "%s is %p; some of %zu bytes from there are in pages of %s that this PE protected or mapped before "
                   "init, which are not symmetric; use memory of shmem_malloc",
                   argument, addr, length_bytes, ist_segments.list[around].name);
    if (s >= 0) {
        const struct isthmus_mem *mem = &ist_segments.list[s].mem;
        ist_misuse(
            routine, "%s is %p; %zu bytes from there pass the end of %s at %p; at most %" PRIu64 " bytes are valid",
            argument, addr, length_bytes, ist_segments.list[s].name, (void *)((char *)mem->addr + mem->length_bytes),
            mem->length_bytes - ((uintptr_t)addr - (uintptr_t)mem->addr));
    }
    char segments[400] = "";
    list_segments(segments, sizeof segments);
    ist_misuse(routine, "%s is %p, which is not symmetric; valid: %s", argument, addr, segments);
}

static int require_in_segment(const char *routine, const char *argument, const void *addr, size_t length_bytes,
                              size_t align_bytes)
{
    int segment = ist_segment_of(addr, length_bytes);
    if (segment < 0) refuse_addr(routine, argument, addr, length_bytes);
    if (align_bytes > 1 && (uintptr_t)addr % align_bytes != 0)
        ist_misuse(routine, "%s is %p, which is misaligned; valid: a multiple of %zu bytes", argument, addr,
                   align_bytes);
    return segment;
}

int ist_require_symmetric(const char *routine, const char *argument, const void *addr, size_t length_bytes,
                          size_t align_bytes)
{
    int segment = require_in_segment(routine, argument, addr, length_bytes, align_bytes);
    if (IST_UNLIKELY(ist_check_on)) ist_checker->heap_range(routine, argument, addr, length_bytes);
    return segment;
}

void ist_require_layout(const struct ist_transfer *t, int world_pe, uint32_t id)
{
    const struct ist_card *card;
    char own[IST_CARD_EXECUTABLE_BYTES];
    bool is_equal = true;
    isthmus_status status = ist_peer_has_layout(world_pe, id, &is_equal);
    if (status == ISTHMUS_OK && !is_equal) status = ist_peer_card(world_pe, &card);
    if (status != ISTHMUS_OK) ist_die(t->routine, status);
    if (is_equal) return;
    ist_executable_name(own, sizeof own);
    ist_misuse(t->routine,
               "%s is %p in %s; PE %d runs %s, and this PE %s, whose variables lie elsewhere; between different "
               "executables use memory of shmem_malloc",
               ist_transfer_far_name(t), (const void *)ist_transfer_far(t), ist_segments.list[id].name, world_pe,
               card->executable, own);
}

void ist_target_find(const struct ist_transfer *t, struct ist_target *out)
{
    const char *addr = ist_transfer_far(t), *name = ist_transfer_far_name(t);
    int world_pe = ist_require_pe(t->ctx, t->pe, t->routine, "pe");
    /* Without the checks of ist_require_symmetric: operations are checked as a whole (ist_check_transfer). */
    int id = require_in_segment(t->routine, name, addr, t->length_bytes, t->align_bytes);
    bool is_first_use = ist_peer_known(world_pe) == NULL;
    if (is_first_use) ist_note_call(IST_NOTE_CONNECTION, t->routine, world_pe);
    isthmus_status status = ist_peer_get(world_pe, &out->peer);
    if (is_first_use) ist_note_over();
    if (status != ISTHMUS_OK) ist_die(t->routine, status);

    out->segment = ist_peer_segment(out->peer, (uint32_t)id);
    uint64_t offset_bytes = (uint64_t)((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr);
    if (out->peer->card.failure != ISTHMUS_OK) { /* which it has reported, or is about to */
        (void)ist_fail(ISTHMUS_ERR_PEER_LOST, "PE %d on %s could not start; its own message has the reason", world_pe,
                       out->peer->card.host_name);
        ist_die(t->routine, ISTHMUS_ERR_PEER_LOST);
    }
    if (out->segment->length_bytes == 0) ist_require_layout(t, world_pe, (uint32_t)id);
    if (t->length_bytes > out->segment->length_bytes || offset_bytes > out->segment->length_bytes - t->length_bytes)
        ist_misuse(t->routine, "%s is %p in %s, where PE %d has no memory; start the same executable on all PEs", name,
                   (const void *)addr, ist_segments.list[id].name, world_pe);
    if (ist_peer_leaves_out(out->peer, (uint32_t)id, offset_bytes, t->length_bytes))
        ist_misuse(t->routine,
                   "%s is %p; some of %zu bytes from there are in pages of %s that PE %d protected or mapped before "
                   "init, which are not symmetric; use memory of shmem_malloc",
                   name, (const void *)addr, t->length_bytes, ist_segments.list[id].name, world_pe);
    if (out->segment->carrier == IST_NO_TRANSPORT)
        ist_die(t->routine, ist_peer_why_unreachable(out->peer, (uint32_t)id));
    out->extent = ist_peer_extent(out->peer, (uint32_t)id, offset_bytes);
    if (out->extent == NULL) ist_die(t->routine, ISTHMUS_ERR_UNREACHABLE);
    out->offset_bytes = offset_bytes - out->extent->offset_bytes;
    uint64_t left_bytes = out->extent->length_bytes - out->offset_bytes;
    out->length_bytes = t->length_bytes < left_bytes ? t->length_bytes : left_bytes;
    out->alias = out->extent->alias != NULL ? out->extent->alias + out->offset_bytes : NULL;
}

void ist_target_find_element(const struct ist_transfer *t, struct ist_target *out)
{
    if (ist_check_applies()) (void)ist_check_transfer(t);
    ist_target_find(t, out);
}

void ist_check_overlap(const char *routine, const void *dest, size_t dest_bytes, const void *source,
                       size_t source_bytes, bool may_be_equal)
{
    uintptr_t d = (uintptr_t)dest, s = (uintptr_t)source;
    if (d == s && may_be_equal) return;
    if (d < s + source_bytes && s < d + dest_bytes)
        ist_misuse(routine, "dest %p (%zu bytes) overlaps source %p (%zu bytes); valid: buffers apart%s", dest,
                   dest_bytes, source, source_bytes, may_be_equal ? ", or the same" : "");
}

/* ---- the local side ---- */

uint32_t ist_operand_kind_slow(const void *addr)
{
    uint32_t kind;
    int id = ist_segment_of(addr, 1);
    if (id >= 0) return ist_segments.list[id].mem.kind;
    return ist_registered_holds(addr, &kind) ? kind : ist_memory_kind_at(addr);
}

size_t ist_operand_piece(const void *addr, size_t length_bytes)
{
    if (IST_LIKELY(!ist_has_device_memory())) return length_bytes;
    size_t piece_bytes = ist_segment_piece(addr);
    return piece_bytes > 0 && piece_bytes < length_bytes ? piece_bytes : length_bytes;
}

void ist_copy_here_slow(void *dest, const void *source, size_t length_bytes, const char *routine)
{
    uint32_t kind = ist_operand_kind(dest);
    if (kind == ISTHMUS_MEM_HOST) kind = ist_operand_kind(source);
    if (kind == ISTHMUS_MEM_HOST) {
        memcpy(dest, source, length_bytes);
        return;
    }
    isthmus_status status = ist_memory_copy(kind, dest, source, length_bytes);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}
