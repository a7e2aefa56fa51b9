/* tests/doubles/verbs/send.c: requests of this process: posted, sent as frames, and complete when their replies are
 * here. */
#include "tests/doubles/verbs/verbs_double.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int post_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

static bool is_atomic(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_read(enum ibv_wr_opcode opcode) { return opcode == IBV_WR_RDMA_READ || is_atomic(opcode); }
static bool is_write(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* ---- posting ---- */

static void check_request(const struct queue_pair *qp, const struct ibv_send_wr *wr)
{
    if (qp->verbs.state != IBV_QPS_RTS && qp->verbs.state != IBV_QPS_ERR)
        break_rule("requests need a queue pair in RTS", "qp %#x is in state %d", qp->verbs.qp_num, qp->verbs.state);
    if (wr->num_sge > (int)qp->init.cap.max_send_sge)
        break_rule("a request has max_send_sge operands at most", "%d, of %u", wr->num_sge, qp->init.cap.max_send_sge);
    if (is_atomic(wr->opcode)) {
        if (settings.atomics == IBV_ATOMIC_NONE) break_rule("the device has no atomics", "opcode %d", wr->opcode);
        if (wr->num_sge != 1 || wr->sg_list[0].length != 8 || wr->wr.atomic.remote_addr % 8 != 0)
            break_rule("atomics are of 8 aligned bytes", "%#llx", (unsigned long long)wr->wr.atomic.remote_addr);
    }
    if (qp->verbs.qp_type == IBV_QPT_UD && wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)
        break_rule("a UD queue pair sends only", "opcode %d", wr->opcode);
}

static struct work *work_new(const struct queue_pair *qp, const struct ibv_send_wr *wr)
{
    struct work *work = calloc(1, sizeof *work + (size_t)wr->num_sge * sizeof *wr->sg_list);
    work->wr_id = wr->wr_id;
    work->opcode = wr->opcode;
    work->flags = wr->send_flags;
    work->is_signaled = qp->init.sq_sig_all != 0 || (wr->send_flags & IBV_SEND_SIGNALED) != 0;
    work->imm = wr->imm_data;
    work->remote = is_atomic(wr->opcode) ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr;
    work->rkey = is_atomic(wr->opcode) ? wr->wr.atomic.rkey : wr->wr.rdma.rkey;
    work->compare = wr->wr.atomic.compare_add;
    work->swap = wr->wr.atomic.swap;
    if (qp->verbs.qp_type == IBV_QPT_UD) {
        work->to = (struct address *)wr->wr.ud.ah;
        work->qpn = wr->wr.ud.remote_qpn;
        work->qkey = wr->wr.ud.remote_qkey;
    }
    work->n_sge = wr->num_sge;
    if (wr->num_sge > 0) memcpy(work->sge, wr->sg_list, (size_t)wr->num_sge * sizeof *wr->sg_list);
    for (int i = 0; i < wr->num_sge; i++) work->n_bytes += wr->sg_list[i].length;
    return work;
}

/* The bytes of an inline request are the adapter's when post_send returns. */
static void take_inline(const struct queue_pair *qp, struct work *work)
{
    size_t at = 0;
    if (work->n_bytes > qp->init.cap.max_inline_data)
        break_rule("inline requests have max_inline_data bytes at most", "%u, of %u", work->n_bytes,
                   qp->init.cap.max_inline_data);
    work->inline_bytes = malloc(work->n_bytes + 1);
    for (int i = 0; i < work->n_sge; at += work->sge[i++].length)
        memcpy(work->inline_bytes + at, (const void *)(uintptr_t)work->sge[i].addr, work->sge[i].length);
}

static void check_operands(struct work *work)
{
    for (int i = 0; i < work->n_sge; i++)
        if (work->sge[i].length > 0) (void)local_memory(&work->sge[i], is_read(work->opcode));
}

static void queue_work(struct queue_pair *qp, struct work *work)
{
    enum { MOST_LATE_NS = 200000 };
    work->number = ++qp->n_posted;
    *qp->last = work;
    qp->last = &work->next;
    if (qp->verbs.state == IBV_QPS_ERR || qp->unsent != NULL) return;
    qp->unsent = work;
    if (settings.late) qp->due_ns = now_ns() + (int64_t)draw(MOST_LATE_NS);
}

static int post_one(struct queue_pair *qp, const struct ibv_send_wr *wr, const struct masks *masks)
{
    check_request(qp, wr);
    if (qp->n_posted - qp->n_retired >= qp->init.cap.max_send_wr) return ENOMEM;
    struct work *work = work_new(qp, wr);
    work->is_masked = masks != NULL;
    if (masks != NULL) work->masks = *masks;
    if ((wr->send_flags & IBV_SEND_INLINE) != 0 && !is_read(wr->opcode))
        take_inline(qp, work);
    else
        check_operands(work);
    queue_work(qp, work);
    return 0;
}

static void go_on(struct queue_pair *qp)
{
    if (qp->verbs.state == IBV_QPS_ERR) finish_works(qp);
    if (!settings.late) pump(qp);
}

int post_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct queue_pair *qp = (struct queue_pair *)verbs;
    int error = 0;
    pthread_mutex_lock(&verbs_lock);
    for (; wr != NULL && error == 0; wr = wr->next) {
        *bad = wr;
        error = post_one(qp, wr, NULL);
    }
    go_on(qp);
    pthread_mutex_unlock(&verbs_lock);
    if (settings.late) wire_kick();
    return error;
}

int post_masked(struct queue_pair *qp, const struct ibv_send_wr *wr, const struct masks *masks)
{
    int error = post_one(qp, wr, masks);
    go_on(qp);
    if (settings.late) wire_kick();
    return error;
}

/* ---- sending ---- */

static uint16_t pkey_of(const struct queue_pair *qp) { return pkey_at(qp->attr.pkey_index); }

static void address_frame(const struct queue_pair *qp, const struct ibv_ah_attr *ah, struct frame *frame)
{
    int host = adapter_host(), adapter = qp->context->adapter->number;
    frame->from_qpn = qp->verbs.qp_num;
    frame->pkey = pkey_of(qp);
    frame->sl = ah->sl;
    frame->slid = lid_of(host, adapter);
    frame->adapter = (uint8_t)adapter;
    if (!ah->is_global) return;
    frame->traffic_class = ah->grh.traffic_class;
    frame->sgid = gid_of(host, adapter, ah->grh.sgid_index);
    frame->dgid = ah->grh.dgid;
    frame->vlan = vlan_of(ah->grh.sgid_index);
}

/* Copies `length` bytes of the request's operands from `from` on. */
static void gather(const struct work *work, uint32_t from, uint32_t length, char *out)
{
    if (work->inline_bytes != NULL) {
        memcpy(out, work->inline_bytes + from, length);
        return;
    }
    for (int i = 0; i < work->n_sge && length > 0; i++) {
        const struct ibv_sge *sge = &work->sge[i];
        if (from >= sge->length) {
            from -= sge->length;
            continue;
        }
        uint32_t n = sge->length - from < length ? sge->length - from : length;
        memcpy(out, (const char *)local_memory(sge, false) + from, n);
        out += n;
        length -= n;
        from = 0;
    }
}

static uint16_t flags_of(const struct work *work)
{
    bool has_imm = work->opcode == IBV_WR_SEND_WITH_IMM || work->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    return (uint16_t)(((work->flags & IBV_SEND_FENCE) != 0 ? FENCED : 0) |
                      ((work->flags & IBV_SEND_SOLICITED) != 0 ? SOLICITED : 0) | (has_imm ? HAS_IMM : 0));
}

static enum kind kind_of(const struct work *work)
{
    if (is_write(work->opcode)) return WRITE;
    if (work->opcode == IBV_WR_RDMA_READ) return READ;
    if (work->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) return work->is_masked ? MASKED_SWAP : SWAP;
    if (work->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) return work->is_masked ? MASKED_ADD : FETCH_ADD;
    return SEND;
}

static void send_datagram(struct queue_pair *qp, struct work *work)
{
    struct place there;
    char bytes[PACKET_BYTES];
    struct frame frame = {.n_bytes = work->n_bytes,
                          .kind = DATAGRAM,
                          .flags = flags_of(work),
                          .qpn = work->qpn,
                          .imm = work->imm,
                          .qkey = work->qkey,
                          .length = work->n_bytes};
    const struct ibv_ah_attr *ah = &work->to->attr;
    if (work->n_bytes > PACKET_BYTES) break_rule("a datagram fits into the MTU", "%u bytes", work->n_bytes);
    address_frame(qp, ah, &frame);
    gather(work, 0, work->n_bytes, bytes);
    bool is_known = ah->is_global && settings.is_ethernet;
    if (is_known)
        is_known = find_gid(&ah->grh.dgid, &there);
    else
        there = (struct place){(ah->dlid - 1) / MOST_ADAPTERS, (ah->dlid - 1) % MOST_ADAPTERS, 0},
        is_known = ah->dlid > 0;
    struct link *link = is_known ? wire_link(there.host, work->qpn) : NULL;
    if (link != NULL) {
        record(&frame);
        wire_send(link, &frame, bytes);
    }
    work->is_done = true;
}

/* Sends what the link takes. Returns true if all of the request has been sent. */
static bool send_request(struct queue_pair *qp, struct work *work)
{
    struct frame frame = {.kind = (uint16_t)kind_of(work),
                          .flags = flags_of(work),
                          .qpn = qp->attr.dest_qp_num,
                          .number = work->number,
                          .rkey = work->rkey,
                          .imm = work->imm,
                          .length = work->n_bytes,
                          .compare = work->compare,
                          .swap = work->swap,
                          .masks = work->masks};
    char bytes[CHUNK_BYTES];
    address_frame(qp, &qp->attr.ah_attr, &frame);
    do {
        uint32_t left = is_read(work->opcode) ? 0 : work->n_bytes - work->sent;
        if (wire_is_full(qp->link)) return false;
        frame.n_bytes = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        frame.remote = work->remote + (is_read(work->opcode) ? 0 : work->sent);
        gather(work, work->sent, frame.n_bytes, bytes);
        work->sent += frame.n_bytes;
        if (left == frame.n_bytes) frame.flags |= LAST;
        record(&frame);
        wire_send(qp->link, &frame, bytes);
    } while ((frame.flags & LAST) == 0);
    return true;
}

void pump(struct queue_pair *qp)
{
    if (qp->verbs.state != IBV_QPS_RTS) return;
    while (qp->unsent != NULL) {
        struct work *work = qp->unsent;
        if ((work->flags & IBV_SEND_FENCE) != 0 && qp->n_replies > 0) return; /* waits for earlier reads and atomics */
        if (qp->verbs.qp_type == IBV_QPT_UD) {
            send_datagram(qp, work);
        } else {
            if (qp->link == NULL) {
                fail_queue_pair(qp, IBV_WC_RETRY_EXC_ERR);
                return;
            }
            if (!send_request(qp, work)) return;
            qp->n_replies += is_read(work->opcode);
        }
        qp->unsent = work->next;
    }
    finish_works(qp);
}

/* ---- replies ---- */

static struct work *work_of(struct queue_pair *qp, uint64_t number)
{
    struct work *work = qp->first;
    while (work != NULL && work != qp->unsent && work->number != number) work = work->next;
    return work != qp->unsent ? work : NULL;
}

static void scatter(struct work *work, const char *bytes, uint32_t length)
{
    uint32_t from = work->replied;
    work->replied += length;
    for (int i = 0; i < work->n_sge && length > 0; i++) {
        const struct ibv_sge *sge = &work->sge[i];
        if (from >= sge->length) {
            from -= sge->length;
            continue;
        }
        uint32_t n = sge->length - from < length ? sge->length - from : length;
        memcpy((char *)local_memory(sge, true) + from, bytes, n);
        bytes += n;
        length -= n;
        from = 0;
    }
}

/* All requests up to that number have been executed, except reads and atomics whose replies are on the way. */
static void acknowledge(struct queue_pair *qp, uint64_t number)
{
    for (struct work *work = qp->first; work != NULL && work != qp->unsent && work->number <= number; work = work->next)
        if (!is_read(work->opcode)) work->is_done = true;
}

void take_reply(struct queue_pair *qp, const struct frame *frame, const void *bytes)
{
    struct work *work = work_of(qp, frame->number);
    if (qp->verbs.state == IBV_QPS_ERR) return;
    switch (frame->kind) {
    case ACK: acknowledge(qp, frame->number); break;
    case VALUE:
    case DATA:
        if (work == NULL)
            break_rule("of this double", "a reply to no request, %#llx", (unsigned long long)frame->number);
        acknowledge(qp, frame->number);
        scatter(work, bytes, frame->n_bytes);
        if ((frame->flags & LAST) == 0) break;
        work->is_done = true;
        qp->n_replies--;
        break;
    case NAK:
        if (frame->status == IBV_WC_REM_ACCESS_ERR)
            break_rule((const char *)bytes, "a request on %#llx of its peer", (unsigned long long)frame->remote);
        fail_queue_pair(qp, (enum ibv_wc_status)frame->status);
        return;
    default: break;
    }
    finish_works(qp);
    pump(qp);
}
