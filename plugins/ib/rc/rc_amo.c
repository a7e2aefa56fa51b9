/* plugins/ib/rc/rc_amo.c: atomics that the peers' adapters execute (ISTHMUS_ATOMICS=nic): the adapter of this PE, queues
 * to those of peers (rc_qp.h), and the requests under way.
 * An end has one queue, made before its first atomic. A message requests a queue that serves it, and the peer's
 * progress makes one; from then on the peer's processor is not involved. The own PE's adapter is reached in the same
 * way, without messages: of two agents that do not exclude one another all atomics on a word go to one. */
#include "plugins/ib/am/am_priv.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_REQUESTS = 128, /* under way on a worker */
    POLL_AT_ONCE = 16,
    WHY_BYTES = 164
};

/* The request to a peer for a queue, and its reply: if the peer could not make one, the number is 0 and `why` the
 * reason. */
struct introduction {
    struct ib_queue_address queue;
    char why[WHY_BYTES];
};
_Static_assert(sizeof(struct introduction) <= IB_SHORT_BYTES, "one message");

/* One request, until the adapter has ended it: even when no caller waits any longer, the adapter may write its
 * value. */
struct request {
    struct request *next;         /* free */
    struct ib_end *end;           /* NULL: its peer is lost, and the caller has the failure */
    const struct ib_queue *queue; /* NULL: free */
    struct ib_batch *batch, *also;
    void *fetched;
    uint32_t turn; /* of this place: an end of an earlier request is none of this one */
};

struct ib_nic {
    struct ib_completions *completions;
    uint32_t n_busy;
    struct request *free;
    char why[WHY_BYTES]; /* the last queue could not be connected */
    struct request list[MAX_REQUESTS];
};

struct ib_served {
    struct ib_served *next;
    struct ib_queue *queue;
};

/* ---- the adapter of this PE ---- */

/* Reads a number that UCX gets too; UCX refuses text that is no number. */
static uint32_t setting(const isthmus_tr *tr, const char *variable, const char *key, uint32_t usual)
{
    const struct isthmus_services *s = tr->services;
    const char *text = ib_ucp_variable(variable);
    char *end;
    if (text == NULL) text = s->config(s->core, key);
    unsigned long value = text != NULL ? strtoul(text, &end, 10) : 0;
    return text != NULL && end != text && value < 256 ? (uint32_t)value : usual;
}

static struct ib_queue_settings settings_of(const isthmus_tr *tr, const struct ib_port *port)
{
    const struct ib_gid *best = ib_gid_best(port);
    uint32_t gid = best != NULL && port->link == IB_LINK_ETHERNET ? best->index : 0;
    if (tr->net->gid_index >= 0) gid = (uint32_t)tr->net->gid_index;
    return (struct ib_queue_settings){
        .gid_index = setting(tr, "UCX_IB_GID_INDEX", "GID_INDEX", gid),
        .service_level = (uint8_t)setting(tr, "UCX_IB_SL", "SL", 0),
        .traffic_class = (uint8_t)setting(tr, "UCX_IB_TRAFFIC_CLASS", "TRAFFIC_CLASS", 0),
    };
}

/* The port that UCX is configured to use, or the first one in the user's UCX_NET_DEVICES; NULL: none. */
static const struct ib_port *port_of(const struct ib_net *net)
{
    const char *devices = ib_ucp_variable("UCX_NET_DEVICES");
    if (net->mine >= 0) return &net->ports.list[net->mine];
    for (uint32_t i = 0; devices != NULL && i < net->ports.n; i++)
        if (net->ports.list[i].is_active && strstr(devices, net->ports.list[i].adapter) != NULL)
            return &net->ports.list[i];
    return NULL;
}

static const char *why_no_port(const struct ib_net *net, const struct ib_port *port)
{
    if (port != NULL) return "has no atomics";
    if (net->n_active > 0) return "UCX_NET_DEVICES names no adapter that is up";
    return net->ports.n > 0 ? "no adapter of this host is up" : "the network is TCP, which has no atomics by adapters";
}

/* Without an adapter the transport does all but these atomics, and reach() states that: the core decides whether the
 * job can start. */
isthmus_status ib_nic_open(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    const char *wanted = s->config(s->core, "ATOMICS");
    if (wanted == NULL || strcmp(wanted, "nic") != 0) return ISTHMUS_OK;
    const struct ib_port *port = port_of(tr->net);
    if (port == NULL || port->atomics == IB_ATOMICS_NONE) {
        snprintf(tr->why_no_adapter, sizeof tr->why_no_adapter, "%s%s%s", port != NULL ? port->name : "",
                 port != NULL ? " " : "", why_no_port(tr->net, port));
        return ISTHMUS_OK;
    }
    struct ib_queue_settings settings = settings_of(tr, port);
    if (ib_adapter_open(s, port, &settings, &tr->adapter) != ISTHMUS_OK) {
        const char *why = s->fail_text(s->core);
        snprintf(tr->why_no_adapter, sizeof tr->why_no_adapter, "%s: %.120s", port->name,
                 strncmp(why, "ib: ", 4) == 0 ? why + 4 : why);
        return ISTHMUS_OK;
    }
    s->log(s->core, ISTHMUS_LOG_INFO, "%s executes atomics of 64 bits on this PE's host memory", port->name);
    return ISTHMUS_OK;
}

void ib_nic_close(isthmus_tr *tr)
{
    while (tr->served != NULL) {
        struct ib_served *served = tr->served;
        tr->served = served->next;
        ib_queue_destroy(served->queue);
        free(served);
    }
    ib_adapter_close(tr->adapter);
}

/* ---- queues ---- */

enum { INTRODUCTION_OFFSET = offsetof(struct ib_message, data) - offsetof(struct ib_message, ticket) };

static isthmus_status serve(isthmus_tr *tr, const struct ib_queue_address *peer, struct ib_queue_address *mine)
{
    const struct isthmus_services *s = tr->services;
    if (tr->n_served >= (uint64_t)s->n_pes * IB_MAX_WORKERS)
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "more queue pairs are asked for than all PEs have use for");
    struct ib_served *served = calloc(1, sizeof *served);
    if (served == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a queue pair");
    isthmus_status status = tr->adapter != NULL ? ib_queue_create(tr->adapter, NULL, &served->queue)
                                                : s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "%s", tr->why_no_adapter);
    if (status == ISTHMUS_OK) status = ib_queue_connect(served->queue, peer);
    if (status != ISTHMUS_OK) {
        ib_queue_destroy(served->queue);
        free(served);
        return status;
    }
    ib_queue_address(served->queue, mine);
    served->next = tr->served;
    tr->served = served;
    tr->n_served++;
    return ISTHMUS_OK;
}

/* On worker 0: the request of a peer, with its queue, for a queue that serves it. */
static ucs_status_t on_link(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                            const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    const struct isthmus_services *s = worker->tr->services;
    struct introduction theirs, mine = {0};
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes != INTRODUCTION_OFFSET + sizeof theirs ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0)
        return UCS_OK;
    struct ib_message *message = ib_message_get_extra(worker);
    if (message == NULL) return UCS_OK;
    memcpy(&theirs, (const char *)data + INTRODUCTION_OFFSET, sizeof theirs);
    if (serve(worker->tr, &theirs.queue, &mine.queue) != ISTHMUS_OK) {
        mine.queue.number = 0;
        snprintf(mine.why, sizeof mine.why, "%s", s->fail_text(s->core));
    }
    memcpy(&message->ticket, data, sizeof message->ticket);
    memcpy(message->data, &mine, sizeof mine);
    ib_message_answer(worker, param->reply_ep, IB_MESSAGE_LINKED, message, sizeof mine);
    return UCS_OK;
}

static void link_ended(struct ib_end *end, const struct introduction *theirs)
{
    const struct isthmus_services *s = end->worker->tr->services;
    struct ib_nic *nic = end->worker->nic;
    if (theirs->queue.number == 0)
        snprintf(nic->why, sizeof nic->why, "%.*s", (int)sizeof theirs->why - 1, theirs->why);
    else if (ib_queue_connect(end->queue, &theirs->queue) == ISTHMUS_OK)
        end->is_linked = true;
    else
        snprintf(nic->why, sizeof nic->why, "%s", s->fail_text(s->core));
    ib_batch_count(&end->linking, 0);
}

static ucs_status_t on_linked(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                              const ucp_am_recv_param_t *param)
{
    const struct ib_worker *worker = arg;
    struct ib_ticket ticket;
    struct introduction theirs;
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes != INTRODUCTION_OFFSET + sizeof theirs) return UCS_OK;
    memcpy(&ticket, data, sizeof ticket);
    memcpy(&theirs, (const char *)data + INTRODUCTION_OFFSET, sizeof theirs);
    struct ib_end *end = ticket.number < worker->n_numbers ? worker->numbered[ticket.number] : NULL;
    if (end != NULL && end->linking.n_pending > 0) link_ended(end, &theirs);
    return UCS_OK;
}

static isthmus_status link_to_peer(struct ib_end *end)
{
    struct ib_worker *worker = end->worker;
    const struct isthmus_services *s = worker->tr->services;
    struct introduction mine = {0};
    struct ib_message *message = ib_message_get_extra(worker);
    if (message == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a message");
    ib_queue_address(end->queue, &mine.queue);
    message->ticket = (struct ib_ticket){.number = end->number};
    message->address = 0;
    memcpy(message->data, &mine, sizeof mine);
    ib_batch_count(&end->linking, 1);
    ucs_status_t sent = ib_message_send(worker, end->ep, IB_MESSAGE_LINK, message, sizeof mine);
    if (sent == UCS_OK) return ISTHMUS_OK;
    ib_batch_count(&end->linking, 0);
    return ib_end_fail(end, sent);
}

static isthmus_status link_to_self(struct ib_end *end)
{
    isthmus_tr *tr = end->worker->tr;
    struct ib_worker *first = &tr->workers[0];
    struct ib_queue_address mine, served;
    ib_queue_address(end->queue, &mine);
    if (first != end->worker) ib_worker_lock(first); /* no holder of that lock waits for another */
    isthmus_status status = serve(tr, &mine, &served);
    if (first != end->worker) ib_worker_unlock(first);
    if (status == ISTHMUS_OK) status = ib_queue_connect(end->queue, &served);
    end->is_linked = status == ISTHMUS_OK;
    return status;
}

/* For good: the queue stays, unconnected, until the end closes. */
static isthmus_status fail_to_link(const struct ib_end *end)
{
    const isthmus_path *path = end->path;
    const struct isthmus_services *s = path->tr->services;
    if (end->failure != UCS_OK) return ib_end_fail(end, end->failure);
    return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE, "no queue for atomics to the adapter of PE %d on %s: %s", path->pe,
                   path->host_name, end->worker->nic->why);
}

isthmus_status ib_nic_link(struct ib_end *end)
{
    const isthmus_path *path = end->path;
    const struct isthmus_services *s = path->tr->services;
    isthmus_status status = ISTHMUS_OK;
    if (end->is_linked) return ISTHMUS_OK;
    if (end->queue == NULL) { /* else another thread does it */
        status = ib_queue_create(path->tr->adapter, end->worker->nic->completions, &end->queue);
        if (status == ISTHMUS_OK) status = path->is_self ? link_to_self(end) : link_to_peer(end);
    }
    if (status != ISTHMUS_OK) return status;
    if (!ib_worker_wait(end->worker, &end->linking, path->tr->settings.timeout_s * (uint64_t)1000000000)) {
        ib_end_lose(end, UCS_ERR_ENDPOINT_TIMEOUT);
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE, "PE %d on %s does not answer within %u s (ISTHMUS_IB_TIMEOUT)",
                       path->pe, path->host_name, path->tr->settings.timeout_s);
    }
    return end->is_linked ? ISTHMUS_OK : fail_to_link(end);
}

/* ---- requests ---- */

static void free_request(struct ib_worker *worker, struct request *request)
{
    struct ib_nic *nic = worker->nic;
    request->queue = NULL;
    request->end = NULL;
    request->turn++;
    request->next = nic->free;
    nic->free = request;
    nic->n_busy--;
    ib_batch_count(&worker->room, 0);
}

/* Ends the caller's wait; the slot is free when the adapter has ended the request. */
static void answer(struct request *request, ucs_status_t status)
{
    struct ib_end *end = request->end;
    if (end == NULL) return;
    request->end = NULL;
    ib_answers_add(&end->atomics);
    if (request->also != NULL) ib_batch_count(request->also, request->also->n_pending - 1);
    ib_batch_end(request->batch, status);
}

static void refuse(struct request *request, const char *why)
{
    const isthmus_path *path = request->end->path;
    char text[200];
    snprintf(text, sizeof text, "the adapter of PE %d on %s does not execute an atomic: %s", path->pe, path->host_name,
             why);
    ib_refusal_keep(path->tr, ISTHMUS_ERR_IO, text);
    answer(request, IB_REFUSED);
}

bool ib_nic_start(struct ib_end *end, const struct ib_nic_atomic *atomic, const struct ib_word_request *what)
{
    struct ib_nic *nic = end->worker->nic;
    struct request *request = nic->free;
    if (request == NULL) return false;
    nic->free = request->next;
    nic->n_busy++;
    request->end = end;
    request->queue = end->queue;
    request->batch = atomic->batch;
    request->also = atomic->also;
    request->fetched = atomic->fetched;
    end->atomics.n_asked++;
    end->issued |= 1u << IB_ATOMIC;
    ib_batch_count(atomic->batch, atomic->batch->n_pending + 1);
    if (atomic->also != NULL) ib_batch_count(atomic->also, atomic->also->n_pending + 1);
    const struct ib_queue_target target = {
        .address = atomic->address,
        .key = atomic->key,
        .id = (uint64_t)request->turn << 32 | (uint64_t)(request - nic->list),
    };
    int error = ib_queue_post(end->queue, &target, what);
    if (error != 0) {
        refuse(request, strerror(error));
        free_request(end->worker, request);
    }
    return true;
}

static void request_ended(struct ib_worker *worker, const struct ib_completion *completion)
{
    uint32_t slot = (uint32_t)completion->id;
    struct request *request = slot < MAX_REQUESTS ? &worker->nic->list[slot] : NULL;
    if (request == NULL || request->queue == NULL || request->turn != completion->id >> 32) return;
    if (request->end != NULL && completion->failure == NULL) {
        if (request->fetched != NULL) memcpy(request->fetched, &completion->value, sizeof completion->value);
        answer(request, UCS_OK);
    } else if (request->end != NULL && completion->is_loss) {
        ib_end_lose(request->end, UCS_ERR_ENDPOINT_TIMEOUT);
        answer(request, UCS_ERR_ENDPOINT_TIMEOUT);
    } else if (request->end != NULL) {
        refuse(request, completion->failure);
    }
    free_request(worker, request);
}

int ib_nic_progress(struct ib_worker *worker)
{
    struct ib_nic *nic = worker->nic;
    struct ib_completion ends[POLL_AT_ONCE];
    if (nic == NULL || nic->n_busy == 0) return 0;
    uint32_t n = ib_completions_poll(nic->completions, ends, POLL_AT_ONCE);
    for (uint32_t i = 0; i < n; i++) request_ended(worker, &ends[i]);
    return (int)n;
}

int ib_nic_arm(struct ib_worker *worker)
{
    if (worker->nic == NULL || worker->nic->n_busy == 0) return -1;
    ib_completions_arm(worker->nic->completions);
    return ib_completions_fd(worker->nic->completions);
}

void ib_nic_end_fail(const struct ib_end *end)
{
    struct ib_nic *nic = end->worker->nic;
    for (uint32_t i = 0; nic != NULL && i < MAX_REQUESTS; i++)
        if (nic->list[i].end == end) answer(&nic->list[i], end->failure);
    if (end->linking.n_pending > 0) ib_batch_count((struct ib_batch *)(uintptr_t)&end->linking, 0);
}

/* Without its queue no request ends any more. */
void ib_nic_end_close(struct ib_end *end)
{
    struct ib_nic *nic = end->worker->nic;
    if (end->queue == NULL) return;
    ib_nic_end_fail(end);
    ib_queue_destroy(end->queue);
    for (uint32_t i = 0; i < MAX_REQUESTS; i++)
        if (nic->list[i].queue == end->queue) free_request(end->worker, &nic->list[i]);
    end->queue = NULL;
}

/* ---- workers ---- */

isthmus_status ib_nic_worker_open(struct ib_worker *worker)
{
    isthmus_tr *tr = worker->tr;
    const struct isthmus_services *s = tr->services;
    if (tr->adapter == NULL) return ISTHMUS_OK;
    struct ib_nic *nic = worker->nic = calloc(1, sizeof *nic);
    if (nic == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for atomics");
    for (uint32_t i = 0; i < MAX_REQUESTS; i++) {
        nic->list[i].next = nic->free;
        nic->free = &nic->list[i];
    }
    isthmus_status status = ib_completions_create(tr->adapter, MAX_REQUESTS, &nic->completions);
    if (status == ISTHMUS_OK) status = ib_listen(worker, IB_MESSAGE_LINKED, on_linked);
    if (status == ISTHMUS_OK && worker->index == 0) status = ib_listen(worker, IB_MESSAGE_LINK, on_link);
    return status;
}

void ib_nic_worker_close(struct ib_worker *worker)
{
    if (worker->nic == NULL) return;
    ib_completions_destroy(worker->nic->completions);
    free(worker->nic);
}
