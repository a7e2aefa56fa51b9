/* tests/doubles/verbs/queue.c: contexts, completion queues, receive queues and queue pairs. */
#include "tests/doubles/verbs/verbs_double.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct queue_pair *queue_pairs[QPS_OF_A_PROCESS];

int post_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* ---- completion queues ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *verbs)
{
    int ends[2];
    struct ibv_comp_channel *channel = calloc(1, sizeof *channel);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(channel);
        return NULL;
    }
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *channel = (struct ibv_comp_channel){.context = verbs, .fd = ends[0], .refcnt = ends[1]};
    return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    close(channel->refcnt);
    free(channel);
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *verbs, int n, void *cq_context, struct ibv_comp_channel *channel,
                             int vector)
{
    struct completion_queue *cq = calloc(1, sizeof *cq);
    (void)vector;
    cq->verbs = (struct ibv_cq){.context = verbs, .channel = channel, .cq_context = cq_context, .cqe = n};
    pthread_mutex_init(&cq->verbs.mutex, NULL);
    cq->ring = calloc((size_t)n, sizeof *cq->ring);
    return &cq->verbs;
}

int ibv_destroy_cq(struct ibv_cq *verbs)
{
    free(((struct completion_queue *)verbs)->ring);
    free(verbs);
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **out, void **cq_context)
{
    ssize_t n = read(channel->fd, out, sizeof *out);
    if (n != (ssize_t)sizeof *out) return -1;
    *cq_context = (*out)->cq_context;
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n) { (void)cq, (void)n; }

static int request_notice(struct ibv_cq *verbs, int solicited_only)
{
    struct completion_queue *cq = (struct completion_queue *)verbs;
    pthread_mutex_lock(&verbs_lock);
    cq->is_armed = cq->is_armed || !solicited_only;
    cq->is_armed_for_solicited = true;
    pthread_mutex_unlock(&verbs_lock);
    return 0;
}

void report_completion(struct ibv_cq *verbs, const struct ibv_wc *wc, bool is_solicited)
{
    struct completion_queue *cq = (struct completion_queue *)verbs;
    if (cq->n == (unsigned)verbs->cqe)
        break_rule("a completion queue does not overrun", "%d completions, and another one", verbs->cqe);
    cq->ring[(cq->first + cq->n++) % (unsigned)verbs->cqe] = *wc;
    bool wakes = cq->is_armed || (cq->is_armed_for_solicited && (is_solicited || wc->status != IBV_WC_SUCCESS));
    if (!wakes || verbs->channel == NULL) return;
    cq->is_armed = cq->is_armed_for_solicited = false;
    (void)!write(verbs->channel->refcnt, &verbs, sizeof verbs);
}

void forget_completions(struct ibv_cq *verbs, uint32_t qpn)
{
    struct completion_queue *cq = (struct completion_queue *)verbs;
    unsigned kept = 0, room = (unsigned)verbs->cqe;
    for (unsigned i = 0; i < cq->n; i++) {
        struct ibv_wc wc = cq->ring[(cq->first + i) % room];
        if (wc.qp_num != qpn) cq->ring[(cq->first + kept++) % room] = wc;
    }
    cq->n = kept;
}

static bool is_of_send(enum ibv_wc_opcode opcode) { return (opcode & IBV_WC_RECV) == 0; }

static int poll_completions(struct ibv_cq *verbs, int most, struct ibv_wc *out)
{
    struct completion_queue *cq = (struct completion_queue *)verbs;
    int n = 0;
    pthread_mutex_lock(&verbs_lock);
    for (; n < most && cq->n > 0; n++, cq->n--) {
        out[n] = cq->ring[cq->first];
        cq->first = (cq->first + 1) % (unsigned)verbs->cqe;
        struct queue_pair *qp = qp_find(out[n].qp_num);
        if (qp != NULL && is_of_send(out[n].opcode)) {
            qp->n_retired += out[n].vendor_err; /* how many requests it stands for */
            out[n].vendor_err = 0;
        }
    }
    pthread_mutex_unlock(&verbs_lock);
    return n;
}

/* ---- receives ---- */

static void queue_init(struct receive_queue *queue, unsigned most)
{
    *queue = (struct receive_queue){.last = &queue->first, .most = most};
    queue->last = &queue->first;
}

static void queue_free(struct receive_queue *queue)
{
    while (queue->first != NULL) {
        struct receive *next = queue->first->next;
        free(queue->first);
        queue->first = next;
    }
}

static int add_receives(struct receive_queue *queue, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    for (; wr != NULL; wr = wr->next) {
        *bad = wr;
        if (queue->n == queue->most) return ENOMEM;
        size_t list_bytes = (size_t)wr->num_sge * sizeof *wr->sg_list;
        struct receive *receive = malloc(sizeof *receive + list_bytes);
        *receive = (struct receive){.wr_id = wr->wr_id, .n_sge = wr->num_sge};
        memcpy(receive->sge, wr->sg_list, list_bytes);
        for (int i = 0; i < wr->num_sge; i++) (void)local_memory(&receive->sge[i], true);
        *queue->last = receive;
        queue->last = &receive->next;
        queue->n++;
    }
    *bad = NULL;
    return 0;
}

static int post_receives(struct ibv_qp *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct queue_pair *qp = (struct queue_pair *)verbs;
    pthread_mutex_lock(&verbs_lock);
    if (verbs->state == IBV_QPS_RESET) break_rule("receives need a queue pair in INIT", "qp %#x", verbs->qp_num);
    int error = add_receives(&qp->receives, wr, bad);
    bool waits = qp->arrived != NULL;
    pthread_mutex_unlock(&verbs_lock);
    if (waits) wire_kick();
    return error;
}

static int post_shared_receives(struct ibv_srq *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct shared_queue *srq = (struct shared_queue *)verbs;
    pthread_mutex_lock(&verbs_lock);
    bool was_empty = srq->queue.n == 0;
    int error = add_receives(&srq->queue, wr, bad);
    pthread_mutex_unlock(&verbs_lock);
    if (was_empty) wire_kick();
    return error;
}

struct receive *take_receive(struct queue_pair *qp)
{
    struct receive_queue *queue = qp->verbs.srq != NULL ? &((struct shared_queue *)qp->verbs.srq)->queue
                                                        : &qp->receives;
    struct receive *receive = queue->first;
    if (receive == NULL) return NULL;
    queue->first = receive->next;
    if (queue->first == NULL) queue->last = &queue->first;
    queue->n--;
    return receive;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    struct shared_queue *srq = calloc(1, sizeof *srq);
    srq->verbs = (struct ibv_srq){.context = pd->context, .srq_context = attr->srq_context, .pd = pd};
    srq->max_sge = (int)attr->attr.max_sge;
    queue_init(&srq->queue, attr->attr.max_wr);
    return &srq->verbs;
}

int ibv_destroy_srq(struct ibv_srq *verbs)
{
    queue_free(&((struct shared_queue *)verbs)->queue);
    free(verbs);
    return 0;
}

int ibv_query_srq(struct ibv_srq *verbs, struct ibv_srq_attr *out)
{
    const struct shared_queue *srq = (struct shared_queue *)verbs;
    *out = (struct ibv_srq_attr){.max_wr = srq->queue.most, .max_sge = (uint32_t)srq->max_sge};
    return 0;
}

int ibv_modify_srq(struct ibv_srq *verbs, struct ibv_srq_attr *attr, int mask)
{
    return (void)verbs, (void)attr, (void)mask, 0;
}

/* ---- queue pairs ---- */

struct queue_pair *qp_find(uint32_t qpn)
{
    struct queue_pair *qp = queue_pairs[qpn % QPS_OF_A_PROCESS];
    return qp != NULL && qp->verbs.qp_num == qpn ? qp : NULL;
}

static int free_number(void)
{
    static int next;
    for (int tried = 0; tried < QPS_OF_A_PROCESS; tried++) {
        int at = next++ % QPS_OF_A_PROCESS;
        if (queue_pairs[at] == NULL) return at;
    }
    return -1;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct queue_pair *qp = NULL;
    pthread_mutex_lock(&verbs_lock);
    int *n = queue_pairs_of(((struct context *)pd->context)->adapter->number);
    int at = __atomic_load_n(n, __ATOMIC_RELAXED) < settings.max_qp ? free_number() : -1;
    bool is_connected = init->qp_type == IBV_QPT_RC && !settings.is_unspecified;
    if (at >= 0 && (is_connected || init->qp_type == IBV_QPT_UD)) {
        qp = calloc(1, sizeof *qp);
        init->cap.max_inline_data = init->cap.max_inline_data > 128 ? init->cap.max_inline_data : 128;
        qp->verbs = (struct ibv_qp){.context = pd->context,
                                    .qp_context = init->qp_context,
                                    .pd = pd,
                                    .send_cq = init->send_cq,
                                    .recv_cq = init->recv_cq,
                                    .srq = init->srq,
                                    .qp_num = wire_slot() * QPS_OF_A_PROCESS + (uint32_t)at,
                                    .state = IBV_QPS_RESET,
                                    .qp_type = init->qp_type};
        pthread_mutex_init(&qp->verbs.mutex, NULL);
        pthread_cond_init(&qp->verbs.cond, NULL);
        qp->context = (struct context *)pd->context;
        qp->init = *init;
        qp->last = &qp->first;
        qp->arrived_last = &qp->arrived;
        queue_init(&qp->receives, init->cap.max_recv_wr);
        queue_pairs[at] = qp;
        (void)__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&verbs_lock);
    if (qp == NULL) errno = at < 0 ? ENOMEM : EOPNOTSUPP;
    return qp != NULL ? &qp->verbs : NULL;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *verbs)
{
    struct queue_pair *qp = (struct queue_pair *)verbs;
    return qp->raw != NULL ? &qp->ex : NULL;
}

static void forget_works(struct queue_pair *qp)
{
    while (qp->first != NULL) {
        struct work *next = qp->first->next;
        free(qp->first->inline_bytes);
        free(qp->first);
        qp->first = next;
    }
    qp->last = &qp->first;
    qp->unsent = NULL;
}

int ibv_destroy_qp(struct ibv_qp *verbs)
{
    struct queue_pair *qp = (struct queue_pair *)verbs;
    pthread_mutex_lock(&verbs_lock);
    forget_arrivals(qp);
    forget_works(qp);
    queue_free(&qp->receives);
    free(qp->filling);
    forget_completions(verbs->send_cq, verbs->qp_num);
    forget_completions(verbs->recv_cq, verbs->qp_num);
    queue_pairs[verbs->qp_num % QPS_OF_A_PROCESS] = NULL;
    (void)__atomic_fetch_sub(queue_pairs_of(qp->context->adapter->number), 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&verbs_lock);
    free(qp->raw);
    free(qp);
    return 0;
}

int ibv_query_qp(struct ibv_qp *verbs, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    const struct queue_pair *qp = (struct queue_pair *)verbs;
    (void)mask;
    *attr = qp->attr;
    attr->qp_state = attr->cur_qp_state = verbs->state;
    attr->cap = qp->init.cap;
    *init = qp->init;
    return 0;
}

static void flush_receives(struct queue_pair *qp)
{
    while (qp->verbs.srq == NULL && qp->receives.first != NULL) {
        struct receive *receive = take_receive(qp);
        const struct ibv_wc wc = {
            .wr_id = receive->wr_id, .status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV, .qp_num = qp->verbs.qp_num};
        report_completion(qp->verbs.recv_cq, &wc, false);
        free(receive);
    }
}

static enum ibv_wc_opcode opcode_of(enum ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM: return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP: return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_WC_FETCH_ADD;
    default: return IBV_WC_SEND;
    }
}

/* Completions of those that are done at the front, in order; vendor_err carries how many requests each stands for,
 * until it is polled. */
void finish_works(struct queue_pair *qp)
{
    while (qp->first != NULL && qp->first != qp->unsent && (qp->first->is_done || qp->verbs.state == IBV_QPS_ERR)) {
        struct work *work = qp->first;
        bool is_flushed = !work->is_done;
        qp->first = work->next;
        if (qp->first == NULL) qp->last = &qp->first;
        qp->verbs.events_completed++; /* since the last completion */
        if (work->is_signaled || is_flushed) {
            struct ibv_wc wc = {.wr_id = work->wr_id,
                                .opcode = opcode_of(work->opcode),
                                .byte_len = work->n_bytes,
                                .status = is_flushed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS,
                                .qp_num = qp->verbs.qp_num,
                                .vendor_err = qp->verbs.events_completed};
            qp->verbs.events_completed = 0;
            report_completion(qp->verbs.send_cq, &wc, false);
        }
        free(work->inline_bytes);
        free(work);
    }
}

void fail_queue_pair(struct queue_pair *qp, enum ibv_wc_status status)
{
    struct work *work = qp->first;
    if (qp->verbs.state == IBV_QPS_ERR) return;
    qp->verbs.state = IBV_QPS_ERR;
    qp->unsent = NULL;
    qp->n_replies = 0;
    if (work != NULL && !work->is_done && status != IBV_WC_WR_FLUSH_ERR) { /* the first one has failed so */
        struct ibv_wc wc = {.wr_id = work->wr_id,
                            .opcode = opcode_of(work->opcode),
                            .status = status,
                            .qp_num = qp->verbs.qp_num,
                            .vendor_err = qp->verbs.events_completed + 1};
        qp->verbs.events_completed = 0;
        qp->first = work->next;
        if (qp->first == NULL) qp->last = &qp->first;
        report_completion(qp->verbs.send_cq, &wc, false);
        free(work->inline_bytes);
        free(work);
    }
    finish_works(qp);
    flush_receives(qp);
}

static void check_step(const struct ibv_qp *verbs, enum ibv_qp_state to)
{
    enum ibv_qp_state from = verbs->state;
    bool is_step = to == IBV_QPS_ERR || to == IBV_QPS_RESET || to == from ||
                   (from == IBV_QPS_RESET && to == IBV_QPS_INIT) || (from == IBV_QPS_INIT && to == IBV_QPS_RTR) ||
                   (from == IBV_QPS_RTR && to == IBV_QPS_RTS) || (from == IBV_QPS_SQE && to == IBV_QPS_RTS);
    if (!is_step)
        break_rule("states of a queue pair follow each other", "qp %#x from %d to %d", verbs->qp_num, from, to);
}

static bool find_peer(const struct queue_pair *qp, const struct ibv_ah_attr *ah, struct place *out)
{
    if (ah->is_global && settings.is_ethernet) return find_gid(&ah->grh.dgid, out);
    *out = (struct place){(ah->dlid - 1) / MOST_ADAPTERS, (ah->dlid - 1) % MOST_ADAPTERS, 0};
    bool is_near = !settings.has_subnets || ah->is_global || out->adapter == qp->context->adapter->number;
    return ah->dlid > 0 && is_near;
}

static void connect_peer(struct queue_pair *qp)
{
    struct place there;
    if (settings.is_ethernet && !qp->attr.ah_attr.is_global)
        break_rule("RoCE needs a global route", "qp %#x without a GRH", qp->verbs.qp_num);
    qp->link = find_peer(qp, &qp->attr.ah_attr, &there) ? wire_link(there.host, qp->attr.dest_qp_num) : NULL;
}

int ibv_modify_qp(struct ibv_qp *verbs, struct ibv_qp_attr *attr, int mask)
{
    struct queue_pair *qp = (struct queue_pair *)verbs;
    pthread_mutex_lock(&verbs_lock);
    if ((mask & IBV_QP_PKEY_INDEX) != 0) qp->attr.pkey_index = attr->pkey_index;
    if ((mask & IBV_QP_PORT) != 0) qp->attr.port_num = attr->port_num;
    if ((mask & IBV_QP_QKEY) != 0) qp->attr.qkey = attr->qkey;
    if ((mask & IBV_QP_ACCESS_FLAGS) != 0) qp->attr.qp_access_flags = attr->qp_access_flags;
    if ((mask & IBV_QP_AV) != 0) qp->attr.ah_attr = attr->ah_attr;
    if ((mask & IBV_QP_PATH_MTU) != 0) qp->attr.path_mtu = attr->path_mtu;
    if ((mask & IBV_QP_DEST_QPN) != 0) qp->attr.dest_qp_num = attr->dest_qp_num;
    int error = (mask & IBV_QP_PKEY_INDEX) != 0 && pkey_at(attr->pkey_index) == 0 ? EINVAL : 0;
    if (error == 0 && (mask & IBV_QP_STATE) != 0) {
        check_step(verbs, attr->qp_state);
        if (attr->qp_state == IBV_QPS_ERR) fail_queue_pair(qp, IBV_WC_WR_FLUSH_ERR);
        if (attr->qp_state == IBV_QPS_RESET) forget_works(qp);
        if (attr->qp_state == IBV_QPS_RTR && verbs->qp_type == IBV_QPT_RC) connect_peer(qp);
        verbs->state = attr->qp_state;
    }
    pthread_mutex_unlock(&verbs_lock);
    if (error == 0) wire_kick();
    return error;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece) { return (void)qp, (void)ece, EOPNOTSUPP; }
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece) { return (void)qp, (void)ece, EOPNOTSUPP; }

/* ---- addresses ---- */

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct address *address = calloc(1, sizeof *address);
    address->verbs = (struct ibv_ah){.context = pd->context, .pd = pd};
    address->attr = *attr;
    return &address->verbs;
}

int ibv_destroy_ah(struct ibv_ah *verbs)
{
    free(verbs);
    return 0;
}

/* ---- contexts ---- */

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    int ends[2], error = wire_start();
    if (error != 0 || pipe2(ends, O_CLOEXEC) != 0) {
        if (error != 0) errno = error;
        return NULL;
    }
    struct verbs_context *extended = calloc(1, offsetof(struct verbs_context, context) + sizeof(struct context));
    struct context *context = (struct context *)(void *)&extended->context;
    extended->sz = sizeof *extended;
    extended->query_device_ex = query_device_ex;
    context->verbs = (struct ibv_context){.device = device,
                                          .cmd_fd = ends[1],
                                          .async_fd = ends[0],
                                          .num_comp_vectors = 1,
                                          .abi_compat = __VERBS_ABI_IS_EXTENDED,
                                          .ops = {.poll_cq = poll_completions,
                                                  .req_notify_cq = request_notice,
                                                  .post_srq_recv = post_shared_receives,
                                                  .post_send = post_send,
                                                  .post_recv = post_receives}};
    pthread_mutex_init(&context->verbs.mutex, NULL);
    context->adapter = (struct adapter *)device;
    context->async_write_fd = ends[1];
    return &context->verbs;
}

int ibv_close_device(struct ibv_context *verbs)
{
    struct context *context = (struct context *)verbs;
    close(verbs->async_fd);
    close(context->async_write_fd);
    free((char *)verbs - offsetof(struct verbs_context, context));
    return 0;
}

int ibv_get_async_event(struct ibv_context *verbs, struct ibv_async_event *out)
{
    char none;
    (void)out;
    return (void)!read(verbs->async_fd, &none, 1), -1;
}

void ibv_ack_async_event(struct ibv_async_event *event) { (void)event; }
