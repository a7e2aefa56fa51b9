/* tests/doubles/ofi/queue.c: completion queues, of FI_CQ_FORMAT_DATA, and event queues, for errors alone. */
#include "ofi_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void double_complete(struct double_ep *ep, void *context, uint64_t flags, size_t length, int error)
{
    struct double_cq *cq = ep->cq;
    struct entry *entry = calloc(1, sizeof *entry);
    RULE(entry != NULL && cq->n < cq->most, "the completion queue has room for %zu entries, and is full", cq->most);
    entry->data = (struct fi_cq_data_entry){.op_context = context, .flags = flags, .len = length};
    entry->error = error;
    *cq->end = entry;
    cq->end = &entry->next;
    cq->n++;
    if (cq->event_fd >= 0 && cq->domain->mode->has_thread) (void)!write(cq->event_fd, &(uint64_t){1}, sizeof(uint64_t));
}

static struct entry *take(struct double_cq *cq)
{
    struct entry *entry = cq->first;
    cq->first = entry->next;
    if (cq->first == NULL) cq->end = &cq->first;
    cq->n--;
    return entry;
}

static ssize_t read_queue(struct fid_cq *fid, void *buf, size_t count)
{
    struct double_cq *cq = container_of(fid, struct double_cq, fid);
    struct fi_cq_data_entry *out = buf;
    size_t n = 0;
    double_enter(cq->domain);
    if (!cq->domain->mode->has_thread && cq->ep != NULL) double_move(cq->ep);
    while (n < count && cq->first != NULL && cq->first->error == 0) {
        struct entry *entry = take(cq);
        out[n++] = entry->data;
        free(entry);
    }
    bool has_failed = n == 0 && cq->first != NULL && count > 0;
    double_leave(cq->domain);
    return n > 0 ? (ssize_t)n : has_failed ? -FI_EAVAIL : -FI_EAGAIN;
}

enum { REASON_BASE = 7000 }; /* the provider's own numbers are none of libfabric's */

static const char *reason_text(struct fid_cq *fid, int reason, const void *data, char *buffer, size_t room)
{
    (void)fid, (void)data;
    RULE(reason > REASON_BASE, "fi_cq_strerror of %d, which is no number of this provider's", reason);
    snprintf(buffer, room, "reason %d of the double's", reason);
    return buffer;
}

static ssize_t read_error(struct fid_cq *fid, struct fi_cq_err_entry *out, uint64_t flags)
{
    struct double_cq *cq = container_of(fid, struct double_cq, fid);
    (void)flags;
    double_enter(cq->domain);
    struct entry *entry = cq->first != NULL && cq->first->error != 0 ? take(cq) : NULL;
    double_leave(cq->domain);
    if (entry == NULL) return -FI_EAGAIN;
    *out = (struct fi_cq_err_entry){.op_context = entry->data.op_context,
                                    .flags = entry->data.flags,
                                    .err = entry->error,
                                    .prov_errno = REASON_BASE + entry->error};
    free(entry);
    return 1;
}

/* With manual progress the socket, on which packets arrive. It exists once an endpoint is bound. */
static int control(struct fid *fid, int command, void *arg)
{
    struct double_cq *cq = container_of(fid, struct double_cq, fid.fid);
    RULE(command == FI_GETWAIT && cq->event_fd >= 0, "control %d of a completion queue", command);
    *(int *)arg = cq->event_fd;
    return 0;
}

static int close_queue(struct fid *fid)
{
    struct double_cq *cq = container_of(fid, struct double_cq, fid.fid);
    RULE(cq->ep == NULL, "a completion queue is closed before its endpoint");
    while (cq->first != NULL) free(take(cq));
    if (cq->event_fd >= 0) close(cq->event_fd);
    cq->domain->n_open--;
    free(cq);
    return 0;
}

int double_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = close_queue, .control = control};
    static struct fi_ops_cq cq_ops = {
        .size = sizeof cq_ops, .read = read_queue, .readerr = read_error, .strerror = reason_text};
    struct double_domain *domain = container_of(fid, struct double_domain, fid);
    RULE(attr->format == FI_CQ_FORMAT_DATA, "the double's queues are of FI_CQ_FORMAT_DATA");
    if (attr->wait_obj != FI_WAIT_NONE && !domain->mode->has_descriptor) return -FI_ENOSYS;
    struct double_cq *cq = calloc(1, sizeof *cq);
    if (cq == NULL) return -FI_ENOMEM;
    cq->domain = domain;
    cq->end = &cq->first;
    cq->most = attr->size;
    cq->event_fd = attr->wait_obj == FI_WAIT_FD ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
    cq->fid.fid = (struct fid){.fclass = FI_CLASS_CQ, .context = context, .ops = &ops};
    cq->fid.ops = &cq_ops;
    domain->n_open++;
    *out = &cq->fid;
    return 0;
}

/* ---- event queues ---- */

/* As EFA's provider does. */
void double_report(struct double_ep *ep, int error)
{
    if (ep->eq == NULL) {
        fprintf(stderr, "Unable to write to EQ\nYour application will now abort().\n");
        abort();
    }
    if (ep->eq->error == 0) ep->eq->error = error;
}

static ssize_t read_event(struct fid_eq *fid, uint32_t *event, void *buf, size_t length, uint64_t flags)
{
    struct double_eq *eq = container_of(fid, struct double_eq, fid);
    (void)event, (void)buf, (void)length, (void)flags;
    if (eq->ep == NULL) return -FI_EAGAIN;
    double_enter(eq->ep->domain);
    int error = eq->error;
    double_leave(eq->ep->domain);
    return error != 0 ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t read_event_error(struct fid_eq *fid, struct fi_eq_err_entry *out, uint64_t flags)
{
    struct double_eq *eq = container_of(fid, struct double_eq, fid);
    (void)flags;
    *out = (struct fi_eq_err_entry){.err = eq->error, .prov_errno = REASON_BASE + eq->error};
    eq->error = 0;
    return sizeof *out;
}

static const char *event_reason(struct fid_eq *fid, int reason, const void *data, char *buffer, size_t room)
{
    (void)fid;
    return reason_text(NULL, reason, data, buffer, room);
}

static int close_events(struct fid *fid)
{
    struct double_eq *eq = container_of(fid, struct double_eq, fid.fid);
    RULE(eq->ep == NULL, "an event queue is closed before its endpoint");
    free(eq);
    return 0;
}

int double_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = close_events};
    static struct fi_ops_eq eq_ops = {
        .size = sizeof eq_ops, .read = read_event, .readerr = read_event_error, .strerror = event_reason};
    struct double_eq *eq = calloc(1, sizeof *eq);
    (void)fabric;
    RULE(attr->wait_obj == FI_WAIT_NONE, "the double's event queues have no wait object");
    if (eq == NULL) return -FI_ENOMEM;
    eq->fid.fid = (struct fid){.fclass = FI_CLASS_EQ, .context = context, .ops = &ops};
    eq->fid.ops = &eq_ops;
    *out = &eq->fid;
    return 0;
}
