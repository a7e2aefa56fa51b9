/* plugins/ofi/ofi_endpoint.c: opens and closes the objects of libfabric, and the buffers of messages. */
#include "ofi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- operations ---- */

struct ofi_op *ofi_op_take(struct ofi_op **list)
{
    struct ofi_op *op = *list;
    if (op == NULL) return NULL;
    *list = op->next;
    op->is_used = true;
    return op;
}

void ofi_op_give(struct ofi_op **list, struct ofi_op *op)
{
    op->is_used = false;
    op->path = NULL;
    op->count = NULL;
    op->bounce = NULL;
    op->copy_to = NULL;
    op->mr = NULL;
    op->next = *list;
    *list = op;
}

/* What the provider does not take now is posted by a later poll. */
void ofi_receive_post(isthmus_tr *tr, struct ofi_op *op)
{
    if (fi_recv(tr->ep, op->buffer, OFI_MESSAGE_BYTES, ofi_buffers_desc(tr), FI_ADDR_UNSPEC, &op->context) == 0) return;
    op->next = tr->unposted;
    tr->unposted = op;
}

static struct ofi_op *make_ops(uint32_t n, enum ofi_op_kind kind, char *buffers)
{
    struct ofi_op *ops = calloc(n, sizeof *ops);
    for (uint32_t i = 0; i < n && ops != NULL; i++) {
        ops[i].kind = kind;
        if (buffers != NULL) ops[i].buffer = buffers + (size_t)i * OFI_MESSAGE_BYTES;
    }
    return ops;
}

static isthmus_status make_room(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    size_t n_bytes = (size_t)(OFI_RECEIVES + OFI_MESSAGES) * OFI_MESSAGE_BYTES;
    tr->buffers = aligned_alloc(4096, n_bytes);
    if (tr->buffers == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the buffers of messages");
    memset(tr->buffers, 0, n_bytes); /* a provider may need pages, not only addresses */
    tr->receives = make_ops(OFI_RECEIVES, OFI_OP_RECEIVE, tr->buffers);
    tr->messages = make_ops(OFI_MESSAGES, OFI_OP_MESSAGE, tr->buffers + (size_t)OFI_RECEIVES * OFI_MESSAGE_BYTES);
    tr->accesses = make_ops(OFI_ACCESSES, OFI_OP_ACCESS, NULL);
    tr->calls = calloc(OFI_CALLS, sizeof *tr->calls);
    tr->peers = calloc((size_t)s->n_pes, sizeof *tr->peers);
    if (tr->receives == NULL || tr->messages == NULL || tr->accesses == NULL || tr->calls == NULL || tr->peers == NULL)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    for (uint32_t i = 0; i < OFI_MESSAGES; i++) ofi_op_give(&tr->free_messages, &tr->messages[i]);
    for (uint32_t i = 0; i < OFI_ACCESSES; i++) ofi_op_give(&tr->free_accesses, &tr->accesses[i]);
    if (!tr->needs_local_mr) return ISTHMUS_OK;
    const struct isthmus_mem buffers = ofi_host_memory(tr->buffers, n_bytes);
    return ofi_mr_open(tr, &buffers, FI_SEND | FI_RECV | FI_READ | FI_WRITE, &tr->buffers_mr);
}

/* ---- objects ---- */

/* A provider without a descriptor to wait on is polled. */
static isthmus_status open_queue(isthmus_tr *tr)
{
    struct fi_cq_attr attr = {
        .size = 2 * (OFI_RECEIVES + OFI_MESSAGES + OFI_ACCESSES), .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
    tr->event_fd = -1;
    int error = fi_cq_open(tr->domain, &attr, &tr->cq, NULL);
    if (error == 0 && fi_control(&tr->cq->fid, FI_GETWAIT, &tr->event_fd) == 0) return ISTHMUS_OK;
    tr->event_fd = -1;
    if (error == 0) return ISTHMUS_OK;
    attr.wait_obj = FI_WAIT_NONE;
    error = fi_cq_open(tr->domain, &attr, &tr->cq, NULL);
    return error == 0 ? ISTHMUS_OK : ofi_fail(tr, "fi_cq_open", error);
}

static isthmus_status open_timer(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    tr->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (tr->timer_fd >= 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "cannot poll provider %s: timerfd_create: %s",
                   tr->info->fabric_attr->prov_name, strerror(errno));
}

static isthmus_status fail_to_wait(isthmus_tr *tr, const char *call)
{
    const struct isthmus_services *s = tr->services;
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "cannot wait for provider %s: %s: %s",
                   tr->info->fabric_attr->prov_name, call, strerror(errno));
}

/* A descriptor that can be made readable from here, and a timer for what the provider repeats. Software providers send
 * what is posted at once. */
static isthmus_status open_sleep(isthmus_tr *tr)
{
    bool needs_kick = !tr->is_software && tr->info->domain_attr->data_progress == FI_PROGRESS_MANUAL;
    if (tr->event_fd < 0 || (!needs_kick && !tr->resends)) return ISTHMUS_OK;
    tr->sleep_fd = epoll_create1(EPOLL_CLOEXEC);
    if (tr->sleep_fd < 0) return fail_to_wait(tr, "epoll_create1");
    if (needs_kick && (tr->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) return fail_to_wait(tr, "eventfd");
    isthmus_status status = tr->resends ? open_timer(tr) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) return status;
    const int fds[] = {tr->event_fd, tr->kick_fd, tr->timer_fd};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0 &&
            epoll_ctl(tr->sleep_fd, EPOLL_CTL_ADD, fds[i], &(struct epoll_event){.events = EPOLLIN}) != 0)
            return fail_to_wait(tr, "epoll_ctl");
    return ISTHMUS_OK;
}

/* EFA's provider aborts the process at an error that belongs to no operation, unless it can write it there. */
static int open_events(isthmus_tr *tr)
{
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
    if (strcmp(tr->info->fabric_attr->prov_name, "efa") != 0) return 0;
    int error = fi_eq_open(tr->fabric, &attr, &tr->eq, NULL);
    return error == 0 ? fi_ep_bind(tr->ep, &tr->eq->fid, 0) : error;
}

static isthmus_status open_objects(isthmus_tr *tr)
{
    struct fi_av_attr av = {.type = FI_AV_UNSPEC, .count = (size_t)tr->services->n_pes};
    int error = ofi_library.fi_fabric(tr->info->fabric_attr, &tr->fabric, NULL);
    if (error != 0) return ofi_fail(tr, "fi_fabric", error);
    if ((error = fi_domain(tr->fabric, tr->info, &tr->domain, NULL)) != 0) return ofi_fail(tr, "fi_domain", error);
    if ((error = fi_av_open(tr->domain, &av, &tr->av, NULL)) != 0) return ofi_fail(tr, "fi_av_open", error);
    isthmus_status status = open_queue(tr);
    if (status == ISTHMUS_OK && tr->event_fd < 0) status = open_timer(tr);
    if (status != ISTHMUS_OK) return status;
    if ((error = fi_endpoint(tr->domain, tr->info, &tr->ep, NULL)) != 0) return ofi_fail(tr, "fi_endpoint", error);
    if ((error = fi_ep_bind(tr->ep, &tr->av->fid, 0)) != 0 ||
        (error = fi_ep_bind(tr->ep, &tr->cq->fid, FI_TRANSMIT | FI_RECV)) != 0)
        return ofi_fail(tr, "fi_ep_bind", error);
    if ((error = open_events(tr)) != 0) return ofi_fail(tr, "fi_eq_open", error);
    if ((error = fi_enable(tr->ep)) != 0) return ofi_fail(tr, "fi_enable", error);
    return open_sleep(tr);
}

static isthmus_status find_address(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    size_t n_bytes = sizeof tr->card.address;
    int error = fi_getname(&tr->ep->fid, tr->card.address, &n_bytes);
    if (error == -FI_ETOOSMALL)
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "an address of provider %s takes %zu bytes, there is room for %d",
                       tr->info->fabric_attr->prov_name, n_bytes, OFI_ADDRESS_BYTES);
    if (error != 0) return ofi_fail(tr, "fi_getname", error);
    tr->card.address_bytes = (uint32_t)n_bytes;
    tr->card.address_format = tr->info->addr_format;
    return ISTHMUS_OK;
}

isthmus_status ofi_endpoint_open(isthmus_tr *tr)
{
    tr->unsent_end = &tr->unsent;
    isthmus_status status = open_objects(tr);
    if (status == ISTHMUS_OK) status = make_room(tr);
    if (status == ISTHMUS_OK) status = find_address(tr);
    if (status == ISTHMUS_OK) ofi_atomics_find(tr);
    for (uint32_t i = 0; i < OFI_RECEIVES && status == ISTHMUS_OK; i++) ofi_receive_post(tr, &tr->receives[i]);
    return status;
}

static void close_object(struct fid *fid)
{
    if (fid != NULL) (void)fi_close(fid);
}
#define CLOSE(object) close_object((object) != NULL ? &(object)->fid : NULL)

/* ofi_rxm (libfabric 1.17 and others) handles what has arrived and was not read once more within fi_close(), where its
 * connection is gone already, and crashes. Nothing of it matters any more: the peers have agreed to end, or this PE
 * ends the job. It is not received again, so that this ends. */
static void drop_what_has_arrived(isthmus_tr *tr)
{
    struct fi_cq_err_entry error = {0};
    struct fi_cq_data_entry entry;
    ssize_t n = 1;
    while (n > 0) {
        n = fi_cq_read(tr->cq, &entry, 1);
        if (n == -FI_EAVAIL) n = fi_cq_readerr(tr->cq, &error, 0);
    }
}

/* A registration may be bound to the endpoint (FI_MR_ENDPOINT), so it is closed first. */
void ofi_endpoint_close(isthmus_tr *tr)
{
    const int fds[] = {tr->timer_fd, tr->sleep_fd, tr->kick_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0) close(fds[i]);
    for (uint32_t i = 0; i < OFI_ACCESSES && tr->accesses != NULL; i++) CLOSE(tr->accesses[i].mr);
    CLOSE(tr->buffers_mr);
    if (tr->ep != NULL) drop_what_has_arrived(tr);
    CLOSE(tr->ep);
    CLOSE(tr->eq);
    CLOSE(tr->cq);
    CLOSE(tr->av);
    CLOSE(tr->domain);
    CLOSE(tr->fabric);
    while (tr->unsent != NULL) {
        struct ofi_reply *next = tr->unsent->next;
        free(tr->unsent);
        tr->unsent = next;
    }
    free(tr->receives);
    free(tr->messages);
    free(tr->accesses);
    free(tr->calls);
    free(tr->peers);
    free(tr->paths);
    free(tr->buffers);
    if (tr->info != NULL) ofi_library.fi_freeinfo(tr->info);
}
