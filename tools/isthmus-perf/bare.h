/* tools/isthmus-perf/bare.h: what the processor does alone: the limit of an operation within one host. A bare operation
 * moves the same bytes between the same buffers, through the address at which the peer's memory is mapped here, or, if
 * it is mapped nowhere, within the memory of this PE. */
#ifndef ISTHMUS_PERF_BARE_H
#define ISTHMUS_PERF_BARE_H

#include "tools/isthmus-perf/operations.h"

/* Keeps the compiler from merging the steps of a loop, without an instruction. */
static inline void bare_keep_loop(void) { __asm__ volatile("" ::: "memory"); }

/* Keeps the compiler from dropping a value that is not used. */
static inline void bare_use(long value) { __asm__ volatile("" : : "r"(value)); }

perf_batch bare_put, bare_get, bare_put_many, bare_put_signal;       /* memcpy, and what orders it */
perf_batch bare_store, bare_load, bare_fetch_add, bare_compare_swap; /* one instruction */
perf_batch bare_flags;                                               /* all PEs: flags in log2(n) rounds */
perf_batch bare_receive_one, bare_receive_others;                    /* flags, and each PE copies what it receives */

/* For those that synchronize PEs by the same flags: the value of the next time, equal on all PEs. */
uint64_t bare_next_turn(void);

/* All PEs: each copies one block from the next PE, and no PE waits for another. */
perf_batch bare_copy_one;

/* The copy of a put within this PE's own memory. */
perf_batch bare_near_put;

#endif
