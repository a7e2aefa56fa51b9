/* core/boot/uid_connection.c: the connections of the server of a unique id: bytes to frames and back, and strangers.
 * uid_job.c handles the frames.
 * A stranger is a connection that has not yet shown that it knows the secret. It gets a small buffer and limited time;
 * above a limit of strangers the oldest is closed. So PEs of the job can connect, however many strangers there are. */
#include "core/boot/uid_server_priv.h"

#include "core/base/atomic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10, MOST_STRANGERS = 4096, SWEEP_MS = 250, SHORT_TRIES = 8 };
enum {
    HELLO_BYTES = sizeof(struct ist_uid_head) + sizeof(struct ist_uid_hello),
    /* room that other frames leave, so that the end of the job can be sent when memory has ended */
    END_BYTES = sizeof(struct ist_uid_head) + IST_UID_WHY_MAX,
    FIRST_OUT_BYTES = 2 * END_BYTES
};

/* ---- out ---- */

static void watch(struct ist_uid_server *server, struct ist_uid_connection *connection, bool wants_to_write)
{
    struct epoll_event event = {.events = EPOLLIN | (wants_to_write ? EPOLLOUT : 0u), .data.ptr = connection};
    (void)epoll_ctl(server->events, EPOLL_CTL_MOD, connection->fd, &event);
}

static bool reserve(char **buffer, size_t *room, size_t needed)
{
    if (needed <= *room) return true;
    size_t grown = needed > 2 * *room ? needed : 2 * *room;
    char *bigger = realloc(*buffer, grown);
    if (bigger == NULL) return false;
    *buffer = bigger;
    *room = grown;
    return true;
}

static void flush_out(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    size_t sent = 0;
    while (sent < connection->out_used) {
        ssize_t n = send(connection->fd, connection->out + sent, connection->out_used - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break; /* full, or lost: the next event reports which */
        sent += (size_t)n;
    }
    connection->out_used -= sent;
    memmove(connection->out, connection->out + sent, connection->out_used);
    watch(server, connection, connection->out_used > 0);
    if (connection->is_last && connection->out_used == 0) shutdown(connection->fd, SHUT_WR);
}

static void append(struct ist_uid_connection *connection, const void *bytes, size_t n_bytes)
{
    if (bytes != NULL) memcpy(connection->out + connection->out_used, bytes, n_bytes);
    connection->out_used += n_bytes;
}

void ist_uid_queue(struct ist_uid_server *server, struct ist_uid_connection *connection,
                   const struct ist_uid_head *head, const char *key, const void *value)
{
    bool is_end = head->type == IST_UID_END || head->type == IST_UID_REFUSED || head->type == IST_UID_ABORT;
    size_t needed = connection->out_used + sizeof *head + head->key_bytes + head->value_bytes;
    if (!reserve(&connection->out, &connection->out_room, needed + (is_end ? 0 : END_BYTES))) {
        if (is_end)
            shutdown(connection->fd, SHUT_RDWR); /* it has been told before */
        else
            ist_uid_no_memory(server, needed);
        return;
    }
    append(connection, head, sizeof *head);
    append(connection, key, head->key_bytes);
    append(connection, value, head->value_bytes);
    flush_out(server, connection);
}

bool ist_uid_has_output(const struct ist_uid_server *server)
{
    for (const struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if (at->link != IST_UID_FROM_STRANGER && at->out_used > 0) return true;
    return false;
}

/* ---- in ---- */

/* A stranger may send a HELLO and nothing else. */
static bool is_acceptable(const struct ist_uid_connection *connection, const struct ist_uid_head *head)
{
    if (connection->link == IST_UID_FROM_STRANGER)
        return head->type == IST_UID_HELLO && head->key_bytes == 0 && head->value_bytes == sizeof(struct ist_uid_hello);
    return head->key_bytes <= IST_UID_KEY_MAX && head->value_bytes <= IST_UID_VALUE_MAX;
}

/* The job has failed, and what else arrives here is dropped. */
static void take_no_more(struct ist_uid_server *server, struct ist_uid_connection *connection, size_t n_bytes)
{
    ist_uid_no_memory(server, n_bytes);
    connection->is_last = true;
    flush_out(server, connection);
}

/* Handles the complete frames at the front of the input. Returns false if they are not frames of this protocol. */
static bool take_frames(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    struct ist_uid_head head;
    size_t at = 0;
    while (connection->in_used - at >= sizeof head && !connection->is_last) {
        memcpy(&head, connection->in + at, sizeof head);
        if (!is_acceptable(connection, &head)) return false;
        size_t frame_bytes = sizeof head + head.key_bytes + head.value_bytes;
        if (connection->in_used - at < frame_bytes) {
            if (!reserve(&connection->in, &connection->in_room, at + frame_bytes))
                take_no_more(server, connection, at + frame_bytes);
            break;
        }
        char key[IST_UID_KEY_MAX + 1];
        memcpy(key, connection->in + at + sizeof head, head.key_bytes);
        key[head.key_bytes] = '\0';
        const char *value = connection->in + at + sizeof head + head.key_bytes;
        server->n_frames++;
        if (server->is_leader)
            ist_uid_leader_frame(server, connection, &head, key, value);
        else
            ist_uid_job_frame(server, connection, &head, key, value);
        at += frame_bytes;
    }
    if (connection->is_last) at = connection->in_used; /* the last frame has been queued: further input is dropped */
    connection->in_used -= at;
    memmove(connection->in, connection->in + at, connection->in_used);
    return true;
}

bool ist_uid_take(struct ist_uid_server *server, struct ist_uid_connection *connection, const void *bytes,
                  size_t n_bytes)
{
    if (n_bytes == 0 || connection->is_last) return true;
    if (!reserve(&connection->in, &connection->in_room, connection->in_used + n_bytes)) {
        take_no_more(server, connection, connection->in_used + n_bytes);
        return true;
    }
    memcpy(connection->in + connection->in_used, bytes, n_bytes);
    connection->in_used += n_bytes;
    return take_frames(server, connection);
}

static void close_connection(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    if (connection->is_closed) return;
    connection->is_closed = true;
    ist_uid_stop_waiting(server, connection);
    if (server->is_leader)
        ist_uid_leader_lost(server, connection);
    else
        ist_uid_job_lost(server, connection);
    connection->next_closed = server->closed;
    server->closed = connection;
}

static void read_from(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    char bytes[READ_BYTES];
    bool is_stranger = connection->link == IST_UID_FROM_STRANGER;
    size_t room = is_stranger ? HELLO_BYTES : sizeof bytes;
    ssize_t n = recv(connection->fd, bytes, room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0 || !ist_uid_take(server, connection, bytes, (size_t)n)) close_connection(server, connection);
}

void ist_uid_serve(struct ist_uid_server *server, struct ist_uid_connection *connection, uint32_t events)
{
    if (connection->is_closed) return; /* closed just now in favour of another one */
    if ((events & EPOLLOUT) != 0) flush_out(server, connection);
    if ((events & ~(uint32_t)EPOLLOUT) != 0) read_from(server, connection);
}

/* ---- opening and closing ---- */

bool ist_uid_prove(struct ist_uid_server *server, struct ist_uid_connection *connection, struct ist_uid_hello *hello)
{
    uint8_t tag[IST_TAG_BYTES];
    struct ist_uid_head head = {.type = IST_UID_PROOF, .pe = -1, .value_bytes = sizeof tag};
    ist_uid_tag_hello(&server->uid, &connection->challenge, hello, tag);
    if (!ist_same_bytes(tag, hello->tag, sizeof tag)) {
        connection->is_last = true;
        ist_uid_queue(server, connection, &(struct ist_uid_head){.type = IST_UID_STRANGER}, NULL, NULL);
        return false;
    }
    ist_uid_tag_server(&server->uid, &connection->challenge, hello, tag);
    if (server->is_leader) head.pe = server->job.server_pe;
    hello->host_name[sizeof hello->host_name - 1] = '\0';
    connection->link = IST_UID_FROM_APPLICANT;
    connection->pe = hello->pe;
    connection->host = hello->host;
    server->n_strangers--;
    server->n_connections++;
    ist_uid_queue(server, connection, &head, NULL, tag);
    return true;
}

static void send_challenge(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    struct ist_uid_head head = {.type = IST_UID_CHALLENGE, .value_bytes = sizeof connection->challenge};
    connection->challenge.protocol = IST_UID_PROTOCOL;
    if (ist_random_bytes(connection->challenge.nonce, sizeof connection->challenge.nonce) == ISTHMUS_OK)
        ist_uid_queue(server, connection, &head, NULL, &connection->challenge);
    else
        close_connection(server, connection);
}

static void close_oldest_stranger(struct ist_uid_server *server)
{
    struct ist_uid_connection *oldest = NULL;
    for (struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if (at->link == IST_UID_FROM_STRANGER && !at->is_closed) oldest = at; /* new ones are at the front */
    if (oldest != NULL) close_connection(server, oldest);
}

static void close_strangers(struct ist_uid_server *server, int64_t until_ms)
{
    for (struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if (at->link == IST_UID_FROM_STRANGER && at->since_ms <= until_ms) close_connection(server, at);
}

/* Stops listening for a moment: without free descriptors accept would fail again and again. */
static void listen_again(struct ist_uid_server *server, bool listens)
{
    struct epoll_event event = {.events = listens ? EPOLLIN : 0, .data.ptr = NULL};
    (void)epoll_ctl(server->events, EPOLL_CTL_MOD, server->listener, &event);
    server->deaf_until_ms = listens ? 0 : ist_uid_now_ms() + SWEEP_MS;
}

/* No descriptor is free. Strangers make room if they have had time to prove themselves; without strangers, PEs have all
 * descriptors, and get the reason one after the other by the spare one. */
static void make_room(struct ist_uid_server *server)
{
    int spare = server->spare;
    if (server->n_strangers == 0) ist_uid_job_full(server);
    if (server->job.has_failed && spare >= 0) {
        server->spare = -1; /* first: the process may fork now */
        close(spare);
    }
    close_strangers(server, ist_uid_now_ms() - SWEEP_MS);
    listen_again(server, false);
}

static void connection_free(struct ist_uid_connection *connection)
{
    free(connection->in);
    free(connection->out);
    free(connection);
}

/* Returns NULL if memory is short. */
static struct ist_uid_connection *connection_new(void)
{
    struct ist_uid_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) return NULL;
    connection->in = malloc(HELLO_BYTES);
    connection->out = malloc(FIRST_OUT_BYTES);
    connection->in_room = HELLO_BYTES;
    connection->out_room = FIRST_OUT_BYTES;
    if (connection->in != NULL && connection->out != NULL) return connection;
    connection_free(connection);
    return NULL;
}

static void add_connection(struct ist_uid_server *server, struct ist_uid_connection *connection, int fd)
{
    connection->fd = fd;
    connection->pe = -1;
    connection->since_ms = ist_uid_now_ms();
    connection->next = server->connections;
    if (connection->next != NULL) connection->next->before = connection;
    /* The list is consistent at any time, because the process may fork now. */
    ist_store_release(&server->connections, connection);
    if (++server->n_strangers > MOST_STRANGERS) close_oldest_stranger(server);
}

/* Returns false if the system has no memory to report what arrives there. */
static bool add_to_events(const struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    return epoll_ctl(server->events, EPOLL_CTL_ADD, connection->fd, &event) == 0 || errno == EEXIST;
}

/* Connections made while the system had too little memory. */
static void watch_strangers(struct ist_uid_server *server)
{
    bool has_memory = true;
    for (struct ist_uid_connection *at = server->connections; at != NULL && has_memory; at = at->next)
        has_memory = at->link != IST_UID_FROM_STRANGER || at->is_closed || add_to_events(server, at);
    listen_again(server, has_memory);
}

struct ist_uid_connection *ist_uid_connect(struct ist_uid_server *server, int fd)
{
    struct ist_uid_connection *connection = connection_new();
    if (connection != NULL) add_connection(server, connection, fd);
    return connection;
}

struct ist_uid_connection *ist_uid_connect_root(struct ist_uid_server *server, int fd)
{
    struct ist_uid_connection *connection = ist_uid_connect(server, fd);
    if (connection == NULL) return NULL;
    server->n_strangers--;
    connection->link = IST_UID_FROM_ROOT;
    server->root = connection;
    if (server->events >= 0 && !add_to_events(server, connection)) return NULL;
    ist_uid_keep_alive(fd);
    return connection;
}

void ist_uid_accept(struct ist_uid_server *server)
{
    struct ist_uid_connection *connection = connection_new();
    if (connection == NULL) { /* the peer waits in the queue: there may be memory again */
        if (++server->n_short > SHORT_TRIES) ist_uid_no_memory(server, sizeof *connection);
        listen_again(server, false);
        return;
    }
    server->n_short = 0;
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) make_room(server);
    if (fd < 0) {
        connection_free(connection);
        return;
    }
    add_connection(server, connection, fd);
    if (!add_to_events(server, connection)) listen_again(server, false);
    if (!server->is_leader) ist_uid_keep_alive(fd); /* a leader's peers are on this host */
    send_challenge(server, connection);
}

static void drop_connection(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    server->n_strangers -= connection->link == IST_UID_FROM_STRANGER;
    epoll_ctl(server->events, EPOLL_CTL_DEL, connection->fd, NULL);
    close(connection->fd);
    connection_free(connection);
}

bool ist_uid_needs_sweep(const struct ist_uid_server *server)
{
    return server->n_strangers > 0 || server->deaf_until_ms > 0;
}

static void unlink_connection(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    struct ist_uid_connection **at = connection->before != NULL ? &connection->before->next : &server->connections;
    ist_store_release(at, connection->next); /* consistent at any time, as above */
    if (connection->next != NULL) connection->next->before = connection->before;
}

static void close_late_strangers(struct ist_uid_server *server)
{
    int64_t now_ms = ist_uid_now_ms();
    if (server->n_strangers == 0 || now_ms < server->next_sweep_ms) return;
    server->next_sweep_ms = now_ms + SWEEP_MS;
    close_strangers(server, now_ms - (int64_t)server->patience.reply_s * 1000);
}

void ist_uid_sweep(struct ist_uid_server *server)
{
    close_late_strangers(server);
    while (server->closed != NULL) {
        struct ist_uid_connection *connection = server->closed;
        server->closed = connection->next_closed;
        unlink_connection(server, connection);
        drop_connection(server, connection);
    }
    if (server->deaf_until_ms > 0 && ist_uid_now_ms() >= server->deaf_until_ms) watch_strangers(server);
}

void ist_uid_connections_fini(struct ist_uid_server *server)
{
    server->closed = NULL;
    while (server->connections != NULL) {
        struct ist_uid_connection *connection = server->connections;
        server->connections = connection->next;
        drop_connection(server, connection);
    }
}
