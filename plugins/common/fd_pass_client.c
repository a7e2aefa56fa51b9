/* plugins/common/fd_pass_client.c: see fd_pass.h. The client: the choice of the way, and the exchange by socket. */
#include "plugins/common/fd_pass_priv.h"
#include "plugins/common/fd_pass_wire.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STEPS_PER_S = 4 };

/* How much longer a peer is waited for. */
struct patience {
    unsigned steps_left;
    uint64_t began_ns; /* the call of this step */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- by socket ---- */

static isthmus_status fail_lost(const struct isthmus_services *s, const struct isthmus_peer *peer, const char *what)
{
    isthmus_status status = errno == EAGAIN ? ISTHMUS_ERR_UNREACHABLE : ISTHMUS_ERR_PEER_LOST;
    if (errno == EAGAIN)
        return s->fail(
            s->core, status,
            "PE %d on %s does not answer (stopped, or its host is overloaded): %s timed out; ISTHMUS_*_TIMEOUT allows "
            "more time",
            peer->pe, peer->host_name, what);
    return s->fail(s->core, status, "PE %d on %s has ended: %s failed: %s", peer->pe, peer->host_name, what,
                   strerror(errno));
}

/* The peer's progress thread has not replied yet: returns true to wait for one more step. A handler of the program's
 * signals ends the call too, with SA_RESTART as well, since the socket has a time limit: the step goes on. */
static bool waits_on(const struct isthmus_services *s, struct patience *patience)
{
    uint64_t now = now_ns();
    if (errno != EAGAIN && errno != EINTR) return false;
    if (errno == EINTR && now - patience->began_ns < 1000000000u / STEPS_PER_S) return true;
    errno = EAGAIN;
    if (patience->steps_left == 0) return false;
    patience->steps_left--;
    patience->began_ns = now;
    if (ISTHMUS_HAS(s, still_waits)) s->still_waits(s->core);
    return true;
}

/* The peer has closed the socket: returns true if its process is ending, false if it refuses this PE. */
static bool is_ending(int fd)
{
    enum { PATIENCE_MS = 50 }; /* files are closed early in the end of a process */
    struct ucred sender;
    socklen_t length = sizeof sender;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &sender, &length) != 0 || sender.pid <= 0) return false;
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, sender.pid, 0), .events = POLLIN};
    if (end.fd < 0) return errno == ESRCH;
    bool has_ended = poll(&end, 1, PATIENCE_MS) == 1;
    close(end.fd);
    return has_ended;
}

/* The reason why the received descriptors are not taken, as text. */
static isthmus_status fail_reply(const struct isthmus_services *s, const struct isthmus_peer *peer,
                                 isthmus_status status, bool was_cut)
{
    const char *why = was_cut ? "this process may not open more files; raise 'ulimit -n'"
                      : status == ISTHMUS_ERR_PERMISSION
                          ? "a process that does not belong to this job has sent them"
                          : "the reply is of another version of this plugin; use one version on all PEs";
    return s->fail(s->core, was_cut ? ISTHMUS_ERR_NO_MEMORY : status, "descriptors from PE %d on %s cannot be used: %s",
                   peer->pe, peer->host_name, why);
}

static isthmus_status receive_bundle(const struct isthmus_services *s, const struct isthmus_peer *peer, int fd,
                                     const struct fd_pass_address *address, struct patience *patience,
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
    patience->began_ns = now_ns();
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    while (got < 0 && waits_on(s, patience)) got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (got == 0 && is_ending(fd)) {
        errno = ECONNRESET;
        got = -1;
    }
    if (got < 0) return fail_lost(s, peer, "receiving descriptors");
    if (got == 0)
        return s->fail(s->core, ISTHMUS_ERR_PERMISSION,
                       "PE %d on %s refuses to share its memory: it belongs to another user or job", peer->pe,
                       peer->host_name);

    struct fd_pass_bundle bundle = {.n = 0};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        bundle.n = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(bundle.fds, CMSG_DATA(header), sizeof(int) * bundle.n);
    }
    bool was_cut = got == (ssize_t)sizeof reply && (message.msg_flags & MSG_CTRUNC) != 0; /* not another build's */
    isthmus_status status = fd_pass_reply_check(address, &reply, (size_t)got, bundle.n, &reply);
    if (status != ISTHMUS_OK || was_cut) {
        fd_pass_bundle_close(&bundle);
        return fail_reply(s, peer, status, was_cut);
    }
    memcpy(bundle.ids, reply.ids, sizeof bundle.ids);
    *out = bundle;
    return ISTHMUS_OK;
}

/* -1, errno: it cannot be connected to. */
static int connect_to(const struct isthmus_services *s, const struct fd_pass_address *address,
                      struct patience *patience)
{
    const struct timeval step = {.tv_usec = 1000000 / STEPS_PER_S};
    struct sockaddr_un to;
    socklen_t length = fd_pass_socket_name(address->name, &to);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof step);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &step, sizeof step);
    patience->began_ns = now_ns();
    int refused = connect(fd, (struct sockaddr *)&to, length); /* it waits while the queue of connections is full */
    while (refused != 0 && waits_on(s, patience)) refused = connect(fd, (struct sockaddr *)&to, length);
    if (refused == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static isthmus_status fail_listener(const struct isthmus_services *s, const struct isthmus_peer *peer,
                                    const struct ucred *listener)
{
    if (listener->uid == (uid_t)-1)
        return s->fail(s->core, ISTHMUS_ERR_PERMISSION,
                       "this system does not report which process listens in the place of PE %d on %s (SO_PEERCRED: "
                       "%s); nothing was sent to it; ISTHMUS_*_SHARE=pidfd needs no socket",
                       peer->pe, peer->host_name, strerror(errno));
    return s->fail(s->core, ISTHMUS_ERR_PERMISSION,
                   "process %d of user %d listens in the place of PE %d on %s; nothing was sent to it",
                   (int)listener->pid, (int)listener->uid, peer->pe, peer->host_name);
}

static isthmus_status converse(const struct isthmus_services *s, const struct isthmus_peer *peer, int fd,
                               const struct fd_pass_address *address, struct patience *patience,
                               struct fd_pass_bundle *out)
{
    struct fd_pass_request request;
    struct ucred sender;
    fd_pass_request_write(address, &request);
    if (!fd_pass_is_own_user(fd, &sender)) /* before the ticket is sent */
        return fail_listener(s, peer, &sender);
    if (send(fd, &request, sizeof request, MSG_NOSIGNAL) != (ssize_t)sizeof request)
        return fail_lost(s, peer, "requesting descriptors");
    return receive_bundle(s, peer, fd, address, patience, out);
}

/* ---- by either way ---- */

/* Returns true if no process listens under that name in this PE's namespace, or this PE may not connect to it; not if
 * the peer refuses, nor after a time-out. */
static bool is_out_of_reach(int error)
{
    return error == ECONNREFUSED || error == ENOENT || error == EPERM || error == EACCES || error == EAFNOSUPPORT;
}

/* socket_error: errno of the first way, or 0 if it was not tried. */
static isthmus_status fetch_from_table(const struct isthmus_services *s, const struct isthmus_peer *peer,
                                       const struct fd_pass_address *address, int socket_error,
                                       struct fd_pass_bundle *out)
{
    char why[FD_PASS_WHY_BYTES];
    const char *by_socket = socket_error != 0 ? strerror(socket_error) : "not tried, because ISTHMUS_*_SHARE is pidfd";
    isthmus_status status = fd_pass_table_fetch(address, out, why);
    if (status == ISTHMUS_OK)
        s->log(s->core, ISTHMUS_LOG_DEBUG, "PE %d on %s: its descriptors were taken by pidfd_getfd; by socket: %s",
               peer->pe, peer->host_name, by_socket);
    else
        status = s->fail(s->core, status, "PE %d on %s %s: by socket: %s; by pidfd_getfd: %s", peer->pe,
                         peer->host_name, status == ISTHMUS_ERR_PEER_LOST ? "has ended" : "cannot share its memory",
                         by_socket, why);
    return status;
}

isthmus_status fd_pass_fetch(const struct isthmus_services *services, const struct isthmus_peer *peer,
                             const struct fd_pass_address *address, unsigned timeout_s, struct fd_pass_bundle *out)
{
    const struct isthmus_services *s = services;
    struct patience patience = {.steps_left = timeout_s * STEPS_PER_S};
    enum fd_pass_share share = FD_PASS_AUTO;
    isthmus_status status = fd_pass_share_read(s, &share);
    if (status != ISTHMUS_OK) return status;
    if (share == FD_PASS_PIDFD) return fetch_from_table(s, peer, address, 0, out);
    int fd = connect_to(s, address, &patience);
    if (fd < 0 && share == FD_PASS_AUTO && address->owner.pid != 0 && is_out_of_reach(errno))
        return fetch_from_table(s, peer, address, errno, out);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "cannot open a socket to PE %d: %s; raise 'ulimit -n'", peer->pe,
                       strerror(errno));
    if (fd < 0) return fail_lost(s, peer, "connecting");
    status = converse(s, peer, fd, address, &patience, out);
    close(fd);
    return status;
}

isthmus_status fd_pass_reach(const struct isthmus_services *services, const struct isthmus_peer *peer,
                             const struct fd_pass_address *address)
{
    const struct isthmus_services *s = services;
    char why[FD_PASS_WHY_BYTES] = "";
    enum fd_pass_share share = FD_PASS_AUTO;
    if (memcmp(peer->host->bytes, s->host->bytes, sizeof s->host->bytes) == 0) return ISTHMUS_OK;
    isthmus_status status = fd_pass_share_read(s, &share);
    if (status != ISTHMUS_OK) return status;
    bool is_seen = share != FD_PASS_SOCKET && fd_pass_table_try(address, why) == ISTHMUS_OK;
    if (is_seen && share == FD_PASS_PIDFD) return ISTHMUS_OK;
    const char *hint = is_seen                  ? "; ISTHMUS_*_SHARE=pidfd would reach it"
                       : share == FD_PASS_PIDFD ? "; by pidfd_getfd: "
                                                : "";
    return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE,
                   "the peer runs on another host (%s) or in another network namespace%s%s", peer->host_name, hint,
                   share == FD_PASS_PIDFD ? why : "");
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

int fd_pass_bundle_take(struct fd_pass_bundle *bundle, uint32_t id)
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
    int got = fd_pass_bundle_take(&client->bundle, id);
    if (got < 0) {
        isthmus_status status = fetch_again(client);
        if (status != ISTHMUS_OK) return status;
        got = fd_pass_bundle_take(&client->bundle, id);
    }
    if (got < 0)
        return s->fail(s->core, ISTHMUS_ERR_INVALID,
                       "PE %d does not offer memory number %u; the memory was freed, or its key is damaged", client->pe,
                       id);
    *fd = got;
    return ISTHMUS_OK;
}
