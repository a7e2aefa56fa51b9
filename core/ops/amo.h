/* core/ops/amo.h: atomics on a symmetric word of any PE: the inline path to aliased peers, and the rest; and signals,
 * which are such atomics.
 * Every location has one executor, its home; for host memory that is the processor (isthmus/amo_cpu.h), and a peer
 * behind a transport is reached through one that executes there. */
#ifndef IST_OPS_AMO_H
#define IST_OPS_AMO_H

#include "core/ops/rma.h"
#include "core/ops/transfer.h"

/* Operation and operand, together because there are many. */
struct ist_amo {
    uint32_t op;   /* ISTHMUS_AMO_ */
    uint32_t size; /* bytes: 1, 2, 4, 8 */
    uint64_t operand, compare;
};

/* Returns the old value; for operations that fetch nothing `flags` lacks ISTHMUS_AMO_FETCHING. */
uint64_t ist_amo_slow(ist_ctx *ctx, void *dest, const struct ist_amo *amo, uint32_t flags, int pe, const char *routine)
    IST_COLD;

/* The same as a part of another call of the program. What a call inside of a call makes is the library's own to
 * ISTHMUS_PROFILE. */
uint64_t ist_amo_part(ist_ctx *ctx, void *dest, const struct ist_amo *amo, uint32_t flags, int pe, const char *routine)
    IST_COLD;

/* The old value goes to *fetch, at the latest at local_complete. */
void ist_amo_nbi_slow(ist_ctx *ctx, void *fetch, void *dest, const struct ist_amo *amo, int pe, const char *routine)
    IST_COLD;

/* `amo->op`, `amo->size` and `flags` are constant at every call. */
IST_INLINE uint64_t ist_amo(ist_ctx *ctx, void *dest, const struct ist_amo amo, uint32_t flags, int pe,
                            const char *routine)
{
    uint64_t old = 0;
    if (isthmus_amo_(ist_ctx_row(ctx, pe), amo.op, &old, dest, amo.operand, amo.compare, amo.size)) return old;
    return ist_amo_slow(ctx, dest, &(struct ist_amo){amo.op, amo.size, amo.operand, amo.compare}, flags, pe, routine);
}

IST_INLINE void ist_amo_nbi(ist_ctx *ctx, void *fetch, void *dest, const struct ist_amo amo, int pe,
                            const char *routine)
{
    bool is_usual = fetch != NULL && !ist_has_device_memory();
    if (IST_LIKELY(is_usual &&
                   isthmus_amo_(ist_ctx_row(ctx, pe), amo.op, fetch, dest, amo.operand, amo.compare, amo.size)))
        return;
    ist_amo_nbi_slow(ctx, fetch, dest, &(struct ist_amo){amo.op, amo.size, amo.operand, amo.compare}, pe, routine);
}

/* ---- puts that signal the target when their data has arrived (signal.c) ----
 * The signal is updated in the location's atomics domain, after the data of the same call and of no other. */

enum { IST_SIGNAL_SET = 0, IST_SIGNAL_ADD = 1 };

struct ist_signal {
    uint64_t *addr;
    uint64_t value;
    int op; /* IST_SIGNAL_ */
};

/* The update of the signal that belongs to a transfer of data. */
IST_INLINE struct ist_transfer ist_signal_transfer(const struct ist_transfer *data, const struct ist_signal *signal)
{
    return (struct ist_transfer){.routine = data->routine,
                                 .ctx = data->ctx,
                                 .pe = data->pe,
                                 .kind = IST_TRANSFER_ATOMIC,
                                 .dest = (char *)signal->addr,
                                 .length_bytes = sizeof *signal->addr,
                                 .align_bytes = sizeof *signal->addr,
                                 .far_name = "sig_addr",
                                 .is_nbi = data->is_nbi,
                                 .has_signal = true};
}

void ist_put_signal(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, const struct ist_signal *signal,
                    int pe, const char *routine);
void ist_put_signal_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                        const struct ist_signal *signal, int pe, const char *routine);

#endif
