/* tests/doubles/verbs/wire.c: frames between processes by sockets, and the thread that is this process's adapters. */
#include "tests/doubles/verbs/verbs_double.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FULL_BYTES = 1 << 20, BACKLOG = 4096, EVENTS = 64, SLOTS = 4095 };

struct link {
    struct link *next;
    int fd, host;
    uint32_t slot;
    bool is_ours, is_lost;
    char *in, *out;
    size_t in_used, in_room, out_used, out_sent, out_room;
};

static struct link *links;
static int listener = -1, events = -1, kick = -1;
static uint32_t slot;
static uint64_t state;

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A number below `below`, drawn by the seed. */
uint64_t draw(uint64_t below)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return (mixed ^ (mixed >> 31)) % below;
}

uint32_t wire_slot(void) { return slot; }
void wire_kick(void) { (void)!write(kick, &(uint64_t){1}, 8); }

/* ---- links ---- */

static socklen_t path_of(int host, uint32_t of_slot, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(out->sun_path, sizeof out->sun_path, "%s/%d.%u", folder_of_sockets(), host, of_slot);
    return sizeof *out;
}

static struct link *link_add(int fd)
{
    struct link *link = calloc(1, sizeof *link);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    int room = 4 << 20;
    link->fd = fd;
    link->next = links;
    links = link;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)epoll_ctl(events, EPOLL_CTL_ADD, fd, &event);
    return link;
}

struct link *wire_link(int host, uint32_t qpn)
{
    struct sockaddr_un address;
    uint32_t there = qpn / QPS_OF_A_PROCESS;
    for (struct link *at = links; at != NULL; at = at->next)
        if (at->is_ours && !at->is_lost && at->host == host && at->slot == there) return at;
    socklen_t length = path_of(host, there, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) != 0) {
        if (fd >= 0) close(fd);
        return NULL;
    }
    struct link *link = link_add(fd);
    link->is_ours = true;
    link->host = host;
    link->slot = there;
    return link;
}

bool wire_is_full(const struct link *link) { return link->out_used - link->out_sent > FULL_BYTES; }

static void flush(struct link *link)
{
    while (link->out_sent < link->out_used) {
        ssize_t n = send(link->fd, link->out + link->out_sent, link->out_used - link->out_sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break; /* full, or lost: its end is an event */
        link->out_sent += (size_t)n;
    }
    if (link->out_sent == link->out_used) link->out_used = link->out_sent = 0;
    struct epoll_event event = {.events = EPOLLIN | (link->out_used > 0 ? EPOLLOUT : 0u), .data.ptr = link};
    (void)epoll_ctl(events, EPOLL_CTL_MOD, link->fd, &event);
}

static void append(struct link *link, const void *bytes, size_t n_bytes)
{
    if (link->out_sent > FULL_BYTES) {
        link->out_used -= link->out_sent;
        memmove(link->out, link->out + link->out_sent, link->out_used);
        link->out_sent = 0;
    }
    if (link->out_used + n_bytes > link->out_room) {
        link->out_room = 2 * (link->out_used + n_bytes);
        link->out = realloc(link->out, link->out_room);
    }
    if (n_bytes > 0) memcpy(link->out + link->out_used, bytes, n_bytes);
    link->out_used += n_bytes;
}

void wire_send(struct link *link, const struct frame *frame, const void *bytes)
{
    if (link->is_lost) return;
    bool was_empty = link->out_used == 0;
    append(link, frame, sizeof *frame);
    append(link, bytes, frame->n_bytes);
    if (was_empty) flush(link);
}

/* ---- the thread ---- */

static void take_frames(struct link *link)
{
    size_t at = 0;
    struct frame frame;
    while (link->in_used - at >= sizeof frame) {
        memcpy(&frame, link->in + at, sizeof frame);
        if (link->in_used - at < sizeof frame + frame.n_bytes) break;
        execute(link, &frame, link->in + at + sizeof frame);
        at += sizeof frame + frame.n_bytes;
    }
    link->in_used -= at;
    memmove(link->in, link->in + at, link->in_used);
}

/* A process that has ended replies no more. */
static void lose(struct link *link)
{
    link->is_lost = true;
    (void)epoll_ctl(events, EPOLL_CTL_DEL, link->fd, NULL);
    close(link->fd);
    forget_link(link);
    for (int i = 0; i < QPS_OF_A_PROCESS; i++) {
        struct queue_pair *qp = queue_pairs[i];
        if (qp == NULL || qp->link != link) continue;
        qp->link = NULL;
        if (qp->first != NULL) fail_queue_pair(qp, IBV_WC_RETRY_EXC_ERR);
    }
}

static void receive(struct link *link)
{
    enum { MOST = 256 << 10 };
    if (link->in_room - link->in_used < MOST) {
        link->in_room = link->in_used + 2 * MOST;
        link->in = realloc(link->in, link->in_room);
    }
    ssize_t n = recv(link->fd, link->in + link->in_used, MOST, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        lose(link);
        return;
    }
    link->in_used += (size_t)n;
    take_frames(link);
}

static void take_event(struct link *link, uint32_t what)
{
    if (link->is_lost) return;
    if ((what & EPOLLOUT) != 0) flush(link);
    if ((what & ~(uint32_t)EPOLLOUT) != 0) receive(link);
}

static int64_t earlier(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

/* What does not come from a socket: requests that wait, and receives that were posted meanwhile. Returns when the next
 * is due, or -1. */
static int64_t go_on(void)
{
    int64_t due = -1, now = now_ns();
    for (int i = 0; i < QPS_OF_A_PROCESS; i++) {
        struct queue_pair *qp = queue_pairs[i];
        if (qp == NULL) continue;
        if (qp->arrived != NULL) serve(qp);
        if (qp->unsent != NULL && (!settings.late || qp->due_ns <= now)) pump(qp);
        if (qp->unsent != NULL && settings.late && qp->due_ns > now) due = earlier(due, qp->due_ns);
    }
    return earlier(due, land_due());
}

static void *run(void *none)
{
    struct epoll_event found[EVENTS];
    int64_t due = -1;
    (void)none;
    for (;;) {
        int64_t left_ns = due < 0 ? -1 : due - now_ns();
        struct timespec wait = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns > 0 ? left_ns % 1000000000 : 0};
        int n = epoll_pwait2(events, found, EVENTS, due < 0 ? NULL : &wait, NULL);
        pthread_mutex_lock(&verbs_lock);
        for (int i = 0; i < n; i++) {
            uint64_t count;
            if (found[i].data.ptr == &kick) {
                (void)!read(kick, &count, sizeof count);
            } else if (found[i].data.ptr == &listener) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                if (fd >= 0) (void)link_add(fd);
            } else {
                take_event(found[i].data.ptr, found[i].events);
            }
        }
        due = go_on();
        pthread_mutex_unlock(&verbs_lock);
    }
    return NULL;
}

/* ---- start ---- */

/* A number of its own among the processes of this host, by the name of a socket. */
static bool listen_somewhere(void)
{
    struct sockaddr_un address;
    int host = adapter_host(), lock = folder_lock();
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    for (slot = 1; slot < SLOTS; slot++) {
        socklen_t length = path_of(host, slot, &address);
        if (bind(listener, (struct sockaddr *)&address, length) == 0) break;
        int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_dead = connect(probe, (struct sockaddr *)&address, length) != 0 && errno == ECONNREFUSED;
        close(probe);
        if (is_dead && unlink(address.sun_path) == 0 && bind(listener, (struct sockaddr *)&address, length) == 0) break;
    }
    bool is_there = slot < SLOTS && listen(listener, BACKLOG) == 0;
    folder_unlock(lock);
    return is_there;
}

static int start_error;

static void watch(int fd, void *mark)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};
    (void)epoll_ctl(events, EPOLL_CTL_ADD, fd, &event);
}

static void start(void)
{
    pthread_t thread;
    sigset_t all, before;
    settings_read();
    state = settings.seed;
    if (!listen_somewhere())
        break_rule("VERBS_DOUBLE_FOLDER", "no socket in %s: %s", folder_of_sockets(), strerror(errno));
    state += slot * 1000003u;
    events = epoll_create1(EPOLL_CLOEXEC);
    kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    watch(listener, &listener);
    watch(kick, &kick);
    /* An adapter takes no signals, but those that its own accesses cause. */
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    start_error = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (start_error == 0) pthread_detach(thread);
}

int wire_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start);
    return start_error;
}
