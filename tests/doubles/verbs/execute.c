/* tests/doubles/verbs/execute.c: what arrives from peers. Writes land in the order that the mode permits. */
#include "tests/doubles/verbs/verbs_double.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { GRH_BYTES = 40 };

/* ---- memory ---- */

/* Words of 8 bytes at once, as adapters write them. */
static void copy(void *to, const void *from, size_t n_bytes)
{
    char *out = to;
    const char *in = from;
    for (; n_bytes > 0 && (uintptr_t)out % 8 != 0; n_bytes--) *(volatile char *)out++ = *in++;
    for (; n_bytes >= 8; n_bytes -= 8, out += 8, in += 8) {
        uint64_t word;
        memcpy(&word, in, 8);
        __atomic_store_n((uint64_t *)(void *)out, word, __ATOMIC_RELAXED);
    }
    for (; n_bytes > 0; n_bytes--) *(volatile char *)out++ = *in++;
}

/* For pages that are pinned until UCX deregisters them, some time after it has unmapped them: what is written there has
 * no reader. */
static void copy_if_mapped(void *to, const char *from, size_t n_bytes)
{
    const struct iovec in = {(void *)(uintptr_t)from, n_bytes}, out = {to, n_bytes};
    if (process_vm_writev(getpid(), &in, 1, &out, 1, 0) < 0 && errno != EFAULT) copy(to, from, n_bytes);
}

/* ---- writes that have arrived and not landed ---- */

struct piece {
    struct piece *next;
    struct queue_pair *qp;
    int adapter;
    bool is_strict; /* passes no earlier one of its adapter */
    bool lands;     /* of land_those() */
    uint64_t number;
    int64_t due_ns;
    void *to;
    uint32_t n_bytes;
    char bytes[];
};

static struct piece *pieces; /* in the order in which they arrived */

static void send_ack(struct queue_pair *qp, uint64_t number);

static void land(struct piece **at)
{
    struct piece *piece = *at;
    copy(piece->to, piece->bytes, piece->n_bytes);
    *at = piece->next;
    free(piece);
}

/* Acknowledges what has landed, and all before it has. */
static void acknowledge(struct queue_pair *qp)
{
    uint64_t number = qp->n_received;
    for (const struct piece *at = pieces; at != NULL && !settings.relaxed; at = at->next)
        if (at->qp == qp && at->number <= number) number = at->number - 1;
    if (number > qp->n_acked) send_ack(qp, number);
}

/* Lands what `which` is true for, and before a strict one all that its adapter has received before. */
static void land_those(bool (*which)(const struct piece *, const void *), const void *of)
{
    for (struct piece *at = pieces; at != NULL; at = at->next) {
        at->lands = which(at, of);
        for (struct piece *before = pieces; at->lands && at->is_strict && before != at; before = before->next)
            before->lands |= before->adapter == at->adapter;
    }
    for (struct piece **at = &pieces; *at != NULL;) {
        if ((*at)->lands)
            land(at);
        else
            at = &(*at)->next;
    }
}

static bool is_of_qp(const struct piece *piece, const void *qp) { return piece->qp == qp; }
static bool is_of_adapter(const struct piece *piece, const void *number)
{
    return piece->adapter == *(const int *)number;
}
static bool is_any(const struct piece *piece, const void *none) { return (void)piece, (void)none, true; }
static bool is_due(const struct piece *piece, const void *now) { return piece->due_ns <= *(const int64_t *)now; }

void land_all(void) { land_those(is_any, NULL); }

/* What the adapter does next comes behind the writes of this queue pair, and, where it reads memory or reports to the
 * program, behind all its writes. */
static void land_before(struct queue_pair *qp)
{
    if (settings.relaxed)
        land_those(is_of_adapter, &qp->context->adapter->number);
    else
        land_those(is_of_qp, qp);
}

int64_t land_due(void)
{
    int64_t due = -1, now = now_ns();
    land_those(is_due, &now); /* others may have landed meanwhile, without an acknowledgement: land_all() */
    for (int i = 0; i < QPS_OF_A_PROCESS; i++)
        if (queue_pairs[i] != NULL && queue_pairs[i]->n_acked < queue_pairs[i]->n_received) acknowledge(queue_pairs[i]);
    for (const struct piece *at = pieces; at != NULL; at = at->next)
        if (due < 0 || at->due_ns < due) due = at->due_ns;
    return due;
}

/* Of each eight pieces four land at once, three soon, one late. */
static int64_t draw_delay_ns(void)
{
    uint64_t kind = draw(8);
    return kind < 4 ? 0 : (int64_t)(kind < 7 ? draw(100000) : draw(3000000));
}

static void add_pieces(struct queue_pair *qp, const struct frame *frame, char *to, const char *bytes)
{
    struct piece **last = &pieces;
    int64_t now = now_ns();
    bool is_strict = settings.relaxed && !is_relaxed_region(frame->rkey);
    while (*last != NULL) last = &(*last)->next;
    for (uint32_t at = 0; at < frame->n_bytes; at += PACKET_BYTES) {
        uint32_t n = frame->n_bytes - at < PACKET_BYTES ? frame->n_bytes - at : PACKET_BYTES;
        int64_t delay = draw_delay_ns();
        if (delay == 0 && !(is_strict && pieces != NULL)) {
            copy(to + at, bytes + at, n);
            continue;
        }
        struct piece *piece = malloc(sizeof *piece + n);
        *piece = (struct piece){.qp = qp,
                                .adapter = qp->context->adapter->number,
                                .is_strict = is_strict,
                                .number = frame->number,
                                .due_ns = now + delay,
                                .to = to + at,
                                .n_bytes = n};
        memcpy(piece->bytes, bytes + at, n);
        *last = piece;
        last = &piece->next;
    }
}

/* ---- replies ---- */

static struct frame reply_to(const struct queue_pair *qp, const struct frame *frame, enum kind kind)
{
    return (struct frame){.kind = (uint16_t)kind,
                          .qpn = qp->attr.dest_qp_num,
                          .from_qpn = qp->verbs.qp_num,
                          .number = frame != NULL ? frame->number : 0,
                          .remote = frame != NULL ? frame->remote : 0};
}

static void send_ack(struct queue_pair *qp, uint64_t number)
{
    struct frame ack = reply_to(qp, NULL, ACK);
    ack.number = number;
    qp->n_acked = number;
    if (qp->link != NULL) wire_send(qp->link, &ack, NULL);
}

static void refuse(struct link *link, const struct frame *frame, enum ibv_wc_status status, const char *why)
{
    struct frame nak = {.kind = NAK,
                        .qpn = frame->from_qpn,
                        .from_qpn = frame->qpn,
                        .number = frame->number,
                        .remote = frame->remote,
                        .status = status,
                        .n_bytes = (uint32_t)strlen(why) + 1};
    wire_send(link, &nak, why);
}

static void reply_data(struct link *link, const struct queue_pair *qp, const struct frame *frame, const char *from)
{
    struct frame reply = reply_to(qp, frame, DATA);
    uint32_t at = 0;
    do {
        reply.n_bytes = frame->length - at < CHUNK_BYTES ? frame->length - at : CHUNK_BYTES;
        if (at + reply.n_bytes == frame->length) reply.flags = LAST;
        wire_send(link, &reply, from + at);
        at += reply.n_bytes;
    } while (at < frame->length);
}

static bool is_atomic(const struct frame *frame) { return frame->kind >= FETCH_ADD && frame->kind <= MASKED_SWAP; }

/* The bits of `ends` pass no carry on. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t ends)
{
    uint64_t sum = 0, carry = 0;
    for (uint64_t bit = 1; bit != 0; bit <<= 1, carry <<= 1) {
        sum |= (a ^ b ^ carry) & bit;
        carry = ((a & b) | (carry & (a | b))) & bit & ~ends;
    }
    return sum;
}

/* Returns false if nothing is written. */
static bool update(const struct frame *frame, uint64_t old, uint64_t *out)
{
    bool is_masked = frame->kind == MASKED_SWAP || frame->kind == MASKED_ADD;
    struct masks masks = is_masked ? frame->masks : (struct masks){UINT64_MAX, UINT64_MAX};
    *out = (old & ~masks.swap) | (frame->swap & masks.swap);
    if (frame->kind == FETCH_ADD) *out = old + frame->compare;
    if (frame->kind == MASKED_ADD) *out = add_fields(old, frame->compare, masks.swap);
    bool swaps = frame->kind == SWAP || frame->kind == MASKED_SWAP;
    return !swaps || ((old ^ frame->compare) & masks.compare) == 0;
}

static uint64_t do_atomic(uint64_t *at, const struct frame *frame)
{
    uint64_t old = __atomic_load_n(at, __ATOMIC_SEQ_CST), new;
    while (update(frame, old, &new)) {
        if (settings.atomics == IBV_ATOMIC_GLOB) {
            if (__atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) break;
        } else { /* atomic among adapters' only: a processor may write between the two */
            __atomic_store_n(at, new, __ATOMIC_SEQ_CST);
            break;
        }
    }
    return old;
}

/* ---- receives ---- */

static void fill(const struct receive *receive, uint32_t from, const char *bytes, uint32_t length)
{
    for (int i = 0; i < receive->n_sge && length > 0; i++) {
        const struct ibv_sge *sge = &receive->sge[i];
        if (from >= sge->length) {
            from -= sge->length;
            continue;
        }
        uint32_t n = sge->length - from < length ? sge->length - from : length;
        copy_if_mapped((char *)local_memory(sge, true) + from, bytes, n);
        bytes += n;
        length -= n;
        from = 0;
    }
    if (length > 0) break_rule("a message fits its receive request", "%u bytes are left", length);
}

static void report_receive(struct queue_pair *qp, const struct frame *frame, struct receive *receive, uint32_t n_bytes)
{
    bool has_imm = (frame->flags & HAS_IMM) != 0, is_global = frame->kind == DATAGRAM && settings.is_ethernet;
    const struct ibv_wc wc = {.wr_id = receive->wr_id,
                              .opcode = frame->kind == WRITE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
                              .byte_len = n_bytes,
                              .imm_data = frame->imm,
                              .qp_num = qp->verbs.qp_num,
                              .src_qp = frame->from_qpn,
                              .slid = frame->slid,
                              .sl = frame->sl,
                              .wc_flags = (has_imm ? IBV_WC_WITH_IMM : 0u) | (is_global ? IBV_WC_GRH : 0u)};
    report_completion(qp->verbs.recv_cq, &wc, (frame->flags & SOLICITED) != 0);
    free(receive);
}

static void take_datagram(struct queue_pair *qp, const struct frame *frame, const char *bytes)
{
    struct ibv_grh grh = {.version_tclass_flow = 0, .sgid = frame->sgid, .dgid = frame->dgid};
    struct receive *receive = frame->qkey == qp->attr.qkey ? take_receive(qp) : NULL;
    if (receive == NULL) return; /* such are lost */
    if (settings.is_ethernet) fill(receive, 0, (const char *)&grh, GRH_BYTES);
    fill(receive, GRH_BYTES, bytes, frame->n_bytes);
    report_receive(qp, frame, receive, GRH_BYTES + frame->n_bytes);
}

/* ---- requests ---- */

/* Returns false if the frame has to wait for a receive request. */
static bool take_send(struct queue_pair *qp, const struct frame *frame, const char *bytes)
{
    if (qp->filling == NULL) {
        qp->filling = take_receive(qp);
        qp->n_filled = 0;
    }
    if (qp->filling == NULL) return false;
    fill(qp->filling, qp->n_filled, bytes, frame->n_bytes);
    qp->n_filled += frame->n_bytes;
    if ((frame->flags & LAST) == 0) return true;
    land_before(qp);
    report_receive(qp, frame, qp->filling, qp->n_filled);
    qp->filling = NULL;
    return true;
}

static bool take_write(struct queue_pair *qp, const struct frame *frame, char *to, const char *bytes)
{
    bool reports = (frame->flags & (LAST | HAS_IMM)) == (LAST | HAS_IMM);
    struct receive *receive = reports ? take_receive(qp) : NULL;
    if (reports && receive == NULL) return false;
    if ((frame->flags & FENCED) != 0) land_before(qp);
    if (settings.unordered || settings.relaxed)
        add_pieces(qp, frame, to, bytes);
    else
        copy(to, bytes, frame->n_bytes);
    if (!reports) return true;
    land_before(qp);
    report_receive(qp, frame, receive, frame->length);
    return true;
}

static int access_for(enum kind kind)
{
    return kind == WRITE ? IBV_ACCESS_REMOTE_WRITE : kind == READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_ATOMIC;
}

static uint32_t bytes_of(const struct frame *frame)
{
    return frame->kind == WRITE ? frame->n_bytes : frame->kind == READ ? frame->length : 8;
}

/* Executes a request. Returns false if it has to wait. */
static bool take_request(struct queue_pair *qp, struct link *link, const struct frame *frame, const char *bytes)
{
    const char *why = "";
    char *at = NULL;
    bool is_done = true;
    int access = access_for((enum kind)frame->kind);
    if (frame->kind != SEND && bytes_of(frame) > 0) {
        at = remote_memory(frame->rkey, frame->remote, bytes_of(frame), access, &why);
        if (at != NULL && (qp->attr.qp_access_flags & (unsigned)access) == 0) {
            at = NULL;
            why = "accesses of peers need the queue pair's access flag";
        }
        bool is_masked = frame->kind == MASKED_SWAP || frame->kind == MASKED_ADD;
        if (is_masked && !has_masked(qp->context->adapter)) {
            at = NULL;
            why = "the peer's adapter has masked atomics";
        }
        if (at == NULL) {
            refuse(link, frame, IBV_WC_REM_ACCESS_ERR, why);
            return true;
        }
    }
    if (frame->kind == SEND) is_done = take_send(qp, frame, bytes);
    if (frame->kind == WRITE) is_done = take_write(qp, frame, at, bytes);
    if (!is_done) return false;
    if ((frame->flags & LAST) != 0) qp->n_received = frame->number;
    if (frame->kind == READ || is_atomic(frame)) {
        land_before(qp);
        qp->n_acked = frame->number; /* the reply acknowledges too */
        if (frame->kind == READ) {
            reply_data(link, qp, frame, at);
        } else {
            struct frame reply = reply_to(qp, frame, VALUE);
            uint64_t old = do_atomic((uint64_t *)(void *)at, frame);
            reply.n_bytes = sizeof old;
            reply.flags = LAST;
            wire_send(link, &reply, &old);
        }
    } else if ((frame->flags & LAST) != 0) {
        acknowledge(qp);
    }
    return true;
}

/* ---- arrival ---- */

static bool is_in_partition(const struct queue_pair *qp, const struct frame *frame)
{
    uint16_t mine = pkey_at(qp->attr.pkey_index), full = 0x8000;
    return (mine & ~full) == (frame->pkey & ~full) && ((mine | frame->pkey) & full) != 0;
}

/* A port that has no link, or is of another partition or VLAN, does not answer. */
static bool is_reachable(const struct queue_pair *qp, const struct frame *frame)
{
    struct place here;
    if (qp->context->adapter->number == settings.down || !is_in_partition(qp, frame)) return false;
    return !settings.is_ethernet || (find_gid(&frame->dgid, &here) && here.vlan == frame->vlan);
}

void serve(struct queue_pair *qp)
{
    while (qp->arrived != NULL && (qp->verbs.state == IBV_QPS_RTR || qp->verbs.state == IBV_QPS_RTS)) {
        struct arrival *arrival = qp->arrived;
        if (!take_request(qp, arrival->link, &arrival->frame, arrival->bytes)) return;
        qp->arrived = arrival->next;
        if (qp->arrived == NULL) qp->arrived_last = &qp->arrived;
        free(arrival);
    }
    if (qp->verbs.state == IBV_QPS_ERR) forget_arrivals(qp);
}

static void keep(struct queue_pair *qp, struct link *link, const struct frame *frame, const char *bytes)
{
    struct arrival *arrival = malloc(sizeof *arrival + frame->n_bytes);
    *arrival = (struct arrival){.link = link, .frame = *frame};
    memcpy(arrival->bytes, bytes, frame->n_bytes);
    *qp->arrived_last = arrival;
    qp->arrived_last = &arrival->next;
}

void forget_arrivals(struct queue_pair *qp)
{
    land_those(is_of_qp, qp);
    while (qp->arrived != NULL) {
        struct arrival *next = qp->arrived->next;
        free(qp->arrived);
        qp->arrived = next;
    }
    qp->arrived_last = &qp->arrived;
}

void forget_link(struct link *link)
{
    for (int i = 0; i < QPS_OF_A_PROCESS; i++)
        if (queue_pairs[i] != NULL && queue_pairs[i]->arrived != NULL && queue_pairs[i]->arrived->link == link)
            forget_arrivals(queue_pairs[i]);
}

void execute(struct link *link, const struct frame *frame, const void *bytes)
{
    struct queue_pair *qp = qp_find(frame->qpn);
    if (frame->kind == ACK || frame->kind == DATA || frame->kind == VALUE || frame->kind == NAK) {
        if (qp != NULL) take_reply(qp, frame, bytes);
        return;
    }
    if (frame->kind == DATAGRAM) {
        bool has_state = qp != NULL && (qp->verbs.state == IBV_QPS_RTR || qp->verbs.state == IBV_QPS_RTS);
        if (has_state && is_reachable(qp, frame)) take_datagram(qp, frame, bytes);
        return;
    }
    /* Not at an answer that never comes: the sender's adapter repeats, and gives up. */
    if (qp == NULL || qp->verbs.state == IBV_QPS_ERR || !is_reachable(qp, frame)) {
        refuse(link, frame, IBV_WC_RETRY_EXC_ERR, "");
        return;
    }
    keep(qp, link, frame, bytes);
    serve(qp);
}
