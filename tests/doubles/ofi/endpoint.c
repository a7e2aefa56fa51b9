/* tests/doubles/ofi/endpoint.c: endpoints, and the operations that a caller posts. */
#include "ofi_double.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- posts ---- */

/* A queue that is full now and then, although it has room. */
static bool is_full(struct double_ep *ep)
{
    struct double_domain *domain = ep->domain;
    return ep->n_ops >= SENDS_MOST || (uint32_t)rand_r(&domain->seed) % 4 < domain->mode->refuses_of4;
}

static void check_context(const struct double_ep *ep, const void *context)
{
    for (const struct double_op *op = ep->ops; op != NULL; op = op->next)
        RULE(context == NULL || op->context != context, "a context is used by two operations at once");
}

ssize_t double_post(struct double_ep *ep, const struct double_op *what, void *desc, bool is_injected)
{
    struct double_domain *domain = ep->domain;
    ssize_t status = -FI_EAGAIN;
    double_enter(domain);
    RULE(ep->is_enabled, "an operation before fi_enable");
    RULE(what->length <= domain->mode->max_bytes, "%zu bytes in one operation", what->length);
    RULE(what->peer < domain->n_peers, "an address that is not in the vector");
    if (!is_injected) double_check_local(domain, what->local, what->length, desc);
    check_context(ep, what->context);
    struct double_op *op = is_full(ep) ? NULL : malloc(sizeof *op);
    if (op != NULL) {
        *op = *what;
        op->id = ++domain->newest_op;
        op->completes = !is_injected;
        if (is_injected) op->local = op->owned = memcpy(malloc(op->length), op->local, op->length);
        *ep->ops_end = op;
        ep->ops_end = &op->next;
        ep->n_ops++;
        (void)!write(ep->doorbell, &(uint64_t){1}, sizeof(uint64_t));
        status = 0;
    }
    double_leave(domain);
    return status;
}

static ssize_t send_message(struct fid_ep *fid, const void *buf, size_t length, void *desc, fi_addr_t to, void *context)
{
    struct double_ep *ep = container_of(fid, struct double_ep, fid);
    RULE(length <= PIECE_BYTES, "a message of %zu bytes", length);
    return double_post(ep,
                       &(struct double_op){.kind = PACKET_SEND,
                                           .context = context,
                                           .local = (char *)(uintptr_t)buf,
                                           .length = length,
                                           .peer = (uint32_t)to},
                       desc, false);
}

static ssize_t inject(struct fid_ep *fid, const void *buf, size_t length, fi_addr_t to)
{
    struct double_ep *ep = container_of(fid, struct double_ep, fid);
    RULE(length <= ep->domain->mode->inject_bytes, "fi_inject of %zu bytes; inject_size is %u", length,
         ep->domain->mode->inject_bytes);
    return double_post(
        ep,
        &(struct double_op){
            .kind = PACKET_SEND, .local = (char *)(uintptr_t)buf, .length = length, .peer = (uint32_t)to},
        NULL, true);
}

static ssize_t receive(struct fid_ep *fid, void *buf, size_t length, void *desc, fi_addr_t from, void *context)
{
    struct double_ep *ep = container_of(fid, struct double_ep, fid);
    (void)from;
    double_enter(ep->domain);
    double_check_local(ep->domain, buf, length, desc);
    RULE(ep->n_posted - ep->n_received < RECEIVES_MOST, "more than %d receives", RECEIVES_MOST);
    ep->receives[ep->n_posted++ % RECEIVES_MOST] = (struct receive){buf, length, context};
    double_leave(ep->domain);
    return 0;
}

static ssize_t access_memory(struct fid_ep *fid, const struct fi_msg_rma *message, enum packet_kind kind)
{
    struct double_ep *ep = container_of(fid, struct double_ep, fid);
    RULE((ep->domain->mode->caps & FI_RMA) != 0, "remote memory access without FI_RMA");
    RULE(message->iov_count == 1 && message->rma_iov_count == 1, "iov_limit and rma_iov_limit are 1");
    RULE(message->msg_iov->iov_len == message->rma_iov->len, "local and remote length differ");
    struct double_op op = {.kind = kind,
                           .context = message->context,
                           .local = message->msg_iov->iov_base,
                           .length = message->msg_iov->iov_len,
                           .address = message->rma_iov->addr,
                           .peer = (uint32_t)message->addr};
    double_key_of(ep->domain, message->rma_iov->key, &op);
    return double_post(ep, &op, message->desc != NULL ? message->desc[0] : NULL, false);
}

static ssize_t read_memory(struct fid_ep *fid, const struct fi_msg_rma *message, uint64_t flags)
{
    RULE((flags & ~(uint64_t)FI_COMPLETION) == 0, "flags %llx of a read", (unsigned long long)flags);
    return access_memory(fid, message, PACKET_READ);
}

static ssize_t write_memory(struct fid_ep *fid, const struct fi_msg_rma *message, uint64_t flags)
{
    bool has_delivery = container_of(fid, struct double_ep, fid)->domain->mode->has_delivery;
    uint64_t known = FI_COMPLETION | FI_TRANSMIT_COMPLETE | (has_delivery ? FI_DELIVERY_COMPLETE : 0);
    if ((flags & ~known) != 0) return -FI_EBADFLAGS;
    return access_memory(fid, message, PACKET_WRITE);
}

struct fi_ops_msg double_msg_ops = {
    .size = sizeof double_msg_ops, .recv = receive, .send = send_message, .inject = inject};
struct fi_ops_rma double_rma_ops = {.size = sizeof double_rma_ops, .readmsg = read_memory, .writemsg = write_memory};

/* ---- life ---- */

static int bind_endpoint(struct fid *fid, struct fid *to, uint64_t flags)
{
    struct double_ep *ep = container_of(fid, struct double_ep, fid.fid);
    if (to->fclass == FI_CLASS_AV) return 0;
    if (to->fclass == FI_CLASS_EQ) {
        ep->eq = container_of(to, struct double_eq, fid.fid);
        ep->eq->ep = ep;
        return 0;
    }
    RULE(to->fclass == FI_CLASS_CQ && flags == (FI_TRANSMIT | FI_RECV), "the double has one queue for both directions");
    ep->cq = container_of(to, struct double_cq, fid.fid);
    ep->cq->ep = ep;
    if (ep->cq->event_fd >= 0 && !ep->domain->mode->has_thread) (void)dup2(ep->socket, ep->cq->event_fd);
    return 0;
}

/* The adapter's thread is none of the program's: it takes no signals. */
static int enable(struct double_ep *ep)
{
    sigset_t all, before;
    RULE(ep->cq != NULL, "fi_enable before a completion queue is bound");
    ep->is_enabled = true;
    if (!ep->domain->mode->has_thread) return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&ep->thread, NULL, double_adapter, ep);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

static int control_endpoint(struct fid *fid, int command, void *arg)
{
    (void)arg;
    RULE(command == FI_ENABLE, "control %d of an endpoint", command);
    return enable(container_of(fid, struct double_ep, fid.fid));
}

static int get_name(struct fid *fid, void *addr, size_t *length)
{
    size_t room = *length;
    *length = NAME_BYTES;
    if (room < NAME_BYTES) return -FI_ETOOSMALL;
    memcpy(addr, container_of(fid, struct double_ep, fid.fid)->name, NAME_BYTES);
    return 0;
}

static int close_endpoint(struct fid *fid)
{
    struct double_ep *ep = container_of(fid, struct double_ep, fid.fid);
    struct double_domain *domain = ep->domain;
    for (size_t i = 0; i < REGIONS_MOST; i++)
        RULE(domain->regions[i] == NULL || !domain->regions[i]->is_bound,
             "an endpoint is closed before a registration that is bound to it");
    if (domain->mode->has_thread && ep->is_enabled) {
        pthread_mutex_lock(&domain->lock);
        ep->stops = true;
        pthread_mutex_unlock(&domain->lock);
        (void)!write(ep->doorbell, &(uint64_t){1}, sizeof(uint64_t));
        pthread_join(ep->thread, NULL);
    }
    double_drop_all(ep);
    if (ep->cq != NULL) ep->cq->ep = NULL;
    if (ep->eq != NULL) ep->eq->ep = NULL;
    close(ep->socket);
    close(ep->doorbell);
    domain->n_open--;
    free(ep);
    return 0;
}

static int open_socket(struct double_ep *ep)
{
    static atomic_uint n_endpoints;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(ep->name, sizeof ep->name, "ofi-double-%d-%u", (int)getpid(), atomic_fetch_add(&n_endpoints, 1));
    memcpy(name.sun_path + 1, ep->name, NAME_BYTES);
    ep->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ep->doorbell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (ep->socket < 0 || ep->doorbell < 0) return -errno;
    socklen_t n_bytes = offsetof(struct sockaddr_un, sun_path) + 1 + NAME_BYTES;
    return bind(ep->socket, (struct sockaddr *)&name, n_bytes) == 0 ? 0 : -errno;
}

int double_endpoint(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
    static struct fi_ops ops = {
        .size = sizeof ops, .close = close_endpoint, .bind = bind_endpoint, .control = control_endpoint};
    static struct fi_ops_cm cm_ops = {.size = sizeof cm_ops, .getname = get_name};
    struct double_domain *domain = container_of(fid, struct double_domain, fid);
    struct double_ep *ep = calloc(1, sizeof *ep);
    (void)info;
    if (ep == NULL) return -FI_ENOMEM;
    ep->doorbell = -1;
    int error = open_socket(ep);
    if (error != 0) {
        if (ep->socket >= 0) close(ep->socket);
        if (ep->doorbell >= 0) close(ep->doorbell);
        free(ep);
        return error;
    }
    ep->domain = domain;
    ep->ops_end = &ep->ops;
    ep->landing_end = &ep->landing;
    ep->replies_end = &ep->replies;
    ep->fid.fid = (struct fid){.fclass = FI_CLASS_EP, .context = context, .ops = &ops};
    ep->fid.cm = &cm_ops;
    ep->fid.msg = &double_msg_ops;
    ep->fid.rma = &double_rma_ops;
    ep->fid.atomic = domain->mode->atomics != ATOMICS_NONE ? &double_atomic_ops : NULL;
    domain->n_open++;
    *out = &ep->fid;
    return 0;
}
