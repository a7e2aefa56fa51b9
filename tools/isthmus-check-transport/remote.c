/* tools/isthmus-check-transport/remote.c: a process of a case on another PE of the job, and what stands in for it
 * beside the parent of the case (processes.h). A connection joins the two: messages of the process and its parent pass
 * unchanged; beside them the stand-in learns what the board of the process shows, and how the process ends. */
#include "processes.h"

#include "core/boot/uid_wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 50, KICK_TICKS = 20, CONNECT_MS = 20000 };

enum frame_kind { DATA, CALL, ENDED, KICK, END };

struct head {
    uint32_t kind, n_bytes;
};

struct start {
    uint8_t secret[IST_UID_SECRET_BYTES];
    uint64_t seed;
    int64_t layout; /* the same in processes of one build */
    uint32_t case_index;
    int32_t pe, n;
    struct isthmus_host_id hosts[CT_MAX_PROCESSES];
};

struct end {
    int32_t status, has_finding;
    struct ct_finding finding;
    char printed[sizeof(((struct ct_report *)0)->printed)];
};

union body {
    struct ct_blob blob;
    struct end end;
    int64_t call; /* from ct_cases; 0: none */
    int32_t pe;
};

static int64_t layout(void) { return (int64_t)((intptr_t)(void *)ct_enter - (intptr_t)(const void *)ct_cases); }

static bool send_all(int fd, const void *bytes, size_t n_bytes)
{
    for (size_t at = 0; at < n_bytes;) {
        ssize_t sent = send(fd, (const char *)bytes + at, n_bytes - at, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) return false;
        if (sent > 0) at += (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t n_bytes)
{
    for (size_t at = 0; at < n_bytes;) {
        ssize_t got = recv(fd, (char *)bytes + at, n_bytes - at, 0);
        if (got == 0 || (got < 0 && errno != EINTR)) return false;
        if (got > 0) at += (size_t)got;
    }
    return true;
}

static bool send_frame(int fd, enum frame_kind kind, const void *bytes, size_t n_bytes)
{
    const struct head head = {.kind = kind, .n_bytes = (uint32_t)n_bytes};
    return send_all(fd, &head, sizeof head) && send_all(fd, bytes, n_bytes);
}

static bool receive_frame(int fd, struct head *head, union body *body)
{
    return receive_all(fd, head, sizeof *head) && head->n_bytes <= sizeof *body && receive_all(fd, body, head->n_bytes);
}

/* One message of a process or its parent. */
static bool pass_on(int from, int to)
{
    static struct ct_blob blob;
    ssize_t got = recv(from, &blob, sizeof blob, 0);
    return got > 0 && send_frame(to, DATA, &blob, (size_t)got);
}

static void send_at_once(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* ---- beside the parent ---- */

struct stand_in {
    const struct run *run;
    int pe, to_parent, to_process;
    bool is_known[CT_MAX_PROCESSES]; /* to have ended */
};

/* With a finding of its own, as the process itself would have it. */
static _Noreturn void leave_with(const struct stand_in *s, const struct ct_finding *finding)
{
    struct ct_board *board = s->run->board;
    board->findings[s->pe] = *finding;
    board->turn[s->pe] = __atomic_add_fetch(&board->n_findings, 1, __ATOMIC_RELAXED);
    _exit(EXIT_FAILURE);
}

static _Noreturn void be_lost(const struct stand_in *s, const char *what)
{
    struct ct_finding finding = {.process = s->pe, .slot = "none"};
    snprintf(finding.rule, sizeof finding.rule, "this machine has what the check needs");
    snprintf(finding.seen, sizeof finding.seen, "the PE of the job that runs this process: %s: %s", what,
             strerror(errno));
    leave_with(s, &finding);
}

static _Noreturn void end_alike(const struct stand_in *s, const struct end *end)
{
    (void)!write(STDOUT_FILENO, end->printed, strnlen(end->printed, sizeof end->printed));
    if (end->has_finding != 0) leave_with(s, &end->finding);
    if (WIFSIGNALED(end->status)) {
        signal(WTERMSIG(end->status), SIG_DFL);
        raise(WTERMSIG(end->status));
    }
    _exit(WIFEXITED(end->status) ? WEXITSTATUS(end->status) : EXIT_FAILURE);
}

static void take_frame(const struct stand_in *s)
{
    static union body body;
    struct head head;
    if (!receive_frame(s->to_process, &head, &body)) be_lost(s, "the connection");
    if (head.kind == DATA && send(s->to_parent, &body, head.n_bytes, MSG_NOSIGNAL) < 0) _exit(EXIT_FAILURE);
    if (head.kind == CALL)
        __atomic_store_n(&s->run->board->call[s->pe], (const char *)ct_cases + body.call, __ATOMIC_RELAXED);
    if (head.kind == END) end_alike(s, &body.end);
}

static void report_ended(struct stand_in *s)
{
    for (int32_t pe = 0; pe < s->run->n; pe++) {
        bool has_ended = __atomic_load_n(&s->run->board->has_ended[pe], __ATOMIC_RELAXED);
        if (has_ended && !s->is_known[pe]) (void)send_frame(s->to_process, ENDED, &pe, sizeof pe);
        s->is_known[pe] = has_ended;
    }
}

static int connect_to(const struct run *run, const struct job_place *place, int pe)
{
    struct start start = {
        .seed = ct_seed(), .layout = layout(), .case_index = (uint32_t)(run->c - ct_cases), .pe = pe, .n = run->n};
    memcpy(start.secret, place->uid.secret, sizeof start.secret);
    memcpy(start.hosts, run->hosts, sizeof start.hosts);
    int fd = ist_uid_reach(&place->uid, &run->hosts[0], ist_uid_now_ms() + CONNECT_MS);
    if (fd >= 0) send_at_once(fd);
    return fd >= 0 && send_all(fd, &start, sizeof start) ? fd : -1;
}

_Noreturn void ct_stand_in(const struct run *run, const struct job_place *place, int pe, int to_parent)
{
    struct stand_in s = {.run = run, .pe = pe, .to_parent = to_parent};
    s.to_process = connect_to(run, place, pe);
    if (s.to_process < 0) be_lost(&s, "connect");
    struct pollfd fds[3] = {{.fd = to_parent, .events = POLLIN},
                            {.fd = s.to_process, .events = POLLIN},
                            {.fd = run->children[pe].kick_fd, .events = POLLIN}};
    for (;;) {
        uint64_t count;
        (void)poll(fds, 3, TICK_MS);
        report_ended(&s);
        if (fds[0].revents != 0 && !pass_on(to_parent, s.to_process)) be_lost(&s, "the connection");
        if (fds[1].revents != 0) take_frame(&s);
        if (fds[2].revents != 0 && read(fds[2].fd, &count, sizeof count) > 0)
            (void)send_frame(s.to_process, KICK, NULL, 0);
    }
}

/* ---- beside the process ---- */

struct host {
    struct run *run;
    int pe, to_stand_in, kick_ticks;
    const char *call; /* that the stand-in knows */
};

static void report_call(struct host *h)
{
    const char *call = __atomic_load_n(&h->run->board->call[h->pe], __ATOMIC_RELAXED);
    if (call == h->call) return;
    int64_t from_cases = (int64_t)((intptr_t)call - (intptr_t)(const void *)ct_cases);
    (void)send_frame(h->to_stand_in, CALL, &from_cases, sizeof from_cases);
    h->call = call;
}

static _Noreturn void report_end(struct host *h)
{
    static struct end end;
    struct run *run = h->run;
    waitpid(run->children[h->pe].pid, &end.status, 0);
    end.has_finding = run->board->turn[h->pe] > 0;
    end.finding = run->board->findings[h->pe];
    (void)!pread(run->printed, end.printed, sizeof end.printed - 1, 0);
    report_call(h);
    (void)send_frame(h->to_stand_in, END, &end, sizeof end);
    _exit(EXIT_SUCCESS);
}

/* Progress is called again and again for as long as the descriptor is readable. */
static void kick(struct host *h, bool begins)
{
    uint64_t count = 1;
    int fd = h->run->children[h->pe].kick_fd;
    if (begins) {
        (void)!write(fd, &count, sizeof count);
        h->kick_ticks = KICK_TICKS;
    } else if (h->kick_ticks > 0 && --h->kick_ticks == 0) {
        (void)!read(fd, &count, sizeof count);
    }
}

static void take_request(struct host *h, int to_process)
{
    static union body body;
    struct head head;
    if (!receive_frame(h->to_stand_in, &head, &body)) { /* the case has ended */
        kill(h->run->children[h->pe].pid, SIGKILL);
        _exit(EXIT_SUCCESS);
    }
    if (head.kind == DATA) (void)send(to_process, &body, head.n_bytes, MSG_NOSIGNAL);
    if (head.kind == KICK) kick(h, true);
    if (head.kind == ENDED && body.pe >= 0 && body.pe < CT_MAX_PROCESSES)
        __atomic_store_n(&h->run->board->has_ended[body.pe], true, __ATOMIC_RELAXED);
}

static bool is_right(const struct start *start, const struct job_place *place)
{
    uint8_t difference = 0;
    for (size_t i = 0; i < sizeof start->secret; i++) difference |= start->secret[i] ^ place->uid.secret[i];
    return difference == 0 && start->layout == layout() && start->case_index < ct_n_cases && start->pe >= 0 &&
           start->pe < start->n && start->n <= CT_MAX_PROCESSES;
}

static _Noreturn void run_process(int fd, const struct job *job, const char *plugin)
{
    static struct run run;
    struct start start;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!receive_all(fd, &start, sizeof start) || !is_right(&start, &job->places[job->pe])) _exit(EXIT_FAILURE);
    send_at_once(fd);
    ct_set_seed(start.seed);
    run = (struct run){.c = &ct_cases[start.case_index], .plugin = plugin, .n = start.n};
    memcpy(run.hosts, start.hosts, sizeof run.hosts);
    run.printed = memfd_create("printed", MFD_CLOEXEC);
    run.board = ct_board_create();
    for (int pe = 0; pe < CT_MAX_PROCESSES; pe++) run.children[pe].socket = -1;
    if (run.printed < 0 || run.board == NULL || !ct_start_process(&run, NULL, start.pe)) _exit(EXIT_FAILURE);
    struct host h = {.run = &run, .pe = start.pe, .to_stand_in = fd};
    struct pollfd fds[2] = {{.fd = run.children[start.pe].socket, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    for (;;) {
        (void)poll(fds, 2, TICK_MS);
        report_call(&h);
        kick(&h, false);
        if (fds[0].revents != 0 && !pass_on(fds[0].fd, fd)) report_end(&h);
        if (fds[1].revents != 0) take_request(&h, fds[0].fd);
    }
}

_Noreturn void job_serve(const struct job *job, int listener, const char *plugin)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    signal(SIGCHLD, SIG_IGN); /* nothing is waited for here */
    for (;;) {
        (void)poll(&ready, 1, -1);
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) continue;
        if (fork() == 0) {
            signal(SIGCHLD, SIG_DFL);
            close(listener);
            run_process(fd, job, plugin);
        }
        close(fd);
    }
}
