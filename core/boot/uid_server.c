/* core/boot/uid_server.c: the thread that serves a unique id, as the root or as a leader. Its connections:
 * uid_connection.c; its frames: uid_job.c, uid_leader.c.
 * It blocks only on the wait for events, so that a stopped PE delays no other. The thread uses memory of its own only,
 * and no static variable but the list below: static data may be on the move (core/heap/static_data.c). */
#include "core/boot/uid_server_priv.h"

#include "core/base/atomic.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/topo/topo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 4096, EVENTS_AT_ONCE = 64, SWEEP_MS = 250 };

/* The servers of this process. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct ist_uid_server *first;
} servers = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- the thread ---- */

static bool has_work(const struct ist_uid_server *server)
{
    const struct ist_uid_job *job = &server->job;
    bool awaits = ist_uid_job_awaits(job);
    return awaits || (job->n_joined > 0 && (!job->has_failed || ist_uid_has_output(server)));
}

static void set_state(struct ist_uid_server *server, bool is_busy, bool is_done)
{
    pthread_mutex_lock(&servers.lock);
    if (is_busy != server->is_busy || is_done != server->is_done) pthread_cond_broadcast(&servers.changed);
    server->is_busy = is_busy;
    server->is_done = is_done;
    pthread_mutex_unlock(&servers.lock);
}

/* Returns the milliseconds until a deadline, or -1 if there is none. */
static int idle_ms(const struct ist_uid_server *server)
{
    int64_t deadline_ms = server->job.deadline_ms, left_ms = deadline_ms - ist_uid_now_ms();
    if (deadline_ms < 0) return ist_uid_needs_sweep(server) ? SWEEP_MS : -1;
    if (left_ms < 0) return 0;
    return ist_uid_needs_sweep(server) && left_ms > SWEEP_MS ? SWEEP_MS : (int)left_ms;
}

static bool is_over(const struct ist_uid_server *server)
{
    return server->is_leader ? ist_uid_leader_is_over(server) : ist_uid_job_is_over(server);
}

static void *serve(void *argument)
{
    struct ist_uid_server *server = argument;
    while (!is_over(server)) {
        struct epoll_event events[EVENTS_AT_ONCE];
        int n = epoll_wait(server->events, events, EVENTS_AT_ONCE, idle_ms(server));
        /* Before the replies: as soon as this process has its own, it may end, unless the others still need it. */
        if (n > 0) set_state(server, true, false);
        for (int i = 0; i < n; i++) {
            struct ist_uid_connection *connection = events[i].data.ptr;
            if (connection == NULL)
                ist_uid_accept(server);
            else
                ist_uid_serve(server, connection, events[i].events);
        }
        ist_uid_sweep(server);
        if (server->job.deadline_ms >= 0 && ist_uid_now_ms() >= server->job.deadline_ms) ist_uid_job_late(server);
        set_state(server, has_work(server), false);
    }
    if (server->root != NULL) shutdown(server->root->fd, SHUT_RDWR);
    close(server->listener); /* the system refuses later connections */
    server->listener = -1;
    set_state(server, false, true);
    return NULL;
}

/* ---- start and end ---- */

static isthmus_status fail_call(const char *call)
{
    if (errno == EMFILE)
        return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot start the unique id's server: %s; raise 'ulimit -n'",
                              call);
    return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot start the unique id's server: %s", call);
}

isthmus_status ist_uid_listen(struct ist_uid *uid, int *out)
{
    char place[80];
    struct sockaddr_storage address;
    socklen_t length = ist_uid_sockaddr(uid, 0, &address);
    int one = 1;
    ist_uid_describe(uid, place, sizeof place);
    *out = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*out < 0) return fail_call("socket");
    if (uid->is_session != 1) { /* peers use any address of the id, PEs of this host the loopback interface */
        if (address.ss_family == AF_INET) ((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_ANY);
        if (address.ss_family == AF_INET6) ((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_any;
    }
    setsockopt(*out, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(*out, (struct sockaddr *)&address, length) != 0 || listen(*out, BACKLOG) != 0)
        return ist_fail_errno(ISTHMUS_ERR_IO, "cannot start the unique id's server: bind and listen at %s", place);
    if (getsockname(*out, (struct sockaddr *)&address, &length) != 0)
        return ist_fail_errno(ISTHMUS_ERR_IO, "cannot start the unique id's server: getsockname");
    memcpy(uid->port, &((struct sockaddr_in *)&address)->sin_port, sizeof uid->port);
    return ISTHMUS_OK;
}

static isthmus_status open_events(struct ist_uid_server *server)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    server->events = epoll_create1(EPOLL_CLOEXEC);
    if (server->events < 0 || epoll_ctl(server->events, EPOLL_CTL_ADD, server->listener, &event) != 0)
        return fail_call("epoll");
    if (!server->is_leader) server->spare = fcntl(server->events, F_DUPFD_CLOEXEC, 0);
    return server->is_leader || server->spare >= 0 ? ISTHMUS_OK : fail_call("dup");
}

static isthmus_status start_thread(struct ist_uid_server *server)
{
    int error = ist_quiet_thread_create(&server->thread, "isthmus-uid", serve, server);
    if (error != 0)
        return ist_fail(ISTHMUS_ERR_NO_MEMORY,
                        "cannot start the unique id's server: pthread_create: %s; raise 'ulimit -u' or 'ulimit -v'",
                        strerror(error));
    return ISTHMUS_OK;
}

static void server_destroy(struct ist_uid_server *server)
{
    ist_uid_connections_fini(server);
    ist_uid_store_fini(&server->store);
    ist_uid_job_fini(&server->job);
    if (server->listener >= 0) close(server->listener);
    if (server->events >= 0) close(server->events);
    if (server->spare >= 0) close(server->spare);
    free(server);
}

static struct ist_uid_server *server_new(const struct ist_uid *uid, const struct ist_uid_patience *patience)
{
    struct ist_uid_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        (void)ist_fail_memory("the server");
        return NULL;
    }
    server->uid = *uid;
    server->patience = *patience;
    server->listener = server->events = server->spare = server->own_pe = -1;
    server->job.deadline_ms = server->job.server_pe = -1;
    return server;
}

static void keep(struct ist_uid_server *server)
{
    pthread_mutex_lock(&servers.lock);
    server->next = servers.first;
    ist_store_release(&servers.first, server);
    pthread_mutex_unlock(&servers.lock);
}

isthmus_status ist_uid_server_start(struct ist_uid *uid, const struct ist_uid_patience *patience)
{
    struct ist_uid_server *server = server_new(uid, patience);
    if (server == NULL) return ISTHMUS_ERR_NO_MEMORY;
    isthmus_status status = ist_uid_listen(&server->uid, &server->listener);
    if (status == ISTHMUS_OK) status = open_events(server);
    if (status == ISTHMUS_OK) *uid = server->uid; /* port included */
    if (status == ISTHMUS_OK) status = start_thread(server);
    if (status != ISTHMUS_OK) {
        server_destroy(server);
        return status;
    }
    keep(server);
    return ISTHMUS_OK;
}

isthmus_status ist_uid_leader_start(const struct ist_uid_seat *seat, int listener, int root)
{
    struct ist_uid_server *server = server_new(&seat->uid, &seat->patience);
    if (server == NULL) return ISTHMUS_ERR_NO_MEMORY;
    server->is_leader = true;
    server->job.server_pe = seat->pe;
    server->job.n_pes = seat->n_pes;
    server->job.members = calloc((size_t)seat->n_pes, sizeof *server->job.members);
    server->listener = listener;
    snprintf(server->root_name, sizeof server->root_name, "%s", seat->root_name);
    isthmus_status status = open_events(server);
    bool is_ready = status == ISTHMUS_OK && server->job.members != NULL && fcntl(root, F_SETFL, O_NONBLOCK) == 0 &&
                    ist_uid_connect_root(server, root) != NULL;
    if (status == ISTHMUS_OK && !is_ready) status = ist_fail_memory("the server of this host");
    if (status == ISTHMUS_OK) status = start_thread(server);
    if (status != ISTHMUS_OK) {
        server->listener = -1; /* the caller's, like the connection to the root */
        if (server->root != NULL) server->root->fd = -1;
        server_destroy(server);
        return status;
    }
    keep(server);
    return ISTHMUS_OK;
}

void ist_uid_server_seat(const struct ist_uid *uid, int pe, int n_pes)
{
    pthread_mutex_lock(&servers.lock);
    for (struct ist_uid_server *server = servers.first; server != NULL; server = server->next)
        if (!server->is_leader && memcmp(server->uid.secret, uid->secret, sizeof uid->secret) == 0) {
            ist_store_release(&server->own_n_pes, n_pes);
            ist_store_release(&server->own_pe, pe);
        }
    pthread_mutex_unlock(&servers.lock);
}

/* Logs what the job has cost here; tests count it. */
static void report(const struct ist_uid_server *server)
{
    ist_info("unique id: the %s of %d PEs has received %llu messages on %llu connections",
             server->is_leader ? "leader" : "root", server->job.n_joined, (unsigned long long)server->n_frames,
             (unsigned long long)server->n_connections);
}

/* Called with the lock held. The thread of a server that is done takes no lock any more. */
static bool reap_done(void)
{
    bool any_busy = false;
    for (struct ist_uid_server **at = &servers.first; *at != NULL;) {
        struct ist_uid_server *server = *at;
        any_busy = any_busy || server->is_busy;
        if (!server->is_done) {
            at = &server->next;
            continue;
        }
        *at = server->next;
        pthread_join(server->thread, NULL);
        report(server);
        server_destroy(server);
    }
    return !any_busy;
}

void ist_uid_servers_wait(int timeout_ms)
{
    struct timespec until = ist_clock_until_ms(timeout_ms);
    pthread_mutex_lock(&servers.lock);
    while (!reap_done() && ist_clock_wait(&servers.changed, &servers.lock, &until) == 0) {}
    pthread_mutex_unlock(&servers.lock);
}

/* Takes no lock and frees nothing: the parent's threads do not exist here to release either. */
void ist_uid_servers_forget(void)
{
    for (struct ist_uid_server *server = servers.first; server != NULL; server = server->next) {
        close(server->listener);
        close(server->events);
        if (server->spare >= 0) close(server->spare);
        for (struct ist_uid_connection *at = server->connections; at != NULL; at = at->next) close(at->fd);
    }
    servers.first = NULL;
    pthread_mutex_init(&servers.lock, NULL);
    pthread_cond_init(&servers.changed, NULL);
}

/* ---- ids ---- */

isthmus_status ist_uid_create(const struct ist_config *config, struct ist_uid *out)
{
    if (config->uid_session != NULL && config->uid_session[0] != '\0')
        return ist_uid_parse_session(config, "ISTHMUS_UID_SESSION", config->uid_session, out);
    struct ist_uid uid = {.format = IST_UID_FORMAT};
    struct ist_uid_patience patience = {config->peer_timeout_s, config->start_timeout_s};
    uint32_t pid = htonl((uint32_t)getpid());
    memcpy(uid.pid, &pid, sizeof uid.pid);
    isthmus_status status = ist_random_bytes(uid.secret, sizeof uid.secret);
    if (status == ISTHMUS_OK) status = ist_host_id_read(&uid.host);
    if (status == ISTHMUS_OK) status = ist_uid_find_addresses(config, &uid);
    if (status == ISTHMUS_OK) status = ist_uid_server_start(&uid, &patience);
    if (status == ISTHMUS_OK) *out = uid;
    return status;
}
