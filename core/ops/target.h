/* core/ops/target.h: both sides of an operation on the slow path: resolves (address, PE), or reports what is wrong with
 * it, and finds the kind and the registration of the local buffer. All unusual cases end here: first use of a peer,
 * peers without an alias, ranges that the fast path does not check, and all mistakes of the program, which end the job
 * with one line. */
#ifndef IST_OPS_TARGET_H
#define IST_OPS_TARGET_H

#include "core/base/atomic.h"
#include "core/base/recorder.h"
#include "core/heap/registered.h"
#include "core/ops/checker.h"
#include "core/ops/transfer.h"
#include "core/transport/peer.h"
#include "core/transport/route.h"
#include "core/transport/segment.h"

#include <string.h>

struct ist_target {
    const struct ist_peer *peer;
    const struct ist_attached *segment;       /* of the peer, which holds the whole range */
    const struct ist_attached_extent *extent; /* which holds its beginning */
    uint64_t offset_bytes;                    /* in that extent */
    size_t length_bytes;                      /* of the part of the range that lies in it */
    char *alias;                              /* local address of that part; NULL to call the transport */
};

/* Ends the job if the access to the symmetric side is wrong or the peer cannot be reached. */
void ist_target_find(const struct ist_transfer *t, struct ist_target *out);

/* The same for a valid target that was used before: nothing is fetched, opened or checked. While waiting for the
 * network a processor's caches go cold, so the path there and back is short. Returns false, with `out` undefined, if
 * the caller has to call ist_target_find(). */
IST_INLINE bool ist_target_known(const struct ist_transfer *t, struct ist_target *out)
{
    const char *addr = ist_transfer_far(t);
    if (!t->ctx->is_valid || (uint32_t)t->pe >= (uint32_t)t->ctx->team->n_pes) return false; /* or negative */
    out->peer = ist_peer_known(ist_team_to_world(t->ctx->team, t->pe));
    uint32_t id = (uint32_t)ist_segment_of(addr, t->length_bytes); /* none is above all others */
    if (out->peer == NULL || id >= ist_segments.n_at_start) return false;
    out->segment = ist_peer_segment(out->peer, id);
    uint64_t in_segment = (uint64_t)((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr);
    out->extent = ist_extent_of(&out->segment->extents, in_segment, t->length_bytes);
    if (out->extent == NULL || out->extent->alias != NULL) return false;
    out->offset_bytes = in_segment - out->extent->offset_bytes;
    out->length_bytes = t->length_bytes;
    out->alias = NULL;
    return true;
}

/* The same for one element. */
IST_INLINE bool ist_target_known_element(const struct ist_transfer *t, struct ist_target *out)
{
    bool is_aligned = ((uintptr_t)ist_transfer_far(t) & (t->align_bytes - 1)) == 0;
    return IST_LIKELY(!ist_check_on && is_aligned && ist_target_known(t, out));
}

/* The target of one element, with the checks of ISTHMUS_CHECK. */
void ist_target_find_element(const struct ist_transfer *t, struct ist_target *out) IST_COLD;
IST_INLINE void ist_target_of_element(const struct ist_transfer *t, struct ist_target *out)
{
    if (ist_target_known_element(t, out)) return;
    const struct ist_transfer unusual = ist_transfer_copy(t);
    ist_target_find_element(&unusual, out);
}

/* The same for ISTHMUS_PROFILE. */
_Static_assert((int)IST_TRANSFER_GET == (int)IST_PROFILE_GET && (int)IST_TRANSFER_PUT == (int)IST_PROFILE_PUT &&
                   (int)IST_TRANSFER_ATOMIC == (int)IST_PROFILE_ATOMIC,
               "the kinds of transfers have the profile's numbers");
IST_INLINE void ist_target_count(const struct ist_transfer *t, const struct ist_target *far, uint32_t transport,
                                 size_t length_bytes)
{
    if (IST_LIKELY(!ist_load_relaxed(&ist_profile_on))) return;
    const struct ist_profile_moved moved = {.pe = far->peer->card.pe,
                                            .transport = transport,
                                            .is_direct = far->alias != NULL,
                                            .what = (enum ist_profile_move)t->kind,
                                            .is_element = t->align_bytes > 0};
    ist_profile_count(&moved, length_bytes);
}

/* Ends the job if the PE of the world runs another executable than this PE, or has another build of the object whose
 * static data segment `id` is: its variables and constants lie elsewhere. */
void ist_require_layout(const struct ist_transfer *t, int world_pe, uint32_t id);

/* Ends the job unless the runtime is initialised and the context valid. */
void ist_require_ctx(const ist_ctx *ctx, const char *routine);

/* Ends the job unless pe is a member number of the context's team; returns its number in the world. */
int ist_require_pe(const ist_ctx *ctx, int pe, const char *routine, const char *argument);

/* Ends the job unless [addr, addr + length) is symmetric memory of this PE, aligned; returns the segment's id. */
int ist_require_symmetric(const char *routine, const char *argument, const void *addr, size_t length_bytes,
                          size_t align_bytes);

/* Ends the job if a local buffer is NULL. */
void ist_require_buffer(const char *routine, const char *argument, const void *addr);

/* Ends the job if the two overlap; equal ones are allowed where the routine may work in place. */
void ist_check_overlap(const char *routine, const void *dest, size_t dest_bytes, const void *source,
                       size_t source_bytes, bool may_be_equal) IST_COLD;

/* Returns nelems * size; ends the job if that does not fit in half the address space. */
size_t ist_require_length(const char *routine, const char *argument, size_t nelems, size_t size);

/* ---- the local side, where it lies in memory that the processor cannot touch ----
 * This PE's heap on a device, a registered buffer there, or memory that the program got from the driver. While a PE has
 * no such memory all of this is one test of one flag. */

/* The ISTHMUS_MEM_ kind of an address of this PE; host memory unless the library or a driver knows otherwise. */
uint32_t ist_operand_kind_slow(const void *addr) IST_COLD;
static inline uint32_t ist_operand_kind(const void *addr)
{
    return IST_LIKELY(!ist_has_device_memory()) ? ISTHMUS_MEM_HOST : ist_operand_kind_slow(addr);
}

static inline bool ist_is_on_device(const void *addr) { return ist_operand_kind(addr) != ISTHMUS_MEM_HOST; }

/* How much of [addr, addr + length) one registration holds. */
size_t ist_operand_piece(const void *addr, size_t length_bytes);

/* Returns the registration that holds a local operand, for the transport that is to move it, or NULL if none holds all
 * of it. */
static inline const isthmus_lmem *ist_operand_registration(uint32_t transport, const void *addr, size_t length_bytes)
{
    const isthmus_lmem *symmetric = ist_segment_lmem(transport, addr, length_bytes);
    return symmetric != NULL ? symmetric : ist_registered_find(transport, addr, length_bytes);
}

/* A copy inside this PE, between any kinds of memory. The ranges do not overlap. Ends the job if a device fails. */
void ist_copy_here_slow(void *dest, const void *source, size_t length_bytes, const char *routine) IST_COLD;
static inline void ist_copy_here(void *dest, const void *source, size_t length_bytes, const char *routine)
{
    if (IST_LIKELY(!ist_has_device_memory()))
        memcpy(dest, source, length_bytes);
    else
        ist_copy_here_slow(dest, source, length_bytes, routine);
}

#endif
