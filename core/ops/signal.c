/* core/ops/signal.c: see signal.h. */
#include "core/ops/signal.h"

#include "core/base/fatal.h"
#include "core/ops/order.h"
#include "core/ops/target.h"

/* The data went by load and store if nothing of this context went through a transport; then stores are in order. */
static void update_signal(ist_ctx *ctx, const struct ist_signal *signal, int pe, const char *routine)
{
    struct ist_amo amo = {
        .op = signal->op == IST_SIGNAL_ADD ? ISTHMUS_AMO_ADD : ISTHMUS_AMO_SET, .size = 8, .operand = signal->value};
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_element((uintptr_t)signal->addr, 3), pe);
    ist_fence(ctx, routine);
    if (IST_LIKELY(ist_is_aliased(delta)))
        (void)isthmus_amo_cpu(amo.op, (char *)signal->addr + delta, amo.operand, 0,
                              8); /* release: it is a locked one */
    else
        (void)ist_amo_slow(ctx, signal->addr, &amo, 0, pe, routine);
}

static void check(ist_ctx *ctx, const struct ist_signal *signal, int pe, const char *routine)
{
    ist_require_pe(ctx, pe, routine, "pe");
    if (signal->op != IST_SIGNAL_SET && signal->op != IST_SIGNAL_ADD)
        ist_misuse(routine, "sig_op is %d; valid: SHMEM_SIGNAL_SET (%d) and SHMEM_SIGNAL_ADD (%d)", signal->op,
                   IST_SIGNAL_SET, IST_SIGNAL_ADD);
    ist_require_symmetric(routine, "sig_addr", signal->addr, sizeof *signal->addr, sizeof *signal->addr);
}

void ist_put_signal(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, const struct ist_signal *signal,
                    int pe, const char *routine)
{
    check(ctx, signal, pe, routine); /* before the data: a call that is refused moves nothing */
    if (length_bytes > 0) ist_put(ctx, dest, source, length_bytes, pe, routine);
    update_signal(ctx, signal, pe, routine);
}

void ist_put_signal_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                        const struct ist_signal *signal, int pe, const char *routine)
{
    check(ctx, signal, pe, routine);
    if (length_bytes > 0) ist_put_nbi(ctx, dest, source, length_bytes, pe, routine);
    update_signal(ctx, signal, pe, routine);
}
