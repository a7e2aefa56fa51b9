/* tests/doubles/ofi/atomic.c: atomics, which the target's adapter executes by a load and a store: they exclude one
 * another, and no instruction of a processor. */
#include "ofi_double.h"

#include <string.h>

/* ---- what there is ---- */

static bool has_width(enum atomics atomics, enum fi_datatype type)
{
    bool has_32 = atomics == ATOMICS_ALL || atomics == ATOMICS_NARROW;
    bool has_64 = atomics == ATOMICS_ALL || atomics == ATOMICS_FEW;
    return (type == FI_UINT32 && has_32) || (type == FI_UINT64 && has_64);
}

static int answer(struct fid_ep *fid, enum fi_datatype type, bool is_known, bool is_among_few, size_t *count)
{
    enum atomics atomics = container_of(fid, struct double_ep, fid)->domain->mode->atomics;
    bool has = is_known && has_width(atomics, type) && (is_among_few || atomics != ATOMICS_FEW);
    *count = has ? 1 : 0;
    return has ? 0 : -FI_EOPNOTSUPP;
}

static bool is_arithmetic(enum fi_op op) { return op == FI_SUM || op == FI_BAND || op == FI_BOR || op == FI_BXOR; }

static int update_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
    return answer(fid, type, is_arithmetic(op) || op == FI_ATOMIC_WRITE, false, count);
}

static int fetch_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
    bool is_known = is_arithmetic(op) || op == FI_ATOMIC_WRITE || op == FI_ATOMIC_READ;
    return answer(fid, type, is_known, op == FI_SUM, count);
}

static int compare_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
    return answer(fid, type, op == FI_CSWAP, true, count);
}

/* ---- posts ---- */

struct operands {
    const struct fi_ioc *compare, *fetched;
    void *compare_desc, *fetched_desc;
};

static ssize_t start(struct fid_ep *fid, const struct fi_msg_atomic *message, const struct operands *more, int invalid)
{
    struct double_ep *ep = container_of(fid, struct double_ep, fid);
    size_t width = message->datatype == FI_UINT32 ? sizeof(uint32_t) : sizeof(uint64_t);
    RULE(ep->domain->has_atomics, "an atomic in a domain that was opened without FI_ATOMIC");
    RULE(message->iov_count == 1 && message->rma_iov_count == 1, "iov_limit and rma_iov_limit are 1");
    RULE(message->msg_iov->count == 1 && message->rma_iov->count == 1, "this provider takes 1 operand at a time");
    RULE(message->rma_iov->addr % width == 0, "an atomic at address %#llx", (unsigned long long)message->rma_iov->addr);
    if (invalid != 0) return invalid;
    struct double_op op = {.kind = PACKET_ATOMIC,
                           .context = message->context,
                           .local = message->msg_iov->addr,
                           .length = width,
                           .address = message->rma_iov->addr,
                           .peer = (uint32_t)message->addr,
                           .atomic = message->op};
    double_key_of(ep->domain, message->rma_iov->key, &op);
    double_enter(ep->domain);
    if (more->compare != NULL) {
        double_check_local(ep->domain, more->compare->addr, width, more->compare_desc);
        op.compare = more->compare->addr;
    }
    if (more->fetched != NULL) {
        double_check_local(ep->domain, more->fetched->addr, width, more->fetched_desc);
        op.fetched = more->fetched->addr;
    }
    double_leave(ep->domain);
    return double_post(ep, &op, message->desc != NULL ? message->desc[0] : NULL, false);
}

static ssize_t update(struct fid_ep *fid, const struct fi_msg_atomic *message, uint64_t flags)
{
    bool has_delivery = container_of(fid, struct double_ep, fid)->domain->mode->has_delivery;
    uint64_t known = FI_COMPLETION | FI_TRANSMIT_COMPLETE | (has_delivery ? FI_DELIVERY_COMPLETE : 0);
    size_t count;
    if ((flags & ~known) != 0) return -FI_EBADFLAGS;
    return start(fid, message, &(struct operands){0}, update_valid(fid, message->datatype, message->op, &count));
}

static ssize_t fetch(struct fid_ep *fid, const struct fi_msg_atomic *message, struct fi_ioc *result, void **desc,
                     size_t n, uint64_t flags)
{
    size_t count;
    RULE(n == 1 && (flags & ~(uint64_t)FI_COMPLETION) == 0, "flags %llx of a fetch", (unsigned long long)flags);
    return start(fid, message, &(struct operands){.fetched = result, .fetched_desc = desc[0]},
                 fetch_valid(fid, message->datatype, message->op, &count));
}

static ssize_t compare_swap(struct fid_ep *fid, const struct fi_msg_atomic *message, const struct fi_ioc *compare,
                            void **compare_desc, size_t n_compare, struct fi_ioc *result, void **desc, size_t n,
                            uint64_t flags)
{
    size_t count;
    RULE(n == 1 && n_compare == 1 && (flags & ~(uint64_t)FI_COMPLETION) == 0, "flags %llx of a compare and swap",
         (unsigned long long)flags);
    const struct operands more = {compare, result, compare_desc[0], desc[0]};
    return start(fid, message, &more, compare_valid(fid, message->datatype, message->op, &count));
}

struct fi_ops_atomic double_atomic_ops = {
    .size = sizeof double_atomic_ops,
    .writemsg = update,
    .readwritemsg = fetch,
    .compwritemsg = compare_swap,
    .writevalid = update_valid,
    .readwritevalid = fetch_valid,
    .compwritevalid = compare_valid,
};

/* ---- at the target ---- */

static uint64_t result_of(enum fi_op op, uint64_t old, uint64_t operand, uint64_t compare)
{
    switch (op) {
    case FI_SUM: return old + operand;
    case FI_BAND: return old & operand;
    case FI_BOR: return old | operand;
    case FI_BXOR: return old ^ operand;
    case FI_ATOMIC_WRITE: return operand;
    case FI_CSWAP: return old == compare ? operand : old;
    default: return old;
    }
}

/* Between the load and the store, so that an update that does not exclude this one is lost. Only the adapter's thread
 * executes, and it alone uses the lists of packets meanwhile. */
static void let_others_in(struct double_domain *domain)
{
    if (domain->mode->has_thread) pthread_mutex_unlock(&domain->lock);
    for (volatile int i = 0; i < WINDOW_LOOPS; i++) {}
    if (domain->mode->has_thread) pthread_mutex_lock(&domain->lock);
}

void double_execute(struct double_domain *domain, const struct packet *packet, char *at, char *old)
{
    size_t width = packet->head.length;
    uint64_t before = 0, operand = 0;
    memcpy(&before, at, width);
    memcpy(&operand, packet->data, width);
    uint64_t after = result_of((enum fi_op)packet->head.atomic, before, operand, packet->head.compare);
    let_others_in(domain);
    memcpy(at, &after, width);
    memcpy(old, &before, width);
    domain->n_atomics++;
}
