/* core/proxy/ranges.h: symmetric memory outside the heap, as kernels find it: static data, the library's flags, buffers
 * that the program has made symmetric. Each is a range with one delta for every PE; the list ends with an empty range.
 * Not where the list lies: a caller copies it to where its kernels read. */
#ifndef IST_PROXY_RANGES_H
#define IST_PROXY_RANGES_H

#include "core/boot/boot.h"

#include <isthmus/device_state.h>
#include <stdbool.h>

struct ist_ranges {
    struct isthmus_device_range *list; /* n + 1 of them, then the deltas: one block of memory */
    size_t bytes;                      /* of the block */
    uint32_t n;
    bool is_whole; /* kernels reach all of these ranges, and all buffers, at all PEs: none of it takes the ring */
};

/* Lists the ranges for kernels that run in memory of `kind` (ISTHMUS_MEM_): memory of that kind. Connects to the PEs of
 * this host, to no others. `is_direct` false: of other PEs all takes the ring (ISTHMUS_DEVICE_DIRECT=0). To be called
 * again when a buffer has been made symmetric, in that collective call, and when one is about to become private. */
isthmus_status ist_ranges_make(const ist_boot *boot, uint32_t kind, bool is_direct, struct ist_ranges *out);
void ist_ranges_free(struct ist_ranges *ranges); /* accepts a zeroed struct */

/* Makes the list one that is read at another address: its pointers are then those of a copy of the block there. */
void ist_ranges_move(struct ist_ranges *ranges, const void *there);

#endif
