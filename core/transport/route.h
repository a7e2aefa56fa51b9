/* core/transport/route.h: from (symmetric address, PE) to a local address, in two dependent loads and no branch that
 * depends on data. The flat table that the fast paths read.
 * Not the access to a peer without an alias, nor the filling of rows: peer.h.
 *
 * The struct and the fast paths are in isthmus/inline.h, because programs compile them in. A row holds, for one PE,
 * the difference between an address of its memory and the same symmetric address here. An entry without an alias is
 * ISTHMUS_NO_ALIAS, which is odd, while true deltas are multiples of a page: one test of one bit covers a peer not used
 * yet, a transport that must be called, an address that is not symmetric, a misaligned one, a PE out of range and a
 * runtime that is not initialised. The slow path distinguishes them. (Zero cannot mean "none": it is the right delta
 * for this PE itself.) */
#ifndef IST_TRANSPORT_ROUTE_H
#define IST_TRANSPORT_ROUTE_H

#include "core/base/status.h"

#include <isthmus/inline.h>
#include <stdbool.h>

_Static_assert(sizeof(struct isthmus_row) == 32, "a row is half a cache line");
_Static_assert(offsetof(struct isthmus_fast, element) == 64, "what ordering reads is one cache line");

/* In default_used: not initialised. The other bits are transports. */
#define IST_FAST_OFF (1u << 31)

/* In a context's `used`, and for the default context in default_used: every ordering call is checked
 * (ISTHMUS_CHECK). */
#define IST_USED_WATCHED (1u << 30)

/* Likewise, in the default context alone: a quiet waits for requests of kernels too (ist_quiet_also). */
#define IST_USED_BY_KERNELS (1u << 29)

/* Both: no transports, and a quiet leaves them. */
#define IST_USED_MARKS (IST_USED_WATCHED | IST_USED_BY_KERNELS)

/* Puts and gets up to this many bytes are copied inline. */
enum { IST_SMALL_BYTES = ISTHMUS_SMALL_BYTES };

/* The two segments that the fast paths cover, for ranges of any length. */
extern struct ist_windows {
    struct ist_window {
        uintptr_t base;
        uint64_t length_bytes;
    } heap, statics;
} ist_windows;

/* Set if this PE has memory that the processor cannot access, so that the kind of a local operand is checked before it
 * is loaded or stored. Copies take no inlined path then: that path checks only the range on the peer. */
extern bool ist_device_memory_is_here;
void ist_expect_device_memory(void); /* from now on */
IST_INLINE bool ist_has_device_memory(void) { return __atomic_load_n(&ist_device_memory_is_here, __ATOMIC_RELAXED); }

/* The rows that a context's PE numbers select: the hot part of a context. */
struct ist_reachable {
    const struct isthmus_row *rows; /* of PE 0 of the context's team */
    intptr_t stride_bytes;          /* from the row of one PE of the team to that of the next */
    uint32_t n_pes;                 /* 0: not initialised, or not a simple team: always the slow path */
};

/* Returns the entry of a row for this address; 0 if it is no aligned element of either segment. */
IST_INLINE size_t ist_column_of_element(uintptr_t addr, unsigned log2_size)
{
    return isthmus_column_(&isthmus_fast_v1.element[log2_size], isthmus_element_number_((const void *)addr, log2_size));
}

/* The row of a PE of the context's team, for isthmus/inline.h; NULL if there is none. */
IST_INLINE const struct isthmus_row *ist_reachable_row(const struct ist_reachable *reach, int pe)
{
    if (IST_UNLIKELY((uint32_t)pe >= reach->n_pes)) return NULL;
    const void *row = (const char *)reach->rows + (intptr_t)pe * reach->stride_bytes;
    if (row == NULL) __builtin_unreachable(); /* as in isthmus_row_ */
    return row;
}

/* Lets programs take the inlined paths, or not (before init, after finalize, in a child after fork). */
void ist_fast_paths_set(int n_pes);

/* Forbids them for good: every call has to reach the routine of its name. */
void ist_fast_paths_forbid(void);

/* Closes the library's own as well: no address passes an inline test, so that every call takes its slow path. */
void ist_fast_paths_close(void);

/* The value of default_used when the default context has no operation to wait for. */
extern uint32_t ist_fast_idle;

/* The world team's rows; n_pes of them. Each is filled on first use of its PE. */
extern struct isthmus_row *ist_rows;

isthmus_status ist_rows_init(int n_pes);
void ist_rows_fini(void);
void ist_window_set_heap(const void *base, uint64_t length_bytes);
void ist_window_set_statics(const void *base, uint64_t length_bytes);

#endif
