/* plugins/ofi/ofi_atomic.c: atomics of 64 bits that the provider executes (ISTHMUS_ATOMICS=nic): the target's adapter,
 * or libfabric's software in the target's progress. Then it executes all of them on host memory, also those of the PE
 * that owns it: an adapter and a processor do not exclude one another. Narrower ones stay with the processor, as
 * messages (ofi_amo.c). What the provider lacks the core makes of its compare and swap. */
#include "ofi.h"

#include <stdio.h>
#include <string.h>

/* The operands lie in the buffer of a message, which has a descriptor: the fetched value first, as ofi_op expects. */
enum { FETCHED, OPERAND, COMPARE };

static const enum fi_op names[ISTHMUS_AMO_COUNT] = {
    [ISTHMUS_AMO_FETCH] = FI_ATOMIC_READ,
    [ISTHMUS_AMO_SET] = FI_ATOMIC_WRITE,
    [ISTHMUS_AMO_SWAP] = FI_ATOMIC_WRITE,
    [ISTHMUS_AMO_COMPARE_SWAP] = FI_CSWAP,
    [ISTHMUS_AMO_ADD] = FI_SUM,
    [ISTHMUS_AMO_AND] = FI_BAND,
    [ISTHMUS_AMO_OR] = FI_BOR,
    [ISTHMUS_AMO_XOR] = FI_BXOR,
};

/* ---- what the provider has ---- */

static bool fetches(const isthmus_tr *tr, uint32_t op)
{
    size_t n = 0;
    int error = op == ISTHMUS_AMO_COMPARE_SWAP ? fi_compare_atomicvalid(tr->ep, FI_UINT64, names[op], &n)
                                               : fi_fetch_atomicvalid(tr->ep, FI_UINT64, names[op], &n);
    return error == 0 && n > 0;
}

/* One that fetches nothing serves where its completion shows that it was executed. */
static bool updates(const isthmus_tr *tr, uint32_t op)
{
    size_t n = 0;
    bool is_update = op != ISTHMUS_AMO_FETCH && op != ISTHMUS_AMO_SWAP && op != ISTHMUS_AMO_COMPARE_SWAP;
    return is_update && !tr->needs_flush && fi_atomicvalid(tr->ep, FI_UINT64, names[op], &n) == 0 && n > 0;
}

static bool has_table(const isthmus_tr *tr)
{
    const struct fi_ops_atomic *table = tr->ep->atomic;
    if (!FI_CHECK_OP(table, struct fi_ops_atomic, writevalid)) return false;
    if (!FI_CHECK_OP(table, struct fi_ops_atomic, readwritevalid)) return false;
    return FI_CHECK_OP(table, struct fi_ops_atomic, compwritevalid);
}

static void refuse(isthmus_tr *tr, const char *why)
{
    snprintf(tr->why_no_atomics, sizeof tr->why_no_atomics, "provider %s %s", tr->info->fabric_attr->prov_name, why);
}

/* Without them the transport works, and reach() reports the reason: the core decides whether the job can start. */
void ofi_atomics_find(isthmus_tr *tr)
{
    if (!tr->wants_atomics) return;
    if (!tr->has_rma) {
        refuse(tr, "is used for messages only");
        return;
    }
    if ((tr->info->caps & FI_ATOMIC) == 0 || !has_table(tr)) {
        refuse(tr, "has no atomics");
        return;
    }
    if (!fetches(tr, ISTHMUS_AMO_COMPARE_SWAP)) {
        refuse(tr, "has no compare and swap of 64 bits");
        return;
    }
    for (uint32_t op = 0; op < ISTHMUS_AMO_COUNT; op++) {
        if (fetches(tr, op)) tr->fetching_atomics |= 1u << op;
        if (updates(tr, op)) tr->updating_atomics |= 1u << op;
    }
    tr->has_atomics = true;
    tr->card.has_atomics = 1;
    if (!tr->emulates_atomics) return;
    size_t used = strlen(tr->how);
    snprintf(tr->how + used, sizeof tr->how - used, ", atomics in software");
}

/* ---- one operation ---- */

static ssize_t post(const struct ofi_access *a, const struct ofi_atomic *what, struct ofi_op *op)
{
    struct fid_ep *ep = a->path->tr->ep;
    uint64_t *words = (uint64_t *)(void *)op->bounce->buffer;
    void *desc = ofi_buffers_desc(a->path->tr);
    const struct fi_ioc operand = {&words[OPERAND], 1}, compare = {&words[COMPARE], 1};
    struct fi_ioc fetched = {&words[FETCHED], 1};
    const struct fi_rma_ioc there = {.addr = a->remote->base + a->offset_bytes, .count = 1, .key = a->remote->rkey};
    const struct fi_msg_atomic message = {.msg_iov = &operand,
                                          .desc = &desc,
                                          .iov_count = 1,
                                          .addr = a->path->peer->address,
                                          .rma_iov = &there,
                                          .rma_iov_count = 1,
                                          .datatype = FI_UINT64,
                                          .op = names[what->op],
                                          .context = &op->context};
    words[OPERAND] = what->operand;
    words[COMPARE] = what->compare;
    a->path->tr->has_posted = true;
    if (what->op == ISTHMUS_AMO_COMPARE_SWAP)
        return fi_compare_atomicmsg(ep, &message, &compare, &desc, 1, &fetched, &desc, 1, FI_COMPLETION);
    if (a->local == NULL && (a->path->tr->updating_atomics >> what->op & 1) != 0)
        return fi_atomicmsg(ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    return fi_fetch_atomicmsg(ep, &message, &fetched, &desc, 1, FI_COMPLETION);
}

static isthmus_status try_once(const struct ofi_access *a, const struct ofi_atomic *what, struct ofi_count *count)
{
    isthmus_tr *tr = a->path->tr;
    if (a->path->is_lost) return ofi_path_lost(a->path);
    struct ofi_op *op = ofi_op_take(&tr->free_accesses);
    if (op == NULL) return ISTHMUS_ERR_AGAIN;
    op->path = a->path;
    op->bounce = ofi_op_take(&tr->free_messages);
    op->copy_to = a->local;
    op->copy_bytes = sizeof(uint64_t);
    return ofi_access_begun(a, op, op->bounce != NULL ? post(a, what, op) : -FI_EAGAIN, count);
}

isthmus_status ofi_atomic(const struct ofi_access *a, const struct ofi_atomic *what)
{
    struct ofi_count here = {0};
    struct ofi_wait wait = {.tr = a->path->tr, .path = a->path, .needs_room = true};
    isthmus_status status = ofi_access_pass_fence(a);
    if (status != ISTHMUS_OK) return status;
    while ((status = try_once(a, what, ofi_access_count(a, &here))) == ISTHMUS_ERR_AGAIN && a->waits)
        ofi_wait_step(&wait);
    ofi_wait_end(&wait);
    return status == ISTHMUS_OK && a->chan == NULL ? ofi_wait_for(a->path->tr, &here) : status;
}
