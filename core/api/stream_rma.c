/* core/api/stream_rma.c: see stream_entry.h: transfers, signals and quiet. Each routine has a host function, and an
 * operation that a transport may do instead. */
#include "core/api/rma_entry.h"
#include "core/api/stream_entry.h"
#include "core/ops/order.h"
#include "core/stream/direct.h"

/* ---- functions of the host ---- */

static int run_put(const struct ist_stream_call *c)
{
    ist_put(&ist_ctx_default, c->dest, c->source, c->length_bytes, c->pe, c->routine);
    return 0;
}

static int run_get(const struct ist_stream_call *c)
{
    ist_get(&ist_ctx_default, c->dest, c->source, c->length_bytes, c->pe, c->routine);
    return 0;
}

static int run_put_nbi(const struct ist_stream_call *c)
{
    ist_put_nbi(&ist_ctx_default, c->dest, c->source, c->length_bytes, c->pe, c->routine);
    return 0;
}

static int run_get_nbi(const struct ist_stream_call *c)
{
    ist_get_nbi(&ist_ctx_default, c->dest, c->source, c->length_bytes, c->pe, c->routine);
    return 0;
}

static int run_p(const struct ist_stream_call *c)
{
    ist_p(&ist_ctx_default, c->dest, c->value, c->size, c->pe, c->routine);
    return 0;
}

static int run_g(const struct ist_stream_call *c)
{
    ist_entry_g(&ist_ctx_default, c->dest, c->source, c->pe, c->size, c->routine);
    return 0;
}

static struct ist_stride stride_of(const struct ist_stream_call *c)
{
    return (struct ist_stride){c->dest_stride, c->source_stride, 1, c->nelems, c->size};
}

static int run_iput(const struct ist_stream_call *c)
{
    struct ist_stride stride = stride_of(c);
    ist_strided_put(&ist_ctx_default, c->dest, c->source, &stride, c->pe, c->routine);
    return 0;
}

static int run_iget(const struct ist_stream_call *c)
{
    struct ist_stride stride = stride_of(c);
    ist_strided_get(&ist_ctx_default, c->dest, c->source, &stride, c->pe, c->routine);
    return 0;
}

static int run_put_signal(const struct ist_stream_call *c)
{
    ist_put_signal(&ist_ctx_default, c->dest, c->source, c->length_bytes, &c->signal, c->pe, c->routine);
    return 0;
}

static int run_put_signal_nbi(const struct ist_stream_call *c)
{
    ist_put_signal_nbi(&ist_ctx_default, c->dest, c->source, c->length_bytes, &c->signal, c->pe, c->routine);
    return 0;
}

static int run_signal_op(const struct ist_stream_call *c)
{
    const struct ist_signal *s = &c->signal;
    ist_entry_signal_op(&ist_ctx_default, s->addr, s->value, s->op, c->pe, c->routine);
    return 0;
}

/* ---- transfers ---- */

typedef int (*run_fn)(const struct ist_stream_call *c);
typedef bool (*enqueue_fn)(void *stream, struct ist_stream_call *c);

static void transfer(void *stream, run_fn run, enqueue_fn enqueue, void *dest, const void *source, size_t length_bytes,
                     int pe, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.routine = routine,
                                                          .run = run,
                                                          .enqueue = enqueue,
                                                          .dest = dest,
                                                          .source = source,
                                                          .length_bytes = length_bytes,
                                                          .pe = pe});
}

void ist_entry_put_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                             const char *routine)
{
    size_t length_bytes = ist_bytes_of(nelems, size, routine);
    transfer(stream, run_put, ist_direct_put, dest, source, length_bytes, pe, routine);
}

void ist_entry_get_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                             const char *routine)
{
    size_t length_bytes = ist_bytes_of(nelems, size, routine);
    transfer(stream, run_get, ist_direct_get, dest, source, length_bytes, pe, routine);
}

void ist_entry_put_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                                 const char *routine)
{
    size_t length_bytes = ist_bytes_of(nelems, size, routine);
    transfer(stream, run_put_nbi, ist_direct_put, dest, source, length_bytes, pe, routine);
}

void ist_entry_get_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                                 const char *routine)
{
    size_t length_bytes = ist_bytes_of(nelems, size, routine);
    transfer(stream, run_get_nbi, ist_direct_get, dest, source, length_bytes, pe, routine);
}

void ist_entry_p_on_stream(void *stream, void *dest, const void *value, int pe, size_t size, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.routine = routine,
                                                          .run = run_p,
                                                          .enqueue = ist_direct_p,
                                                          .dest = dest,
                                                          .size = size,
                                                          .value = ist_bits_of(value, size),
                                                          .pe = pe});
}

void ist_entry_g_on_stream(void *stream, void *result, const void *source, int pe, size_t size, const char *routine)
{
    ist_stream_do_now(stream,
                      &(struct ist_stream_call){
                          .routine = routine, .run = run_g, .dest = result, .source = source, .size = size, .pe = pe});
}

static void strided(void *stream, run_fn run, void *dest, const void *source, const struct ist_stride *stride, int pe,
                    const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.routine = routine,
                                                          .run = run,
                                                          .dest = dest,
                                                          .source = source,
                                                          .dest_stride = stride->dest,
                                                          .source_stride = stride->source,
                                                          .nelems = stride->n_blocks,
                                                          .size = stride->size,
                                                          .pe = pe});
}

void ist_entry_iput_on_stream(void *stream, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                              int pe, size_t size, const char *routine)
{
    strided(stream, run_iput, dest, source, &(struct ist_stride){dst, sst, 1, nelems, size}, pe, routine);
}

void ist_entry_iget_on_stream(void *stream, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                              int pe, size_t size, const char *routine)
{
    strided(stream, run_iget, dest, source, &(struct ist_stride){dst, sst, 1, nelems, size}, pe, routine);
}

/* ---- signals and order ---- */

static void put_signal(void *stream, run_fn run, void *dest, const void *source, size_t length_bytes,
                       const struct ist_signal *signal, int pe, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.routine = routine,
                                                          .run = run,
                                                          .enqueue = ist_direct_put_signal,
                                                          .dest = dest,
                                                          .source = source,
                                                          .length_bytes = length_bytes,
                                                          .signal = *signal,
                                                          .pe = pe});
}

void ist_entry_put_signal_on_stream(void *stream, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                    uint64_t signal, int sig_op, int pe, size_t size, const char *routine)
{
    put_signal(stream, run_put_signal, dest, source, ist_bytes_of(nelems, size, routine),
               &(struct ist_signal){sig_addr, signal, sig_op}, pe, routine);
}

void ist_entry_put_signal_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                        uint64_t signal, int sig_op, int pe, size_t size, const char *routine)
{
    put_signal(stream, run_put_signal_nbi, dest, source, ist_bytes_of(nelems, size, routine),
               &(struct ist_signal){sig_addr, signal, sig_op}, pe, routine);
}

void ist_entry_signal_op_on_stream(void *stream, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                   const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.routine = routine,
                                                          .run = run_signal_op,
                                                          .enqueue = ist_direct_signal_op,
                                                          .signal = {sig_addr, signal, sig_op},
                                                          .pe = pe});
}

void ist_quiet_on_stream(void *stream, const char *routine)
{
    (void)ist_stream_do(
        stream, &(struct ist_stream_call){.routine = routine, .run = ist_run_quiet, .enqueue = ist_direct_quiet});
}
