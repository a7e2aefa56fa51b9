/* core/boot/uid_leader.c: the leader: the server of a unique id for the PEs of one host. It stores what they put,
 * replies to their look-ups, and passes on to the root all that concerns the whole job. See uid_wire.h for the frames.
 * Also the end of a job, as root and leaders distribute it. */
#include "core/boot/uid_server_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINGER_MS = 5000 };

/* ---- the end, on root and leaders ---- */

static void send_end(struct ist_uid_server *server, struct ist_uid_connection *connection, uint32_t type, int pe,
                     bool reports)
{
    struct ist_uid_job *job = &server->job;
    struct ist_uid_head head = {.type = type, .id = reports, .pe = pe, .code = job->code};
    head.value_bytes = (uint32_t)strlen(job->why);
    job->has_reporter = job->has_reporter || reports;
    ist_uid_queue(server, connection, &head, NULL, job->why);
}

/* PEs are notified first: a leader may have no PE left that could report. */
static int turn_of(const struct ist_uid_server *server, const struct ist_uid_connection *connection, int pe)
{
    enum { FIRST, LEADERS, ASKED_FOR_IT, HAS_THIS_THREAD };
    const struct ist_uid_job *job = &server->job;
    bool is_his = pe >= 0 && pe < job->n_pes && job->members != NULL && job->members[pe].connection == connection;
    if (connection->pe >= 0 && connection->pe == job->server_pe && connection->link == IST_UID_FROM_PE)
        return HAS_THIS_THREAD;
    if (is_his) return ASKED_FOR_IT;
    return connection->link == IST_UID_FROM_LEADER ? LEADERS : FIRST;
}

void ist_uid_spread_end(struct ist_uid_server *server, int pe, bool report)
{
    enum { TURNS = 4 };
    for (int turn = 0; turn < TURNS; turn++) {
        for (struct ist_uid_connection *at = server->connections; at != NULL; at = at->next) {
            if (at->link == IST_UID_FROM_STRANGER || at->link == IST_UID_FROM_ROOT || at->is_closed || at->is_last ||
                turn_of(server, at, pe) != turn)
                continue;
            send_end(server, at, IST_UID_END, pe, report && !server->job.has_reporter);
        }
    }
}

void ist_uid_refuse(struct ist_uid_server *server, struct ist_uid_connection *connection, int pe)
{
    bool is_leader = connection->link == IST_UID_FROM_LEADER;
    connection->is_last = !is_leader;
    send_end(server, connection, IST_UID_REFUSED, is_leader ? pe : -1, !server->job.has_reporter);
}

/* ---- to the root ---- */

static void pass_up(struct ist_uid_server *server, uint32_t type, int pe, int code)
{
    struct ist_uid_head head = {.type = type, .pe = pe, .code = code};
    if (server->root != NULL) ist_uid_queue(server, server->root, &head, NULL, NULL);
}

static void end_here(struct ist_uid_server *server, const struct ist_uid_head *head, const char *why, size_t why_bytes)
{
    struct ist_uid_job *job = &server->job;
    if (job->has_failed) return;
    job->has_failed = true;
    job->has_reporter = head->id != 1;
    job->code = head->code;
    snprintf(job->why, sizeof job->why, "%.*s", (int)(why_bytes < sizeof job->why ? why_bytes : sizeof job->why - 1),
             why);
    job->deadline_ms = ist_uid_now_ms() + LINGER_MS; /* for PEs that connect later */
    ist_uid_spread_end(server, head->pe, true);
}

void ist_uid_leader_fail(struct ist_uid_server *server, const char *fmt, ...)
{
    const struct ist_uid_head head = {.id = 1, .pe = -1, .code = EXIT_FAILURE};
    char why[sizeof server->job.why];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    /* First, because this process may end as soon as its PE has the reason. */
    pass_up(server, IST_UID_ABORT, server->job.server_pe, head.code);
    end_here(server, &head, why, strlen(why));
}

/* ---- PEs of this host ---- */

static void join(struct ist_uid_server *server, struct ist_uid_connection *connection, struct ist_uid_hello *hello)
{
    struct ist_uid_job *job = &server->job;
    struct ist_uid_head head = {.type = IST_UID_JOIN, .pe = hello->pe, .value_bytes = sizeof *hello};
    if (!ist_uid_prove(server, connection, hello)) return;
    if (job->has_failed || server->root == NULL || hello->role != IST_UID_PE) {
        /* To the root first, which waits for PEs that do not know of the end: this process may end with the refusal. */
        if (server->root != NULL && hello->role == IST_UID_PE) ist_uid_queue(server, server->root, &head, NULL, hello);
        ist_uid_refuse(server, connection, -1);
        return;
    }
    bool fits = hello->pe >= 0 && hello->pe < job->n_pes && !job->members[hello->pe].has_joined;
    if (fits) { /* otherwise the root replies with the reason */
        struct ist_uid_member *member = &job->members[hello->pe];
        member->hello = *hello;
        member->connection = connection;
        member->has_joined = true;
        connection->link = IST_UID_FROM_PE;
        job->n_joined++;
    }
    ist_uid_queue(server, server->root, &head, NULL, hello);
}

static bool is_served_here(const struct ist_uid_server *server, int pe) { return server->job.members[pe].has_joined; }

static void get(struct ist_uid_server *server, struct ist_uid_connection *connection, const struct ist_uid_head *head,
                const char *key)
{
    if (head->pe < 0 || head->pe >= server->job.n_pes) return; /* the client checks */
    ist_uid_get(server, connection, head, key, is_served_here(server, head->pe) ? NULL : server->root);
}

static void say_bye(struct ist_uid_server *server, int pe)
{
    struct ist_uid_member *member = &server->job.members[pe];
    struct ist_uid_connection *connection = member->connection;
    if (!member->has_left) server->job.n_left++;
    member->has_left = true;
    member->connection = NULL;
    if (connection == NULL) return;
    connection->is_last = true;
    ist_uid_queue(server, connection, &(struct ist_uid_head){.type = IST_UID_BYE}, NULL, NULL);
}

static void pe_frame(struct ist_uid_server *server, struct ist_uid_connection *connection,
                     const struct ist_uid_head *head, const char *key, const void *value)
{
    switch (head->type) {
    case IST_UID_PUT: ist_uid_put(server, connection->pe, key, value, head->value_bytes, false); break;
    case IST_UID_GET: get(server, connection, head, key); break;
    case IST_UID_FORGET: ist_uid_remove(server, connection->pe, key, NULL); break;
    case IST_UID_ARRIVE:
    case IST_UID_ABORT: pass_up(server, head->type, connection->pe, head->code); break;
    case IST_UID_LEAVE:
        if (server->root == NULL || server->job.has_failed)
            say_bye(server, connection->pe);
        else
            pass_up(server, head->type, connection->pe, 0);
        break;
    default: break; /* of a later version */
    }
}

/* ---- from the root ---- */

static void pass_down(struct ist_uid_server *server, const struct ist_uid_head *head, const void *value)
{
    for (struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if (at->link == IST_UID_FROM_PE && !at->is_closed && !at->is_last) ist_uid_queue(server, at, head, NULL, value);
}

/* Passes on that the job runs without that PE, or failed before the PE joined. */
static void pass_refusal(struct ist_uid_server *server, const struct ist_uid_head *head, const void *value)
{
    struct ist_uid_head all = *head;
    all.pe = -1;
    end_here(server, &all, value, head->value_bytes);
}

static void root_frame(struct ist_uid_server *server, const struct ist_uid_head *head, const char *key,
                       const void *value)
{
    bool is_of_pe = head->pe >= 0 && head->pe < server->job.n_pes;
    switch (head->type) {
    case IST_UID_WELCOME:
        server->is_welcome = true;
        if (head->pe >= 0)
            snprintf(server->root_name, sizeof server->root_name, "PE %d, which serves the job,", head->pe);
        pass_down(server, head, value);
        break;
    case IST_UID_ALL_HERE: pass_down(server, head, value); break;
    case IST_UID_END: end_here(server, head, value, head->value_bytes); break;
    case IST_UID_REFUSED: pass_refusal(server, head, value); break;
    case IST_UID_BYE:
        if (is_of_pe) say_bye(server, head->pe);
        break;
    case IST_UID_GET: get(server, server->root, head, key); break;
    case IST_UID_PUT:
        if (is_of_pe && !is_served_here(server, head->pe))
            ist_uid_put(server, head->pe, key, value, head->value_bytes, true);
        break;
    case IST_UID_FORGET: ist_uid_remove(server, head->pe, key, server->root); break;
    default: break; /* of a later version */
    }
}

void ist_uid_leader_frame(struct ist_uid_server *server, struct ist_uid_connection *connection,
                          const struct ist_uid_head *head, const char *key, const void *value)
{
    struct ist_uid_hello hello;
    switch (connection->link) {
    case IST_UID_FROM_STRANGER:
        memcpy(&hello, value, sizeof hello);
        join(server, connection, &hello);
        break;
    case IST_UID_FROM_PE: pe_frame(server, connection, head, key, value); break;
    case IST_UID_FROM_ROOT: root_frame(server, head, key, value); break;
    default: break; /* an applicant still gets the reason */
    }
}

/* ---- losses, and the end ---- */

static void lose_root(struct ist_uid_server *server)
{
    server->root = NULL;
    if (!ist_uid_leader_is_over(server))
        ist_uid_leader_fail(server, "%s has ended without finalizing", server->root_name);
}

void ist_uid_leader_lost(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    struct ist_uid_job *job = &server->job;
    if (connection->link == IST_UID_FROM_ROOT) lose_root(server);
    if (connection->link != IST_UID_FROM_PE || job->members[connection->pe].connection != connection) return;
    struct ist_uid_member *member = &job->members[connection->pe];
    member->connection = NULL;
    if (member->has_left) return;
    member->has_left = true;
    job->n_left++;
    pass_up(server, IST_UID_LOST, connection->pe, 0);
}

static bool serves_some(const struct ist_uid_server *server)
{
    for (const struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if (at->link == IST_UID_FROM_PE || at->link == IST_UID_FROM_APPLICANT) return true;
    return false;
}

/* Returns true if all PEs of this host have left. */
bool ist_uid_leader_is_over(const struct ist_uid_server *server)
{
    const struct ist_uid_job *job = &server->job;
    if (job->has_failed && job->deadline_ms < 0) return true;
    return server->is_welcome && job->n_left == job->n_joined && !serves_some(server);
}
