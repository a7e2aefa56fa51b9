/* tools/isthmus-check-transport/processes.c: the processes of a case. See contract.h.
 * Every process has a socket to the parent, which collects a blob from each and sends all to each. So the parent
 * detects a process that ends without notice, or that hangs, and no process waits for ever. What a plugin prints goes
 * to a file that must stay empty.
 * Findings stand on a board that all processes share (finding.c). */
#include "processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEFT = 78, KICK_MS = 1000 };

/* ---- in a process ---- */

_Noreturn void ct_leave(struct ct_process *p)
{
    (void)p;
    _exit(LEFT);
}

static void send_to_all(struct ct_process *p, const void *bytes, size_t n_bytes)
{
    struct ct_blob mine = {.n_bytes = (uint32_t)n_bytes};
    CT_NEED(n_bytes <= sizeof mine.bytes, "%zu bytes to exchange, at most %zu", n_bytes, sizeof mine.bytes);
    if (n_bytes > 0) memcpy(mine.bytes, bytes, n_bytes);
    ssize_t sent = send(p->to_parent, &mine, offsetof(struct ct_blob, bytes) + n_bytes, MSG_NOSIGNAL);
    CT_NEED(sent > 0, "the parent is gone");
}

static void receive_from_all(struct ct_process *p, struct ct_blob all[CT_MAX_PROCESSES])
{
    for (int pe = 0; pe < p->n; pe++) {
        ssize_t got = recv(p->to_parent, &all[pe], sizeof all[pe], 0);
        CT_NEED(got > 0, "the parent is gone");
    }
}

void ct_exchange(struct ct_process *p, const void *bytes, size_t n_bytes, struct ct_blob all[CT_MAX_PROCESSES])
{
    send_to_all(p, bytes, n_bytes);
    receive_from_all(p, all);
}

void ct_arrive(struct ct_process *p) { send_to_all(p, NULL, 0); }

bool ct_all_have_arrived(struct ct_process *p, int within_ms)
{
    struct pollfd fd = {.fd = p->to_parent, .events = POLLIN};
    return poll(&fd, 1, within_ms) > 0;
}

void ct_leave_meeting(struct ct_process *p)
{
    static struct ct_blob all[CT_MAX_PROCESSES];
    receive_from_all(p, all);
}

void ct_meet(struct ct_process *p)
{
    ct_arrive(p);
    ct_leave_meeting(p);
}

/* ---- the parent ---- */

/* A finding of the parent's own. */
static void find(struct run *run, int process, const char *slot, const char *rule, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
static void find(struct run *run, int process, const char *slot, const char *rule, const char *fmt, ...)
{
    struct ct_report *report = run->report;
    report->result = CT_FAILED;
    if (report->n_findings == CT_MAX_FINDINGS) return;
    struct ct_finding *f = &report->findings[report->n_findings++];
    f->process = process;
    snprintf(f->slot, sizeof f->slot, "%s", slot);
    snprintf(f->rule, sizeof f->rule, "%s", rule);
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->seen, sizeof f->seen, fmt, args);
    va_end(args);
}

/* The last known call of a process. */
static void slot_of_last_call(const struct run *run, int process, char *out, size_t out_bytes)
{
    const char *call = __atomic_load_n(&run->board->call[process], __ATOMIC_RELAXED);
    out[0] = '\0';
    if (call != NULL) ct_slot_of(call, out, out_bytes);
    if (out[0] == '\0') snprintf(out, out_bytes, "%s", run->c->slot);
}

/* The standard descriptors are watched: a plugin never prints. */
static void take_over_output(const struct run *run)
{
    if (dup2(run->printed, STDOUT_FILENO) < 0 || dup2(run->printed, STDERR_FILENO) < 0) _exit(EXIT_FAILURE);
}

static _Noreturn void be_process(const struct run *run, int pe, int to_parent)
{
    static struct ct_process p;
    ct_board_join(run->board, run->c, pe);
    p = (struct ct_process){.pe = pe, .n = run->n, .to_parent = to_parent, .host = run->hosts[pe]};
    memcpy(p.hosts, run->hosts, sizeof p.hosts);
    p.progress.kick_fd = run->children[pe].kick_fd;
    pthread_mutex_init(&p.progress.lock, NULL);
    pthread_mutex_init(&p.cold, NULL);
    ct_plugin_load(run->plugin, &p.plugin);
    p.t = &p.plugin.t;
    ct_make_services(&p, &p.services);
    ct_forget_failure();
    if (p.t->probe(&p.services) != ISTHMUS_OK) ct_skip("%s cannot run here: %s", p.t->name, ct_failure_text());
    run->c->run(&p);
    exit(EXIT_SUCCESS); /* so that sanitizers run their checks at exit */
}

/* Of a job's PEs, the one that runs process `pe`. */
static const struct job_place *place_of(const struct job *job, int pe) { return &job->places[pe % job->n_pes]; }

bool ct_start_process(struct run *run, const struct job *job, int pe)
{
    int pair[2];
    int kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (kick_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
    run->children[pe].kick_fd = kick_fd;
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        for (int other = 0; other < pe; other++) close(run->children[other].socket);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        take_over_output(run);
        if (job != NULL && pe % job->n_pes != 0) ct_stand_in(run, place_of(job, pe), pe, pair[1]);
        be_process(run, pe, pair[1]);
    }
    close(pair[1]);
    run->children[pe].pid = pid;
    run->children[pe].socket = pair[0];
    return pid > 0;
}

/* All at once, so that none reports the end of another. */
static void kill_all(struct run *run)
{
    for (int pe = 0; pe < run->n; pe++) {
        struct child *child = &run->children[pe];
        child->was_cut = child->socket >= 0;
        if (child->was_cut) kill(child->pid, SIGKILL);
    }
    for (int pe = 0; pe < run->n; pe++) {
        struct child *child = &run->children[pe];
        if (!child->was_cut) continue;
        waitpid(child->pid, &child->status, 0);
        close(child->socket);
        child->socket = -1;
    }
}

/* A process has ended when it is dead as a whole: its last descriptor may be closed before its other ones. */
static void note_end(struct run *run, int pe)
{
    struct child *child = &run->children[pe];
    waitpid(child->pid, &child->status, 0);
    close(child->socket);
    child->socket = -1;
    __atomic_store_n(&run->board->has_ended[pe], true, __ATOMIC_RELAXED);
}

/* Every live process has sent: send all to all. */
static void relay_if_complete(struct run *run)
{
    int n_alive = 0;
    for (int pe = 0; pe < run->n; pe++) {
        if (run->children[pe].socket < 0) continue;
        if (!run->children[pe].has_sent) return;
        n_alive++;
    }
    static const struct ct_blob gone = {.n_bytes = (uint32_t)CT_GONE};
    for (int to = 0; n_alive > 0 && to < run->n; to++) {
        for (int from = 0; run->children[to].socket >= 0 && from < run->n; from++) {
            const struct child *child = &run->children[from];
            const struct ct_blob *blob = child->socket >= 0 ? &child->blob : &gone;
            size_t n_bytes = child->socket >= 0 ? blob->n_bytes : 0;
            (void)send(run->children[to].socket, blob, offsetof(struct ct_blob, bytes) + n_bytes, MSG_NOSIGNAL);
        }
        run->children[to].has_sent = false;
    }
}

static bool is_good_end(int status)
{
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == LEFT);
}

static void note_hanging(struct run *run)
{
    int ended = -1;
    for (int pe = 0; pe < run->n; pe++)
        if (run->children[pe].socket < 0) ended = pe;
    for (int pe = 0; pe < run->n; pe++) {
        char slot[24];
        if (run->children[pe].socket < 0 || run->children[pe].has_sent) continue;
        slot_of_last_call(run, pe, slot, sizeof slot);
        if (ended >= 0)
            find(run, pe, slot, "a slot waits for no peer that has ended",
                 "it hangs: nothing from it for %d s; the slot it called last is %s, and process %d has ended",
                 run->patience_s, slot, ended);
        else
            find(run, pe, slot, run->c->rule, "it hangs: nothing from it for %d s; the slot it called last is %s",
                 run->patience_s, slot);
    }
}

/* Returns how many processes live; `fds` are their sockets. */
static int list_sockets(const struct run *run, struct pollfd fds[CT_MAX_PROCESSES])
{
    int n_alive = 0;
    for (int pe = 0; pe < run->n; pe++) {
        fds[pe] = (struct pollfd){.fd = run->children[pe].socket, .events = POLLIN};
        n_alive += run->children[pe].socket >= 0;
    }
    return n_alive;
}

/* Calls of progress in process `pe`, for which its descriptor had not polled readable, end the hang. */
static bool progress_frees(struct run *run, int pe)
{
    struct pollfd fds[CT_MAX_PROCESSES];
    uint64_t count = 1;
    bool was_sent = write(run->children[pe].kick_fd, &count, sizeof count) == (ssize_t)sizeof count;
    (void)list_sockets(run, fds);
    bool is_free = was_sent && poll(fds, (nfds_t)run->n, KICK_MS) > 0;
    (void)!read(run->children[pe].kick_fd, &count, sizeof count);
    return is_free;
}

/* Has all processes read from each other, beside the operations that hang (poke.c). */
static void poke_all(struct run *run)
{
    struct pollfd fds[CT_MAX_PROCESSES];
    __atomic_store_n(&run->board->is_poking, true, __ATOMIC_RELAXED);
    for (int pe = 0; pe < run->n; pe++)
        if (run->children[pe].socket >= 0) (void)!write(run->children[pe].kick_fd, &(uint64_t){1}, sizeof(uint64_t));
    (void)list_sockets(run, fds);
    (void)poll(fds, (nfds_t)run->n, KICK_MS);
}

static int poke_of(const struct run *run, int from, int to)
{
    return __atomic_load_n(&run->board->pokes[from][to], __ATOMIC_RELAXED);
}

/* Returns true for a process that waits for `to` in a slot: what it sends there is not served, and what it sends to
 * some other one is; and `to` serves one that waits for nothing. */
static bool is_left(const struct run *run, int from, int to)
{
    bool serves_others = false, is_served = false;
    if (run->children[from].socket < 0 || run->children[from].has_sent || poke_of(run, from, to) != CT_POKE_SENT)
        return false;
    for (int pe = 0; pe < run->n; pe++) {
        serves_others |= pe != from && poke_of(run, pe, to) == CT_POKE_SERVED;
        is_served |= pe != to && poke_of(run, from, pe) == CT_POKE_SERVED;
    }
    return serves_others && is_served;
}

static bool find_left_behind(struct run *run)
{
    poke_all(run);
    for (int from = 0; from < run->n; from++)
        for (int to = 0; to < run->n; to++) {
            if (!is_left(run, from, to)) continue;
            find(run, to, "progress", "what has arrived is served, or the descriptor polls readable again",
                 "a wake-up is lost: the case hung for %d s, process %d waits for this one, which serves other "
                 "processes meanwhile",
                 run->patience_s, from);
            return true;
        }
    return false;
}

/* A slot that waits is not at fault if the progress thread of a process sleeps on while progress has work. */
static void judge_hang(struct run *run)
{
    for (int pe = 0; pe < run->n; pe++) {
        if (run->children[pe].socket < 0 || !progress_frees(run, pe)) continue;
        find(
            run, pe, "arm", "the descriptor polls readable when progress has work",
            "the case hung for %d s, and went on when progress was called here; the descriptor had not polled readable",
            run->patience_s);
        return;
    }
    if (!find_left_behind(run)) note_hanging(run);
}

/* Returns true while the case runs: a process lives and none has failed. */
static bool step(struct run *run)
{
    struct pollfd fds[CT_MAX_PROCESSES];
    if (list_sockets(run, fds) == 0) return false;
    int ready = poll(fds, (nfds_t)run->n, 1000 * run->patience_s);
    if (ready < 0) return errno == EINTR;
    if (ready == 0) {
        judge_hang(run);
        return false;
    }
    for (int pe = 0; pe < run->n; pe++) {
        struct child *child = &run->children[pe];
        if (fds[pe].revents == 0 || child->socket < 0) continue;
        child->has_sent = recv(child->socket, &child->blob, sizeof child->blob, 0) > 0;
        if (child->has_sent) continue;
        note_end(run, pe);
        if (!is_good_end(child->status)) return false;
    }
    relay_if_complete(run);
    return true;
}

/* What the processes, the plugin in them or a sanitizer wrote to the standard descriptors. */
static void take_printed(struct run *run)
{
    ssize_t got = pread(run->printed, run->report->printed, sizeof run->report->printed - 1, 0);
    if (got <= 0) return;
    run->report->printed[got] = '\0';
    find(run, -1, "any", "a plugin never prints, exits, aborts, installs signal handlers or changes the environment",
         "this was printed: %.700s", run->report->printed);
}

/* The finding of a process that has ended, and what its exit status shows. */
static void judge(struct run *run, int pe)
{
    struct ct_report *report = run->report;
    const struct ct_finding *said = &run->board->findings[pe];
    int status = run->children[pe].status;
    char slot[24];
    slot_of_last_call(run, pe, slot, sizeof slot);
    if (run->board->turn[pe] > 0 && said->rule[0] == '\0') {
        report->result = CT_SKIPPED;
        snprintf(report->why_skipped, sizeof report->why_skipped, "%s", said->seen);
    } else if (run->board->turn[pe] > 0) {
        report->result = CT_FAILED;
        report->findings[report->n_findings++] = *said;
    } else if (WIFSIGNALED(status)) {
        find(run, pe, slot, run->c->rule, "it was killed by signal %d (%s); the slot it called last is %s",
             WTERMSIG(status), strsignal(WTERMSIG(status)), slot);
    } else if (WIFEXITED(status) && !is_good_end(status)) {
        find(run, pe, slot, "a plugin never prints, exits, aborts, installs signal handlers or changes the environment",
             "it ended with status %d; the slot it called last is %s", WEXITSTATUS(status), slot);
    }
}

/* The first finding counts even if its process was still ending when the parent saw another process end: it may be the
 * cause of the finding of that one. */
static void judge_all(struct run *run)
{
    for (int pe = 0; pe < run->n; pe++)
        if (!run->children[pe].was_cut || run->board->turn[pe] == 1) judge(run, pe);
    if (run->report->n_findings > 0) run->report->result = CT_FAILED;
    take_printed(run);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void run_processes(struct run *run, const struct job *job)
{
    bool started = true;
    for (int pe = 0; pe < CT_MAX_PROCESSES; pe++) run->hosts[pe] = place_of(job, pe)->host;
    for (int pe = 0; started && pe < run->n; pe++) started = ct_start_process(run, job, pe);
    if (!started) find(run, -1, "none", "this machine has what the check needs", "fork: %s", strerror(errno));
    while (started && step(run)) {}
    kill_all(run);
    judge_all(run);
}

void ct_run_case(const struct ct_case *c, const char *plugin, const struct job *job, int n_processes, int patience_s,
                 struct ct_report *out)
{
    struct run run = {.c = c, .plugin = plugin, .n = c->n, .patience_s = patience_s, .report = out};
    double began_s = now_s();
    if (n_processes == 0) n_processes = job->n_pes;
    if (c->takes_more && n_processes > c->n) run.n = n_processes;
    memset(out, 0, sizeof *out);
    out->n_processes = run.n;
    for (int pe = 0; pe < run.n; pe++) run.children[pe].socket = run.children[pe].kick_fd = -1;
    (void)ct_seed();
    fflush(NULL);
    run.printed = memfd_create("printed", MFD_CLOEXEC);
    run.board = ct_board_create();
    if (run.printed >= 0 && run.board != NULL)
        run_processes(&run, job);
    else
        find(&run, -1, "none", "this machine has what the check needs", "memory for the case: %s", strerror(errno));
    for (int pe = 0; pe < run.n; pe++)
        if (run.children[pe].kick_fd >= 0) close(run.children[pe].kick_fd);
    ct_board_destroy(run.board);
    close(run.printed);
    out->seconds = now_s() - began_s;
}
