/* tcp_serve.c: the target's side. progress() executes the requests of peers here, those of one peer in the order in
 * which they were sent; nothing here blocks. A connection with a pending reply is not read until the reply has been
 * sent. */
#include "tcp.h"

#include <isthmus/amo_cpu.h>
#include <isthmus/copy_cpu.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 << 10, BACKLOG = 4096, EVENTS = 16, ROUNDS_PER_CONNECTION = 16 };

struct connection {
    struct connection *next;
    int fd;
    uint32_t waits_for; /* EPOLLIN or EPOLLOUT */
    int32_t pe;         /* -1: no HELLO has arrived */
    bool has_left;      /* with BYE */
    bool has_refused;   /* a put or an atomic, which have no reply; the next one to data or COMMIT shows it */
    char host_name[60];

    char *put_at; /* where the rest of a put's data goes; NULL: nowhere */
    uint64_t put_left_bytes;
    const char *get_at; /* where the rest of a get's data begins */
    uint64_t get_left_bytes;

    size_t in_begin, in_end, out_begin, out_end;
    char in[BUFFER_BYTES], out[BUFFER_BYTES];
};

struct tcp_server {
    isthmus_tr *tr;
    int listener, events;
    struct connection *connections;
};

/* ---- life ---- */

static isthmus_status listen_anywhere(struct tcp_server *server)
{
    const struct isthmus_services *s = server->tr->services;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    socklen_t length = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    server->events = epoll_create1(EPOLL_CLOEXEC);
    if (server->listener < 0 || server->events < 0 ||
        bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, BACKLOG) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) != 0 ||
        epoll_ctl(server->events, EPOLL_CTL_ADD, server->listener, &event) != 0)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "a socket to listen on: %s", strerror(errno));
    server->tr->card.port = ntohs(address.sin_port);
    return ISTHMUS_OK;
}

isthmus_status tcp_server_open(isthmus_tr *tr)
{
    struct tcp_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    *server = (struct tcp_server){.tr = tr, .listener = -1, .events = -1};
    isthmus_status status = listen_anywhere(server);
    if (status != ISTHMUS_OK) {
        tcp_server_close(server);
        return status;
    }
    tr->server = server;
    return ISTHMUS_OK;
}

static void close_connection(struct tcp_server *server, struct connection *c)
{
    struct connection **at = &server->connections;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    close(c->fd);
    free(c);
}

void tcp_server_close(struct tcp_server *server)
{
    if (server == NULL) return;
    while (server->connections != NULL) close_connection(server, server->connections);
    if (server->listener >= 0) close(server->listener);
    if (server->events >= 0) close(server->events);
    free(server);
}

/* ---- replies ---- */

/* Fills the buffer with more of a get's data. The processor copies it first, so that no word is torn. */
static void refill(struct connection *c)
{
    size_t n = c->get_left_bytes < BUFFER_BYTES ? (size_t)c->get_left_bytes : BUFFER_BYTES;
    isthmus_copy_cpu(c->out, c->get_at, n);
    c->get_at += n;
    c->get_left_bytes -= n;
    c->out_begin = 0;
    c->out_end = n;
}

static bool owes(const struct connection *c) { return c->out_begin < c->out_end || c->get_left_bytes > 0; }

/* Sends as much of the pending reply as the socket takes. Returns false if the connection is lost. */
static bool pay(struct connection *c)
{
    while (owes(c)) {
        if (c->out_begin == c->out_end) refill(c);
        ssize_t sent = send(c->fd, c->out + c->out_begin, c->out_end - c->out_begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) return errno == EAGAIN || errno == EINTR;
        c->out_begin += (size_t)sent;
    }
    return true;
}

static void reply(struct connection *c, bool is_refused, uint64_t value)
{
    const struct tcp_reply r = {.is_refused = is_refused, .value = value};
    /* The peer's operations are visible to every PE before the reply leaves. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(c->out, &r, sizeof r);
    c->out_begin = 0;
    c->out_end = sizeof r;
}

/* ---- requests: each returns false if the request is invalid, and the connection is to be closed ---- */

static bool do_hello(struct tcp_server *server, struct connection *c, const struct tcp_hello *hello)
{
    uint8_t difference = 0;
    for (int i = 0; i < TCP_SECRET_BYTES; i++) difference |= hello->secret[i] ^ server->tr->card.secret[i];
    if (difference != 0 || hello->pe < 0) return false;
    c->pe = hello->pe;
    memcpy(c->host_name, hello->host_name, sizeof c->host_name);
    c->host_name[sizeof c->host_name - 1] = '\0';
    reply(c, false, 0);
    return true;
}

static bool do_put(struct tcp_server *server, struct connection *c, const struct tcp_request *r)
{
    c->put_at = tcp_extent_find(server->tr, r->extent, r->offset_bytes, r->length_bytes);
    c->put_left_bytes = r->length_bytes; /* also where they are dropped */
    if (c->put_at == NULL) c->has_refused = true;
    return true;
}

static bool take_refusal(struct connection *c)
{
    bool has_refused = c->has_refused;
    c->has_refused = false;
    return has_refused;
}

static bool do_get(struct tcp_server *server, struct connection *c, const struct tcp_request *r)
{
    c->get_at = tcp_extent_find(server->tr, r->extent, r->offset_bytes, r->length_bytes);
    if (take_refusal(c)) c->get_at = NULL;
    reply(c, c->get_at == NULL, 0);
    if (c->get_at != NULL) c->get_left_bytes = r->length_bytes;
    return true;
}

static bool do_amo(struct tcp_server *server, struct connection *c, const struct tcp_request *r)
{
    size_t size = r->bits < ISTHMUS_BITS_COUNT ? (size_t)1 << r->bits : 0;
    char *at = tcp_extent_find(server->tr, r->extent, r->offset_bytes, size);
    if (size == 0 || r->op >= ISTHMUS_AMO_COUNT) return false;
    bool is_refused = at == NULL || (uintptr_t)at % size != 0;
    uint64_t old = is_refused ? 0 : isthmus_amo_cpu(r->op, at, r->operand, r->compare, size);
    if (r->kind == TCP_FETCHING_AMO)
        reply(c, take_refusal(c) || is_refused, old);
    else if (is_refused)
        c->has_refused = true;
    return true;
}

static bool do_request(struct tcp_server *server, struct connection *c, const struct tcp_request *r)
{
    if (c->pe < 0) return false; /* HELLO must be first */
    switch (r->kind) {
    case TCP_CHECK: reply(c, tcp_extent_find(server->tr, r->extent, 0, r->length_bytes) == NULL, 0); return true;
    case TCP_PUT: return do_put(server, c, r);
    case TCP_GET: return do_get(server, c, r);
    case TCP_AMO:
    case TCP_FETCHING_AMO: return do_amo(server, c, r);
    case TCP_COMMIT: reply(c, take_refusal(c), r->operand); return true;
    case TCP_BYE: c->has_left = true; return true;
    default: return false;
    }
}

/* ---- received bytes ---- */

/* Data of a put. A piece ends where a word of the target ends, so that no PE ever reads half of a word. */
static bool take_data(struct connection *c)
{
    size_t n = c->in_end - c->in_begin;
    if (n >= c->put_left_bytes) {
        n = (size_t)c->put_left_bytes;
    } else if (c->put_at != NULL) {
        size_t beyond = (uintptr_t)(c->put_at + n) % 8;
        if (beyond >= n) return false; /* more has to arrive first */
        n -= beyond;
    }
    if (c->put_at != NULL) {
        isthmus_copy_cpu(c->put_at, c->in + c->in_begin, n);
        c->put_at += n;
    }
    c->in_begin += n;
    c->put_left_bytes -= n;
    return true;
}

enum step { STEP_DONE, STEP_NEEDS_MORE, STEP_NONSENSE };

/* One request, or a piece of data. */
static enum step take(struct tcp_server *server, struct connection *c)
{
    struct tcp_request request;
    struct tcp_hello hello;
    const char *at = c->in + c->in_begin;
    size_t n = c->in_end - c->in_begin, needed = sizeof request;
    if (c->put_left_bytes > 0) return n > 0 && take_data(c) ? STEP_DONE : STEP_NEEDS_MORE;
    if (n < needed) return STEP_NEEDS_MORE;
    memcpy(&request, at, sizeof request);
    bool makes_sense;
    if (request.kind == TCP_HELLO) {
        needed += sizeof hello;
        if (n < needed) return STEP_NEEDS_MORE;
        memcpy(&hello, at + sizeof request, sizeof hello);
        makes_sense = do_hello(server, c, &hello);
    } else {
        makes_sense = do_request(server, c, &request);
    }
    c->in_begin += needed;
    return makes_sense ? STEP_DONE : STEP_NONSENSE;
}

/* Reads more from the socket. Returns false if the connection is lost. Sets *came if bytes have arrived. */
static bool receive(struct connection *c, bool *came)
{
    memmove(c->in, c->in + c->in_begin, c->in_end - c->in_begin);
    c->in_end -= c->in_begin;
    c->in_begin = 0;
    ssize_t got = recv(c->fd, c->in + c->in_end, sizeof c->in - c->in_end, MSG_DONTWAIT);
    *came = got > 0;
    if (got > 0) c->in_end += (size_t)got;
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Serves every whole request in the buffer. Returns false if a request is invalid or the connection is lost. */
static bool drain(struct tcp_server *server, struct connection *c)
{
    for (;;) {
        if (!pay(c)) return false;
        enum step step = owes(c) ? STEP_NEEDS_MORE : take(server, c);
        if (step != STEP_DONE) return step != STEP_NONSENSE;
    }
}

/* Serves a connection for a limited number of rounds, because other connections wait, too. Bytes left unread in the
 * socket wake this PE again; a request left in the buffer would not, so no whole one stays there. Returns false if the
 * connection is to be closed. */
static bool serve(struct tcp_server *server, struct connection *c)
{
    bool came = true;
    if (!drain(server, c)) return false;
    for (int round = 0; came && !owes(c) && round < ROUNDS_PER_CONNECTION; round++)
        if (!receive(c, &came) || !drain(server, c)) return false;
    return true;
}

/* ---- progress ---- */

static void accept_one(struct tcp_server *server)
{
    int on = 1, fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    struct connection *c = malloc(sizeof *c);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (c == NULL || epoll_ctl(server->events, EPOLL_CTL_ADD, fd, &event) != 0) {
        close(fd); /* the peer sees the end of the connection and reports it */
        free(c);
        return;
    }
    memset(c, 0, offsetof(struct connection, in));
    c->fd = fd;
    c->pe = -1;
    c->waits_for = EPOLLIN;
    c->next = server->connections;
    server->connections = c;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

static void sleep_on_what_is_needed(struct tcp_server *server, struct connection *c)
{
    uint32_t needed = owes(c) ? EPOLLOUT : EPOLLIN;
    struct epoll_event event = {.events = needed, .data.ptr = c};
    if (needed == c->waits_for) return;
    c->waits_for = needed;
    (void)epoll_ctl(server->events, EPOLL_CTL_MOD, c->fd, &event);
}

/* Returns PEER_LOST if the connection ended without a BYE. */
static isthmus_status serve_and_watch(struct tcp_server *server, struct connection *c)
{
    const struct isthmus_services *s = server->tr->services;
    isthmus_status status = ISTHMUS_OK;
    if (serve(server, c)) {
        sleep_on_what_is_needed(server, c);
        return ISTHMUS_OK;
    }
    if (c->pe >= 0 && !c->has_left)
        status = s->fail(s->core, ISTHMUS_ERR_PEER_LOST, "PE %d on %s is lost: it has closed the connection", c->pe,
                         c->host_name);
    close_connection(server, c);
    return status;
}

int32_t tcp_progress(isthmus_tr *tr)
{
    struct tcp_server *server = tr->server;
    struct epoll_event events[EVENTS];
    int n = epoll_wait(server->events, events, EVENTS, 0);
    isthmus_status lost = ISTHMUS_OK;
    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == NULL) {
            accept_one(server);
            continue;
        }
        isthmus_status status = serve_and_watch(server, events[i].data.ptr);
        if (status != ISTHMUS_OK) lost = status;
    }
    return lost != ISTHMUS_OK ? lost : n > 0 ? n : 0;
}

isthmus_status tcp_arm(isthmus_tr *tr, int32_t *event_fd)
{
    *event_fd = tr->server->events;
    return ISTHMUS_OK;
}
