/* core/ops/signal.h: puts that signal the target when their data has arrived.
 * The signal is updated in the location's atomics domain, after the data of the same call and of no other. */
#ifndef IST_OPS_SIGNAL_H
#define IST_OPS_SIGNAL_H

#include "core/ops/amo.h"

enum { IST_SIGNAL_SET = 0, IST_SIGNAL_ADD = 1 };

struct ist_signal {
    uint64_t *addr;
    uint64_t value;
    int op; /* IST_SIGNAL_ */
};

void ist_put_signal(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, const struct ist_signal *signal,
                    int pe, const char *routine);
void ist_put_signal_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                        const struct ist_signal *signal, int pe, const char *routine);

#endif
