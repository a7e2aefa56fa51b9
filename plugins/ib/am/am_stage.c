/* plugins/ib/am/am_stage.c: memory of this PE's device, for peers that cannot reach it by themselves: they send a request
 * (am_device.c), and the thread that makes progress here executes it and replies. The core copies, and has the device
 * execute atomics.
 *
 * The stage is a few pieces of host memory, pinned for the device. The data of a put waits at its sender until a piece
 * is free; while one is copied to the device, UCX moves the next ones. So no number of peers takes memory here.
 * A put so small that UCX has sent its data along is copied from UCX's buffer. All of this is under the lock of worker
 * 0. */
#include "plugins/ib/am/am_device.h"
#include "plugins/ib/ib.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_ROUNDS = 100000 };

/* A request, until the reply is sent. */
struct job {
    struct job *next; /* waits for a piece */
    struct ib_stage *stage;
    struct ib_ask_head ask;
    struct ib_answer_head answer;
    ucp_ep_h reply_ep;
    void *message; /* of UCX: a put whose data are at the sender */
    int32_t piece; /* -1: has none */
    char reason[IB_REASON_BYTES];
};

struct ib_stage {
    isthmus_tr *tr;
    isthmus_lmem *served; /* the memory that peers may request */
    struct ib_pieces pieces;
    struct job *first, **last; /* those that wait for a piece */
    uint32_t n_jobs;           /* all whose reply is not sent */
    bool is_serving;
};

/* ---- answers ---- */

static void serve_waiting(struct ib_stage *stage);

static void job_end(struct job *job)
{
    struct ib_stage *stage = job->stage;
    if (job->piece >= 0) ib_pieces_give(&stage->pieces, job->piece);
    stage->n_jobs--;
    free(job);
    serve_waiting(stage);
}

static void on_answered(void *request, ucs_status_t status, void *user_data)
{
    (void)status; /* a peer that is lost needs no answer */
    job_end(user_data);
    ib_ucp.ucp_request_free(request);
}

/* Replies with the result, or with the reason of the failure. */
static void answer(struct job *job, isthmus_status status, const void *payload, size_t length_bytes)
{
    const struct isthmus_services *s = job->stage->tr->services;
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_answered,
        .user_data = job,
    };
    job->answer.number = job->ask.number;
    job->answer.status = status;
    if (status != ISTHMUS_OK) {
        int length = snprintf(job->reason, sizeof job->reason, "%s", s->fail_text(s->core));
        payload = job->reason;
        length_bytes = length < IB_REASON_BYTES ? (size_t)length : IB_REASON_BYTES - 1;
    }
    ucs_status_ptr_t request = ib_ucp.ucp_am_send_nbx(job->reply_ep, IB_MESSAGE_ANSWER, &job->answer,
                                                      sizeof job->answer, payload, length_bytes, &params);
    if (!UCS_PTR_IS_PTR(request)) job_end(job);
}

/* ---- checks of a request ---- */

static bool is_served(const struct ib_stage *stage, const struct ib_ask_head *ask)
{
    for (const isthmus_lmem *lmem = stage->served; lmem != NULL; lmem = lmem->next) {
        uint64_t offset_bytes = ask->address - (uint64_t)(uintptr_t)lmem->addr;
        if (lmem->kind == ask->kind && offset_bytes < lmem->length_bytes &&
            ask->length_bytes <= lmem->length_bytes - offset_bytes)
            return true;
    }
    return false;
}

static bool is_sound(const struct ib_ask_head *ask, size_t payload_bytes)
{
    switch (ask->what) {
    case IB_ASK_PUT: return ask->length_bytes > 0 && ask->length_bytes == payload_bytes;
    case IB_ASK_GET: return ask->length_bytes > 0 && ask->length_bytes <= IB_PIECE_BYTES;
    case IB_ASK_AMO:
        return ask->op < ISTHMUS_AMO_COUNT && ask->bits < ISTHMUS_BITS_COUNT && ask->length_bytes == 1u << ask->bits &&
               ask->address % ask->length_bytes == 0;
    default: return false;
    }
}

static isthmus_status check(const struct ib_stage *stage, const struct ib_ask_head *ask, size_t payload_bytes)
{
    const struct isthmus_services *s = stage->tr->services;
    if (payload_bytes > IB_PIECE_BYTES || !is_sound(ask, payload_bytes))
        return s->fail(s->core, ISTHMUS_ERR_INVALID, "a damaged request (%u, of %u bytes)", ask->what,
                       ask->length_bytes);
    if (!is_served(stage, ask))
        return s->fail(s->core, ISTHMUS_ERR_INVALID, "%u bytes at %llx are not memory that peers may reach",
                       ask->length_bytes, (unsigned long long)ask->address);
    return ISTHMUS_OK;
}

/* ---- execution ---- */

static isthmus_status copy(const struct job *job, void *dest, const void *source)
{
    const struct isthmus_services *s = job->stage->tr->services;
    return s->memory_copy(s->core, job->ask.kind, dest, source, job->ask.length_bytes);
}

static void *place_of(const struct job *job) { return (void *)(uintptr_t)job->ask.address; }

static char *piece_of(const struct job *job) { return ib_piece(&job->stage->pieces, job->piece); }

static void do_amo(struct job *job)
{
    const struct isthmus_services *s = job->stage->tr->services;
    const struct ib_ask_head *ask = &job->ask;
    /* A set that fetches nothing needs no kernel on the device. */
    void *fetched = ask->op != ISTHMUS_AMO_SET ? &job->answer.fetched : NULL;
    isthmus_status status = s->memory_amo(s->core, ask->kind, place_of(job), ask->op, ask->bits, ask->operand,
                                          ask->compare, fetched);
    answer(job, status, NULL, 0);
}

static void do_get(struct job *job)
{
    isthmus_status status = copy(job, piece_of(job), place_of(job));
    answer(job, status, piece_of(job), job->ask.length_bytes);
}

/* While the data was on its way, this PE may have withdrawn the memory. A lost sender needs no reply. */
static void put_arrived(struct job *job, ucs_status_t received)
{
    if (received != UCS_OK) {
        job_end(job);
        return;
    }
    isthmus_status status = check(job->stage, &job->ask, job->ask.length_bytes);
    if (status == ISTHMUS_OK) status = copy(job, place_of(job), piece_of(job));
    answer(job, status, NULL, 0);
}

static void on_put_received(void *request, ucs_status_t status, size_t length_bytes, void *user_data)
{
    (void)length_bytes;
    put_arrived(user_data, status);
    ib_ucp.ucp_request_free(request);
}

static void receive_put(struct job *job)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = on_put_received,
        .user_data = job,
    };
    ucs_status_ptr_t request = ib_ucp.ucp_am_recv_data_nbx(job->stage->tr->workers[0].ucp, job->message, piece_of(job),
                                                           job->ask.length_bytes, &params);
    if (!UCS_PTR_IS_PTR(request)) put_arrived(job, UCS_PTR_STATUS(request));
}

/* Serves the jobs that wait for a piece, in their order. A job that ends meanwhile calls this too, and returns to the
 * loop. */
static void serve_waiting(struct ib_stage *stage)
{
    if (stage->is_serving) return;
    stage->is_serving = true;
    while (stage->first != NULL) {
        struct job *job = stage->first;
        if ((job->piece = ib_pieces_take(&stage->pieces)) < 0) break;
        stage->first = job->next;
        if (stage->first == NULL) stage->last = &stage->first;
        if (job->ask.what == IB_ASK_GET)
            do_get(job);
        else
            receive_put(job);
    }
    stage->is_serving = false;
}

static void enqueue(struct job *job)
{
    struct ib_stage *stage = job->stage;
    *stage->last = job;
    stage->last = &job->next;
    serve_waiting(stage);
}

static struct job *job_create(struct ib_stage *stage, const void *header, ucp_ep_h reply_ep)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        ib_ucp_starves("an operation on memory of a device");
        return NULL;
    }
    job->stage = stage;
    job->reply_ep = reply_ep;
    job->piece = -1;
    memcpy(&job->ask, header, sizeof job->ask);
    stage->n_jobs++;
    return job;
}

static ucs_status_t on_ask(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                           const ucp_am_recv_param_t *param)
{
    const struct ib_worker *worker = arg;
    struct ib_stage *stage = worker->tr->stage; /* NULL: about to close */
    bool is_far = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    bool can_answer = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
    if (stage == NULL || !can_answer || header_bytes != sizeof(struct ib_ask_head)) return UCS_OK;
    struct job *job = job_create(stage, header, param->reply_ep);
    if (job == NULL) return UCS_OK;
    isthmus_status status = check(stage, &job->ask, length_bytes);
    if (status != ISTHMUS_OK) {
        answer(job, status, NULL, 0);
    } else if (job->ask.what == IB_ASK_AMO) {
        do_amo(job);
    } else if (job->ask.what == IB_ASK_GET) {
        enqueue(job);
    } else if (!is_far) {
        answer(job, copy(job, place_of(job), data), NULL, 0);
    } else {
        job->message = data;
        enqueue(job);
        return UCS_INPROGRESS;
    }
    return UCS_OK;
}

/* ---- life ---- */

static bool core_helps(const struct isthmus_services *s)
{
    return s->struct_size >= offsetof(struct isthmus_services, scopes) + sizeof s->scopes && s->memory_copy != NULL &&
           (s->scopes & ISTHMUS_SCOPE_DEVICE) != 0;
}

isthmus_status ib_stage_open(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    if (!core_helps(s)) return ISTHMUS_OK;
    struct ib_stage *stage = calloc(1, sizeof *stage);
    if (stage == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the stage");
    stage->tr = tr;
    stage->last = &stage->first;
    tr->stage = stage;
    return ISTHMUS_OK;
}

isthmus_status ib_stage_listen(isthmus_tr *tr) { return ib_listen(&tr->workers[0], IB_MESSAGE_ASK, on_ask); }

isthmus_status ib_stage_add(isthmus_lmem *lmem)
{
    isthmus_tr *tr = lmem->tr;
    ib_worker_lock(&tr->workers[0]);
    isthmus_status status = ib_pieces_make(tr->services, &tr->stage->pieces, lmem->kind);
    if (status == ISTHMUS_OK) {
        lmem->next = tr->stage->served;
        lmem->is_served = true;
        tr->stage->served = lmem;
    }
    ib_worker_unlock(&tr->workers[0]);
    return status;
}

/* Removing the last one unpins the pieces. */
void ib_stage_remove(isthmus_lmem *lmem)
{
    isthmus_tr *tr = lmem->tr;
    ib_worker_lock(&tr->workers[0]);
    isthmus_lmem **link = &tr->stage->served;
    while (*link != lmem) link = &(*link)->next;
    *link = lmem->next;
    if (tr->stage->served == NULL) ib_pieces_unpin(tr->services, &tr->stage->pieces);
    ib_worker_unlock(&tr->workers[0]);
}

/* Every peer has its replies, or is lost; UCX may not have reported that here. */
void ib_stage_close(isthmus_tr *tr)
{
    struct ib_stage *stage = tr->stage;
    if (stage == NULL) return;
    for (int i = 0; i < LAST_ROUNDS && stage->n_jobs > 0; i++) (void)ib_ucp.ucp_worker_progress(tr->workers[0].ucp);
    ib_pieces_free(&stage->pieces);
    free(stage);
    tr->stage = NULL;
}
