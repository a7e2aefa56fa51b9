/* core/boot/uid_job.c: how the root of a unique id's servers handles frames of PEs and leaders: PEs join, put, look up,
 * synchronize, leave or are lost. See uid_wire.h for the frames, uid_leader.c for the leaders, uid_server.c for the
 * connections.
 * A job that cannot be complete any more fails once: all PEs get the same text, also those that connect later. */
#include "core/boot/uid_server_priv.h"

#include "core/base/atomic.h"
#include "core/boot/boot.h"
#include "core/topo/topo.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINGER_MS = 5000 };

static void reply(struct ist_uid_server *server, struct ist_uid_connection *connection, struct ist_uid_head head,
                  const void *value)
{
    ist_uid_queue(server, connection, &head, NULL, value);
}

/* ---- failure ---- */

/* A PE that is not connected when the job fails gets the reason from this server. Without a reply it would report that
 * the server has ended. */
static void set_awaited(struct ist_uid_job *job, int pe, bool is_awaited)
{
    job->n_awaited += (int)is_awaited - (int)job->members[pe].is_awaited;
    job->members[pe].is_awaited = is_awaited;
}

static void has_connected(struct ist_uid_job *job, int pe)
{
    if (pe >= 0 && pe < job->n_pes) set_awaited(job, pe, false);
}

bool ist_uid_job_awaits(const struct ist_uid_job *job)
{
    return job->has_failed && job->deadline_ms >= 0 && job->n_awaited > 0;
}

static void end_all(struct ist_uid_server *server, int pe, int code, const char *why)
{
    struct ist_uid_job *job = &server->job;
    if (job->has_failed) return;
    job->has_failed = true;
    job->code = code;
    snprintf(job->why, sizeof job->why, "%s", why);
    job->deadline_ms = ist_uid_now_ms() + LINGER_MS; /* for PEs that connect later */
    for (int late = 0; late < job->n_pes && !job->is_late; late++)
        if (!job->members[late].has_joined) set_awaited(job, late, true);
    ist_uid_spread_end(server, pe, true);
}

static void fail(struct ist_uid_server *server, const char *fmt, ...) IST_PRINTF(2, 3);
static void fail(struct ist_uid_server *server, const char *fmt, ...)
{
    char why[sizeof server->job.why];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    end_all(server, -1, EXIT_FAILURE, why);
}

void ist_uid_no_memory(struct ist_uid_server *server, size_t n_bytes)
{
    if (server->is_leader)
        ist_uid_leader_fail(server, "no memory for %zu bytes in process %d on %s, which serves the PEs of that host",
                            n_bytes, (int)getpid(), ist_host_name());
    else
        fail(server, "no memory for %zu bytes in process %d on %s, which serves the unique id", n_bytes, (int)getpid(),
             ist_host_name());
}

/* Writes "PE 2, PE 5 and 3 more": the members for which `has` is false. */
static void list_missing(const struct ist_uid_job *job, bool (*has)(const struct ist_uid_member *), char *out,
                         size_t room)
{
    enum { NAMED = 6 };
    size_t used = 0;
    int n = 0;
    for (int pe = 0; pe < job->n_pes && used < room; pe++) {
        if (has(&job->members[pe])) continue;
        if (n++ < NAMED) used += (size_t)snprintf(out + used, room - used, "%sPE %d", n > 1 ? ", " : "", pe);
    }
    if (n > NAMED && used < room) snprintf(out + used, room - used, " and %d more", n - NAMED);
}

static bool has_joined(const struct ist_uid_member *member) { return member->has_joined; }
static bool has_arrived(const struct ist_uid_member *member) { return member->has_arrived; }

void ist_uid_job_late(struct ist_uid_server *server)
{
    struct ist_uid_job *job = &server->job;
    char missing[160];
    job->deadline_ms = -1;
    if (job->has_failed || server->is_leader) return;
    bool is_gathering = job->n_joined < job->n_pes;
    job->is_late = is_gathering;
    list_missing(job, is_gathering ? has_joined : has_arrived, missing, sizeof missing);
    fail(server, "%d of %d PEs have %s within %llu s (ISTHMUS_START_TIMEOUT); missing: %s",
         is_gathering ? job->n_joined : job->n_arrived, job->n_pes,
         is_gathering ? "joined the job" : "arrived at an exchange", (unsigned long long)server->patience.start_s,
         missing);
}

static void set_connection(struct ist_uid_member *member, struct ist_uid_connection *connection)
{
    if (member->connection != NULL) member->connection->n_behind--;
    if (connection != NULL) connection->n_behind++;
    member->connection = connection;
}

static void lose(struct ist_uid_server *server, int pe)
{
    struct ist_uid_job *job = &server->job;
    struct ist_uid_member *member = &job->members[pe];
    set_connection(member, NULL);
    if (member->has_left) return;
    member->has_left = true;
    job->n_left++;
    fail(server, "PE %d (process %d on %s) has ended without finalizing", pe, (int)member->hello.pid,
         member->hello.host_name);
}

/* A leader serves until all PEs behind it have left, so a lost leader is a lost process. Its other PEs connect to this
 * server and request the reason. */
static void lose_leader(struct ist_uid_server *server, const struct ist_uid_connection *leader)
{
    struct ist_uid_job *job = &server->job;
    bool is_his = leader->n_behind > 0 && leader->pe >= 0 && leader->pe < job->n_pes &&
                  job->members[leader->pe].connection == leader;
    for (int pe = 0; pe < job->n_pes && !job->has_failed; pe++)
        if (job->members[pe].connection == leader && pe != leader->pe) set_awaited(job, pe, true);
    if (is_his) lose(server, leader->pe);
    for (int pe = 0; pe < job->n_pes && leader->n_behind > 0; pe++)
        if (job->members[pe].connection == leader) lose(server, pe); /* silently after the first one */
}

void ist_uid_job_lost(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    if (connection->link == IST_UID_FROM_LEADER) lose_leader(server, connection);
    if (connection->link == IST_UID_FROM_PE && server->job.members[connection->pe].connection == connection)
        lose(server, connection->pe);
}

/* ---- joining ---- */

struct sorted_pe {
    struct isthmus_host_id host;
    int pe;
};

static int by_host(const void *a, const void *b)
{
    const struct sorted_pe *one = a, *other = b;
    int order = memcmp(&one->host, &other->host, sizeof one->host);
    return order != 0 ? order : (one->pe > other->pe) - (one->pe < other->pe);
}

static struct ist_uid_welcome *new_welcome(int n_runs, int n_neighbours, uint32_t *value_bytes)
{
    size_t n_bytes = sizeof(struct ist_uid_welcome) + (size_t)n_runs * sizeof(struct ist_uid_run) +
                     (size_t)n_neighbours * sizeof(struct ist_uid_neighbour);
    struct ist_uid_welcome *welcome = n_bytes <= IST_UID_VALUE_MAX ? calloc(1, n_bytes) : NULL;
    if (welcome != NULL) *welcome = (struct ist_uid_welcome){.n_runs = n_runs, .n_neighbours = n_neighbours};
    *value_bytes = (uint32_t)n_bytes;
    return welcome;
}

/* Sends to the PEs of one host, or to their leader, the host of every PE and the PEs of that host. Returns false if
 * memory is short. */
static bool welcome_host(struct ist_uid_server *server, const struct sorted_pe *sorted, int n,
                         const struct ist_uid_run *runs, int n_runs)
{
    struct ist_uid_member *members = server->job.members;
    struct ist_uid_head head = {.type = IST_UID_WELCOME, .pe = server->job.server_pe};
    struct ist_uid_welcome *welcome = new_welcome(n_runs, n, &head.value_bytes);
    if (welcome == NULL) return false;
    memcpy((void *)(uintptr_t)ist_uid_welcome_runs(welcome), runs, (size_t)n_runs * sizeof *runs);
    struct ist_uid_neighbour *neighbours = (void *)(uintptr_t)ist_uid_welcome_neighbours(welcome);
    for (int i = 0; i < n; i++) {
        const struct ist_uid_hello *hello = &members[sorted[i].pe].hello;
        neighbours[i] = (struct ist_uid_neighbour){.pe = sorted[i].pe, .pid = hello->pid, .started = hello->started};
    }
    for (struct ist_uid_connection *at = server->connections; at != NULL; at = at->next) {
        bool is_of_job = at->link == IST_UID_FROM_PE || at->link == IST_UID_FROM_LEADER;
        if (is_of_job && !at->is_closed && ist_host_id_equal(&at->host, &sorted[0].host))
            reply(server, at, head, welcome);
    }
    free(welcome);
    return true;
}

/* sorted: of all PEs, host by host. runs: room for as many. Hosts are numbered in the order of their first PEs. */
static int find_runs(const struct sorted_pe *sorted, int n_pes, struct ist_uid_run *runs, int *host_of)
{
    int n_runs = 0, n_hosts = 0;
    for (int first = 0, next = 0; first < n_pes; first = next)
        for (; next < n_pes && ist_host_id_equal(&sorted[first].host, &sorted[next].host); next++)
            host_of[sorted[next].pe] = sorted[first].pe; /* the host's first PE; below, the host's number */
    for (int pe = 0; pe < n_pes; pe++) {
        int first = host_of[pe];
        host_of[pe] = first == pe ? n_hosts++ : host_of[first];
        if (n_runs > 0 && runs[n_runs - 1].host == host_of[pe])
            runs[n_runs - 1].n_pes++;
        else
            runs[n_runs++] = (struct ist_uid_run){.host = host_of[pe], .n_pes = 1};
    }
    return n_runs;
}

static bool welcome_hosts(struct ist_uid_server *server, struct sorted_pe *sorted, struct ist_uid_run *runs,
                          int *host_of)
{
    int n_pes = server->job.n_pes;
    bool has_memory = true;
    for (int pe = 0; pe < n_pes; pe++)
        sorted[pe] = (struct sorted_pe){.host = server->job.members[pe].hello.host, .pe = pe};
    qsort(sorted, (size_t)n_pes, sizeof *sorted, by_host);
    int n_runs = find_runs(sorted, n_pes, runs, host_of);
    for (int first = 0, next = 0; first < n_pes && has_memory; first = next) {
        while (next < n_pes && ist_host_id_equal(&sorted[first].host, &sorted[next].host)) next++;
        has_memory = welcome_host(server, sorted + first, next - first, runs, n_runs);
    }
    return has_memory;
}

/* Runs when all PEs have joined. */
static void welcome_all(struct ist_uid_server *server)
{
    struct ist_uid_job *job = &server->job;
    size_t n_pes = (size_t)job->n_pes;
    struct sorted_pe *sorted = calloc(n_pes, sizeof *sorted);
    struct ist_uid_run *runs = calloc(n_pes, sizeof *runs);
    int *host_of = calloc(n_pes, sizeof *host_of);
    job->deadline_ms = -1;
    if (sorted == NULL || runs == NULL || host_of == NULL || !welcome_hosts(server, sorted, runs, host_of))
        ist_uid_no_memory(server, n_pes * (sizeof *sorted + sizeof *runs + sizeof *host_of));
    free(sorted);
    free(runs);
    free(host_of);
}

/* For all PEs to join, or to arrive at an exchange. */
static void set_deadline(struct ist_uid_server *server)
{
    int64_t start_s = (int64_t)server->patience.start_s;
    server->job.deadline_ms = start_s > 0 ? ist_uid_now_ms() + start_s * 1000 : -1;
}

/* The first HELLO sets the number of PEs. */
static bool begin_job(struct ist_uid_server *server, int n_pes)
{
    struct ist_uid_job *job = &server->job;
    if (job->n_pes > 0) return true;
    if (n_pes < 1 || n_pes > IST_BOOT_MOST_PES) return false;
    job->members = calloc((size_t)n_pes, sizeof *job->members);
    if (job->members == NULL) {
        ist_uid_no_memory(server, (size_t)n_pes * sizeof *job->members);
        return false;
    }
    job->n_pes = n_pes;
    set_deadline(server);
    return true;
}

/* Another PE of a leader's host leads those that it cannot serve. */
void ist_uid_job_full(struct ist_uid_server *server)
{
    const struct ist_uid_job *job = &server->job;
    int error = errno;
    if (server->is_leader && server->listener >= 0) {
        close(server->listener);
        server->listener = -1;
    }
    if (server->is_leader || (job->n_pes > 0 && job->n_joined == job->n_pes)) return;
    /* The reason is for all PEs, and none may have joined yet. */
    if (!begin_job(server, ist_load_acquire(&server->own_n_pes))) return;
    fail(server,
         "process %d on %s, which serves the unique id, has no descriptor for the connection after %d: accept: %s; it "
         "needs one for each host and for each PE of its own host, raise 'ulimit -n'",
         (int)getpid(), ist_host_name(), job->n_joined, strerror(error));
}

/* Checks that a newcomer fits the members so far. If not, the job has failed when this returns. */
static void check_newcomer(struct ist_uid_server *server, const struct ist_uid_hello *hello)
{
    const struct ist_uid_job *job = &server->job;
    if (hello->n_pes != job->n_pes) {
        int known = 0;
        while (known < job->n_pes - 1 && !job->members[known].has_joined) known++;
        fail(server, "process %d on %s passed a job size of %d, and PE %d on %s one of %d; pass the same on all PEs",
             (int)hello->pid, hello->host_name, (int)hello->n_pes, known, job->members[known].hello.host_name,
             job->n_pes);
    } else if (hello->pe < 0 || hello->pe >= job->n_pes) {
        fail(server, "process %d on %s passed the PE number %d to a job of %d PEs; valid: 0 to one less",
             (int)hello->pid, hello->host_name, (int)hello->pe, job->n_pes);
    } else if (job->members[hello->pe].has_joined) {
        const struct ist_uid_hello *first = &job->members[hello->pe].hello;
        fail(server,
             "two processes passed the PE number %d: process %d on %s and process %d on %s; pass each number once",
             (int)hello->pe, (int)first->pid, first->host_name, (int)hello->pid, hello->host_name);
    }
}

/* A PE may join twice: through a leader that replied too late, and then by its own connection, which counts. */
static bool is_same_process(const struct ist_uid_job *job, const struct ist_uid_hello *hello)
{
    if (hello->pe < 0 || hello->pe >= job->n_pes || !job->members[hello->pe].has_joined) return false;
    const struct ist_uid_hello *first = &job->members[hello->pe].hello;
    return first->pid == hello->pid && first->started == hello->started &&
           ist_host_id_equal(&first->host, &hello->host);
}

/* connection: the PE's own, or that of its leader. */
static void join(struct ist_uid_server *server, struct ist_uid_connection *connection,
                 const struct ist_uid_hello *hello)
{
    struct ist_uid_job *job = &server->job;
    bool is_own = connection->link == IST_UID_FROM_APPLICANT;
    if (!job->has_failed && !begin_job(server, hello->n_pes))
        fail(server, "a process passed a job size of %d; valid: 1 and more", (int)hello->n_pes);
    if (!job->has_failed && is_same_process(job, hello) && job->n_joined < job->n_pes) {
        if (is_own) connection->link = IST_UID_FROM_PE;
        if (is_own) set_connection(&job->members[hello->pe], connection);
        return;
    }
    bool had_failed = job->has_failed; /* otherwise it is notified with the others */
    if (!job->has_failed) check_newcomer(server, hello);
    if (job->has_failed) {
        has_connected(job, hello->pe);
        if (had_failed) ist_uid_refuse(server, connection, hello->pe);
        return;
    }
    struct ist_uid_member *member = &job->members[hello->pe];
    member->hello = *hello;
    set_connection(member, connection);
    member->has_joined = true;
    if (is_own) connection->link = IST_UID_FROM_PE;
    if (hello->pe == ist_load_acquire(&server->own_pe)) job->server_pe = hello->pe;
    if (++job->n_joined == job->n_pes) welcome_all(server);
}

/* The PE's leader may be lost before this server has detected it. */
static void answer_orphan(struct ist_uid_server *server, struct ist_uid_connection *connection,
                          const struct ist_uid_hello *hello)
{
    struct ist_uid_job *job = &server->job;
    if (!job->has_failed && hello->pe >= 0 && hello->pe < job->n_pes) {
        const struct ist_uid_connection *leader = job->members[hello->pe].connection;
        if (leader != NULL && leader->link == IST_UID_FROM_LEADER) lose_leader(server, leader);
    }
    has_connected(job, hello->pe);
    ist_uid_refuse(server, connection, hello->pe);
}

static void greet(struct ist_uid_server *server, struct ist_uid_connection *connection, struct ist_uid_hello *hello)
{
    if (!ist_uid_prove(server, connection, hello)) return;
    switch (hello->role) {
    case IST_UID_PE: join(server, connection, hello); break;
    /* Its PEs join through it. It carries its own PE number, so that its end is reported as that PE's. */
    case IST_UID_LEADER:
        connection->link = IST_UID_FROM_LEADER;
        if (server->job.has_failed) ist_uid_refuse(server, connection, hello->pe);
        break;
    case IST_UID_ORPHAN: answer_orphan(server, connection, hello); break;
    case IST_UID_FAILED:
        if (!server->job.has_failed && begin_job(server, hello->n_pes)) end_all(server, -1, EXIT_FAILURE, "");
        has_connected(&server->job, hello->pe);
        ist_uid_refuse(server, connection, hello->pe);
        break;
    default: ist_uid_refuse(server, connection, hello->pe); break;
    }
}

/* ---- look-ups, exchanges and leaving ---- */

static void get(struct ist_uid_server *server, struct ist_uid_connection *connection, const struct ist_uid_head *head,
                const char *key)
{
    struct ist_uid_job *job = &server->job;
    if (head->pe < 0 || head->pe >= job->n_pes) return; /* the client checks */
    struct ist_uid_connection *there = job->members[head->pe].connection;
    bool is_behind_leader = there != NULL && there->link == IST_UID_FROM_LEADER;
    ist_uid_get(server, connection, head, key, is_behind_leader ? there : NULL);
}

/* See `agree` in boot.h. */
static int odd_one(const struct ist_uid_job *job)
{
    int odd = -1;
    for (int pe = 0; pe < job->n_pes; pe++) {
        if (job->members[pe].word == 0) return pe;
        if (odd < 0 && job->members[pe].word != job->members[0].word) odd = pe;
    }
    return odd;
}

static void arrive(struct ist_uid_server *server, int pe, int32_t word)
{
    struct ist_uid_job *job = &server->job;
    if (job->members[pe].has_arrived || job->has_failed) return;
    job->members[pe].has_arrived = true;
    job->members[pe].word = word;
    if (job->n_arrived++ == 0) set_deadline(server);
    if (job->n_arrived < job->n_pes) return;
    job->deadline_ms = -1;
    job->n_arrived = 0; /* for the next exchange */
    for (int i = 0; i < job->n_pes; i++) job->members[i].has_arrived = false;
    const struct ist_uid_head head = {.type = IST_UID_ALL_HERE, .pe = odd_one(job)};
    for (struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if ((at->link == IST_UID_FROM_PE || at->link == IST_UID_FROM_LEADER) && !at->is_closed)
            reply(server, at, head, NULL);
}

static void leave(struct ist_uid_server *server, struct ist_uid_connection *connection, int pe)
{
    struct ist_uid_member *member = &server->job.members[pe];
    if (!member->has_left) server->job.n_left++;
    member->has_left = true;
    set_connection(member, NULL);
    connection->is_last = connection->link == IST_UID_FROM_PE;
    reply(server, connection, (struct ist_uid_head){.type = IST_UID_BYE, .pe = pe}, NULL);
}

/* A frame of the PE, or one that its leader passed on. */
static void pe_frame(struct ist_uid_server *server, struct ist_uid_connection *connection, int pe,
                     const struct ist_uid_head *head)
{
    switch (head->type) {
    case IST_UID_ARRIVE: arrive(server, pe, head->code); break;
    case IST_UID_ABORT: end_all(server, pe, head->code, ""); break;
    case IST_UID_LEAVE: leave(server, connection, pe); break;
    default: break; /* of a later version */
    }
}

static void leader_frame(struct ist_uid_server *server, struct ist_uid_connection *leader,
                         const struct ist_uid_head *head, const char *key, const void *value)
{
    struct ist_uid_hello hello;
    if (head->type == IST_UID_JOIN && head->value_bytes == sizeof hello) {
        memcpy(&hello, value, sizeof hello);
        hello.host_name[sizeof hello.host_name - 1] = '\0';
        hello.host = leader->host; /* it serves no other PE */
        join(server, leader, &hello);
        return;
    }
    if (head->type == IST_UID_GET) {
        get(server, leader, head, key);
        return;
    }
    if (head->type == IST_UID_ABORT) { /* also before any PE has joined */
        (void)begin_job(server, ist_load_acquire(&server->own_n_pes));
        end_all(server, head->pe, head->code, "");
        return;
    }
    if (head->pe < 0 || head->pe >= server->job.n_pes || server->job.members[head->pe].connection != leader) return;
    switch (head->type) {
    case IST_UID_PUT: ist_uid_put(server, head->pe, key, value, head->value_bytes, true); break;
    case IST_UID_FORGET: ist_uid_remove(server, head->pe, key, leader); break;
    case IST_UID_LOST: lose(server, head->pe); break;
    default: pe_frame(server, leader, head->pe, head); break;
    }
}

void ist_uid_job_frame(struct ist_uid_server *server, struct ist_uid_connection *connection,
                       const struct ist_uid_head *head, const char *key, const void *value)
{
    if (connection->link == IST_UID_FROM_STRANGER) {
        struct ist_uid_hello hello;
        memcpy(&hello, value, sizeof hello);
        greet(server, connection, &hello);
    } else if (connection->link == IST_UID_FROM_LEADER) {
        leader_frame(server, connection, head, key, value);
    } else if (connection->link == IST_UID_FROM_PE) {
        switch (head->type) {
        case IST_UID_PUT: ist_uid_put(server, connection->pe, key, value, head->value_bytes, false); break;
        case IST_UID_GET: get(server, connection, head, key); break;
        case IST_UID_FORGET: ist_uid_remove(server, connection->pe, key, NULL); break;
        default: pe_frame(server, connection, connection->pe, head); break;
        }
    }
}

static bool has_members_connected(const struct ist_uid_server *server)
{
    for (const struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if (at->link == IST_UID_FROM_PE || at->link == IST_UID_FROM_LEADER) return true;
    return false;
}

/* Returns true if all PEs have joined and left, and their last frames were read. A failed job lingers a moment for PEs
 * that connect later, and for PEs whose leader has ended. */
bool ist_uid_job_is_over(const struct ist_uid_server *server)
{
    const struct ist_uid_job *job = &server->job;
    bool all_came = job->n_pes > 0 && job->n_joined == job->n_pes;
    if (job->has_failed) return job->deadline_ms < 0;
    return all_came && job->n_left == job->n_pes && !has_members_connected(server);
}

void ist_uid_job_fini(struct ist_uid_job *job) { free(job->members); }
