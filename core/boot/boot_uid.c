/* core/boot/boot_uid.c: the bootstrap of processes that share a unique id: one connection to the server of the id, which may
 * be in any of them (uid_server.c), and a thread that listens on it: answers, and news that end this PE.
 * What is said is in uid_wire.h. */
#include "core/base/clock.h"
#include "core/base/process.h"
#include "core/boot/boot.h"
#include "core/boot/uid_wire.h"
#include "core/topo/host_id.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RETRY_MS = 50, GRACE_MS = 5000, ABORT_MS = 1500 /* less than who ends a job waits for */, LOOK_MS = 250 };

struct request { /* a look-up that waits for its answer */
    struct request *next;
    uint32_t id;
    bool is_answered;
    void *value;
    size_t value_bytes;
};

struct uid_boot {
    ist_boot base;
    int fd, server_pe;
    uint64_t timeout_s;
    char server[160]; /* for messages */
    ist_boot_lost *lost;
    pthread_t listener;
    pthread_mutex_t send_lock; /* a frame at a time */
    pthread_mutex_t lock;      /* of all below */
    pthread_cond_t changed;
    struct request *requests;
    uint32_t next_id;
    unsigned n_meetings; /* exchanges that are over */
    bool is_leaving;     /* what happens to the others does not matter any more */
    bool is_over;        /* nothing will come any more */
};

static struct uid_boot *joined; /* for the end of the process and for children: the job that this process is in */

/* ---- the listening thread ---- */

static void hand_over(struct uid_boot *boot, const struct ist_uid_head *head, void *value)
{
    struct request *request = boot->requests;
    while (request != NULL && request->id != head->id) request = request->next;
    if (request == NULL) {
        free(value);
        return;
    }
    request->is_answered = true;
    request->value = value;
    request->value_bytes = head->value_bytes;
}

/* The job cannot go on; first this, so that no thread that waits reports a failure of its own. */
static void end_this_pe(struct uid_boot *boot, const char *why, int exit_code)
{
    pthread_mutex_lock(&boot->lock);
    bool matters = !boot->is_leaving;
    pthread_mutex_unlock(&boot->lock);
    if (matters) boot->lost(why, exit_code);
}

/* false: that was the last frame. */
static bool take_frame(struct uid_boot *boot, const struct ist_uid_head *head, void *value)
{
    bool is_last = head->type == IST_UID_END || head->type == IST_UID_BYE;
    if (head->type == IST_UID_END) end_this_pe(boot, head->value_bytes > 0 && head->id == 1 ? value : NULL, head->code);
    pthread_mutex_lock(&boot->lock);
    if (head->type == IST_UID_VALUE)
        hand_over(boot, head, value);
    else
        free(value);
    boot->n_meetings += head->type == IST_UID_ALL_HERE;
    boot->is_over = boot->is_over || is_last;
    pthread_cond_broadcast(&boot->changed);
    pthread_mutex_unlock(&boot->lock);
    return !is_last;
}

static void *listen_to_server(void *argument)
{
    struct uid_boot *boot = argument;
    struct ist_uid_head head;
    void *value;
    while (ist_uid_receive(boot->fd, -1, IST_UID_VALUE_MAX, &head, &value))
        if (!take_frame(boot, &head, value)) return NULL;
    char why[240];
    snprintf(why, sizeof why, "%s has ended without leaving the job", boot->server);
    end_this_pe(boot, why, EXIT_FAILURE);
    pthread_mutex_lock(&boot->lock);
    boot->is_over = true;
    pthread_cond_broadcast(&boot->changed);
    pthread_mutex_unlock(&boot->lock);
    return NULL;
}

/* Signals belong to the program's threads. */
static isthmus_status start_listening(struct uid_boot *boot)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&boot->listener, NULL, listen_to_server, boot);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "bootstrap: pthread_create: %s", strerror(error));
    pthread_setname_np(boot->listener, "isthmus-boot");
    return ISTHMUS_OK;
}

/* ---- the slots ---- */

static isthmus_status say(struct uid_boot *boot, const struct ist_uid_head *head, const char *key, const void *value)
{
    pthread_mutex_lock(&boot->send_lock);
    bool is_sent = ist_uid_send(boot->fd, head, key, value);
    pthread_mutex_unlock(&boot->send_lock);
    return is_sent ? ISTHMUS_OK
                   : ist_fail_errno(ISTHMUS_ERR_PEER_LOST, "bootstrap: %s cannot be reached", boot->server);
}

static isthmus_status fail_key(const char *key)
{
    return ist_fail(ISTHMUS_ERR_LIMIT, "bootstrap: the key '%s' is longer than %d bytes", key, IST_UID_KEY_MAX);
}

static isthmus_status uid_put(ist_boot *base, const char *key, const void *value, size_t value_bytes)
{
    struct uid_boot *boot = (struct uid_boot *)base;
    if (strlen(key) > IST_UID_KEY_MAX) return fail_key(key);
    if (value_bytes > IST_UID_VALUE_MAX)
        return ist_fail(ISTHMUS_ERR_LIMIT, "bootstrap: %zu bytes under %s; at most %d are possible", value_bytes, key,
                        IST_UID_VALUE_MAX);
    struct ist_uid_head head = {.type = IST_UID_PUT, .key_bytes = (uint32_t)strlen(key)};
    head.value_bytes = (uint32_t)value_bytes;
    return say(boot, &head, key, value);
}

/* The server's process may be the one that does not go on: now and then somebody looks. Under the lock. */
static void wait_for_news(struct uid_boot *boot)
{
    struct timespec until = ist_clock_until_ms(LOOK_MS);
    if (pthread_cond_timedwait(&boot->changed, &boot->lock, &until) == 0 || boot->base.look == NULL) return;
    pthread_mutex_unlock(&boot->lock);
    boot->base.look();
    pthread_mutex_lock(&boot->lock);
}

static isthmus_status uid_exchange(ist_boot *base)
{
    struct uid_boot *boot = (struct uid_boot *)base;
    struct ist_uid_head head = {.type = IST_UID_ARRIVE};
    pthread_mutex_lock(&boot->lock);
    unsigned before = boot->n_meetings;
    pthread_mutex_unlock(&boot->lock);
    isthmus_status status = say(boot, &head, NULL, NULL);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&boot->lock);
    while (boot->n_meetings == before && !boot->is_over) wait_for_news(boot);
    bool has_met = boot->n_meetings != before;
    pthread_mutex_unlock(&boot->lock);
    return has_met ? ISTHMUS_OK : ist_fail(ISTHMUS_ERR_PEER_LOST, "bootstrap: the job has ended");
}

static void remove_request(struct uid_boot *boot, const struct request *request)
{
    struct request **at = &boot->requests;
    while (*at != request) at = &(*at)->next;
    *at = request->next;
}

static isthmus_status uid_get(ist_boot *base, int pe, const char *key, void **out, size_t *out_bytes)
{
    struct uid_boot *boot = (struct uid_boot *)base;
    if (strlen(key) > IST_UID_KEY_MAX) return fail_key(key);
    pthread_mutex_lock(&boot->lock);
    struct request request = {.next = boot->requests, .id = boot->next_id++};
    boot->requests = &request;
    pthread_mutex_unlock(&boot->lock);

    struct ist_uid_head head = {.type = IST_UID_GET, .pe = pe, .id = request.id, .key_bytes = (uint32_t)strlen(key)};
    isthmus_status status = say(boot, &head, key, NULL);
    pthread_mutex_lock(&boot->lock);
    while (status == ISTHMUS_OK && !request.is_answered && !boot->is_over) wait_for_news(boot);
    remove_request(boot, &request);
    pthread_mutex_unlock(&boot->lock);
    if (status != ISTHMUS_OK) return status;
    if (!request.is_answered)
        return ist_fail(ISTHMUS_ERR_PEER_LOST, "bootstrap: %s of PE %d cannot be had: the job has ended", key, pe);
    *out = request.value;
    *out_bytes = request.value_bytes;
    return ISTHMUS_OK;
}

/* Until nothing will come any more, or for so long. */
static void wait_for_end(struct uid_boot *boot, int timeout_ms)
{
    struct timespec until = ist_clock_until_ms(timeout_ms);
    pthread_mutex_lock(&boot->lock);
    while (!boot->is_over && pthread_cond_timedwait(&boot->changed, &boot->lock, &until) == 0) {}
    pthread_mutex_unlock(&boot->lock);
}

static void stop_caring(struct uid_boot *boot)
{
    pthread_mutex_lock(&boot->lock);
    boot->is_leaving = true;
    pthread_mutex_unlock(&boot->lock);
}

/* The answer comes when all others have been told. */
static void uid_abort(ist_boot *base, int exit_code)
{
    struct uid_boot *boot = (struct uid_boot *)base;
    struct ist_uid_head head = {.type = IST_UID_ABORT, .code = exit_code};
    stop_caring(boot);
    if (say(boot, &head, NULL, NULL) == ISTHMUS_OK) wait_for_end(boot, ABORT_MS);
}

static void say_good_bye(struct uid_boot *boot)
{
    struct ist_uid_head head = {.type = IST_UID_LEAVE};
    stop_caring(boot);
    if (say(boot, &head, NULL, NULL) == ISTHMUS_OK) wait_for_end(boot, GRACE_MS);
}

static void boot_free(struct uid_boot *boot)
{
    if (boot->fd >= 0) close(boot->fd);
    pthread_mutex_destroy(&boot->send_lock);
    pthread_mutex_destroy(&boot->lock);
    pthread_cond_destroy(&boot->changed);
    free(boot->base.local_pes);
    free(boot->base.local_processes);
    free(boot);
}

static int patience_ms(const struct uid_boot *boot)
{
    return boot->timeout_s < 86400 ? (int)boot->timeout_s * 1000 : 86400 * 1000;
}

static void uid_close(ist_boot *base)
{
    struct uid_boot *boot = (struct uid_boot *)base;
    joined = NULL;
    say_good_bye(boot);
    shutdown(boot->fd, SHUT_RDWR);
    pthread_join(boot->listener, NULL);
    if (boot->server_pe == boot->base.pe) ist_uid_servers_wait(patience_ms(boot));
    boot_free(boot);
}

static const struct ist_boot_ops uid_ops = {
    .name = "unique id",
    .put = uid_put,
    .exchange = uid_exchange,
    .get = uid_get,
    .abort = uid_abort,
    .close = uid_close,
};

/* ---- the end of the process, and children ---- */

void ist_boot_uid_leave(void)
{
    int timeout_ms = 30000; /* of a process that serves and is no PE */
    if (joined != NULL) {
        say_good_bye(joined);
        timeout_ms = patience_ms(joined);
    }
    ist_uid_servers_wait(timeout_ms);
}

void ist_boot_uid_forget(void)
{
    if (joined != NULL) close(joined->fd);
    joined = NULL;
    ist_uid_servers_forget();
}

/* ---- joining ---- */

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

/* A connected, blocking socket; -1: errno says why. */
static int open_connection(const struct sockaddr_storage *address, socklen_t length, int64_t deadline_ms)
{
    int one = 1, fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (!connect_to(fd, address, length, deadline_ms) || fcntl(fd, F_SETFL, 0) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    return fd;
}

/* The loopback address of an id's family: how PEs of its host reach the server. */
static socklen_t inside_address(const struct ist_uid *uid, struct sockaddr_storage *out)
{
    socklen_t length = ist_uid_sockaddr(uid, 0, out);
    if (out->ss_family == AF_INET) ((struct sockaddr_in *)out)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (out->ss_family == AF_INET6) ((struct sockaddr_in6 *)out)->sin6_addr = in6addr_loopback;
    return length;
}

static int try_addresses(const struct ist_uid *uid, const struct isthmus_host_id *here, int64_t deadline_ms)
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

/* At an agreed place the server may not be there yet; the server of an id was there before the id. */
static isthmus_status reach_server(struct uid_boot *boot, const struct ist_uid *uid, const struct isthmus_host_id *here)
{
    int64_t deadline_ms = ist_uid_now_ms() + patience_ms(boot);
    boot->fd = try_addresses(uid, here, deadline_ms);
    while (boot->fd < 0 && uid->is_session && ist_uid_now_ms() < deadline_ms) {
        (void)poll(NULL, 0, RETRY_MS);
        boot->fd = try_addresses(uid, here, deadline_ms);
    }
    if (boot->fd >= 0) return ISTHMUS_OK;
    if (errno == ECONNREFUSED && !uid->is_session)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "nobody serves this unique id any more: %s has ended, or its job is over", boot->server);
    return ist_fail_errno(ISTHMUS_ERR_UNREACHABLE, "%s cannot be reached", boot->server);
}

static void name_server(struct uid_boot *boot, const struct ist_uid *uid)
{
    char place[80];
    uint32_t pid;
    memcpy(&pid, uid->pid, sizeof pid);
    ist_uid_describe(uid, place, sizeof place);
    if (uid->is_session)
        snprintf(boot->server, sizeof boot->server, "PE 0, which serves the job at %s,", place);
    else
        snprintf(boot->server, sizeof boot->server, "process %u at %s, which made the unique id,", ntohl(pid), place);
}

static isthmus_status take_neighbours(ist_boot *boot, const struct ist_uid_neighbour *neighbours, size_t n)
{
    boot->local_pes = calloc(n, sizeof *boot->local_pes);
    boot->local_processes = calloc(n, sizeof *boot->local_processes);
    if (boot->local_pes == NULL || boot->local_processes == NULL)
        return ist_fail(ISTHMUS_ERR_NO_MEMORY, "bootstrap: no memory for the list of %zu PEs of this host", n);
    for (size_t i = 0; i < n; i++) {
        boot->local_pes[i] = neighbours[i].pe;
        boot->local_processes[i] = (struct ist_boot_process){neighbours[i].pid, neighbours[i].started};
    }
    boot->n_local = (int)n;
    return ISTHMUS_OK;
}

static isthmus_status read_welcome(struct uid_boot *boot, const struct ist_uid_head *head, void *value)
{
    if (!ist_uid_welcome_check(value, head->value_bytes, boot->base.pe, boot->base.n_pes)) {
        free(value);
        return ist_fail(ISTHMUS_ERR_VERSION, "bootstrap: a damaged welcome from %s", boot->server);
    }
    isthmus_status status = take_neighbours(&boot->base, value, head->value_bytes / sizeof(struct ist_uid_neighbour));
    free(value);
    if (status != ISTHMUS_OK) return status;
    boot->server_pe = head->pe;
    if (head->pe >= 0) snprintf(boot->server, sizeof boot->server, "PE %d, which serves the job,", head->pe);
    return ISTHMUS_OK;
}

/* Not a frame of ours, or none at all. */
static isthmus_status fail_answer(const struct uid_boot *boot)
{
    if (errno == EPROTO)
        return ist_fail(ISTHMUS_ERR_VERSION, "%s: what answers there is not this version of the library", boot->server);
    return ist_fail_errno(ISTHMUS_ERR_UNREACHABLE, "%s does not answer", boot->server);
}

/* A frame of the first three: of this type and length. */
static isthmus_status receive_exactly(struct uid_boot *boot, int64_t deadline_ms, uint32_t type, void *out,
                                      uint32_t out_bytes)
{
    struct ist_uid_head head;
    void *value;
    if (!ist_uid_receive(boot->fd, deadline_ms, out_bytes, &head, &value)) return fail_answer(boot);
    bool is_wanted = head.type == type && head.value_bytes == out_bytes;
    if (is_wanted) memcpy(out, value, out_bytes);
    free(value);
    if (is_wanted) return ISTHMUS_OK;
    if (head.type == IST_UID_STRANGER)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE, "this unique id is of another job: its secret is wrong");
    errno = EPROTO;
    return fail_answer(boot);
}

/* Each end shows the other that it knows the secret: uid_wire.h. */
static isthmus_status introduce(struct uid_boot *boot, const struct ist_uid *uid, const struct isthmus_host_id *here,
                                int64_t deadline_ms)
{
    uint8_t tag[IST_TAG_BYTES], theirs[IST_TAG_BYTES];
    struct ist_uid_challenge challenge;
    struct ist_uid_head head = {.type = IST_UID_HELLO, .value_bytes = sizeof(struct ist_uid_hello)};
    struct ist_uid_hello hello = {
        .pe = boot->base.pe, .n_pes = boot->base.n_pes, .pid = (int32_t)getpid(), .host = *here};
    struct ist_process self;
    if (ist_process_read(hello.pid, &self)) hello.started = self.started;
    snprintf(hello.host_name, sizeof hello.host_name, "%s", ist_host_name());
    isthmus_status status = receive_exactly(boot, deadline_ms, IST_UID_CHALLENGE, &challenge, sizeof challenge);
    if (status != ISTHMUS_OK) return status;
    if (challenge.protocol != IST_UID_PROTOCOL) {
        errno = EPROTO;
        return fail_answer(boot);
    }
    status = ist_random_bytes(hello.nonce, sizeof hello.nonce);
    if (status != ISTHMUS_OK) return status;
    ist_uid_tag_hello(uid, &challenge, &hello, hello.tag);
    if (!ist_uid_send(boot->fd, &head, NULL, &hello)) return fail_answer(boot);
    status = receive_exactly(boot, deadline_ms, IST_UID_PROOF, theirs, sizeof theirs);
    if (status != ISTHMUS_OK) return status;
    ist_uid_tag_server(uid, &challenge, &hello, tag);
    return ist_same_bytes(tag, theirs, sizeof tag)
               ? ISTHMUS_OK
               : ist_fail(ISTHMUS_ERR_PERMISSION, "%s: what answers there does not know the secret of this unique id",
                          boot->server);
}

/* Join, and wait until everybody has. */
static isthmus_status enter(struct uid_boot *boot, const struct ist_uid *uid, const struct isthmus_host_id *here)
{
    struct ist_uid_head head;
    void *value = NULL;
    int64_t deadline_ms = ist_uid_now_ms() + patience_ms(boot) + GRACE_MS; /* the server's own limit comes first */
    isthmus_status status = introduce(boot, uid, here, deadline_ms);
    if (status != ISTHMUS_OK) return status;
    if (!ist_uid_receive(boot->fd, deadline_ms, IST_UID_VALUE_MAX, &head, &value)) return fail_answer(boot);
    if (head.type == IST_UID_WELCOME) return read_welcome(boot, &head, value);
    status = head.id == 1 ? ISTHMUS_ERR_UNREACHABLE : ISTHMUS_ERR_PEER_LOST;
    if (head.value_bytes > 0)
        (void)ist_fail(status, "%s", (const char *)value);
    else
        (void)ist_fail(status, "PE %d has ended the job", head.pe);
    free(value);
    return status;
}

static struct uid_boot *boot_new(const struct ist_config *config, const struct ist_boot_request *request,
                                 ist_boot_lost *lost)
{
    struct uid_boot *boot = calloc(1, sizeof *boot);
    if (boot == NULL) return NULL;
    boot->base = (ist_boot){.ops = &uid_ops, .pe = request->pe, .n_pes = request->n_pes};
    boot->fd = -1;
    boot->timeout_s = config->peer_timeout_s;
    boot->lost = lost;
    pthread_mutex_init(&boot->send_lock, NULL);
    pthread_mutex_init(&boot->lock, NULL);
    pthread_cond_init(&boot->changed, NULL);
    name_server(boot, &request->uid);
    return boot;
}

isthmus_status ist_boot_uid_open(const struct ist_config *config, const struct ist_boot_request *request,
                                 ist_boot_lost *lost, ist_boot **out)
{
    struct ist_uid uid = request->uid;
    struct isthmus_host_id here;
    if (!ist_uid_check(&uid)) return ist_fail(ISTHMUS_ERR_INVALID, "these bytes are no unique id of this library");
    if (request->n_pes < 1 || request->pe < 0 || request->pe >= request->n_pes)
        return ist_fail(ISTHMUS_ERR_INVALID, "unique id: PE %d of %d PEs cannot be", request->pe, request->n_pes);
    struct uid_boot *boot = boot_new(config, request, lost);
    if (boot == NULL) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "bootstrap: no memory");
    isthmus_status status = ist_host_id_read(&here);
    if (status == ISTHMUS_OK && uid.is_session && request->pe == 0) {
        uid.host = here;
        status = ist_uid_server_start(&uid, config->peer_timeout_s);
    }
    if (status == ISTHMUS_OK) status = reach_server(boot, &uid, &here);
    if (status == ISTHMUS_OK) status = enter(boot, &uid, &here);
    if (status == ISTHMUS_OK) status = start_listening(boot);
    if (status != ISTHMUS_OK) {
        boot_free(boot);
        return status;
    }
    joined = boot;
    *out = &boot->base;
    return ISTHMUS_OK;
}
