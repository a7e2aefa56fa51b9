/* tcp_path.c: the initiator's side: connections to peers, requests and replies.
 * Sockets block here. The target's progress thread reads requests and never waits for the initiator's, so there is no
 * deadlock. */
#include "tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SILENCE_S = 10 }; /* a peer's host that is silent for so long is lost */

/* ---- bytes, under the path's lock ---- */

static isthmus_status lose(isthmus_path *path, const char *why)
{
    const struct isthmus_services *s = path->tr->services;
    path->is_lost = true;
    return s->fail(s->core, ISTHMUS_ERR_PEER_LOST, "PE %d on %s is lost: %s", path->pe, path->host_name, why);
}

static isthmus_status send_all(isthmus_path *path, struct iovec *parts, size_t n_parts)
{
    if (path->is_lost) return lose(path, "it was lost before");
    while (n_parts > 0) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = n_parts};
        ssize_t sent = sendmsg(path->fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return lose(path, strerror(errno));
        size_t left = (size_t)sent;
        while (n_parts > 0 && left >= parts->iov_len) {
            left -= parts->iov_len;
            parts++, n_parts--;
        }
        if (n_parts == 0) break;
        parts->iov_base = (char *)parts->iov_base + left;
        parts->iov_len -= left;
    }
    return ISTHMUS_OK;
}

static isthmus_status receive_all(isthmus_path *path, void *bytes, size_t n_bytes)
{
    char *at = bytes;
    while (n_bytes > 0) {
        ssize_t got = recv(path->fd, at, n_bytes, MSG_WAITALL);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return lose(path, errno == EAGAIN ? "it does not answer" : strerror(errno));
        if (got == 0) return lose(path, "it has closed the connection");
        at += got;
        n_bytes -= (size_t)got;
    }
    return ISTHMUS_OK;
}

static isthmus_status send_request(isthmus_path *path, const struct tcp_request *request, const void *bytes,
                                   size_t n_bytes)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)request, sizeof *request}, {(void *)(uintptr_t)bytes, n_bytes}};
    path->has_uncommitted = true;
    return send_all(path, parts, n_bytes > 0 ? 2 : 1);
}

/* The peer has dropped an extent that is attached here, or this PE computed a wrong offset. */
isthmus_status tcp_refused(const isthmus_path *path)
{
    const struct isthmus_services *s = path->tr->services;
    return s->fail(s->core, ISTHMUS_ERR_REFUSED, "PE %d on %s refused an access: it exposes no such range of memory",
                   path->pe, path->host_name);
}

static isthmus_status note_reply(isthmus_path *path, const struct tcp_reply *reply)
{
    path->done_ticket = reply->value;
    path->n_owed--;
    return reply->is_refused ? tcp_refused(path) : ISTHMUS_OK;
}

/* Receives the replies to COMMIT that come first. */
static isthmus_status receive_owed(isthmus_path *path)
{
    isthmus_status status = ISTHMUS_OK;
    while (path->n_owed > 0 && status == ISTHMUS_OK) {
        struct tcp_reply reply;
        status = receive_all(path, &reply, sizeof reply);
        if (status == ISTHMUS_OK) status = note_reply(path, &reply);
    }
    return status;
}

/* Receives the reply to the newest request; it confirms all earlier requests too. */
static isthmus_status receive_reply(isthmus_path *path, struct tcp_reply *reply, void *bytes, size_t n_bytes)
{
    isthmus_status status = receive_owed(path);
    if (status == ISTHMUS_OK) status = receive_all(path, reply, sizeof *reply);
    if (status == ISTHMUS_OK && !reply->is_refused) status = receive_all(path, bytes, n_bytes);
    if (status == ISTHMUS_OK) path->has_uncommitted = false;
    return status;
}

/* ---- requests ---- */

isthmus_status tcp_tell(isthmus_path *path, const struct tcp_request *request, const void *bytes, size_t n_bytes)
{
    pthread_mutex_lock(&path->lock);
    isthmus_status status = send_request(path, request, bytes, n_bytes);
    pthread_mutex_unlock(&path->lock);
    return status;
}

isthmus_status tcp_tell_both(isthmus_path *path, const struct tcp_request *request, const void *bytes, size_t n_bytes,
                             const struct tcp_request *second)
{
    struct iovec parts[] = {{(void *)(uintptr_t)request, sizeof *request},
                            {(void *)(uintptr_t)bytes, n_bytes},
                            {(void *)(uintptr_t)second, sizeof *second}};
    pthread_mutex_lock(&path->lock);
    path->has_uncommitted = true;
    isthmus_status status = send_all(path, parts, sizeof parts / sizeof *parts);
    pthread_mutex_unlock(&path->lock);
    return status;
}

static isthmus_status ask_locked(isthmus_path *path, const struct tcp_request *request, struct tcp_reply *reply,
                                 void *bytes, size_t n_bytes)
{
    isthmus_status status = send_request(path, request, NULL, 0);
    return status != ISTHMUS_OK ? status : receive_reply(path, reply, bytes, n_bytes);
}

isthmus_status tcp_ask(isthmus_path *path, const struct tcp_request *request, struct tcp_reply *reply, void *bytes,
                       size_t n_bytes)
{
    pthread_mutex_lock(&path->lock);
    isthmus_status status = ask_locked(path, request, reply, bytes, n_bytes);
    pthread_mutex_unlock(&path->lock);
    return status;
}

isthmus_status tcp_commit(isthmus_path *path)
{
    const struct tcp_request request = {.kind = TCP_COMMIT};
    struct tcp_reply reply = {.is_refused = false};
    isthmus_status status = ISTHMUS_OK;
    if (path->fd < 0) return ISTHMUS_OK;
    pthread_mutex_lock(&path->lock);
    status = path->has_uncommitted ? ask_locked(path, &request, &reply, NULL, 0) : receive_owed(path);
    pthread_mutex_unlock(&path->lock);
    return status == ISTHMUS_OK && reply.is_refused ? tcp_refused(path) : status;
}

/* ---- commits without a wait ---- */

/* Sends all of it, or nothing: the rest of a request that the socket has begun to take follows at once. */
static isthmus_status send_commit(isthmus_path *path, const struct tcp_request *request)
{
    if (path->is_lost) return lose(path, "it was lost before");
    ssize_t sent = send(path->fd, request, sizeof *request, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return ISTHMUS_ERR_AGAIN;
    if (sent < 0) return lose(path, strerror(errno));
    struct iovec rest = {(char *)(uintptr_t)request + sent, sizeof *request - (size_t)sent};
    return rest.iov_len > 0 ? send_all(path, &rest, 1) : ISTHMUS_OK;
}

isthmus_status tcp_commit_begin(isthmus_path *path, uint64_t ticket)
{
    const struct tcp_request request = {.kind = TCP_COMMIT, .operand = ticket};
    isthmus_status status = ISTHMUS_OK;
    if (path->fd < 0) return ISTHMUS_OK;
    pthread_mutex_lock(&path->lock);
    if (path->has_uncommitted) {
        status = send_commit(path, &request);
        if (status == ISTHMUS_OK) {
            path->has_uncommitted = false;
            path->sent_ticket = ticket;
            path->n_owed++;
        }
    }
    pthread_mutex_unlock(&path->lock);
    return status;
}

/* Takes a whole reply, or nothing: AGAIN. */
static isthmus_status receive_if_there(isthmus_path *path, struct tcp_reply *reply)
{
    ssize_t got = recv(path->fd, reply, sizeof *reply, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0) return lose(path, "it has closed the connection");
    if (got < 0 && errno != EAGAIN && errno != EINTR) return lose(path, strerror(errno));
    if (got < (ssize_t)sizeof *reply) return ISTHMUS_ERR_AGAIN;
    return receive_all(path, reply, sizeof *reply);
}

isthmus_status tcp_commit_test(isthmus_path *path, uint64_t ticket)
{
    struct tcp_reply reply;
    isthmus_status status = ISTHMUS_OK;
    if (path->fd < 0) return ISTHMUS_OK;
    pthread_mutex_lock(&path->lock);
    while (path->done_ticket < ticket && path->n_owed > 0 && status == ISTHMUS_OK) {
        status = path->is_lost ? lose(path, "it was lost before") : receive_if_there(path, &reply);
        if (status == ISTHMUS_OK) status = note_reply(path, &reply);
    }
    pthread_mutex_unlock(&path->lock);
    return status;
}

/* ---- connections ---- */

/* 0, or errno. */
static int connect_within(int fd, uint32_t address, uint32_t port, int timeout_ms)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = address};
    int error = 0;
    socklen_t length = sizeof error;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    int n;
    while ((n = poll(&ready, 1, timeout_ms)) < 0 && errno == EINTR) {}
    if (n <= 0) return n == 0 ? ETIMEDOUT : errno;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

/* Small requests are sent at once, and keep-alives detect a host that is cut off. */
static void tune(int fd)
{
    int on = 1, idle_s = 3, interval_s = 2, count = 3, silence_ms = 1000 * SILENCE_S;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
}

static isthmus_status connect_to(isthmus_path *path, const struct tcp_card *card, bool is_here)
{
    const struct isthmus_services *s = path->tr->services;
    const uint32_t here = htonl(INADDR_LOOPBACK), *addresses = is_here ? &here : card->addresses;
    uint32_t n = is_here ? 1 : card->n_addresses;
    int error = EHOSTUNREACH, timeout_ms = 1000 * path->tr->timeout_s / (int)(n > 0 ? n : 1);
    for (uint32_t i = 0; i < n; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "socket: %s", strerror(errno));
        error = connect_within(fd, addresses[i], card->port, timeout_ms);
        if (error == 0) {
            path->fd = fd;
            tune(fd);
            return ISTHMUS_OK;
        }
        close(fd);
    }
    return s->fail(s->core, error == ECONNREFUSED ? ISTHMUS_ERR_PEER_LOST : ISTHMUS_ERR_UNREACHABLE,
                   "PE %d on %s cannot be reached at port %u: %s", path->pe, path->host_name, card->port,
                   strerror(error));
}

/* Sends this PE's number and the peer's secret. From here on the socket blocks, with a time limit until the reply. */
static isthmus_status introduce(isthmus_path *path, const struct tcp_card *card)
{
    const struct isthmus_services *s = path->tr->services;
    const struct tcp_request request = {.kind = TCP_HELLO, .length_bytes = sizeof(struct tcp_hello)};
    struct tcp_hello hello = {.pe = s->my_pe};
    struct tcp_reply reply;
    struct timeval patience = {.tv_sec = path->tr->timeout_s}, for_ever = {.tv_sec = 0};
    memcpy(hello.secret, card->secret, sizeof hello.secret);
    gethostname(hello.host_name, sizeof hello.host_name - 1);
    if (fcntl(path->fd, F_SETFL, 0) != 0 ||
        setsockopt(path->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        return s->fail(s->core, ISTHMUS_ERR_IO, "the socket to PE %d: %s", path->pe, strerror(errno));
    isthmus_status status = send_request(path, &request, &hello, sizeof hello);
    if (status == ISTHMUS_OK) status = receive_reply(path, &reply, NULL, 0);
    setsockopt(path->fd, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof for_ever);
    return status;
}

isthmus_status tcp_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    const struct isthmus_services *s = tr->services;
    struct tcp_card card;
    isthmus_path *path = calloc(1, sizeof *path);
    if (path == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d", peer->pe);
    memcpy(&card, peer->card, sizeof card); /* reach() has checked it */
    *path = (isthmus_path){.tr = tr, .pe = peer->pe, .fd = -1};
    snprintf(path->host_name, sizeof path->host_name, "%s", peer->host_name);
    pthread_mutex_init(&path->lock, NULL);
    isthmus_status status = ISTHMUS_OK;
    if (peer->pe != s->my_pe) {
        bool is_here = memcmp(peer->host->bytes, s->host->bytes, sizeof s->host->bytes) == 0;
        status = connect_to(path, &card, is_here);
        if (status == ISTHMUS_OK) status = introduce(path, &card);
    }
    if (status != ISTHMUS_OK) {
        if (path->fd >= 0) close(path->fd);
        free(path);
        return status;
    }
    pthread_mutex_lock(&tr->paths_lock);
    path->next = tr->paths;
    tr->paths = path;
    pthread_mutex_unlock(&tr->paths_lock);
    *out = path;
    return ISTHMUS_OK;
}

void tcp_path_close(isthmus_path *path)
{
    if (path == NULL) return;
    isthmus_tr *tr = path->tr;
    pthread_mutex_lock(&tr->paths_lock);
    isthmus_path **at = &tr->paths;
    while (*at != path) at = &(*at)->next;
    *at = path->next;
    pthread_mutex_unlock(&tr->paths_lock);
    if (path->fd >= 0) {
        const struct tcp_request bye = {.kind = TCP_BYE};
        (void)!send(path->fd, &bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT); /* it may be lost */
        close(path->fd);
    }
    free(path);
}
