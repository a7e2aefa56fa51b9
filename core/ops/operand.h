/* core/ops/operand.h: the local side of an operation, where it lies in memory that the processor cannot touch: this
 * PE's heap on a device, a registered buffer there, or memory that the program got from the driver. Not the far side
 * (target.h).
 * While a PE has no such memory all of this is one test of one flag. */
#ifndef IST_OPS_OPERAND_H
#define IST_OPS_OPERAND_H

#include "core/base/atomic.h"
#include "core/heap/registered.h"
#include "core/transport/route.h"
#include "core/transport/segment.h"

#include <string.h>

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
