/* tests/contract/processes.c: the processes of a case. See contract.h.
 * Every process has a socket to the parent, which collects a blob from each and sends all to each. So it notices who ends
 * without saying so, and who hangs: nobody waits for ever. What a plugin prints goes to a file that must stay empty. */
#include "contract.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEFT = 78, FAULT = 1, PATIENCE_S = 60 };

/* In a process: what its messages begin with, and where they go. */
static struct {
    const char *case_name;
    int pe;
    FILE *out;
} self;

/* ---- in a process ---- */

static void tell(const char *kind, const char *fmt, va_list args)
{
    char text[1500];
    vsnprintf(text, sizeof text, fmt, args);
    fprintf(self.out, "contract: %s: process %d: %s%s\n", self.case_name, self.pe, kind, text);
    fflush(self.out);
}

/* Not exit(): other threads may be inside the plugin. */
_Noreturn void ct_fault(const char *file, int line, const char *condition, const char *fmt, ...)
{
    char where[300];
    const char *slash = strrchr(file, '/');
    va_list args;
    snprintf(where, sizeof where, "%s:%d: not true: %s: ", slash != NULL ? slash + 1 : file, line, condition);
    va_start(args, fmt);
    tell(where, fmt, args);
    va_end(args);
    _exit(FAULT);
}

_Noreturn void ct_skip(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tell("skipped: ", fmt, args);
    va_end(args);
    _exit(CT_SKIPPED);
}

_Noreturn void ct_leave(struct ct_process *p)
{
    (void)p;
    _exit(LEFT);
}

void ct_expect_ok(const char *file, int line, const char *call, isthmus_status status)
{
    if (status != ISTHMUS_OK)
        ct_fault(file, line, call, "%s (%d): %s", ct_status_name(status), status, ct_failure_text());
}

void ct_expect_error(const char *file, int line, const char *call, isthmus_status status, uint32_t codes)
{
    if (status == ISTHMUS_OK) ct_fault(file, line, call, "it worked; an error was expected");
    if (status > 0 || status < ISTHMUS_ERR_VERSION) ct_fault(file, line, call, "%d is no error code", status);
    if ((codes >> -status & 1) == 0)
        ct_fault(file, line, call, "%s is not one of the errors expected: %s", ct_status_name(status),
                 ct_failure_text());
    if (ct_failure_text()[0] == '\0')
        ct_fault(file, line, call, "%s came without a text: services->fail() was not called", ct_status_name(status));
}

void ct_exchange(struct ct_process *p, const void *bytes, size_t n_bytes, struct ct_blob all[CT_MAX_PROCESSES])
{
    struct ct_blob mine = {.n_bytes = (uint32_t)n_bytes};
    CT_CHECK(n_bytes <= sizeof mine.bytes, "%zu bytes to exchange, at most %zu", n_bytes, sizeof mine.bytes);
    if (n_bytes > 0) memcpy(mine.bytes, bytes, n_bytes);
    ssize_t sent = send(p->to_parent, &mine, offsetof(struct ct_blob, bytes) + n_bytes, MSG_NOSIGNAL);
    CT_CHECK(sent > 0, "the parent is gone");
    for (int pe = 0; pe < p->n; pe++) {
        ssize_t got = recv(p->to_parent, &all[pe], sizeof all[pe], 0);
        CT_CHECK(got > 0, "the parent is gone");
    }
}

void ct_meet(struct ct_process *p)
{
    static struct ct_blob all[CT_MAX_PROCESSES];
    ct_exchange(p, NULL, 0, all);
}

/* ---- the parent ---- */

struct child {
    pid_t pid;
    int socket, status; /* socket -1: it has ended, with this status of waitpid */
    bool has_sent;
    struct ct_blob blob;
};

struct run {
    const struct ct_case *c;
    const char *plugin;
    struct child children[CT_MAX_PROCESSES];
    int printed; /* descriptor of what the processes printed */
};

static struct isthmus_host_id host_of_this_machine(void)
{
    struct isthmus_host_id id = {{0}};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL) {
        (void)!fread(id.bytes, 1, sizeof id.bytes, file);
        fclose(file);
    }
    return id;
}

/* The standard descriptors are watched: a plugin never prints. */
static void take_over_output(const struct run *run)
{
    int kept = dup(STDERR_FILENO);
    self.out = kept >= 0 ? fdopen(kept, "w") : NULL;
    if (self.out == NULL || dup2(run->printed, STDOUT_FILENO) < 0 || dup2(run->printed, STDERR_FILENO) < 0)
        _exit(FAULT);
}

static _Noreturn void be_process(const struct run *run, int pe, int to_parent)
{
    static struct ct_process p;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_over_output(run);
    self.case_name = run->c->name;
    self.pe = pe;
    p = (struct ct_process){.pe = pe, .n = run->c->n, .to_parent = to_parent, .host = host_of_this_machine()};
    pthread_mutex_init(&p.progress.lock, NULL);
    pthread_mutex_init(&p.cold, NULL);
    ct_plugin_load(run->plugin, &p.plugin);
    p.t = &p.plugin.t;
    ct_make_services(&p, &p.services);
    ct_forget_failure();
    if (p.t->probe(&p.services) != ISTHMUS_OK) ct_skip("%s cannot run here: %s", p.t->name, ct_failure_text());
    run->c->run(&p);
    exit(EXIT_SUCCESS); /* with the checks that sanitizers make at exit */
}

static bool start_process(struct run *run, int pe)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        for (int other = 0; other < pe; other++) close(run->children[other].socket);
        be_process(run, pe, pair[1]);
    }
    close(pair[1]);
    run->children[pe] = (struct child){.pid = pid, .socket = pair[0]};
    return pid > 0;
}

static void kill_all(struct run *run)
{
    for (int pe = 0; pe < run->c->n; pe++) {
        struct child *child = &run->children[pe];
        if (child->socket < 0 || child->pid <= 0) continue;
        kill(child->pid, SIGKILL);
        waitpid(child->pid, &child->status, 0);
        close(child->socket);
        child->socket = -1;
    }
}

/* A process has ended when it is dead as a whole: its last descriptor may be closed before its other ones. */
static void note_end(struct child *child)
{
    waitpid(child->pid, &child->status, 0);
    close(child->socket);
    child->socket = -1;
}

/* Everybody who lives has sent: give all to all. */
static void relay_if_complete(struct run *run)
{
    int n_alive = 0;
    for (int pe = 0; pe < run->c->n; pe++) {
        if (run->children[pe].socket < 0) continue;
        if (!run->children[pe].has_sent) return;
        n_alive++;
    }
    static const struct ct_blob gone = {.n_bytes = (uint32_t)CT_GONE};
    for (int to = 0; n_alive > 0 && to < run->c->n; to++) {
        for (int from = 0; run->children[to].socket >= 0 && from < run->c->n; from++) {
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

/* True while the case goes on: somebody lives and nobody has failed. */
static bool step(struct run *run)
{
    struct pollfd fds[CT_MAX_PROCESSES];
    int n_alive = 0;
    for (int pe = 0; pe < run->c->n; pe++) {
        fds[pe] = (struct pollfd){.fd = run->children[pe].socket, .events = POLLIN};
        n_alive += run->children[pe].socket >= 0;
    }
    if (n_alive == 0) return false;
    const char *text = getenv("CONTRACT_TIMEOUT");
    int patience_s = text != NULL && atoi(text) > 0 ? atoi(text) : PATIENCE_S;
    int ready = poll(fds, (nfds_t)run->c->n, 1000 * patience_s);
    if (ready < 0) return errno == EINTR;
    if (ready == 0) {
        for (int pe = 0; pe < run->c->n; pe++)
            if (run->children[pe].socket >= 0 && !run->children[pe].has_sent)
                fprintf(stderr, "contract: %s: process %d hangs: nothing from it for %d s\n", run->c->name, pe,
                        patience_s);
        return false;
    }
    for (int pe = 0; pe < run->c->n; pe++) {
        struct child *child = &run->children[pe];
        if (fds[pe].revents == 0 || child->socket < 0) continue;
        child->has_sent = recv(child->socket, &child->blob, sizeof child->blob, 0) > 0;
        if (child->has_sent) continue;
        note_end(child);
        if (!is_good_end(child->status)) return false;
    }
    relay_if_complete(run);
    return true;
}

/* What the processes, the plugin in them or a sanitizer wrote to the standard descriptors. */
static bool show_printed(const struct run *run)
{
    char line[400];
    FILE *file = fdopen(dup(run->printed), "r");
    bool any = false;
    if (file == NULL) return false;
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (!any) fprintf(stderr, "contract: %s: a plugin never prints; this was printed:\n", run->c->name);
        any = true;
        fprintf(stderr, "  %s", line);
    }
    fclose(file);
    return any;
}

/* The first process that failed decides; those killed after it are no news. */
static int judge(const struct run *run, bool was_cut)
{
    for (int pe = 0; pe < run->c->n; pe++) {
        int status = run->children[pe].status;
        if (WIFEXITED(status) && WEXITSTATUS(status) == CT_SKIPPED) return CT_SKIPPED;
    }
    int result = was_cut ? 1 : 0;
    for (int pe = 0; pe < run->c->n; pe++) {
        int status = run->children[pe].status;
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
            fprintf(stderr, "contract: %s: process %d was killed by signal %d (%s)\n", run->c->name, pe,
                    WTERMSIG(status), strsignal(WTERMSIG(status)));
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != LEFT &&
            WEXITSTATUS(status) != FAULT)
            fprintf(stderr, "contract: %s: process %d ended with status %d\n", run->c->name, pe, WEXITSTATUS(status));
        if (!is_good_end(status)) result = 1;
    }
    return result;
}

int ct_run_case(const struct ct_case *c, const char *plugin)
{
    struct run run = {.c = c, .plugin = plugin, .printed = memfd_create("printed", MFD_CLOEXEC)};
    for (int pe = 0; pe < c->n; pe++) run.children[pe].socket = -1;
    (void)ct_seed();
    fflush(NULL);
    bool started = run.printed >= 0;
    for (int pe = 0; started && pe < c->n; pe++) started = start_process(&run, pe);
    if (!started) fprintf(stderr, "contract: %s: cannot start its processes: %s\n", c->name, strerror(errno));
    while (started && step(&run)) {}
    bool was_cut = !started;
    for (int pe = 0; pe < c->n; pe++) was_cut |= run.children[pe].socket >= 0;
    kill_all(&run);
    int result = judge(&run, was_cut);
    if (show_printed(&run) && result == 0) result = 1;
    if (result == 1)
        fprintf(stderr, "contract: %s: ISTHMUS_TEST_SEED=%#" PRIx64 " repeats this run\n", c->name, ct_seed());
    close(run.printed);
    return result;
}
