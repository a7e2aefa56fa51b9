/* core/boot/uid_join.c: see uid_wire.h.
 * The leader of a host listens at a Unix socket without a file, whose name derives from the id's secret and the host:
 * the PE that binds it first is the leader. If a host has no such sockets, or another program holds the name, a PE
 * connects to the root itself. */
#include "core/boot/uid_wire.h"

#include "core/base/process.h"
#include "core/base/thread.h"
#include "core/topo/topo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RETRY_MS = 50, GATE_RETRY_MS = 5, GRACE_MS = 5000, WHY_MS = 5000, BACKLOG = 4096, HANDSHAKE_BYTES = 64 };

int ist_uid_wait_ms(uint64_t timeout_s)
{
    enum { NO_BOUND_MS = 1 << 30, MOST_S = 86400 };
    if (timeout_s == 0) return NO_BOUND_MS;
    return (int)(timeout_s < MOST_S ? timeout_s : MOST_S) * 1000;
}

void ist_uid_keep_alive(int fd)
{
    int one = 1, idle_s = 10;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof idle_s);
}

void ist_uid_name_root(struct ist_uid_seat *seat)
{
    const struct ist_uid *uid = &seat->uid;
    char place[80];
    uint32_t pid;
    memcpy(&pid, uid->pid, sizeof pid);
    ist_uid_describe(uid, place, sizeof place);
    if (uid->is_session)
        snprintf(seat->root_name, sizeof seat->root_name, "PE 0, which serves the job at %s,", place);
    else
        snprintf(seat->root_name, sizeof seat->root_name, "process %u at %s, which made the unique id,", ntohl(pid),
                 place);
}

/* ---- connections ---- */

static bool connect_to(int fd, const struct sockaddr_storage *address, socklen_t length, int64_t deadline_ms)
{
    int error = 0;
    socklen_t error_bytes = sizeof error;
    if (connect(fd, (const struct sockaddr *)address, length) == 0) return true;
    if (errno != EINPROGRESS) return false;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int n;
    do {
        int64_t left_ms = deadline_ms - ist_uid_now_ms();
        n = poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0) error = ETIMEDOUT;
    if (n > 0) (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes);
    errno = n < 0 ? errno : error;
    return n > 0 && error == 0;
}

/* Returns a connected, blocking socket, or -1 with errno set. */
static int open_connection(const struct sockaddr_storage *address, socklen_t length, int64_t deadline_ms)
{
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (!connect_to(fd, address, length, deadline_ms) || fcntl(fd, F_SETFL, 0) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    ist_uid_keep_alive(fd);
    return fd;
}

/* The loopback address in an id's family, by which PEs of its host reach the server. */
static socklen_t inside_address(const struct ist_uid *uid, struct sockaddr_storage *out)
{
    socklen_t length = ist_uid_sockaddr(uid, 0, out);
    if (out->ss_family == AF_INET) ((struct sockaddr_in *)out)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (out->ss_family == AF_INET6) ((struct sockaddr_in6 *)out)->sin6_addr = in6addr_loopback;
    return length;
}

int ist_uid_reach(const struct ist_uid *uid, const struct isthmus_host_id *here, int64_t deadline_ms)
{
    struct sockaddr_storage address;
    int fd = -1;
    if (!uid->is_session && ist_host_id_equal(&uid->host, here)) {
        socklen_t length = inside_address(uid, &address);
        return open_connection(&address, length, deadline_ms);
    }
    for (unsigned i = 0; i < uid->n_addresses && fd < 0; i++) {
        socklen_t length = ist_uid_sockaddr(uid, i, &address);
        int64_t share_ms = (deadline_ms - ist_uid_now_ms()) / (int64_t)(uid->n_addresses - i);
        fd = open_connection(&address, length, ist_uid_now_ms() + share_ms);
    }
    return fd;
}

static int64_t earlier(int64_t a_ms, int64_t b_ms) { return a_ms < b_ms ? a_ms : b_ms; }

static int64_t reply_deadline_ms(const struct ist_uid_seat *seat)
{
    return ist_uid_now_ms() + ist_uid_wait_ms(seat->patience.reply_s);
}

/* By errno: the other end has no part in it. */
static bool is_short_here(void) { return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM; }

/* Retries at an agreed address, where the server may not be there yet; the server of an id was there before the id. */
static isthmus_status reach_root(const struct ist_uid_seat *seat, int64_t deadline_ms, int *out_fd)
{
    const struct ist_uid *uid = &seat->uid;
    int fd = ist_uid_reach(uid, &seat->here, earlier(deadline_ms, reply_deadline_ms(seat)));
    while (fd < 0 && uid->is_session && !is_short_here() && ist_uid_now_ms() < deadline_ms) {
        (void)poll(NULL, 0, RETRY_MS);
        fd = ist_uid_reach(uid, &seat->here, earlier(deadline_ms, reply_deadline_ms(seat)));
    }
    *out_fd = fd;
    if (fd >= 0) return ISTHMUS_OK;
    if (is_short_here())
        return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "%s cannot be reached; raise 'ulimit -n'", seat->root_name);
    if (errno == ECONNREFUSED && !uid->is_session)
        return ist_fail(
            ISTHMUS_ERR_UNREACHABLE,
            "this unique id is not served any more: %s has ended, or its job is over; make a new one for each job",
            seat->root_name);
    if (uid->is_session && ist_uid_now_ms() >= deadline_ms)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "%s cannot be reached within %llu s (ISTHMUS_START_TIMEOUT): %s; it has failed, as its own "
                        "message says, or has not been started, or that address is not of its host",
                        seat->root_name, (unsigned long long)seat->patience.start_s, strerror(errno));
    return ist_fail_errno(ISTHMUS_ERR_UNREACHABLE, "%s cannot be reached", seat->root_name);
}

/* ---- the first three frames ---- */

_Static_assert(sizeof(struct ist_uid_challenge) <= HANDSHAKE_BYTES && (int)IST_TAG_BYTES <= (int)HANDSHAKE_BYTES,
               "handshake");

isthmus_status ist_uid_fail_answer(const char *server)
{
    if (errno == EPROTO)
        return ist_fail(ISTHMUS_ERR_VERSION, "%s runs another program or another version of Isthmus", server);
    return ist_fail_errno(ISTHMUS_ERR_UNREACHABLE, "%s does not answer", server);
}

/* Receives a frame of this type and length, HANDSHAKE_BYTES at most. */
static isthmus_status receive_exactly(const struct ist_uid_seat *seat, int fd, int64_t deadline_ms,
                                      struct ist_uid_head *head, void *out)
{
    struct ist_uid_head wanted = *head;
    char value[HANDSHAKE_BYTES + 1];
    if (!ist_uid_receive(fd, deadline_ms, wanted.value_bytes, head, value)) return ist_uid_fail_answer(seat->root_name);
    if (head->type == wanted.type && head->value_bytes == wanted.value_bytes) {
        memcpy(out, value, wanted.value_bytes);
        return ISTHMUS_OK;
    }
    if (head->type == IST_UID_STRANGER)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "this unique id is of another job: its secret is wrong; pass the same bytes to all PEs");
    errno = EPROTO;
    return ist_uid_fail_answer(seat->root_name);
}

static struct ist_uid_hello make_hello(const struct ist_uid_seat *seat, enum ist_uid_role role)
{
    struct ist_uid_hello hello = {
        .role = (int32_t)role, .pe = seat->pe, .n_pes = seat->n_pes, .pid = (int32_t)getpid(), .host = seat->here};
    struct ist_process self;
    if (ist_process_read(hello.pid, &self)) hello.started = self.started;
    snprintf(hello.host_name, sizeof hello.host_name, "%s", ist_host_name());
    return hello;
}

/* Each end proves to the other that it knows the secret: uid_wire.h. *leader: the PE that serves there. */
static isthmus_status introduce(const struct ist_uid_seat *seat, int fd, enum ist_uid_role role, int64_t deadline_ms,
                                int *leader)
{
    uint8_t tag[IST_TAG_BYTES], theirs[IST_TAG_BYTES];
    struct ist_uid_challenge challenge;
    struct ist_uid_hello hello = make_hello(seat, role);
    struct ist_uid_head head = {.type = IST_UID_CHALLENGE, .value_bytes = sizeof challenge};
    isthmus_status status = receive_exactly(seat, fd, deadline_ms, &head, &challenge);
    if (status != ISTHMUS_OK) return status;
    if (challenge.protocol != IST_UID_PROTOCOL) {
        errno = EPROTO;
        return ist_uid_fail_answer(seat->root_name);
    }
    status = ist_random_bytes(hello.nonce, sizeof hello.nonce);
    if (status != ISTHMUS_OK) return status;
    ist_uid_tag_hello(&seat->uid, &challenge, &hello, hello.tag);
    head = (struct ist_uid_head){.type = IST_UID_HELLO, .value_bytes = sizeof hello};
    if (!ist_uid_send(fd, &head, NULL, &hello)) return ist_uid_fail_answer(seat->root_name);
    head = (struct ist_uid_head){.type = IST_UID_PROOF, .value_bytes = sizeof theirs};
    status = receive_exactly(seat, fd, deadline_ms, &head, theirs);
    if (status != ISTHMUS_OK) return status;
    ist_uid_tag_server(&seat->uid, &challenge, &hello, tag);
    *leader = head.pe;
    return ist_same_bytes(tag, theirs, sizeof tag)
               ? ISTHMUS_OK
               : ist_fail(ISTHMUS_ERR_PERMISSION,
                          "%s does not prove the secret of this unique id: another process listens at that address",
                          seat->root_name);
}

/* Connects to the root in this role. */
static isthmus_status go_to_root(const struct ist_uid_seat *seat, enum ist_uid_role role, int64_t deadline_ms,
                                 int *out_fd)
{
    int leader, fd;
    isthmus_status status = reach_root(seat, deadline_ms, &fd);
    if (status == ISTHMUS_OK) status = introduce(seat, fd, role, reply_deadline_ms(seat) + GRACE_MS, &leader);
    if (status == ISTHMUS_OK)
        *out_fd = fd;
    else if (fd >= 0)
        close(fd);
    return status;
}

/* ---- the leader of this host ---- */

static socklen_t gate_address(const struct ist_uid_seat *seat, struct sockaddr_un *out)
{
    char name[IST_UID_GATE_BYTES];
    ist_uid_gate_name(&seat->uid, &seat->here, name);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, name, strlen(name)); /* a leading zero byte: no file */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

/* Returns -1 if it fails; errno is ECONNREFUSED if no PE listens. */
static int connect_gate(const struct sockaddr_un *address, socklen_t length)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)address, length) == 0 && fcntl(fd, F_SETFL, 0) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Returns -1 if it fails; errno is EADDRINUSE if another PE is the leader. */
static int open_gate(const struct sockaddr_un *address, socklen_t length)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (bind(fd, (const struct sockaddr *)address, length) == 0 && listen(fd, BACKLOG) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static isthmus_status lead(const struct ist_uid_seat *seat, int gate, int64_t deadline_ms)
{
    int root = -1;
    isthmus_status status = go_to_root(seat, IST_UID_LEADER, deadline_ms, &root);
    if (status == ISTHMUS_OK) status = ist_uid_leader_start(seat, gate, root);
    if (status == ISTHMUS_OK) return ISTHMUS_OK;
    if (root >= 0) close(root);
    close(gate);
    return status;
}

/* Returns OK with fd < 0 if this host has no leader, so that the PE connects to the root. */
static isthmus_status go_to_leader(const struct ist_uid_seat *seat, int64_t deadline_ms, struct ist_uid_way *out)
{
    struct sockaddr_un address;
    socklen_t length = gate_address(seat, &address);
    isthmus_status status = ISTHMUS_OK;
    while (status == ISTHMUS_OK && ist_uid_now_ms() < deadline_ms) {
        int fd = connect_gate(&address, length);
        if (fd >= 0) {
            /* A stopped leader blocks its host as a stopped root blocks the job, and the root reports it. */
            status = introduce(seat, fd, IST_UID_PE, deadline_ms + GRACE_MS, &out->leader);
            if (status == ISTHMUS_OK) {
                out->fd = fd;
                return ISTHMUS_OK;
            }
            close(fd);
            if (status != ISTHMUS_ERR_UNREACHABLE) return ISTHMUS_OK; /* another program holds the name */
            /* the leader has ended or could not lead: this PE may */
            status = ISTHMUS_OK;
        } else if (errno == ECONNREFUSED) {
            int gate = open_gate(&address, length);
            if (gate < 0 && errno != EADDRINUSE) return ISTHMUS_OK;
            if (gate >= 0) status = lead(seat, gate, deadline_ms);
            out->is_own = gate >= 0 && status == ISTHMUS_OK;
            if (gate >= 0) continue;
        } else if (errno != EAGAIN) {
            return ISTHMUS_OK;
        }
        (void)poll(NULL, 0, GATE_RETRY_MS);
    }
    return status;
}

isthmus_status ist_uid_join(const struct ist_uid_seat *seat, struct ist_uid_way *out)
{
    int64_t deadline_ms = ist_uid_now_ms() + ist_uid_wait_ms(seat->patience.start_s);
    bool is_of_root = seat->uid.is_session ? seat->pe == 0 : ist_host_id_equal(&seat->uid.host, &seat->here);
    *out = (struct ist_uid_way){.fd = -1, .leader = -1};
    isthmus_status status = is_of_root ? ISTHMUS_OK : go_to_leader(seat, deadline_ms, out);
    if (status == ISTHMUS_OK && out->fd < 0) status = go_to_root(seat, IST_UID_PE, deadline_ms, &out->fd);
    return status;
}

static bool request_from_root(const struct ist_uid_seat *seat, enum ist_uid_role role, int64_t deadline_ms,
                              struct ist_uid_head *head, char *why)
{
    int fd = -1;
    if (go_to_root(seat, role, deadline_ms, &fd) != ISTHMUS_OK) return false;
    bool has_answer = ist_uid_receive(fd, deadline_ms, IST_UID_WHY_MAX, head, why);
    close(fd);
    return has_answer;
}

bool ist_uid_request_reason(const struct ist_uid_seat *seat, struct ist_uid_head *head, char *why)
{
    return request_from_root(seat, IST_UID_ORPHAN, ist_uid_now_ms() + WHY_MS, head, why);
}

static void report_to_root(const struct ist_uid_seat *seat)
{
    struct ist_uid_head head;
    char why[IST_UID_WHY_MAX + 1]; /* this PE's own is reported */
    (void)request_from_root(seat, IST_UID_FAILED, reply_deadline_ms(seat), &head, why);
}

/* The thread's own table of descriptors has room, whatever the process has open. */
static void *report_with_own_descriptors(void *seat)
{
    if (unshare(CLONE_FILES) == 0 && close_range(0, ~0u, 0) == 0) report_to_root(seat);
    return NULL;
}

void ist_uid_give_up(const struct ist_uid_seat *seat)
{
    pthread_t thread;
    if (ist_quiet_thread_create(&thread, "isthmus-boot", report_with_own_descriptors, (void *)(uintptr_t)seat) == 0)
        pthread_join(thread, NULL);
    else
        report_to_root(seat); /* memory is short, and perhaps not descriptors */
}
