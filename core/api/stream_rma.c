/* core/api/stream_rma.c: see stream_entry.h: transfers, signals and quiet. Each routine has a host function, and an
 * operation that a transport may do instead. */
#include "core/api/rma_entry.h"
#include "core/api/stream_entry.h"
#include "core/ops/order.h"
#include "core/stream/stream.h"

/* ---- functions of the host ---- */

static int run_put(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_put(&ist_ctx_default, t->dest, t->source, t->length_bytes, t->pe, t->routine);
    return 0;
}

static int run_get(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_get(&ist_ctx_default, t->dest, t->source, t->length_bytes, t->pe, t->routine);
    return 0;
}

static int run_put_nbi(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_put_nbi(&ist_ctx_default, t->dest, t->source, t->length_bytes, t->pe, t->routine);
    return 0;
}

static int run_get_nbi(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_get_nbi(&ist_ctx_default, t->dest, t->source, t->length_bytes, t->pe, t->routine);
    return 0;
}

static int run_p(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_p(&ist_ctx_default, t->dest, c->value, t->length_bytes, t->pe, t->routine);
    return 0;
}

static int run_g(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_entry_g(&ist_ctx_default, t->dest, t->source, t->pe, t->length_bytes, t->routine);
    return 0;
}

static int run_iput(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_strided_put(&ist_ctx_default, t->dest, t->source, &c->stride, t->pe, t->routine);
    return 0;
}

static int run_iget(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_strided_get(&ist_ctx_default, t->dest, t->source, &c->stride, t->pe, t->routine);
    return 0;
}

static int run_put_signal(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_put_signal(&ist_ctx_default, t->dest, t->source, t->length_bytes, &c->signal, t->pe, t->routine);
    return 0;
}

static int run_put_signal_nbi(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    ist_put_signal_nbi(&ist_ctx_default, t->dest, t->source, t->length_bytes, &c->signal, t->pe, t->routine);
    return 0;
}

static int run_signal_op(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    const struct ist_signal *s = &c->signal;
    ist_entry_signal_op(&ist_ctx_default, s->addr, s->value, s->op, t->pe, t->routine);
    return 0;
}

static int run_local_complete(const struct ist_stream_call *c)
{
    ist_local_complete(&ist_ctx_default, c->transfer.routine);
    return 0;
}

/* ---- transfers ---- */

static struct ist_transfer put_of(void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    return ist_transfer_put(&ist_ctx_default, dest, source, length_bytes, pe, routine);
}

static struct ist_transfer get_of(void *dest, const void *source, size_t length_bytes, int pe, const char *routine)
{
    return ist_transfer_get(&ist_ctx_default, dest, source, length_bytes, pe, routine);
}

static void move(void *stream, int (*run)(const struct ist_stream_call *), struct ist_transfer t)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer = t, .run = run, .enqueue = ist_direct_transfer});
}

void ist_entry_put_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                             const char *routine)
{
    move(stream, run_put, put_of(dest, source, ist_bytes_of(nelems, size, routine), pe, routine));
}

void ist_entry_get_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                             const char *routine)
{
    move(stream, run_get, get_of(dest, source, ist_bytes_of(nelems, size, routine), pe, routine));
}

void ist_entry_put_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                                 const char *routine)
{
    move(stream, run_put_nbi, put_of(dest, source, ist_bytes_of(nelems, size, routine), pe, routine));
}

void ist_entry_get_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                                 const char *routine)
{
    move(stream, run_get_nbi, get_of(dest, source, ist_bytes_of(nelems, size, routine), pe, routine));
}

void ist_entry_p_on_stream(void *stream, void *dest, const void *value, int pe, size_t size, const char *routine)
{
    struct ist_transfer t = put_of(dest, NULL, size, pe, routine);
    t.align_bytes = size;
    (void)ist_stream_do(
        stream, &(struct ist_stream_call){
                    .transfer = t, .run = run_p, .enqueue = ist_direct_p, .value = isthmus_bits_of_(value, size)});
}

void ist_entry_g_on_stream(void *stream, void *result, const void *source, int pe, size_t size, const char *routine)
{
    ist_stream_do_now(stream,
                      &(struct ist_stream_call){.transfer = get_of(result, source, size, pe, routine), .run = run_g});
}

void ist_entry_iput_on_stream(void *stream, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                              int pe, size_t size, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer = put_of(dest, source, 0, pe, routine),
                                                          .run = run_iput,
                                                          .stride = {dst, sst, 1, nelems, size}});
}

void ist_entry_iget_on_stream(void *stream, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                              int pe, size_t size, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer = get_of(dest, source, 0, pe, routine),
                                                          .run = run_iget,
                                                          .stride = {dst, sst, 1, nelems, size}});
}

/* ---- signals and order ---- */

void ist_entry_put_signal_on_stream(void *stream, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                    uint64_t signal, int sig_op, int pe, size_t size, const char *routine)
{
    size_t length_bytes = ist_bytes_of(nelems, size, routine);
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer = put_of(dest, source, length_bytes, pe, routine),
                                                          .run = run_put_signal,
                                                          .enqueue = ist_direct_put_signal,
                                                          .signal = {sig_addr, signal, sig_op}});
}

void ist_entry_put_signal_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                        uint64_t signal, int sig_op, int pe, size_t size, const char *routine)
{
    size_t length_bytes = ist_bytes_of(nelems, size, routine);
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer = put_of(dest, source, length_bytes, pe, routine),
                                                          .run = run_put_signal_nbi,
                                                          .enqueue = ist_direct_put_signal,
                                                          .signal = {sig_addr, signal, sig_op}});
}

void ist_entry_signal_op_on_stream(void *stream, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                   const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer = put_of(NULL, NULL, 0, pe, routine),
                                                          .run = run_signal_op,
                                                          .enqueue = ist_direct_signal_op,
                                                          .signal = {sig_addr, signal, sig_op}});
}

void ist_quiet_on_stream(void *stream, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){
                                    .transfer.routine = routine, .run = ist_run_quiet, .enqueue = ist_direct_quiet});
}

void ist_local_complete_on_stream(void *stream, const char *routine)
{
    const struct ist_stream_call call = {
        .transfer.routine = routine, .run = run_local_complete, .enqueue = ist_direct_quiet};
    (void)ist_stream_do(stream, &call);
}
