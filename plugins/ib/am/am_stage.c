/* plugins/ib/am/am_stage.c: serves requests of peers about memory of this PE's device (am_device.c): the thread that
 * makes progress here executes a request and replies. The core copies, and has the device execute atomics.
 *
 * The stage has a few bounce buffers, pinned for the device. The data of a put waits at its sender until a buffer is
 * free; while the data in one is copied to the device, UCX moves the next. So the memory for this does not grow with
 * the number of peers. A put so small that UCX has sent its data along is copied from UCX's buffer.
 *
 * An atomic on the device is a kernel there, whose launch takes longer than the operations in it. So those whose
 * sender fetches nothing wait until progress has taken what has arrived, and one launch executes them, in the order in
 * which they came. None outlasts the call of progress that has taken it, and any other request executes them first.
 *
 * All of this is under the lock of worker 0. */
#include "plugins/ib/am/am_priv.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_ROUNDS = 100000 }; /* of progress, for replies that are not sent when the stage closes */

enum { MAX_POSTS = 64 }; /* that wait for one another */

/* A request of a peer, until the reply is sent. */
struct served_request {
    struct served_request *next; /* in the queue for a buffer */
    struct ib_stage *stage;
    struct ib_device_request header;
    struct ib_device_reply reply;
    ucp_ep_h reply_ep;
    void *message;  /* of UCX: a put whose data is at the sender */
    int32_t buffer; /* -1: none */
    char reason[IB_REASON_BYTES];
};

struct ib_stage {
    isthmus_tr *tr;
    isthmus_lmem *served; /* the memory that peers may request */
    struct ib_bounce_pool pool;
    struct served_request *first, **last;    /* the queue of those that wait for a buffer */
    struct served_request *posts[MAX_POSTS]; /* so many as worker 0 has in n_posts, for memory of one kind */
    uint32_t n_requests;                     /* whose reply is not sent */
    bool is_serving;
};

/* ---- bounce buffers ---- */

enum { BUFFER_ALIGN = 4096 };

/* Pinning is for speed: memory that cannot be pinned is copied all the same. */
isthmus_status ib_bounce_pool_open(const struct isthmus_services *s, struct ib_bounce_pool *pool, uint32_t kind)
{
    size_t length_bytes = (size_t)IB_N_BOUNCE_BUFFERS * (size_t)IB_BOUNCE_BYTES;
    if (pool->memory == NULL) {
        pool->memory = aligned_alloc(BUFFER_ALIGN, length_bytes);
        if (pool->memory == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for bounce buffers");
        pool->free = (1u << IB_N_BOUNCE_BUFFERS) - 1;
    }
    if (kind != ISTHMUS_MEM_HOST && pool->pinned == NULL &&
        s->memory_pin(s->core, kind, pool->memory, length_bytes, &pool->pinned) == ISTHMUS_OK)
        pool->pinned_kind = kind;
    return ISTHMUS_OK;
}

void ib_bounce_pool_unpin(const struct isthmus_services *s, struct ib_bounce_pool *pool)
{
    s->memory_unpin(s->core, pool->pinned_kind, pool->pinned);
    pool->pinned = NULL;
}

void ib_bounce_pool_close(struct ib_bounce_pool *pool)
{
    free(pool->memory);
    pool->memory = NULL;
}

/* ---- replies ---- */

static void serve_queued(struct ib_stage *stage);

static void request_done(struct served_request *request)
{
    struct ib_stage *stage = request->stage;
    if (request->buffer >= 0) ib_bounce_pool_put(&stage->pool, request->buffer);
    stage->n_requests--;
    free(request);
    serve_queued(stage);
}

static void on_reply_sent(void *ucp_request, ucs_status_t status, void *user_data)
{
    (void)status; /* a peer that is lost needs no reply */
    request_done(user_data);
    ib_ucp.ucp_request_free(ucp_request);
}

/* With the reason of a failure, which is the text of this thread's last one. */
static void keep_result(struct served_request *request, isthmus_status status)
{
    const struct isthmus_services *s = request->stage->tr->services;
    request->reply.id = request->header.id;
    request->reply.status = status;
    if (status != ISTHMUS_OK) snprintf(request->reason, sizeof request->reason, "%s", s->fail_text(s->core));
}

/* Sends the kept result. After a failure the payload is its reason. */
static void send_result(struct served_request *request, const void *payload, size_t length_bytes)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_reply_sent,
        .user_data = request,
    };
    if (request->reply.status != ISTHMUS_OK) {
        payload = request->reason;
        length_bytes = strlen(request->reason);
    }
    ucs_status_ptr_t sent = ib_ucp.ucp_am_send_nbx(request->reply_ep, IB_AM_DEVICE_REPLY, &request->reply,
                                                   sizeof request->reply, payload, length_bytes, &params);
    if (!UCS_PTR_IS_PTR(sent)) request_done(request);
}

static void send_reply(struct served_request *request, isthmus_status status, const void *payload, size_t length_bytes)
{
    keep_result(request, status);
    send_result(request, payload, length_bytes);
}

/* ---- checks of a request ---- */

static bool is_served(const struct ib_stage *stage, const struct ib_device_request *header)
{
    for (const isthmus_lmem *lmem = stage->served; lmem != NULL; lmem = lmem->next) {
        uint64_t offset_bytes = header->address - (uint64_t)(uintptr_t)lmem->addr;
        if (lmem->kind == header->kind && offset_bytes < lmem->length_bytes &&
            header->length_bytes <= lmem->length_bytes - offset_bytes)
            return true;
    }
    return false;
}

static bool is_sound(const struct ib_device_request *header, size_t payload_bytes)
{
    switch (header->opcode) {
    case IB_DEVICE_PUT: return header->length_bytes > 0 && header->length_bytes == payload_bytes;
    case IB_DEVICE_GET: return header->length_bytes > 0 && header->length_bytes <= IB_BOUNCE_BYTES;
    case IB_DEVICE_AMO:
    case IB_DEVICE_POST:
        return header->op < ISTHMUS_AMO_COUNT && header->bits < ISTHMUS_BITS_COUNT &&
               header->length_bytes == 1u << header->bits && header->address % header->length_bytes == 0;
    default: return false;
    }
}

static isthmus_status check(const struct ib_stage *stage, const struct ib_device_request *header, size_t payload_bytes)
{
    const struct isthmus_services *s = stage->tr->services;
    if (payload_bytes > IB_BOUNCE_BYTES || !is_sound(header, payload_bytes))
        return s->fail(
            s->core, ISTHMUS_ERR_INVALID,
            "a peer's request is damaged (operation %u, %u bytes); use one version of this plugin on all PEs",
            header->opcode, header->length_bytes);
    if (!is_served(stage, header))
        return s->fail(s->core, ISTHMUS_ERR_INVALID,
                       "a peer's request is for %u bytes at 0x%llx, which this PE does not expose",
                       header->length_bytes, (unsigned long long)header->address);
    return ISTHMUS_OK;
}

/* ---- execution ---- */

static isthmus_status copy(const struct served_request *request, void *dest, const void *source)
{
    const struct isthmus_services *s = request->stage->tr->services;
    return s->memory_copy(s->core, request->header.kind, dest, source, request->header.length_bytes);
}

static void *address_of(const struct served_request *request) { return (void *)(uintptr_t)request->header.address; }

static char *buffer_of(const struct served_request *request)
{
    return ib_bounce_buffer(&request->stage->pool, request->buffer);
}

static void do_amo(struct served_request *request)
{
    const struct isthmus_services *s = request->stage->tr->services;
    const struct ib_device_request *header = &request->header;
    void *fetched = header->opcode == IB_DEVICE_AMO ? &request->reply.fetched : NULL;
    isthmus_status status = s->memory_amo(s->core, header->kind, address_of(request), header->op, header->bits,
                                          header->operand, header->compare, fetched);
    send_reply(request, status, NULL, 0);
}

/* The replies follow the launch: a failure is that of each of its operations. */
static void execute_posts(struct ib_stage *stage)
{
    const struct isthmus_services *s = stage->tr->services;
    struct isthmus_memory_amo list[MAX_POSTS];
    uint32_t n = stage->tr->workers[0].n_posts;
    stage->tr->workers[0].n_posts = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct ib_device_request *header = &stage->posts[i]->header;
        list[i] = (struct isthmus_memory_amo){.addr = address_of(stage->posts[i]),
                                              .operand = header->operand,
                                              .compare = header->compare,
                                              .op = header->op,
                                              .bits = header->bits};
    }
    isthmus_status status = s->memory_amo_list(s->core, stage->posts[0]->header.kind, list, n);
    for (uint32_t i = 0; i < n; i++) keep_result(stage->posts[i], status);
    for (uint32_t i = 0; i < n; i++) send_result(stage->posts[i], NULL, 0);
}

void ib_stage_execute_posts(isthmus_tr *tr)
{
    if (tr->workers[0].n_posts > 0) execute_posts(tr->stage);
}

/* A set that waits for no other operation is executed at once: it needs no kernel, and so no room on the device. */
static void do_post(struct served_request *request)
{
    struct ib_stage *stage = request->stage;
    struct ib_worker *worker = &stage->tr->workers[0];
    bool is_first_set = worker->n_posts == 0 && request->header.op == ISTHMUS_AMO_SET;
    if (is_first_set || !worker->gathers_posts || !ISTHMUS_HAS(stage->tr->services, memory_amo_list)) {
        do_amo(request);
        return;
    }
    if (worker->n_posts > 0 && stage->posts[0]->header.kind != request->header.kind) execute_posts(stage);
    stage->posts[worker->n_posts++] = request;
    if (worker->n_posts == MAX_POSTS) execute_posts(stage);
}

static void do_get(struct served_request *request)
{
    isthmus_status status = copy(request, buffer_of(request), address_of(request));
    send_reply(request, status, buffer_of(request), request->header.length_bytes);
}

/* While the data was on its way, this PE may have unregistered the memory. A lost sender needs no reply. */
static void put_received(struct served_request *request, ucs_status_t received)
{
    if (received != UCS_OK) {
        request_done(request);
        return;
    }
    isthmus_status status = check(request->stage, &request->header, request->header.length_bytes);
    if (status == ISTHMUS_OK) status = copy(request, address_of(request), buffer_of(request));
    send_reply(request, status, NULL, 0);
}

static void on_put_received(void *ucp_request, ucs_status_t status, size_t length_bytes, void *user_data)
{
    (void)length_bytes;
    put_received(user_data, status);
    ib_ucp.ucp_request_free(ucp_request);
}

static void receive_put(struct served_request *request)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = on_put_received,
        .user_data = request,
    };
    ucs_status_ptr_t received = ib_ucp.ucp_am_recv_data_nbx(request->stage->tr->workers[0].ucp, request->message,
                                                            buffer_of(request), request->header.length_bytes, &params);
    if (!UCS_PTR_IS_PTR(received)) put_received(request, UCS_PTR_STATUS(received));
}

/* Serves the queue in order, as long as buffers are free. A request that is done meanwhile calls this too: that call
 * leaves the work to this loop. */
static void serve_queued(struct ib_stage *stage)
{
    if (stage->is_serving) return;
    stage->is_serving = true;
    while (stage->first != NULL) {
        struct served_request *request = stage->first;
        if ((request->buffer = ib_bounce_pool_get(&stage->pool)) < 0) break;
        stage->first = request->next;
        if (stage->first == NULL) stage->last = &stage->first;
        if (request->header.opcode == IB_DEVICE_GET)
            do_get(request);
        else
            receive_put(request);
    }
    stage->is_serving = false;
}

static void enqueue(struct served_request *request)
{
    struct ib_stage *stage = request->stage;
    *stage->last = request;
    stage->last = &request->next;
    serve_queued(stage);
}

static struct served_request *request_create(struct ib_stage *stage, const void *header, ucp_ep_h reply_ep)
{
    struct served_request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        ib_ucp_note_no_memory("an operation on memory of a device");
        return NULL;
    }
    request->stage = stage;
    request->reply_ep = reply_ep;
    request->buffer = -1;
    memcpy(&request->header, header, sizeof request->header);
    stage->n_requests++;
    return request;
}

static ucs_status_t on_request(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                               const ucp_am_recv_param_t *param)
{
    const struct ib_worker *worker = arg;
    struct ib_stage *stage = worker->tr->stage; /* NULL: about to close */
    bool is_rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    bool can_reply = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
    if (stage == NULL || !can_reply || header_bytes != sizeof(struct ib_device_request)) return UCS_OK;
    struct served_request *request = request_create(stage, header, param->reply_ep);
    if (request == NULL) return UCS_OK;
    if (request->header.opcode != IB_DEVICE_POST) ib_stage_execute_posts(stage->tr);
    isthmus_status status = check(stage, &request->header, length_bytes);
    if (status != ISTHMUS_OK) {
        send_reply(request, status, NULL, 0);
    } else if (request->header.opcode == IB_DEVICE_POST) {
        do_post(request);
    } else if (request->header.opcode == IB_DEVICE_AMO) {
        do_amo(request);
    } else if (request->header.opcode == IB_DEVICE_GET) {
        enqueue(request);
    } else if (!is_rendezvous) {
        send_reply(request, copy(request, address_of(request), data), NULL, 0);
    } else {
        request->message = data;
        enqueue(request);
        return UCS_INPROGRESS;
    }
    return UCS_OK;
}

/* ---- life ---- */

static bool core_copies(const struct isthmus_services *s)
{
    return ISTHMUS_HAS(s, scopes) && s->memory_copy != NULL && (s->scopes & ISTHMUS_SCOPE_DEVICE) != 0;
}

isthmus_status ib_stage_open(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    if (!core_copies(s)) return ISTHMUS_OK;
    struct ib_stage *stage = calloc(1, sizeof *stage);
    if (stage == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for staging buffers");
    stage->tr = tr;
    stage->last = &stage->first;
    tr->stage = stage;
    return ISTHMUS_OK;
}

isthmus_status ib_stage_listen(isthmus_tr *tr)
{
    return ib_am_listen(&tr->workers[0], IB_AM_DEVICE_REQUEST, on_request);
}

isthmus_status ib_stage_add(isthmus_lmem *lmem)
{
    isthmus_tr *tr = lmem->tr;
    ib_worker_lock(&tr->workers[0]);
    isthmus_status status = ib_bounce_pool_open(tr->services, &tr->stage->pool, lmem->kind);
    if (status == ISTHMUS_OK) {
        lmem->next = tr->stage->served;
        lmem->is_served = true;
        tr->stage->served = lmem;
    }
    ib_worker_unlock(&tr->workers[0]);
    return status;
}

/* Removing the last extent unpins the bounce buffers. */
void ib_stage_remove(isthmus_lmem *lmem)
{
    isthmus_tr *tr = lmem->tr;
    ib_worker_lock(&tr->workers[0]);
    isthmus_lmem **link = &tr->stage->served;
    while (*link != lmem) link = &(*link)->next;
    *link = lmem->next;
    if (tr->stage->served == NULL) ib_bounce_pool_unpin(tr->services, &tr->stage->pool);
    ib_worker_unlock(&tr->workers[0]);
}

/* Each peer has its replies by now, or is lost, which UCX may not have reported here. */
void ib_stage_close(isthmus_tr *tr)
{
    struct ib_stage *stage = tr->stage;
    if (stage == NULL) return;
    for (int i = 0; i < LAST_ROUNDS && stage->n_requests > 0; i++) (void)ib_ucp.ucp_worker_progress(tr->workers[0].ucp);
    ib_bounce_pool_close(&stage->pool);
    free(stage);
    tr->stage = NULL;
}
