/* core/ops/amo.h: atomics on a symmetric word of any PE: the inline path to aliased peers, and the rest.
 * Every location has one executor, its home; for host memory that is the processor (isthmus/amo_cpu.h), and a peer
 * behind a transport is reached through one that executes there. */
#ifndef IST_OPS_AMO_H
#define IST_OPS_AMO_H

#include "core/ops/rma.h"

#include <isthmus/amo_cpu.h>

/* Operation and operand, together because there are many. */
struct ist_amo {
    uint32_t op;   /* ISTHMUS_AMO_ */
    uint32_t size; /* bytes: 1, 2, 4, 8 */
    uint64_t operand, compare;
};

/* Returns the old value; for operations that fetch nothing `flags` lacks ISTHMUS_AMO_FETCHING. */
uint64_t ist_amo_slow(ist_ctx *ctx, void *dest, const struct ist_amo *amo, uint32_t flags, int pe, const char *routine)
    IST_COLD;

/* The old value goes to *fetch, at the latest at local_complete. */
void ist_amo_nbi_slow(ist_ctx *ctx, void *fetch, void *dest, const struct ist_amo *amo, int pe, const char *routine)
    IST_COLD;

/* `amo->op`, `amo->size` and `flags` are constant at every call. */
IST_INLINE uint64_t ist_amo(ist_ctx *ctx, void *dest, const struct ist_amo amo, uint32_t flags, int pe,
                            const char *routine)
{
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_element((uintptr_t)dest, ist_log2_of(amo.size)), pe);
    if (IST_UNLIKELY(!ist_is_aliased(delta)))
        return ist_amo_slow(ctx, dest, &(struct ist_amo){amo.op, amo.size, amo.operand, amo.compare}, flags, pe,
                            routine);
    return isthmus_amo_cpu(amo.op, (char *)dest + delta, amo.operand, amo.compare, amo.size);
}

IST_INLINE void ist_amo_nbi(ist_ctx *ctx, void *fetch, void *dest, const struct ist_amo amo, int pe,
                            const char *routine)
{
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_element((uintptr_t)dest, ist_log2_of(amo.size)), pe);
    if (IST_UNLIKELY(!ist_is_aliased(delta) || fetch == NULL || ist_has_device_memory())) {
        ist_amo_nbi_slow(ctx, fetch, dest, &(struct ist_amo){amo.op, amo.size, amo.operand, amo.compare}, pe, routine);
        return;
    }
    uint64_t old = isthmus_amo_cpu(amo.op, (char *)dest + delta, amo.operand, amo.compare, amo.size);
    memcpy(fetch, &old, amo.size);
}

#endif
