/* core/transport/host_probe.c: see host_probe.h. */
#include "core/transport/host_probe.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/transport/quiet_thread.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    /* The first PE of a node probes this many; every other PE probes one, to detect that its own node is cut off. */
    NODES_MOST = 8,
    PAUSE_MS = 500, /* between two probes */
    /* A round counts for at most ROUND_MOST_MS: a process that was stopped meanwhile could receive no reply. */
    ROUND_MS = 250,
    ROUND_MOST_MS = 1000
};
/* "discard", a port without a server on most hosts; a server's reply counts as well. */
static const char CLOSED_PORT[] = "9";

struct node {
    struct ist_boot_node who;
    struct addrinfo *at; /* NULL: its name has no address here */
    int fd;              /* the probe in progress; -1: none */
    uint64_t silent_ms, pause_ms;
    bool has_answered;
    int error; /* why the last probe failed; 0: no failure */
};

static struct {
    bool is_running;
    pthread_t thread;
    int stop_fd;
    ist_boot *boot;
    uint64_t timeout_ms;
    bool (*is_needed)(void);
    void (*lost)(const char *what);
    uint32_t n;
    struct node nodes[NODES_MOST];
} probe;

/* ---- one node ---- */

static void end_question(struct node *node)
{
    if (node->fd >= 0) close(node->fd);
    node->fd = -1;
}

static void take_answer(struct node *node)
{
    end_question(node);
    node->has_answered = true;
    node->silent_ms = 0;
    node->pause_ms = PAUSE_MS;
    node->error = 0;
}

/* Both 0 and a refusal come from the node itself. */
static void take_result(struct node *node, int error)
{
    if (error == EINPROGRESS) return;
    if (error == 0 || error == ECONNREFUSED || error == ECONNRESET) {
        take_answer(node);
        return;
    }
    end_question(node);
    node->error = error;
    node->pause_ms = PAUSE_MS;
}

static void ask(struct node *node)
{
    node->fd = socket(node->at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (node->fd < 0) return; /* no descriptor left: retried later */
    take_result(node, connect(node->fd, node->at->ai_addr, node->at->ai_addrlen) == 0 ? 0 : errno);
}

static void look_at(struct node *node, short revents)
{
    int error = 0;
    socklen_t error_bytes = sizeof error;
    if (node->fd < 0 || revents == 0) return;
    if (getsockopt(node->fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes) != 0) error = errno;
    take_result(node, error);
}

/* A node that has never replied is lost only if the system reports it as unreachable. */
static bool is_lost(const struct node *node)
{
    bool has_no_route = node->error == EHOSTUNREACH || node->error == ENETUNREACH || node->error == EHOSTDOWN;
    return node->silent_ms >= probe.timeout_ms && (node->has_answered || has_no_route);
}

static void say_lost(const struct node *node)
{
    char what[200];
    snprintf(what, sizeof what,
             "PE %d on %s is lost: its host has not answered for %u s (ISTHMUS_PULSE_TIMEOUT), while PEs wait for one "
             "another in init: %s",
             node->who.pe, node->who.name, (unsigned)(probe.timeout_ms / 1000),
             strerror(node->error != 0 ? node->error : ETIMEDOUT));
    probe.lost(what);
}

/* ---- the thread ---- */

static void find_nodes(void)
{
    struct ist_boot_node found[NODES_MOST];
    const struct addrinfo kind = {.ai_socktype = SOCK_STREAM};
    uint32_t most = probe.boot->pe == probe.boot->local_pes[0] ? NODES_MOST : 1;
    probe.n = probe.boot->ops->next_nodes(probe.boot, found, most);
    for (uint32_t i = 0; i < probe.n; i++) {
        struct node *node = &probe.nodes[i];
        *node = (struct node){.who = found[i], .fd = -1};
        int failed = getaddrinfo(node->who.name, CLOSED_PORT, &kind, &node->at);
        if (failed == 0) continue;
        node->at = NULL;
        ist_info("host %s is not watched while PEs meet: %s", node->who.name, gai_strerror(failed));
    }
}

static void forget_nodes(void)
{
    for (uint32_t i = 0; i < probe.n; i++) {
        end_question(&probe.nodes[i]);
        if (probe.nodes[i].at != NULL) freeaddrinfo(probe.nodes[i].at);
        free(probe.nodes[i].who.name);
    }
    probe.n = 0;
}

/* Starts a new probe, because the system retries at longer and longer intervals. */
static void ask_anew(struct node *node)
{
    end_question(node);
    node->silent_ms = 0;
}

/* Returns a node that is lost, or NULL. */
static const struct node *pass_time(uint64_t ms)
{
    for (uint32_t i = 0; i < probe.n; i++) {
        struct node *node = &probe.nodes[i];
        if (node->at == NULL) continue;
        node->silent_ms += ms;
        node->pause_ms -= node->pause_ms < ms ? node->pause_ms : ms;
        if (is_lost(node)) return node;
        if (node->silent_ms >= probe.timeout_ms) ask_anew(node);
        if (node->fd < 0 && node->pause_ms == 0) ask(node);
    }
    return NULL;
}

static bool listen_for(int ms)
{
    struct pollfd fds[NODES_MOST + 1] = {{.fd = probe.stop_fd, .events = POLLIN}};
    for (uint32_t i = 0; i < probe.n; i++) fds[1 + i] = (struct pollfd){.fd = probe.nodes[i].fd, .events = POLLOUT};
    (void)poll(fds, probe.n + 1, ms);
    for (uint32_t i = 0; i < probe.n; i++) look_at(&probe.nodes[i], fds[1 + i].revents);
    return fds[0].revents == 0;
}

static void *run(void *unused)
{
    const struct node *lost = NULL;
    uint64_t then = ist_clock_ns(), passed_ms = 0;
    (void)unused;
    find_nodes();
    do {
        lost = pass_time(passed_ms < ROUND_MOST_MS ? passed_ms : ROUND_MOST_MS);
        if (lost != NULL) say_lost(lost);
        passed_ms = (ist_clock_ns() - then) / 1000000u;
        then += passed_ms * 1000000u;
    } while (lost == NULL && probe.is_needed() && listen_for(ROUND_MS));
    forget_nodes();
    return NULL;
}

/* ---- start and stop ---- */

void ist_host_probe_start(ist_boot *boot, uint64_t timeout_s, bool (*is_needed)(void), void (*lost)(const char *what))
{
    if (boot->ops->next_nodes == NULL || boot->n_local == boot->n_pes) return;
    probe.boot = boot;
    probe.timeout_ms = timeout_s * 1000;
    probe.is_needed = is_needed;
    probe.lost = lost;
    probe.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (probe.stop_fd < 0) return;
    probe.is_running = ist_quiet_thread_create(&probe.thread, "isthmus-probe", run) == 0;
    if (!probe.is_running) close(probe.stop_fd);
}

void ist_host_probe_stop(void)
{
    if (!probe.is_running) return;
    uint64_t one = 1;
    (void)!write(probe.stop_fd, &one, sizeof one);
    pthread_join(probe.thread, NULL);
    close(probe.stop_fd);
    probe.is_running = false;
}

void ist_host_probe_forget(void) { probe.is_running = false; }
