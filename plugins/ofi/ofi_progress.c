/* plugins/ofi/ofi_progress.c: reads the completion queue, and lets the core's progress thread sleep on it. */
#include "ofi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { ENTRIES = 16, ROUNDS = 8, POLL_EVERY_NS = 1000000 };

/* ---- completions ---- */

static void end_of_access(isthmus_tr *tr, struct ofi_op *op, const char *failure)
{
    if (failure != NULL && op->path != NULL) ofi_path_lose(op->path, failure); /* NULL: it is closed */
    if (op->copy_to != NULL && failure == NULL)
        (void)ofi_copy(tr, ISTHMUS_MEM_HOST, op->copy_to, op->bounce->buffer, op->copy_bytes);
    if (op->count != NULL) {
        if (failure != NULL) op->count->failed = op->path;
        op->count->n_pending--;
    }
    if (op->bounce != NULL) ofi_op_give(&tr->free_messages, op->bounce);
    if (op->mr != NULL) (void)fi_close(&op->mr->fid);
    ofi_op_give(&tr->free_accesses, op);
}

static void end_of_message(isthmus_tr *tr, struct ofi_op *op, const char *failure)
{
    if (failure != NULL && op->path != NULL) ofi_path_lose(op->path, failure);
    ofi_op_give(&tr->free_messages, op);
}

/* A long put of a peer makes an event without an operation of this PE's. */
static void handle(isthmus_tr *tr, const struct fi_cq_data_entry *entry)
{
    struct ofi_op *op = entry->op_context;
    if ((entry->flags & FI_REMOTE_CQ_DATA) != 0 || op == NULL) return;
    switch (op->kind) {
    case OFI_OP_RECEIVE:
        ofi_serve(tr, op->buffer, entry->len);
        ofi_receive_post(tr, op);
        break;
    case OFI_OP_MESSAGE: end_of_message(tr, op, NULL); break;
    case OFI_OP_ACCESS: end_of_access(tr, op, NULL); break;
    }
}

/* libfabric's text, and the provider's own (NULL: none) where that adds something. */
static void describe(int error, const char *own, char *out, size_t out_bytes)
{
    const char *general = ofi_library.fi_strerror(error);
    bool adds = own != NULL && own[0] != '\0' && strcmp(own, general) != 0;
    snprintf(out, out_bytes, "%s%s%s%s", general, adds ? " (" : "", adds ? own : "", adds ? ")" : "");
}

static void handle_error(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    struct fi_cq_err_entry error = {0};
    if (fi_cq_readerr(tr->cq, &error, 0) <= 0) return;
    struct ofi_op *op = error.op_context;
    char why[160], room[120] = "";
    const char *own = NULL;
    if (error.prov_errno != 0 && FI_CHECK_OP(tr->cq->ops, struct fi_ops_cq, strerror))
        own = fi_cq_strerror(tr->cq, error.prov_errno, error.err_data, room, sizeof room);
    describe(error.err, own, why, sizeof why);
    if (op == NULL) return;
    switch (op->kind) {
    case OFI_OP_RECEIVE:
        s->log(s->core, ISTHMUS_LOG_INFO, "a message was not received: %s", why);
        ofi_receive_post(tr, op);
        break;
    case OFI_OP_MESSAGE: end_of_message(tr, op, why); break;
    case OFI_OP_ACCESS: end_of_access(tr, op, why); break;
    }
}

static void post_again(isthmus_tr *tr)
{
    struct ofi_op *list = tr->unposted;
    tr->unposted = NULL;
    while (list != NULL) {
        struct ofi_op *op = list;
        list = op->next;
        ofi_receive_post(tr, op);
    }
}

int32_t ofi_poll(isthmus_tr *tr)
{
    struct fi_cq_data_entry entries[ENTRIES];
    int32_t n_events = 0;
    for (int round = 0; round < ROUNDS; round++) {
        ssize_t n = fi_cq_read(tr->cq, entries, ENTRIES);
        if (n == -FI_EAVAIL) {
            handle_error(tr);
            n = 1;
        } else {
            for (ssize_t i = 0; i < n; i++) handle(tr, &entries[i]);
        }
        if (n > 0) n_events += (int32_t)n;
        if (n < ENTRIES) break;
    }
    if (tr->unposted != NULL) post_again(tr);
    if (tr->unsent != NULL) ofi_replies_send(tr);
    return n_events;
}

/* ---- the core's side ---- */

/* An error that belongs to no operation: what any peer has sent may be lost. */
static void read_event(isthmus_tr *tr)
{
    struct fi_eq_err_entry error = {0};
    struct fi_eq_entry entry;
    uint32_t event;
    char text[140], why[160], room[100] = "";
    if (fi_eq_read(tr->eq, &event, &entry, sizeof entry, 0) != -FI_EAVAIL || fi_eq_readerr(tr->eq, &error, 0) <= 0)
        return;
    describe(error.err, fi_eq_strerror(tr->eq, error.prov_errno, error.err_data, room, sizeof room), text, sizeof text);
    snprintf(why, sizeof why, "provider %s: %s", tr->info->fabric_attr->prov_name, text);
    for (uint32_t i = 0; i < tr->n_paths; i++)
        if (tr->paths[i] != NULL) ofi_path_lose(tr->paths[i], why);
}

/* Reports each lost peer once, one in a call: perhaps no later operation would. */
static isthmus_status report(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    if (tr->is_out_of_memory) {
        tr->is_out_of_memory = false;
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the reply to a peer that waits");
    }
    for (uint32_t i = 0; i < tr->n_paths; i++)
        if (tr->paths[i] != NULL && tr->paths[i]->is_lost && !tr->paths[i]->has_reported)
            return ofi_path_lost(tr->paths[i]);
    tr->has_loss_to_report = false;
    return ISTHMUS_OK;
}

/* A thread that waits makes progress, for all. */
int32_t ofi_progress(isthmus_tr *tr)
{
    if (!ofi_trylock(tr)) return 0;
    int32_t n = tr->leader != NULL ? 0 : ofi_poll(tr);
    n += (int32_t)tr->n_armed_events;
    tr->n_armed_events = 0;
    if (n > 0 && tr->n_followers > 0) pthread_cond_broadcast(&tr->changed);
    if (tr->eq != NULL) read_event(tr);
    isthmus_status status = tr->has_loss_to_report || tr->is_out_of_memory ? report(tr) : ISTHMUS_OK;
    ofi_unlock(tr);
    return status == ISTHMUS_OK ? n : status;
}

isthmus_status ofi_timer_set(isthmus_tr *tr, long in_ns)
{
    const struct isthmus_services *s = tr->services;
    const struct itimerspec period = {.it_value.tv_nsec = in_ns};
    if (timerfd_settime(tr->timer_fd, 0, &period, NULL) == 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_IO, "the timer of provider %s: timerfd_settime: %s",
                   tr->info->fabric_attr->prov_name, strerror(errno));
}

void ofi_kick(isthmus_tr *tr)
{
    struct fid *queue = &tr->cq->fid;
    tr->has_posted = false;
    if (fi_trywait(tr->fabric, &queue, 1) == FI_SUCCESS) return;
    tr->is_armed = false;
    (void)!write(tr->kick_fd, &(uint64_t){1}, sizeof(uint64_t));
}

isthmus_status ofi_arm(isthmus_tr *tr, int32_t *event_fd)
{
    struct fid *queue = &tr->cq->fid;
    if (!ofi_trylock(tr)) return ISTHMUS_ERR_AGAIN;
    if (tr->kick_fd >= 0) (void)!read(tr->kick_fd, &(uint64_t){0}, sizeof(uint64_t)); /* it is for the caller alone */
    bool is_busy = tr->leader != NULL || tr->n_armed_events > 0 || tr->unposted != NULL || tr->unsent != NULL;
    if (!is_busy && tr->event_fd >= 0) is_busy = fi_trywait(tr->fabric, &queue, 1) != FI_SUCCESS;
    tr->is_armed = !is_busy && tr->kick_fd >= 0;
    if (tr->is_armed) tr->has_posted = false;
    ofi_unlock(tr);
    if (is_busy) return ISTHMUS_ERR_AGAIN;
    *event_fd = tr->sleep_fd >= 0 ? tr->sleep_fd : tr->event_fd >= 0 ? tr->event_fd : tr->timer_fd;
    if (tr->timer_fd < 0) return ISTHMUS_OK;
    return ofi_timer_set(tr, tr->resends ? OFI_RESEND_EVERY_NS : POLL_EVERY_NS);
}
