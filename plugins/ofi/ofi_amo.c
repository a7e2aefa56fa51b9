/* plugins/ofi/ofi_amo.c: atomics, and puts with a signal: messages, which the processor of the PE that has the memory
 * executes, or its device. So they exclude those of PEs on the same host, which reach that memory by loads and
 * stores. */
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

static isthmus_status amo(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, struct ofi_head head,
                          struct ofi_amo_body *body, void *fetched, bool is_nbi)
{
    isthmus_tr *tr = chan->tr;
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

/* One function for each operation, width and form, because the core fetches the functions once and passes neither. */
#define AMO_FUNCTION(form_, is_nbi_, op_, bits_)                                                                       \
    static isthmus_status form_##_##op_##_##bits_(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,  \
                                                  uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *to) \
    {                                                                                                                  \
        struct ofi_amo_body body = {{0, offset_bytes}, operand, compare};                                              \
        return amo(chan, path, remote, (struct ofi_head){.op = ISTHMUS_AMO_##op_, .bits = ISTHMUS_##bits_}, &body, to, \
                   is_nbi_);                                                                                           \
    }
#define AMO_ROW(form_, is_nbi_, op_, bits_) [ISTHMUS_AMO_##op_][ISTHMUS_##bits_] = form_##_##op_##_##bits_,
#define FOR_WIDTHS(MACRO, form, is_nbi, op) \
    MACRO(form, is_nbi, op, BITS8)          \
    MACRO(form, is_nbi, op, BITS16) MACRO(form, is_nbi, op, BITS32) MACRO(form, is_nbi, op, BITS64)
#define FOR_OPERATIONS(MACRO, form, is_nbi)       \
    FOR_WIDTHS(MACRO, form, is_nbi, FETCH)        \
    FOR_WIDTHS(MACRO, form, is_nbi, SET)          \
    FOR_WIDTHS(MACRO, form, is_nbi, SWAP)         \
    FOR_WIDTHS(MACRO, form, is_nbi, COMPARE_SWAP) \
    FOR_WIDTHS(MACRO, form, is_nbi, ADD)          \
    FOR_WIDTHS(MACRO, form, is_nbi, AND)          \
    FOR_WIDTHS(MACRO, form, is_nbi, OR) FOR_WIDTHS(MACRO, form, is_nbi, XOR)

FOR_OPERATIONS(AMO_FUNCTION, blocking, false)
FOR_OPERATIONS(AMO_FUNCTION, nbi, true)
static const isthmus_amo_fn blocking_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT] = {
    FOR_OPERATIONS(AMO_ROW, blocking, false)};
static const isthmus_amo_fn nbi_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT] = {FOR_OPERATIONS(AMO_ROW, nbi, true)};

isthmus_amo_fn ofi_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    (void)chan;
    bool is_nbi = (flags & ISTHMUS_AMO_NBI) != 0 && (flags & ISTHMUS_AMO_FETCHING) != 0;
    if (op >= ISTHMUS_AMO_COUNT || bits >= ISTHMUS_BITS_COUNT) return NULL;
    return is_nbi ? nbi_table[op][bits] : blocking_table[op][bits];
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
