/* core/ops/signal.h: puts that signal the target when their data has arrived.
 * The signal is updated in the location's atomics domain, after the data of the same call and of no other. */
#ifndef IST_OPS_SIGNAL_H
#define IST_OPS_SIGNAL_H

#include "core/ops/amo.h"
#include "core/ops/transfer.h"

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
