/* core/transport/route.h: from (symmetric address, PE) to a local address, in two dependent loads and no branch that
 * depends on data. The flat table that the fast paths read.
 * Not how a peer is reached when it has no alias, nor how rows are filled: peer.h.
 *
 * The struct and the element paths are in isthmus/inline.h, because programs compile them in.
 * A row holds, for one PE, what has to be added to an address of mine to get an address of its memory. An entry without
 * an alias is IST_NO_ALIAS, which is odd, while true deltas are multiples of a page: one test of one bit covers a peer not
 * yet talked to, a transport that must be called, an address that is not symmetric, a misaligned one, a PE out of range
 * and a runtime that is not initialised. The slow path finds out which. (Zero cannot stand for "none": it is the right
 * delta for the own PE.) */
#ifndef IST_TRANSPORT_ROUTE_H
#define IST_TRANSPORT_ROUTE_H

#include "core/base/status.h"

#include <isthmus/inline.h>
#include <stdbool.h>

#define IST_NO_ALIAS ((intptr_t)1)

_Static_assert(sizeof(struct isthmus_row) == 32, "a row is half a cache line");
_Static_assert(offsetof(struct isthmus_fast, element) == 64, "what ordering reads is one cache line");

/* In default_used: not initialised. The other bits are transports. */
#define IST_FAST_OFF (1u << 31)

/* In a context's `used`, and for the default context in default_used: every ordering call is looked at (ISTHMUS_CHECK). */
#define IST_USED_WATCHED (1u << 30)

/* Puts and gets up to this many bytes are copied inline. */
enum { IST_SMALL_BYTES = ISTHMUS_SMALL_BYTES };

/* The two segments that the fast paths know, for ranges of any length. */
extern struct ist_windows {
    struct ist_window {
        uintptr_t base;
        uint64_t length_bytes;
    } heap, statics;
} ist_windows;

/* Is there memory in this PE that the processor cannot touch, so that a local operand has to be looked at before it is loaded or
 * stored? Copies take no inlined path then: only the range that they reach on the peer is looked at there. */
extern bool ist_device_memory_is_here;
void ist_expect_device_memory(void); /* from now on */
IST_INLINE bool ist_has_device_memory(void) { return __atomic_load_n(&ist_device_memory_is_here, __ATOMIC_RELAXED); }

/* Which contexts' rows a PE number selects: the hot part of a context. */
struct ist_reachable {
    const struct isthmus_row *rows; /* of PE 0 of the context's team */
    intptr_t stride_bytes;          /* from the row of one PE of the team to that of the next */
    uint32_t n_pes;                 /* 0: not initialised, or not a simple team: always the slow path */
};

/* Where in a row the delta for this address stands; 0: it is no aligned element, or no small range, of either segment. */
IST_INLINE size_t ist_column_of_element(uintptr_t addr, unsigned log2_size)
{
    return isthmus_element_column_(&isthmus_fast_v1, (const void *)addr, log2_size);
}

IST_INLINE size_t ist_column_of_small(uintptr_t addr) { return isthmus_column_(&isthmus_fast_v1.small, addr); }

IST_INLINE intptr_t ist_delta(const struct ist_reachable *reach, size_t column, int pe)
{
    if (IST_UNLIKELY((uint32_t)pe >= reach->n_pes)) return IST_NO_ALIAS;
    const struct isthmus_row *row = (const struct isthmus_row *)(const void *)((const char *)reach->rows +
                                                                               (intptr_t)pe * reach->stride_bytes);
    return __atomic_load_n(&row->delta[column], __ATOMIC_ACQUIRE); /* as in isthmus_delta_ */
}

IST_INLINE bool ist_is_aliased(intptr_t delta) { return (delta & IST_NO_ALIAS) == 0; }

/* Let programs take the inlined paths, or not (before init, after finalize, in a child after fork). */
void ist_fast_paths_set(int n_pes);

/* Never let them: every call has to arrive at the routine by its name. */
void ist_fast_paths_forbid(void);

/* Nor the library its own: no address is one that an inline test knows, so that every call arrives at its slow path. */
void ist_fast_paths_close(void);

/* What default_used is when the default context has nothing to wait for. */
extern uint32_t ist_fast_idle;

/* The world team's rows; n_pes of them. Each is filled on first use of its PE. */
extern struct isthmus_row *ist_rows;

isthmus_status ist_rows_init(int n_pes);
void ist_rows_fini(void);
void ist_window_set_heap(const void *base, uint64_t length_bytes);
void ist_window_set_statics(const void *base, uint64_t length_bytes);

#endif
