/* plugins/ofi/ofi_amo.c: the slots of atomics, and puts with a signal. They are messages, which the processor of the PE
 * that has the memory executes, or its device: so they exclude those of PEs on the same host, which reach that memory
 * by loads and stores. With ISTHMUS_ATOMICS=nic the provider executes those of 64 bits on host memory
 * (ofi_atomic.c). */
#include "ofi.h"

#include <isthmus/amo_cpu.h>
#include <string.h>

bool ofi_amo_here(isthmus_tr *tr, const isthmus_lmem *lmem, void *at, const struct ofi_head *what,
                  const struct ofi_amo_body *body, uint64_t *old)
{
    const struct isthmus_services *s = tr->services;
    size_t size = (size_t)1 << what->bits;
    if (lmem->kind == ISTHMUS_MEM_HOST) {
        *old = isthmus_amo_cpu(what->op, at, body->operand, body->compare, size);
        return true;
    }
    return ISTHMUS_HAS(s, memory_amo) && s->memory_amo(s->core, lmem->kind, at, what->op, what->bits, body->operand,
                                                       body->compare, old) == ISTHMUS_OK;
}

static isthmus_status amo_self(isthmus_tr *tr, const isthmus_rmem *remote, const struct ofi_head *what,
                               const struct ofi_amo_body *body, void *fetched)
{
    const struct isthmus_services *s = tr->services;
    const isthmus_lmem here = {.kind = remote->kind};
    uint64_t old;
    if (!ofi_amo_here(tr, &here, remote->own + body->place.offset_bytes, what, body, &old))
        return s->fail(s->core, ISTHMUS_ERR_IO, "the device of this PE did not execute an atomic operation");
    if (fetched != NULL) memcpy(fetched, &old, (size_t)1 << what->bits); /* little endian: the low bytes */
    return ISTHMUS_OK;
}

/* With NBI: counted in the channel, and AGAIN if there is no room. */
static isthmus_status fetch(isthmus_chan *chan, isthmus_path *path, struct ofi_message *message, uint32_t bits,
                            void *fetched, bool is_nbi)
{
    struct ofi_count *count = &ofi_half_now(chan)->local;
    if (!is_nbi) return ofi_call_peer(path, message, &(struct ofi_call){.dest = fetched, .dest_bytes = 1u << bits});
    struct ofi_call *call = ofi_call_take(path, count, &message->head.call);
    if (call == NULL) return ISTHMUS_ERR_AGAIN;
    call->dest = fetched;
    call->dest_bytes = 1u << bits;
    count->n_pending++;
    isthmus_status status = ofi_request_try(path, message);
    if (status == ISTHMUS_OK || !call->is_used) return status;
    call->is_used = false;
    count->n_pending--;
    return status;
}

/* Returns true if the provider executes the atomic. */
static bool is_by_provider(const isthmus_tr *tr, const isthmus_rmem *remote, uint32_t bits)
{
    return tr->has_atomics && bits == ISTHMUS_BITS64 && remote->kind == ISTHMUS_MEM_HOST;
}

/* On memory of the calling PE it is complete on return: that PE's puts there are stores, which wait for nothing. One
 * that fetches nothing is complete at the source. */
static isthmus_status by_provider(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint32_t op,
                                  const struct ofi_amo_body *body, void *fetched, bool is_nbi)
{
    struct ofi_access access = {.path = path,
                                .remote = remote,
                                .offset_bytes = body->place.offset_bytes,
                                .local = fetched,
                                .waits = path->is_self || !is_nbi,
                                .is_copied = fetched == NULL};
    if (!path->is_self && (is_nbi || fetched == NULL)) access.chan = chan;
    ofi_lock(chan->tr);
    isthmus_status status = ofi_atomic(&access, &(struct ofi_atomic){op, body->operand, body->compare});
    ofi_unlock(chan->tr);
    return status;
}

static isthmus_status amo(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, struct ofi_head head,
                          struct ofi_amo_body *body, void *fetched, bool is_nbi)
{
    isthmus_tr *tr = chan->tr;
    if (is_by_provider(tr, remote, head.bits)) return by_provider(chan, path, remote, head.op, body, fetched, is_nbi);
    head.kind = OFI_AMO;
    head.call = OFI_NO_CALL;
    body->place.extent = remote->extent;
    if (remote->own != NULL) return amo_self(tr, remote, &head, body, fetched);
    struct ofi_message message = {.head = head, .body = body, .body_bytes = sizeof *body};
    ofi_lock(tr);
    isthmus_status status = fetched != NULL ? fetch(chan, path, &message, head.bits, fetched, is_nbi)
                                            : ofi_request(path, &message);
    ofi_unlock(tr);
    return status;
}

/* One function for each operation, width and form, because the core fetches the functions once and passes neither.
 * Where one function serves with and without a fetch, the core has it fetch: so those that fetch nothing are others,
 * which wait for no reply. */
enum form { FETCH, FETCH_NBI, POST };

#define AMO_FUNCTION(form_, op_, bits_)                                                                                \
    static isthmus_status form_##_##op_##_##bits_(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,  \
                                                  uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *to) \
    {                                                                                                                  \
        struct ofi_amo_body body = {{0, offset_bytes}, operand, compare};                                              \
        const struct ofi_head head = {.op = ISTHMUS_AMO_##op_, .bits = ISTHMUS_##bits_};                               \
        return amo(chan, path, remote, head, &body, (form_) == POST ? NULL : to, (form_) == FETCH_NBI);                \
    }
#define AMO_ROW(form_, op_, bits_) [ISTHMUS_AMO_##op_][ISTHMUS_##bits_] = form_##_##op_##_##bits_,
#define FOR_WIDTHS(MACRO, form, op) \
    MACRO(form, op, BITS8) MACRO(form, op, BITS16) MACRO(form, op, BITS32) MACRO(form, op, BITS64)
#define FOR_UPDATES(MACRO, form) \
    FOR_WIDTHS(MACRO, form, SET) \
    FOR_WIDTHS(MACRO, form, ADD) \
    FOR_WIDTHS(MACRO, form, AND) \
    FOR_WIDTHS(MACRO, form, OR) FOR_WIDTHS(MACRO, form, XOR)
#define FOR_OPERATIONS(MACRO, form) \
    FOR_UPDATES(MACRO, form)        \
    FOR_WIDTHS(MACRO, form, FETCH) FOR_WIDTHS(MACRO, form, SWAP) FOR_WIDTHS(MACRO, form, COMPARE_SWAP)

FOR_OPERATIONS(AMO_FUNCTION, FETCH)
FOR_OPERATIONS(AMO_FUNCTION, FETCH_NBI)
FOR_UPDATES(AMO_FUNCTION, POST)
typedef isthmus_amo_fn amo_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT];
static const amo_table fetch_table = {FOR_OPERATIONS(AMO_ROW, FETCH)};
static const amo_table nbi_table = {FOR_OPERATIONS(AMO_ROW, FETCH_NBI)};
static const amo_table post_table = {FOR_UPDATES(AMO_ROW, POST)};

isthmus_amo_fn ofi_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    const isthmus_tr *tr = chan->tr;
    if (op >= ISTHMUS_AMO_COUNT || bits >= ISTHMUS_BITS_COUNT) return NULL;
    if (tr->has_atomics && bits == ISTHMUS_BITS64 && (tr->fetching_atomics >> op & 1) == 0) return NULL;
    switch (flags) {
    case 0: return post_table[op][bits];
    case ISTHMUS_AMO_FETCHING: return fetch_table[op][bits];
    case ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI: return nbi_table[op][bits];
    default: return NULL; /* a post is complete at the source */
    }
}

/* ---- put with signal ---- */

/* Long data goes by an access, and the core's fence and atomic follow it. */
static bool is_declined(const isthmus_path *path, const struct isthmus_put_signal *what)
{
    bool is_known = what->op == ISTHMUS_AMO_SET || what->op == ISTHMUS_AMO_ADD;
    return path->is_self || !is_known || what->length_bytes > OFI_DATA_BYTES ||
           (what->flags & ~(uint32_t)ISTHMUS_PUT_SIGNAL_NBI) != 0;
}

isthmus_status ofi_put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    isthmus_tr *tr = chan->tr;
    if (is_declined(path, what)) return ISTHMUS_ERR_UNSUPPORTED;
    const struct ofi_signal_body body = {{what->remote->extent, what->remote_offset_bytes},
                                         {what->signal->extent, what->signal_offset_bytes},
                                         what->value};
    struct ofi_message message = {
        .head = {.kind = OFI_PUT_SIGNAL, .op = (uint8_t)what->op, .bits = ISTHMUS_BITS64, .call = OFI_NO_CALL},
        .body = &body,
        .body_bytes = sizeof body,
        .data = what->source,
        .data_bytes = (uint32_t)what->length_bytes,
        .data_kind = what->source_mem != NULL ? what->source_mem->kind : ISTHMUS_MEM_HOST};
    ofi_lock(tr);
    isthmus_status status = (what->flags & ISTHMUS_PUT_SIGNAL_NBI) != 0 ? ofi_request_try(path, &message)
                                                                        : ofi_request(path, &message);
    ofi_unlock(tr);
    return status;
}
