/* plugins/common/fd_pass.c: see fd_pass.h.
 * The conversation: the client sends one packet with the ticket, the server answers with one packet that carries the
 * descriptors, both close (fd_pass_wire.h). Sequenced packets keep each message whole. */
#include "plugins/common/fd_pass_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 4096, EVENTS_AT_ONCE = 32, STEPS_PER_S = 4 };

struct fd_pass_server {
    const struct isthmus_services *services;
    struct fd_pass_address address;
    int listener, events;
    int reserve;          /* given up for a client when there is no other descriptor left; -1: it is in use */
    bool has_warned;      /* of strangers: whoever goes on asking does not fill the log */
    pthread_mutex_t lock; /* of the offers; serving and offering are different threads */
    uint32_t next_id, n;
    uint32_t ids[FD_PASS_MAX_OFFERS];
    int fds[FD_PASS_MAX_OFFERS];
};

static socklen_t address_of(const uint8_t name[16], struct sockaddr_un *out)
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
    if (server->reserve < 0) server->reserve = fcntl(server->listener, F_DUPFD_CLOEXEC, 0);
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

static isthmus_status listen_on_random_name(struct fd_pass_server *server)
{
    const struct isthmus_services *s = server->services;
    struct sockaddr_un address;
    if (getrandom(&server->address, sizeof server->address, 0) != (ssize_t)sizeof server->address)
        return s->fail(s->core, ISTHMUS_ERR_IO, "getrandom: %s", strerror(errno));
    socklen_t length = address_of(server->address.name, &address);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listener < 0)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "socket for passing descriptors: %s", strerror(errno));
    if (bind(server->listener, (struct sockaddr *)&address, length) != 0 || listen(server->listener, BACKLOG) != 0)
        return s->fail(s->core, ISTHMUS_ERR_IO, "socket for passing descriptors: bind, listen: %s", strerror(errno));
    struct epoll_event event = {.events = EPOLLIN, .data.fd = server->listener};
    server->events = epoll_create1(EPOLL_CLOEXEC);
    if (server->events < 0 || epoll_ctl(server->events, EPOLL_CTL_ADD, server->listener, &event) != 0)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "epoll for passing descriptors: %s", strerror(errno));
    hold_reserve(server);
    return ISTHMUS_OK;
}

isthmus_status fd_pass_server_open(const struct isthmus_services *services, struct fd_pass_server **out)
{
    struct fd_pass_server *server = calloc(1, sizeof *server);
    if (server == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a server");
    server->services = services;
    server->listener = server->events = server->reserve = -1;
    pthread_mutex_init(&server->lock, NULL);
    isthmus_status status = listen_on_random_name(server);
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
    if (server->listener >= 0) close(server->listener);
    if (server->reserve >= 0) close(server->reserve);
    if (server->events >= 0) close(server->events); /* connections not yet served go with their clients' time-out */
    for (uint32_t i = 0; i < server->n; i++) close(server->fds[i]);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

const struct fd_pass_address *fd_pass_server_address(const struct fd_pass_server *server) { return &server->address; }

int fd_pass_server_event_fd(const struct fd_pass_server *server) { return server->events; }

isthmus_status fd_pass_offer(struct fd_pass_server *server, int fd, uint32_t *id)
{
    const struct isthmus_services *s = server->services;
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&server->lock);
    if (server->n == FD_PASS_MAX_OFFERS) {
        status = s->fail(s->core, ISTHMUS_ERR_LIMIT, "more than %d descriptors on offer", FD_PASS_MAX_OFFERS);
    } else {
        int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (own < 0) {
            status = s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "descriptor %d: %s", fd, strerror(errno));
        } else {
            server->fds[server->n] = own;
            server->ids[server->n++] = *id = ++server->next_id;
        }
    }
    pthread_mutex_unlock(&server->lock);
    return status;
}

void fd_pass_withdraw(struct fd_pass_server *server, uint32_t id)
{
    pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; i < server->n; i++) {
        if (server->ids[i] != id) continue;
        close(server->fds[i]);
        server->n--;
        server->ids[i] = server->ids[server->n];
        server->fds[i] = server->fds[server->n];
        break;
    }
    pthread_mutex_unlock(&server->lock);
}

/* Who is at the other end, as the kernel says? */
static bool is_of_own_user(int fd, struct ucred *who)
{
    socklen_t length = sizeof *who;
    *who = (struct ucred){.pid = 0, .uid = (uid_t)-1};
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &length) == 0 && who->uid == geteuid();
}

static void warn_of(struct fd_pass_server *server, const struct ucred *who)
{
    const struct isthmus_services *s = server->services;
    s->log(s->core, server->has_warned ? ISTHMUS_LOG_DEBUG : ISTHMUS_LOG_WARN,
           "process %d of user %d, which does not belong to this job, asked for this PE's memory and was refused",
           (int)who->pid, (int)who->uid);
    server->has_warned = true;
}

/* Only processes of our own user get as far as sending a request. */
static void accept_clients(struct fd_pass_server *server)
{
    for (;;) {
        int client = accept_client(server);
        if (client < 0) return; /* EAGAIN: that was all */
        struct ucred who;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = client};
        if (!is_of_own_user(client, &who)) {
            warn_of(server, &who);
            end_client(server, client);
        } else if (epoll_ctl(server->events, EPOLL_CTL_ADD, client, &event) != 0) {
            end_client(server, client);
        }
    }
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
    fd_pass_reply_write(&server->address, &reply);

    pthread_mutex_lock(&server->lock);
    reply.n = server->n;
    memcpy(reply.ids, server->ids, sizeof reply.ids);
    if (server->n > 0) {
        message.msg_control = control.room;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * server->n);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * server->n);
        memcpy(CMSG_DATA(header), server->fds, sizeof(int) * server->n);
    }
    (void)sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT); /* a client that went away asks nobody again */
    pthread_mutex_unlock(&server->lock);
}

static void serve_client(struct fd_pass_server *server, int client)
{
    struct fd_pass_request request;
    struct ucred who;
    ssize_t got = recv(client, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC); /* the length it had when sent */
    if (got > 0 && fd_pass_request_check(&server->address, &request, (size_t)got))
        send_offers(server, client);
    else if (got > 0 && is_of_own_user(client, &who))
        warn_of(server, &who);
    end_client(server, client);
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

/* ---- client ---- */

static isthmus_status fail_lost(const struct isthmus_services *s, const struct isthmus_peer *peer, const char *what)
{
    isthmus_status status = errno == EAGAIN ? ISTHMUS_ERR_UNREACHABLE : ISTHMUS_ERR_PEER_LOST;
    if (errno == EAGAIN)
        return s->fail(s->core, status, "PE %d on %s does not answer (stopped, or its host is overloaded): %s",
                       peer->pe, peer->host_name, what);
    return s->fail(s->core, status, "PE %d on %s has ended: %s: %s", peer->pe, peer->host_name, what, strerror(errno));
}

/* A peer that has nobody to answer right now: for a step longer? */
static bool waits_on(const struct isthmus_services *s, unsigned *steps_left)
{
    if (errno != EAGAIN || *steps_left == 0) return false;
    --*steps_left;
    bool has_look = s->struct_size > offsetof(struct isthmus_services, still_waits) && s->still_waits != NULL;
    if (has_look) s->still_waits(s->core);
    return true;
}

/* The other end of the socket has closed it: because it refuses us, or because its process is about to be gone? */
static bool is_ending(int fd)
{
    enum { PATIENCE_MS = 50 }; /* files are closed early in the end of a process */
    struct ucred who;
    socklen_t length = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 || who.pid <= 0) return false;
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, who.pid, 0), .events = POLLIN};
    if (end.fd < 0) return errno == ESRCH;
    bool has_ended = poll(&end, 1, PATIENCE_MS) == 1;
    close(end.fd);
    return has_ended;
}

/* Why the descriptors that came are not taken, in words. */
static isthmus_status fail_reply(const struct isthmus_services *s, const struct isthmus_peer *peer,
                                 isthmus_status status, bool was_cut)
{
    const char *why = was_cut                            ? "this process has too many files open"
                      : status == ISTHMUS_ERR_PERMISSION ? "they are of a process that does not belong to this job"
                                                         : "the answer is not of our version";
    return s->fail(s->core, was_cut ? ISTHMUS_ERR_NO_MEMORY : status, "descriptors from PE %d on %s: %s", peer->pe,
                   peer->host_name, why);
}

static isthmus_status receive_bundle(const struct isthmus_services *s, const struct isthmus_peer *peer, int fd,
                                     const struct fd_pass_address *address, unsigned *steps_left,
                                     struct fd_pass_bundle *out)
{
    struct fd_pass_reply reply;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int) * FD_PASS_MAX_OFFERS)];
    } control;
    struct iovec part = {&reply, sizeof reply};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    while (got < 0 && waits_on(s, steps_left)) got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (got == 0 && is_ending(fd)) {
        errno = ECONNRESET;
        got = -1;
    }
    if (got < 0) return fail_lost(s, peer, "waiting for descriptors");
    if (got == 0)
        return s->fail(s->core, ISTHMUS_ERR_PERMISSION, "PE %d on %s refuses to share its memory (another user or job)",
                       peer->pe, peer->host_name);

    struct fd_pass_bundle bundle = {.n = 0};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        bundle.n = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(bundle.fds, CMSG_DATA(header), sizeof(int) * bundle.n);
    }
    bool was_cut = (message.msg_flags & MSG_CTRUNC) != 0;
    isthmus_status status = fd_pass_reply_check(address, &reply, (size_t)got, bundle.n, &reply);
    if (status != ISTHMUS_OK || was_cut) {
        fd_pass_bundle_close(&bundle);
        return fail_reply(s, peer, status, was_cut);
    }
    memcpy(bundle.ids, reply.ids, sizeof bundle.ids);
    *out = bundle;
    return ISTHMUS_OK;
}

isthmus_status fd_pass_fetch(const struct isthmus_services *services, const struct isthmus_peer *peer,
                             const struct fd_pass_address *address, unsigned timeout_s, struct fd_pass_bundle *out)
{
    const struct isthmus_services *s = services;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "socket to PE %d: %s", peer->pe, strerror(errno));
    const struct timeval step = {.tv_usec = 1000000 / STEPS_PER_S};
    unsigned steps_left = timeout_s * STEPS_PER_S;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof step);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &step, sizeof step);

    struct fd_pass_request request;
    struct ucred who;
    fd_pass_request_write(address, &request);
    struct sockaddr_un to;
    socklen_t length = address_of(address->name, &to);
    isthmus_status status;
    int refused = connect(fd, (struct sockaddr *)&to, length); /* it waits while many others wait to be let in */
    while (refused != 0 && waits_on(s, &steps_left)) refused = connect(fd, (struct sockaddr *)&to, length);
    if (refused != 0)
        status = fail_lost(s, peer, "connecting to it");
    else if (!is_of_own_user(fd, &who)) /* before it gets to see the ticket */
        status = s->fail(s->core, ISTHMUS_ERR_PERMISSION, "process %d of user %d has taken the place of PE %d on %s",
                         (int)who.pid, (int)who.uid, peer->pe, peer->host_name);
    else if (send(fd, &request, sizeof request, MSG_NOSIGNAL) != (ssize_t)sizeof request)
        status = fail_lost(s, peer, "asking for descriptors");
    else
        status = receive_bundle(s, peer, fd, address, &steps_left, out);
    close(fd);
    return status;
}

void fd_pass_bundle_close(struct fd_pass_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->n; i++) close(bundle->fds[i]);
    bundle->n = 0;
}

/* ---- one after the other ---- */

isthmus_status fd_pass_client_open(const struct isthmus_services *services, const struct isthmus_peer *peer,
                                   const struct fd_pass_address *address, unsigned timeout_s,
                                   struct fd_pass_client *out)
{
    *out = (struct fd_pass_client){.services = services, .address = *address, .timeout_s = timeout_s, .pe = peer->pe};
    snprintf(out->host_name, sizeof out->host_name, "%s", peer->host_name);
    return fd_pass_fetch(services, peer, address, timeout_s, &out->bundle);
}

void fd_pass_client_close(struct fd_pass_client *client) { fd_pass_bundle_close(&client->bundle); }

/* Take the descriptor with this number out of the bundle; -1: it is not there. */
static int take_out(struct fd_pass_bundle *bundle, uint32_t id)
{
    for (uint32_t i = 0; i < bundle->n; i++) {
        if (bundle->ids[i] != id) continue;
        int fd = bundle->fds[i];
        bundle->n--;
        bundle->ids[i] = bundle->ids[bundle->n];
        bundle->fds[i] = bundle->fds[bundle->n];
        return fd;
    }
    return -1;
}

/* What was exposed after the last bundle needs another. */
static isthmus_status fetch_again(struct fd_pass_client *client)
{
    struct isthmus_peer peer = {.struct_size = sizeof peer, .pe = client->pe, .host_name = client->host_name};
    fd_pass_bundle_close(&client->bundle);
    return fd_pass_fetch(client->services, &peer, &client->address, client->timeout_s, &client->bundle);
}

isthmus_status fd_pass_client_take(struct fd_pass_client *client, uint32_t id, int *fd)
{
    const struct isthmus_services *s = client->services;
    int got = take_out(&client->bundle, id);
    if (got < 0) {
        isthmus_status status = fetch_again(client);
        if (status != ISTHMUS_OK) return status;
        got = take_out(&client->bundle, id);
    }
    if (got < 0) return s->fail(s->core, ISTHMUS_ERR_INVALID, "PE %d offers no memory under number %u", client->pe, id);
    *fd = got;
    return ISTHMUS_OK;
}
