/* plugins/common/fd_pass.c: see fd_pass.h. The server: the descriptors that a PE offers, and which clients get them.
 * The conversation: the client sends one packet with the ticket, the server answers with one packet that carries the
 * descriptors, both close (fd_pass_wire.h). Sequenced packets keep each message whole. */
#include "plugins/common/fd_pass_priv.h"
#include "plugins/common/fd_pass_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

enum { BACKLOG = 4096, EVENTS_AT_ONCE = 32 };

struct fd_pass_server {
    const struct isthmus_services *services;
    struct fd_pass_address address;
    int listener, events;
    int reserve;          /* released for a client when no other descriptor is left; -1: it is in use */
    bool has_warned;      /* of strangers: repeated requests do not fill the log */
    bool can_be_traced;   /* by all of the user's processes, because this plugin has set that */
    pthread_mutex_t lock; /* of the offers; serving and offering are different threads */
    uint32_t next_id;
    struct fd_pass_table *table; /* of the offers */
};

isthmus_status fd_pass_share_read(const struct isthmus_services *services, enum fd_pass_share *out)
{
    static const char *const words[] = {
        [FD_PASS_AUTO] = "auto", [FD_PASS_SOCKET] = "socket", [FD_PASS_PIDFD] = "pidfd"};
    const char *wish = services->config(services->core, "SHARE");
    if (wish == NULL || *wish == '\0') wish = words[FD_PASS_AUTO];
    for (int i = FD_PASS_AUTO; i <= FD_PASS_PIDFD; i++) {
        if (strcmp(wish, words[i]) != 0) continue;
        *out = (enum fd_pass_share)i;
        return ISTHMUS_OK;
    }
    return services->fail(services->core, ISTHMUS_ERR_INVALID, "ISTHMUS_*_SHARE is '%s'; valid: auto, socket, pidfd",
                          wish);
}

socklen_t fd_pass_socket_name(const uint8_t name[16], struct sockaddr_un *out)
{
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    static const char digits[] = "0123456789abcdef", prefix[] = "isthmus-";
    char *at = out->sun_path + 1; /* a leading zero byte: the abstract namespace */
    memcpy(at, prefix, sizeof prefix - 1);
    at += sizeof prefix - 1;
    for (int i = 0; i < 16; i++) {
        *at++ = digits[name[i] >> 4];
        *at++ = digits[name[i] & 15];
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)(at - out->sun_path));
}

/* ---- server ---- */

static void hold_reserve(struct fd_pass_server *server)
{
    if (server->reserve < 0) server->reserve = fcntl(server->events, F_DUPFD_CLOEXEC, 0);
}

/* A PE that has used up its descriptors still serves its peers, which would otherwise wait for it. */
static int accept_client(struct fd_pass_server *server)
{
    int client = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client >= 0 || (errno != EMFILE && errno != ENFILE) || server->reserve < 0) return client;
    close(server->reserve);
    server->reserve = -1;
    return accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void end_client(struct fd_pass_server *server, int client)
{
    close(client); /* takes it out of the epoll set too */
    hold_reserve(server);
}

static isthmus_status open_common(struct fd_pass_server *server)
{
    const struct isthmus_services *s = server->services;
    struct fd_pass_address *address = &server->address;
    enum { RANDOM_BYTES = sizeof address->name + sizeof address->ticket + sizeof address->countersign };
    _Static_assert(offsetof(struct fd_pass_address, owner) == RANDOM_BYTES, "what is random comes first");
    if (getrandom(address, RANDOM_BYTES, 0) != RANDOM_BYTES)
        return s->fail(s->core, ISTHMUS_ERR_IO, "no random numbers to name this PE's socket: getrandom: %s",
                       strerror(errno));
    server->events = epoll_create1(EPOLL_CLOEXEC);
    if (server->events < 0)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY,
                       "cannot open the server that passes descriptors to peers: epoll: %s", strerror(errno));
    hold_reserve(server);
    return ISTHMUS_OK;
}

/* Yama lets only its parents trace a process, unless the process permits more; without Yama, nothing changes. The
 * permission opens the process to all processes of its user, so it is given only where the user has chosen `pidfd`. */
static void let_peers_trace(struct fd_pass_server *server)
{
    server->can_be_traced = prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0) == 0;
}

static isthmus_status open_table(struct fd_pass_server *server, enum fd_pass_share share)
{
    struct fd_pass_address *address = &server->address;
    if (share == FD_PASS_PIDFD) let_peers_trace(server);
    isthmus_status status = fd_pass_table_open(server->services, address->countersign, &server->table);
    if (status != ISTHMUS_OK || share == FD_PASS_SOCKET) return status;
    status = fd_pass_table_show(server->services, server->table, &address->owner);
    return share == FD_PASS_PIDFD ? status : ISTHMUS_OK; /* else there is the socket */
}

/* By the system or a sandbox, not for want of something. */
static bool is_refused(int error)
{
    return error == EAFNOSUPPORT || error == EPERM || error == EACCES || error == ENOSYS;
}

static isthmus_status listen_on_random_name(struct fd_pass_server *server)
{
    const struct isthmus_services *s = server->services;
    struct sockaddr_un address;
    socklen_t length = fd_pass_socket_name(server->address.name, &address);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listener < 0)
        return s->fail(s->core, is_refused(errno) ? ISTHMUS_ERR_UNSUPPORTED : ISTHMUS_ERR_NO_MEMORY,
                       "cannot open the server that passes descriptors to peers: socket: %s", strerror(errno));
    struct epoll_event event = {.events = EPOLLIN, .data.fd = server->listener};
    if (bind(server->listener, (struct sockaddr *)&address, length) != 0 || listen(server->listener, BACKLOG) != 0 ||
        epoll_ctl(server->events, EPOLL_CTL_ADD, server->listener, &event) != 0)
        return s->fail(s->core, ISTHMUS_ERR_IO,
                       "cannot open the server that passes descriptors to peers: bind, listen: %s", strerror(errno));
    return ISTHMUS_OK;
}

/* A sandbox without sockets leaves the table, if the system lets that be used. */
static isthmus_status open_socket(struct fd_pass_server *server, enum fd_pass_share share)
{
    const struct isthmus_services *s = server->services;
    if (share == FD_PASS_PIDFD) return ISTHMUS_OK;
    isthmus_status status = listen_on_random_name(server);
    if (status == ISTHMUS_OK || share == FD_PASS_SOCKET || server->address.owner.pid == 0) return status;
    if (server->listener >= 0) close(server->listener); /* a peer that reached it would wait for ever */
    server->listener = -1;
    s->log(s->core, ISTHMUS_LOG_INFO,
           "this PE may not have a socket to pass descriptors by; peers take them out of it");
    return ISTHMUS_OK;
}

static isthmus_status open_parts(struct fd_pass_server *server)
{
    enum fd_pass_share share = FD_PASS_AUTO;
    isthmus_status status = fd_pass_share_read(server->services, &share);
    if (status == ISTHMUS_OK) status = open_common(server);
    if (status == ISTHMUS_OK) status = open_table(server, share);
    if (status == ISTHMUS_OK) status = open_socket(server, share);
    return status;
}

isthmus_status fd_pass_server_open(const struct isthmus_services *services, struct fd_pass_server **out)
{
    struct fd_pass_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY,
                              "no memory for the server that passes descriptors to peers");
    server->services = services;
    server->listener = server->events = server->reserve = -1;
    pthread_mutex_init(&server->lock, NULL);
    isthmus_status status = open_parts(server);
    if (status != ISTHMUS_OK) {
        fd_pass_server_close(server);
        return status;
    }
    *out = server;
    return ISTHMUS_OK;
}

void fd_pass_server_close(struct fd_pass_server *server)
{
    if (server == NULL) return;
    if (server->can_be_traced) prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    if (server->listener >= 0) close(server->listener);
    if (server->reserve >= 0) close(server->reserve);
    if (server->events >= 0) close(server->events); /* clients of connections not yet served time out */
    fd_pass_table_close(server->table, &server->address.owner);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

const struct fd_pass_address *fd_pass_server_address(const struct fd_pass_server *server) { return &server->address; }

int fd_pass_server_event_fd(const struct fd_pass_server *server) { return server->events; }

isthmus_status fd_pass_offer(struct fd_pass_server *server, int fd, uint32_t *id)
{
    pthread_mutex_lock(&server->lock);
    isthmus_status status = fd_pass_table_add(server->services, server->table, server->next_id + 1, fd);
    if (status == ISTHMUS_OK) *id = ++server->next_id;
    pthread_mutex_unlock(&server->lock);
    return status;
}

void fd_pass_withdraw(struct fd_pass_server *server, uint32_t id)
{
    pthread_mutex_lock(&server->lock);
    fd_pass_table_remove(server->table, id);
    pthread_mutex_unlock(&server->lock);
}

/* Returns true if the process at the other end, as the kernel reports it, belongs to this user. Where it reports none,
 * errno has the reason, and the sender is of user -1. */
bool fd_pass_is_own_user(int fd, struct ucred *sender)
{
    socklen_t length = sizeof *sender;
    *sender = (struct ucred){.pid = 0, .uid = (uid_t)-1};
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, sender, &length) == 0 && sender->uid == geteuid();
}

static void warn_of(struct fd_pass_server *server, const struct ucred *sender)
{
    const struct isthmus_services *s = server->services;
    if (sender->uid == (uid_t)-1)
        s->log(s->core, server->has_warned ? ISTHMUS_LOG_DEBUG : ISTHMUS_LOG_WARN,
               "refused a request for this PE's memory: this system does not report its sender (SO_PEERCRED: %s); "
               "ISTHMUS_*_SHARE=pidfd needs no socket",
               strerror(errno));
    else
        s->log(s->core, server->has_warned ? ISTHMUS_LOG_DEBUG : ISTHMUS_LOG_WARN,
               "refused a request for this PE's memory: process %d of user %d does not belong to this job",
               (int)sender->pid, (int)sender->uid);
    server->has_warned = true;
}

static void send_offers(struct fd_pass_server *server, int client)
{
    struct fd_pass_reply reply;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int) * FD_PASS_MAX_OFFERS)];
    } control = {.room = {0}};
    struct iovec part = {&reply, sizeof reply};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fds[FD_PASS_MAX_OFFERS];
    fd_pass_reply_write(&server->address, &reply);

    pthread_mutex_lock(&server->lock);
    reply.n = fd_pass_table_list(server->table, reply.ids, fds);
    if (reply.n > 0) {
        message.msg_control = control.room;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * reply.n);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * reply.n);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * reply.n);
    }
    (void)sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT); /* a client that has left needs no reply */
    pthread_mutex_unlock(&server->lock);
}

static void serve_client(struct fd_pass_server *server, int client)
{
    struct fd_pass_request request;
    struct ucred sender;
    ssize_t got = recv(client, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC); /* the length it had when sent */
    if (got > 0 && fd_pass_request_check(&server->address, &request, (size_t)got))
        send_offers(server, client);
    else if (got > 0 && fd_pass_is_own_user(client, &sender))
        warn_of(server, &sender);
    end_client(server, client);
}

/* The system has no memory to report the request, which clients send as soon as they are connected. */
static void serve_unwatched(struct fd_pass_server *server, int client)
{
    enum { PATIENCE_MS = 1000 };
    struct pollfd request = {.fd = client, .events = POLLIN};
    (void)poll(&request, 1, PATIENCE_MS);
    serve_client(server, client);
}

/* Only processes of this PE's user may send a request. */
static void accept_clients(struct fd_pass_server *server)
{
    for (;;) {
        int client = accept_client(server);
        if (client < 0) return; /* EAGAIN: that was all */
        struct ucred sender;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = client};
        if (!fd_pass_is_own_user(client, &sender)) {
            warn_of(server, &sender);
            end_client(server, client);
        } else if (epoll_ctl(server->events, EPOLL_CTL_ADD, client, &event) != 0) {
            serve_unwatched(server, client);
        }
    }
}

int fd_pass_serve(struct fd_pass_server *server)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(server->events, events, EVENTS_AT_ONCE, 0), served = 0;
    for (int i = 0; i < n; i++) {
        if (events[i].data.fd == server->listener) {
            accept_clients(server);
        } else {
            serve_client(server, events[i].data.fd);
            served++;
        }
    }
    return served;
}
