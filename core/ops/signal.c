/* core/ops/signal.c: see signal.h. */
#include "core/ops/signal.h"

#include "core/base/fatal.h"
#include "core/ops/order.h"
#include "core/ops/target.h"

/* Where the signal is loaded and stored; NULL: not that simple. */
static char *alias_of(ist_ctx *ctx, const struct ist_signal *signal, int pe)
{
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_element((uintptr_t)signal->addr, 3), pe);
    return IST_LIKELY(ist_is_aliased(delta)) ? (char *)signal->addr + delta : NULL;
}

static struct ist_amo amo_of(const struct ist_signal *signal)
{
    return (struct ist_amo){
        .op = signal->op == IST_SIGNAL_ADD ? ISTHMUS_AMO_ADD : ISTHMUS_AMO_SET, .size = 8, .operand = signal->value};
}

/* The data went by load and store if nothing of this context went through a transport; then stores are in order. */
static void update_signal(ist_ctx *ctx, char *alias, const struct ist_signal *signal, int pe, const char *routine)
{
    struct ist_amo amo = amo_of(signal);
    ist_fence_to(ctx, ist_team_to_world(ctx->team, pe), routine);
    (void)isthmus_amo_cpu(amo.op, alias, amo.operand, 0, 8); /* release: it is a locked one */
}

static void check(ist_ctx *ctx, const struct ist_signal *signal, int pe, const char *routine)
{
    ist_require_pe(ctx, pe, routine, "pe");
    if (signal->op != IST_SIGNAL_SET && signal->op != IST_SIGNAL_ADD)
        ist_misuse(routine, "sig_op is %d; valid: SHMEM_SIGNAL_SET (%d) and SHMEM_SIGNAL_ADD (%d)", signal->op,
                   IST_SIGNAL_SET, IST_SIGNAL_ADD);
    ist_require_symmetric(routine, "sig_addr", signal->addr, sizeof *signal->addr, sizeof *signal->addr);
}

/* With ISTHMUS_CHECK. */
static void check_both(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                       const struct ist_signal *signal, int pe, const char *routine, bool is_nbi)
{
    struct ist_checked_op op = {.routine = routine,
                                .ctx = ctx,
                                .pe = pe,
                                .kind = IST_CHECK_WRITE,
                                .remote_name = "dest",
                                .local_name = "source",
                                .remote = dest,
                                .local = source,
                                .length_bytes = length_bytes,
                                .is_nbi = is_nbi,
                                .has_signal = true};
    (void)ist_check_op(&op);
    op.kind = IST_CHECK_ATOMIC;
    op.remote_name = "sig_addr";
    op.remote = signal->addr;
    op.local = NULL;
    op.length_bytes = sizeof *signal->addr;
    (void)ist_check_op(&op);
    if ((uintptr_t)signal->addr - (uintptr_t)dest < length_bytes)
        ist_misuse(routine, "sig_addr %p lies in dest %p (%zu bytes); valid: a word apart from the data",
                   (void *)signal->addr, dest, length_bytes);
}

/* The signal is not loaded and stored from here. Data, fence and signal are one operation of the program. */
static IST_COLD void put_signal_slow(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                                     const struct ist_signal *signal, int pe, const char *routine, bool is_nbi)
{
    struct ist_amo amo = amo_of(signal);
    if (ist_check_applies()) check_both(ctx, dest, source, length_bytes, signal, pe, routine, is_nbi);
    ist_check_enter();
    if (length_bytes > 0) (is_nbi ? ist_put_nbi_slow : ist_put_slow)(ctx, dest, source, length_bytes, pe, routine);
    ist_fence_to(ctx, ist_team_to_world(ctx->team, pe), routine);
    (void)ist_amo_slow(ctx, signal->addr, &amo, 0, pe, routine);
    ist_check_leave();
}

void ist_put_signal(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, const struct ist_signal *signal,
                    int pe, const char *routine)
{
    check(ctx, signal, pe, routine); /* before the data: a call that is refused moves nothing */
    char *alias = alias_of(ctx, signal, pe);
    if (IST_UNLIKELY(alias == NULL)) {
        put_signal_slow(ctx, dest, source, length_bytes, signal, pe, routine, false);
        return;
    }
    if (length_bytes > 0) ist_put(ctx, dest, source, length_bytes, pe, routine);
    update_signal(ctx, alias, signal, pe, routine);
}

void ist_put_signal_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                        const struct ist_signal *signal, int pe, const char *routine)
{
    check(ctx, signal, pe, routine);
    char *alias = alias_of(ctx, signal, pe);
    if (IST_UNLIKELY(alias == NULL)) {
        put_signal_slow(ctx, dest, source, length_bytes, signal, pe, routine, true);
        return;
    }
    if (length_bytes > 0) ist_put_nbi(ctx, dest, source, length_bytes, pe, routine);
    update_signal(ctx, alias, signal, pe, routine);
}
