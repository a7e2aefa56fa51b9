/* tests/doubles/ofi/wire.c: how packets leave, arrive, and land. What has arrived lands in random order: messages of
 * one sender keep theirs (FI_ORDER_SAS), and where a write is complete before it has landed, a read stays behind the
 * writes of its sender (FI_ORDER_RAW). */
#include "ofi_double.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { PROBE_AFTER_NS = 100000000, BUSY_NS = 50000, QUIET_NS = 100000000, ROUNDS = 8 };

/* ---- out ---- */

/* Returns 0, EAGAIN, or why the peer is gone. */
static int transmit(struct double_ep *ep, const char *to, struct packet_head *head, const void *data)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct iovec parts[] = {{head, sizeof *head}, {(void *)(uintptr_t)data, data != NULL ? head->length : 0}};
    struct msghdr message = {.msg_name = &name,
                             .msg_namelen = offsetof(struct sockaddr_un, sun_path) + 1 + NAME_BYTES,
                             .msg_iov = parts,
                             .msg_iovlen = 2};
    memcpy(name.sun_path + 1, to, NAME_BYTES);
    memcpy(head->from, ep->name, NAME_BYTES);
    head->version = fi_version();
    if (sendmsg(ep->socket, &message, MSG_NOSIGNAL) >= 0) return 0;
    return errno == ENOBUFS || errno == EINTR ? EAGAIN : errno;
}

static struct packet_head head_of(const struct double_op *op, size_t length)
{
    struct packet_head head = {.kind = op->kind,
                               .length = (uint32_t)length,
                               .key_bytes = op->key_bytes,
                               .op = op->id,
                               .offset = op->sent,
                               .address = op->address,
                               .atomic = op->atomic};
    if (op->compare != NULL) memcpy(&head.compare, op->compare, length);
    memcpy(head.key, op->key, sizeof head.key);
    return head;
}

/* Nothing else shows that a peer is gone which has yet to reply. */
static int probe(struct double_ep *ep, struct double_op *op)
{
    uint64_t now = double_now_ns();
    if (op->probed_ns == 0) op->probed_ns = now;
    if (now - op->probed_ns < PROBE_AFTER_NS) return 0;
    op->probed_ns = now;
    return transmit(ep, ep->domain->peers[op->peer], &(struct packet_head){.kind = PACKET_PROBE}, NULL);
}

/* Sends pieces of one operation. Returns EAGAIN if the peer takes no more now. */
static int push(struct double_ep *ep, struct double_op *op)
{
    while (op->sent < op->length || (op->kind == PACKET_SEND && op->length == 0)) {
        size_t n = op->length - op->sent < PIECE_BYTES ? op->length - op->sent : PIECE_BYTES;
        if (op->kind != PACKET_SEND && op->sent - op->done >= WINDOW_BYTES) return 0;
        struct packet_head head = head_of(op, n);
        int error = transmit(ep, ep->domain->peers[op->peer], &head,
                             op->kind == PACKET_READ ? NULL : op->local + op->sent);
        if (error == EAGAIN) return error;
        op->sent += n;
        op->error = error;
        if (error != 0 || op->length == 0) return error;
    }
    int error = op->kind == PACKET_SEND ? 0 : probe(ep, op);
    if (error != 0 && error != EAGAIN) op->error = error;
    return 0;
}

static bool is_complete(const struct double_ep *ep, const struct double_op *op)
{
    bool is_write = op->kind == PACKET_WRITE || (op->kind == PACKET_ATOMIC && op->fetched == NULL);
    bool when_sent = op->kind == PACKET_SEND || (is_write && !ep->domain->mode->has_delivery);
    return op->error != 0 || (when_sent ? op->sent : op->done) == op->length;
}

/* Every OFI_DOUBLE_FAILS-th completion is an error. */
static bool fails(struct double_ep *ep)
{
    const char *period = getenv("OFI_DOUBLE_FAILS");
    return period != NULL && ++ep->n_completed % strtoul(period, NULL, 10) == 0;
}

static bool is_efa(const struct double_ep *ep) { return strcmp(ep->domain->mode->provider, "efa") == 0; }

/* One that fails was executed nevertheless. */
static void finish(struct double_ep *ep, struct double_op *op)
{
    if (!is_efa(ep) && fails(ep)) op->error = FI_EIO;
    bool is_read = op->kind == PACKET_READ || op->fetched != NULL;
    uint64_t kind = op->kind == PACKET_SEND
                        ? FI_MSG | FI_SEND
                        : (op->kind == PACKET_ATOMIC ? FI_ATOMIC : FI_RMA) | (is_read ? FI_READ : FI_WRITE);
    if (op->completes) double_complete(ep, op->context, kind, op->length, op->error);
    free(op->owned);
    free(op);
}

static bool is_blocked(const uint32_t *peers, size_t n, uint32_t peer)
{
    for (size_t i = 0; i < n; i++)
        if (peers[i] == peer) return true;
    return false;
}

/* A read does not overtake the pieces of a write that has yet to leave. */
static bool keeps_back(const struct double_ep *ep, const struct double_op *op)
{
    return !ep->domain->mode->has_delivery && op->kind == PACKET_WRITE && op->error == 0 && op->sent < op->length;
}

static void push_all(struct double_ep *ep)
{
    uint32_t blocked[SENDS_MOST];
    size_t n_blocked = 0;
    struct double_op **at = &ep->ops;
    while (*at != NULL) {
        struct double_op *op = *at;
        if (!is_blocked(blocked, n_blocked, op->peer) && (push(ep, op) == EAGAIN || keeps_back(ep, op)))
            blocked[n_blocked++] = op->peer;
        if (!is_complete(ep, op)) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        ep->n_ops--;
        finish(ep, op);
    }
    ep->ops_end = at;
}

static void push_replies(struct double_ep *ep)
{
    struct packet **at = &ep->replies;
    while (*at != NULL) {
        struct packet *packet = *at;
        bool has_data = packet->head.kind == PACKET_DATA || packet->head.kind == PACKET_FETCHED;
        if (transmit(ep, packet->to, &packet->head, has_data ? packet->data : NULL) == EAGAIN) {
            at = &packet->next;
            continue;
        }
        *at = packet->next;
        free(packet);
    }
    ep->replies_end = at;
}

/* ---- in ---- */

static void pull(struct double_ep *ep)
{
    static _Thread_local char bytes[sizeof(struct packet_head) + PIECE_BYTES];
    while (ep->n_landing < LANDING_MOST) {
        ssize_t n = recv(ep->socket, bytes, sizeof bytes, 0);
        if (n < (ssize_t)sizeof(struct packet_head)) return;
        size_t n_data = (size_t)n - sizeof(struct packet_head);
        struct packet *packet = malloc(sizeof *packet + n_data);
        RULE(packet != NULL, "no memory");
        memcpy(&packet->head, bytes, sizeof packet->head);
        if (packet->head.version != fi_version()) {
            free(packet);
            continue;
        }
        memcpy(packet->data, bytes + sizeof packet->head, n_data);
        packet->next = NULL;
        *ep->landing_end = packet;
        ep->landing_end = &packet->next;
        ep->n_landing++;
    }
}

static void answer(struct double_ep *ep, const struct packet *to, enum packet_kind kind, const char *data)
{
    size_t n_data = kind == PACKET_DATA || kind == PACKET_FETCHED ? to->head.length : 0;
    struct packet *packet = calloc(1, sizeof *packet + n_data);
    RULE(packet != NULL, "no memory");
    memcpy(packet->to, to->head.from, NAME_BYTES);
    packet->head = to->head;
    packet->head.kind = kind;
    if (n_data > 0) memcpy(packet->data, data, n_data);
    *ep->replies_end = packet;
    ep->replies_end = &packet->next;
}

static struct double_op *op_of(struct double_ep *ep, const struct packet *packet)
{
    for (struct double_op *op = ep->ops; op != NULL; op = op->next)
        if (op->id == packet->head.op) return op;
    return NULL; /* of a write that was complete when it had left */
}

/* EFA's provider loses one that it cannot keep, which is an error of no operation. */
static void land_message(struct double_ep *ep, const struct packet *packet)
{
    if (is_efa(ep) && fails(ep)) {
        double_report(ep, FI_ENOBUFS);
        return;
    }
    struct receive *receive = &ep->receives[ep->n_received++ % RECEIVES_MOST];
    int error = packet->head.length > receive->length ? FI_ETRUNC : 0;
    if (error == 0) memcpy(receive->buffer, packet->data, packet->head.length);
    double_complete(ep, receive->context, FI_MSG | FI_RECV, packet->head.length, error);
}

static void land_reply(struct double_ep *ep, const struct packet *packet)
{
    struct double_op *op = op_of(ep, packet);
    if (op == NULL) return;
    if (packet->head.kind == PACKET_REFUSED) op->error = FI_EACCES;
    if (packet->head.kind == PACKET_FETCHED && op->fetched != NULL)
        memcpy(op->fetched, packet->data, packet->head.length);
    if (packet->head.kind == PACKET_DATA) memcpy(op->local + packet->head.offset, packet->data, packet->head.length);
    op->done += packet->head.length;
    op->probed_ns = 0;
}

static void land_atomic(struct double_ep *ep, const struct packet *packet)
{
    char *at, old[sizeof(uint64_t)];
    if (double_region_of(ep->domain, &packet->head, packet->head.length, FI_REMOTE_WRITE, &at) == NULL) {
        answer(ep, packet, PACKET_REFUSED, NULL);
        return;
    }
    double_execute(ep->domain, packet, at, old);
    answer(ep, packet, PACKET_FETCHED, old);
}

static void land(struct double_ep *ep, const struct packet *packet)
{
    char *at;
    bool is_write = packet->head.kind == PACKET_WRITE;
    switch ((enum packet_kind)packet->head.kind) {
    case PACKET_PROBE: break;
    case PACKET_SEND: land_message(ep, packet); break;
    case PACKET_WRITE:
    case PACKET_READ:
        if (double_region_of(ep->domain, &packet->head, packet->head.length,
                             is_write ? FI_REMOTE_WRITE : FI_REMOTE_READ, &at) == NULL) {
            answer(ep, packet, PACKET_REFUSED, NULL);
            break;
        }
        if (is_write) memcpy(at, packet->data, packet->head.length);
        answer(ep, packet, is_write ? PACKET_WRITTEN : PACKET_DATA, at);
        break;
    case PACKET_ATOMIC: land_atomic(ep, packet); break;
    case PACKET_WRITTEN:
    case PACKET_DATA:
    case PACKET_FETCHED:
    case PACKET_REFUSED: land_reply(ep, packet); break;
    }
}

static bool may_land(const struct double_ep *ep, const struct packet *packet)
{
    bool is_message = packet->head.kind == PACKET_SEND;
    bool is_behind = packet->head.kind == PACKET_READ && !ep->domain->mode->has_delivery;
    if (is_message && ep->n_received == ep->n_posted) return false;
    for (const struct packet *p = ep->landing; p != packet; p = p->next) {
        if (strncmp(p->head.from, packet->head.from, NAME_BYTES) != 0) continue;
        if ((is_message && p->head.kind == PACKET_SEND) || (is_behind && p->head.kind == PACKET_WRITE)) return false;
    }
    return true;
}

static void land_some(struct double_ep *ep)
{
    struct packet **at = &ep->landing;
    while (*at != NULL) {
        struct packet *packet = *at;
        if (rand_r(&ep->domain->seed) % 2 == 0 || !may_land(ep, packet)) {
            at = &packet->next;
            continue;
        }
        land(ep, packet);
        *at = packet->next;
        ep->n_landing--;
        free(packet);
    }
    ep->landing_end = at;
}

/* With an adapter that does not wait for the next call, a few times over; but late, where nothing else shows it. */
void double_move(struct double_ep *ep)
{
    int n_rounds = ep->domain->mode->has_thread && ep->domain->mode->has_delivery ? ROUNDS : 1;
    pull(ep);
    for (int i = 0; i < n_rounds && ep->landing != NULL; i++) land_some(ep);
    push_replies(ep);
    push_all(ep);
}

/* ---- the rest ---- */

/* Something is left to do without another packet. */
bool double_is_busy(const struct double_ep *ep)
{
    if (ep->landing != NULL || ep->replies != NULL) return true;
    for (const struct double_op *op = ep->ops; op != NULL; op = op->next)
        if (op->sent < op->length || op->error != 0) return true;
    return false;
}

void *double_adapter(void *arg)
{
    struct double_ep *ep = arg;
    pthread_mutex_lock(&ep->domain->lock);
    while (!ep->stops) {
        double_move(ep);
        long ns = double_is_busy(ep) ? BUSY_NS : QUIET_NS;
        pthread_mutex_unlock(&ep->domain->lock);
        struct pollfd ready[] = {{.fd = ep->socket, .events = POLLIN}, {.fd = ep->doorbell, .events = POLLIN}};
        (void)ppoll(ready, 2, &(struct timespec){.tv_nsec = ns}, NULL);
        (void)!read(ep->doorbell, &(uint64_t){0}, sizeof(uint64_t));
        pthread_mutex_lock(&ep->domain->lock);
    }
    pthread_mutex_unlock(&ep->domain->lock);
    return NULL;
}

void double_drop_all(struct double_ep *ep)
{
    struct packet *lists[] = {ep->landing, ep->replies};
    for (size_t i = 0; i < 2; i++)
        while (lists[i] != NULL) {
            struct packet *next = lists[i]->next;
            free(lists[i]);
            lists[i] = next;
        }
    while (ep->ops != NULL) {
        struct double_op *next = ep->ops->next;
        free(ep->ops->owned);
        free(ep->ops);
        ep->ops = next;
    }
}
