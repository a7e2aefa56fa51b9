/* core/proxy/batch.c: see batch.h. One function for each kind of request, on the calls that the host's routines use. */
#include "core/proxy/batch.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/ops/amo.h"
#include "core/ops/order.h"
#include "core/ops/rma.h"
#include "core/ops/target.h"
#include "core/proxy/kernel_report.h"
#include "core/transport/memory.h"
#include "core/transport/segment.h"

#include <stdio.h>
#include <string.h>

const char ist_batch_routine[] = "a kernel's quiet";

_Static_assert((int)ISTHMUS_DEV_AMO_XOR == (int)ISTHMUS_AMO_XOR && (int)ISTHMUS_DEV_AMO_SET == (int)ISTHMUS_AMO_SET &&
                   (int)ISTHMUS_DEV_AMO_ADD == (int)ISTHMUS_AMO_ADD,
               "kernels number atomic operations as transports do");

/* ---- what explains a hang ---- */

/* This thread is about to call a transport for this batch, or waits for it already. */
void ist_batch_note(const struct ist_batch *batch)
{
    struct ist_note *note = ist_note_mine != NULL ? ist_note_mine : ist_note_take();
    if (note == NULL || batch->first.op == 0) return;
    ist_note_begin_change(note);
    note->comparison = IST_NOTE_OF_KERNELS;
    note->quantity = batch->first.op;
    note->n_variables = batch->last_ticket - batch->first_ticket + 1;
    note->wanted = batch->first.remote;
    note->seen = batch->first.pe;
    ist_note_end_change(note);
}

/* ---- a request, as it is executed ---- */

struct call {
    struct ist_batch *batch, *fetches;
    struct ist_requests *requests;
    uint64_t ticket;
    const struct isthmus_request *r;
};

static int pe_of(const struct call *c) { return (int)c->r->pe; }
static void *remote_of(const struct call *c) { return (void *)(uintptr_t)c->r->remote; }
static void *local_of(const struct call *c) { return (void *)(uintptr_t)c->r->local; }

static void note_first(const struct call *c, struct ist_batch *batch)
{
    batch->first = *c->r;
    batch->first_ticket = batch->last_ticket = c->ticket;
}

/* The first request after the batch was empty, unless it is a fetch, whose waiter is the last one of its own batch. */
static void IST_COLD note_first_unless_fetch(const struct call *c)
{
    const struct ist_batch *fetches = c->fetches;
    bool is_fetch = fetches->n_waiters > 0 && fetches->waiters[fetches->n_waiters - 1].ticket == c->ticket;
    if (!is_fetch || fetches == c->batch) note_first(c, c->batch);
}

static bool is_awaited(const struct call *c) { return (c->r->flags & ISTHMUS_REQUEST_REPLY) != 0; }

static void reply(const struct call *c, uint64_t value)
{
    if (is_awaited(c)) ist_requests_reply(c->requests, c->ticket, value);
}

/* The reply follows when this batch is complete. Returns where its value is to be. */
static uint64_t *reply_later(const struct call *c, struct ist_batch *batch)
{
    struct ist_batch_waiter *waiter = &batch->waiters[batch->n_waiters];
    waiter->ticket = c->ticket;
    waiter->value = 0;
    if (is_awaited(c)) batch->n_waiters++;
    if (batch->first.op == 0) note_first(c, batch);
    batch->last_ticket = c->ticket;
    return &waiter->value;
}

static size_t element_bytes(const struct call *c, const char *routine, uint32_t most_bits)
{
    uint32_t bits = c->r->bits;
    if (bits < 8 || bits > most_bits || (bits & (bits - 1)) != 0)
        ist_misuse(routine, "the element has %u bits; valid: powers of two from 8 to %u", bits, most_bits);
    return bits / 8;
}

/* A short source may be reused at once; a long one when the batch is complete, so that other kernels do not wait. */
static void put(const struct call *c)
{
    static const char routine[] = "a kernel's put";
    if (is_awaited(c) && c->r->length <= IST_SMALL_BYTES) {
        ist_put(c->batch->ctx, remote_of(c), local_of(c), c->r->length, pe_of(c), routine);
        reply(c, 0);
        return;
    }
    ist_put_nbi(c->batch->ctx, remote_of(c), local_of(c), c->r->length, pe_of(c), routine);
    (void)reply_later(c, c->batch);
}

/* A long one takes its time, in which kernels that fetch a word do not wait. */
static void get(const struct call *c)
{
    enum { LITTLE_BYTES = 16 << 10 };
    static const char routine[] = "a kernel's get";
    if (!is_awaited(c) || c->r->length > LITTLE_BYTES) {
        ist_get_nbi(c->batch->ctx, local_of(c), remote_of(c), c->r->length, pe_of(c), routine);
        (void)reply_later(c, c->batch);
    } else {
        ist_get_nbi(c->fetches->ctx, local_of(c), remote_of(c), c->r->length, pe_of(c), routine);
        (void)reply_later(c, c->fetches);
    }
}

static void p(const struct call *c)
{
    static const char routine[] = "a kernel's p";
    ist_p(c->batch->ctx, remote_of(c), c->r->value, element_bytes(c, routine, 64), pe_of(c), routine);
    reply(c, 0);
}

/* Fetches from peers without an alias are under way together. */
static bool is_fetched_later(const struct call *c, size_t size)
{
    return isthmus_element_(ist_ctx_row(c->batch->ctx, pe_of(c)), remote_of(c), size) == NULL;
}

static void g(const struct call *c)
{
    static const char routine[] = "a kernel's g";
    size_t size = element_bytes(c, routine, 64);
    if (is_fetched_later(c, size))
        ist_get_nbi(c->fetches->ctx, reply_later(c, c->fetches), remote_of(c), size, pe_of(c), routine);
    else
        reply(c, ist_g(c->batch->ctx, remote_of(c), size, pe_of(c), routine));
}

static void strided(const struct call *c)
{
    static const char put_routine[] = "a kernel's iput", get_routine[] = "a kernel's iget";
    bool is_put = c->r->op == ISTHMUS_REQUEST_IPUT;
    const char *routine = is_put ? put_routine : get_routine;
    struct ist_stride stride = {(ptrdiff_t)c->r->value, (ptrdiff_t)c->r->extra, 1, c->r->length,
                                element_bytes(c, routine, 128)};
    if (is_put)
        ist_strided_put(c->batch->ctx, remote_of(c), local_of(c), &stride, pe_of(c), routine);
    else
        ist_strided_get(c->batch->ctx, local_of(c), remote_of(c), &stride, pe_of(c), routine);
    reply(c, 0);
}

static void atomic(const struct call *c)
{
    static const char routine[] = "a kernel's atomic";
    struct ist_amo amo = {c->r->amo, (uint32_t)element_bytes(c, routine, 64), c->r->value, c->r->extra};
    if (amo.op >= ISTHMUS_AMO_COUNT)
        ist_misuse(routine, "the operation is %u; valid: 0 to below %d", amo.op, (int)ISTHMUS_AMO_COUNT);
    if (!is_awaited(c))
        (void)ist_amo(c->batch->ctx, remote_of(c), amo, 0, pe_of(c), routine);
    else if (is_fetched_later(c, amo.size))
        ist_amo_nbi(c->fetches->ctx, reply_later(c, c->fetches), remote_of(c), amo, pe_of(c), routine);
    else
        reply(c, ist_amo(c->batch->ctx, remote_of(c), amo, ISTHMUS_AMO_FETCHING, pe_of(c), routine));
}

static void put_signal(const struct call *c)
{
    static const char routine[] = "a kernel's put with signal";
    if (c->r->amo != ISTHMUS_AMO_SET && c->r->amo != ISTHMUS_AMO_ADD)
        ist_misuse(routine, "the operation on the signal is %u; valid: %d (set) and %d (add)", c->r->amo,
                   (int)ISTHMUS_AMO_SET, (int)ISTHMUS_AMO_ADD);
    struct ist_signal signal = {(uint64_t *)(uintptr_t)c->r->signal, c->r->value,
                                c->r->amo == ISTHMUS_AMO_ADD ? IST_SIGNAL_ADD : IST_SIGNAL_SET};
    if (is_awaited(c) && c->r->length <= IST_SMALL_BYTES) {
        ist_put_signal(c->batch->ctx, remote_of(c), local_of(c), c->r->length, &signal, pe_of(c), routine);
        reply(c, 0);
        return;
    }
    ist_put_signal_nbi(c->batch->ctx, remote_of(c), local_of(c), c->r->length, &signal, pe_of(c), routine);
    (void)reply_later(c, c->batch);
}

void ist_batch_quiet(struct ist_batch *batch, uint64_t ticket)
{
    batch->has_quiet = true;
    batch->quiet_ticket = ticket;
}

static void quiet(const struct call *c)
{
    ist_batch_quiet(c->batch, c->ticket);
    (void)reply_later(c, c->batch);
}

static void refuse(const struct call *c)
{
    ist_misuse("a kernel's request", "the operation is %u; valid: %d to %d", c->r->op, (int)ISTHMUS_REQUEST_PUT,
               (int)ISTHMUS_REQUEST_LOCATE);
}

static void read_clock(const struct call *c) { reply(c, ist_clock_ns()); }

static void flush(const struct call *c)
{
    ist_flush_writes();
    reply(c, 0);
}

static void do_nothing(const struct call *c) { reply(c, 0); }

static void end_job(const struct call *c) { ist_end_job((int)c->r->value); }

/* With ISTHMUS_CHECK: the line about a wrong address names the kernel's call, which may be a collective, and the PE.
 * Strided operations are checked at their first element here. */
static void IST_COLD check_remote(const struct call *c)
{
    static const uint32_t calls[] = {
        [ISTHMUS_REQUEST_PUT] = ISTHMUS_CALL_PUT,    [ISTHMUS_REQUEST_GET] = ISTHMUS_CALL_GET,
        [ISTHMUS_REQUEST_P] = ISTHMUS_CALL_P,        [ISTHMUS_REQUEST_G] = ISTHMUS_CALL_G,
        [ISTHMUS_REQUEST_IPUT] = ISTHMUS_CALL_IPUT,  [ISTHMUS_REQUEST_IGET] = ISTHMUS_CALL_IGET,
        [ISTHMUS_REQUEST_AMO] = ISTHMUS_CALL_ATOMIC, [ISTHMUS_REQUEST_PUT_SIGNAL] = ISTHMUS_CALL_PUT_SIGNAL};
    const struct isthmus_request *r = c->r;
    bool is_block = r->op == ISTHMUS_REQUEST_PUT || r->op == ISTHMUS_REQUEST_GET || r->op == ISTHMUS_REQUEST_PUT_SIGNAL;
    bool is_located = r->op == ISTHMUS_REQUEST_LOCATE;
    uint64_t length_bytes = is_block || is_located ? r->length : r->bits / 8;
    uint32_t call = is_located ? (uint32_t)r->value : r->op < sizeof calls / sizeof calls[0] ? calls[r->op] : 0;
    char routine[48], argument[48];
    if (call == 0 || length_bytes == 0 || ist_segment_of(remote_of(c), length_bytes) >= 0) return;
    snprintf(routine, sizeof routine, "a kernel's %s", ist_kernel_report_call(call));
    snprintf(argument, sizeof argument, "the address for PE %d", pe_of(c));
    (void)ist_require_symmetric(routine, argument, remote_of(c), length_bytes, 1);
}

enum { N_KINDS = ISTHMUS_REQUEST_LOCATE + 1 };

static void (*const executors[N_KINDS])(const struct call *) = {
    [0] = refuse,
    [ISTHMUS_REQUEST_PUT] = put,
    [ISTHMUS_REQUEST_GET] = get,
    [ISTHMUS_REQUEST_P] = p,
    [ISTHMUS_REQUEST_G] = g,
    [ISTHMUS_REQUEST_IPUT] = strided,
    [ISTHMUS_REQUEST_IGET] = strided,
    [ISTHMUS_REQUEST_AMO] = atomic,
    [ISTHMUS_REQUEST_PUT_SIGNAL] = put_signal,
    [ISTHMUS_REQUEST_FENCE] = refuse, /* ist_batch_fence() */
    [ISTHMUS_REQUEST_QUIET] = quiet,
    [ISTHMUS_REQUEST_EXIT] = end_job,
    [ISTHMUS_REQUEST_CLOCK] = read_clock,
    [ISTHMUS_REQUEST_FLUSH] = flush,
    [ISTHMUS_REQUEST_LOCATE] = do_nothing, /* check_remote() */
};

static void check_and_execute(const struct call *c)
{
    check_remote(c);
    executors[c->r->op](c);
}

/* Those of this job: without ISTHMUS_CHECK no request passes a test for it. */
static void (*in_use[N_KINDS])(const struct call *);

isthmus_status ist_batch_context(ist_ctx **out)
{
    for (int op = 0; op < N_KINDS; op++) in_use[op] = ist_check_on ? check_and_execute : executors[op];
    return ist_ctx_create(&ist_team_world, IST_CTX_LIBRARY, ISTHMUS_CHANNEL_PROXY, out);
}

void ist_batch_add(struct ist_batch *batch, struct ist_batch *fetches, struct ist_requests *requests,
                   const struct isthmus_request *request)
{
    struct call call = {
        .batch = batch, .fetches = fetches, .requests = requests, .ticket = requests->next - 1, .r = request};
    if (IST_UNLIKELY(request->op >= N_KINDS)) refuse(&call);
    batch->is_used = fetches->is_used = true;
    batch->last_ticket = call.ticket;
    in_use[request->op](&call);
    if (IST_UNLIKELY(batch->first.op == 0)) note_first_unless_fetch(&call);
}

void ist_batch_fence(struct ist_batch *batch)
{
    if (!ist_order_is_simple(batch->ctx)) batch->has_fence = true;
    ist_fence(batch->ctx, "a kernel's fence");
}

void ist_batch_complete(struct ist_batch *batch)
{
    ist_batch_note(batch);
    ist_quiet(batch->ctx, ist_batch_routine);
}

void ist_batch_complete_fetches(struct ist_batch *batch)
{
    ist_batch_note(batch);
    ist_local_complete(batch->ctx, "a kernel's fetch");
}

void ist_batch_report(struct ist_batch *batch, struct ist_requests *requests)
{
    if (batch->has_quiet) ist_requests_quieted(requests, batch->quiet_ticket + 1);
    for (uint32_t i = 0; i < batch->n_waiters; i++)
        ist_requests_reply(requests, batch->waiters[i].ticket, batch->waiters[i].value);
    batch->n_waiters = 0;
    batch->first.op = 0;
    batch->has_quiet = batch->has_fence = batch->is_used = false;
}
