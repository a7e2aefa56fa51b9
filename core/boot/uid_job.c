/* core/boot/uid_job.c: what the server of a unique id does with the frames that PEs send: they join, put, look up, meet, leave
 * or are lost. See uid_wire.h for the frames, uid_server.c for the connections.
 * A job that cannot be whole any more fails once: everybody gets the same text, late comers too. */
#include "core/boot/uid_server_priv.h"

#include "core/topo/host_id.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PES = 1 << 20, LINGER_MS = 5000 };

static void reply(struct ist_uid_server *server, struct ist_uid_connection *connection, struct ist_uid_head head,
                  const void *value)
{
    ist_uid_queue(server, connection, &head, value);
}

/* ---- failure ---- */

/* One line for the job is enough: the first one to hear of it reports it. */
static void queue_end(struct ist_uid_server *server, struct ist_uid_connection *connection, uint32_t type, int pe)
{
    struct ist_uid_job *job = &server->job;
    struct ist_uid_head head = {.type = type, .id = !job->has_reporter, .pe = pe, .code = job->code};
    head.value_bytes = (uint32_t)strlen(job->why);
    job->has_reporter = true;
    reply(server, connection, head, job->why);
}

static void tell_end(struct ist_uid_server *server, int to, int pe)
{
    struct ist_uid_connection *connection = server->job.members[to].connection;
    if (connection != NULL) queue_end(server, connection, IST_UID_END, pe);
}

static void end_all(struct ist_uid_server *server, int pe, int code, const char *why)
{
    struct ist_uid_job *job = &server->job;
    if (job->has_failed) return;
    job->has_failed = true;
    job->code = code;
    snprintf(job->why, sizeof job->why, "%s", why);
    job->deadline_ms = ist_uid_now_ms() + LINGER_MS; /* for late comers */
    for (int i = 0; i < job->n_pes; i++)
        if (i != pe && i != job->server_pe) tell_end(server, i, pe);
    /* Who wanted it so, and then the PE with this thread, end when they hear this: all others have been told. */
    if (pe >= 0) tell_end(server, pe, pe);
    if (job->server_pe >= 0 && job->server_pe != pe) tell_end(server, job->server_pe, pe);
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

/* "PE 2, PE 5 and 3 more": those for which `has` has not come true. */
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
    if (job->has_failed) return;
    bool is_gathering = job->n_joined < job->n_pes;
    list_missing(job, is_gathering ? has_joined : has_arrived, missing, sizeof missing);
    fail(server, "%d of %d PEs have %s within %llu s (ISTHMUS_PEER_TIMEOUT); missing: %s",
         is_gathering ? job->n_joined : job->n_arrived, job->n_pes,
         is_gathering ? "joined the job" : "come to the start", (unsigned long long)server->timeout_s, missing);
}

void ist_uid_job_lost(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    struct ist_uid_job *job = &server->job;
    for (struct ist_uid_waiter **at = &job->waiters; *at != NULL;) {
        struct ist_uid_waiter *waiter = *at;
        if (waiter->connection != connection) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        free(waiter);
    }
    if (connection->pe < 0) return;
    struct ist_uid_member *member = &job->members[connection->pe];
    if (member->connection != connection) return;
    member->connection = NULL;
    if (member->has_left) return;
    member->has_left = true;
    job->n_left++;
    fail(server, "PE %d (process %d on %s) has ended without leaving the job", connection->pe, (int)member->hello.pid,
         member->hello.host_name);
}

/* ---- joining ---- */

struct place {
    struct isthmus_host_id host;
    int pe;
};

static int by_host(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    int order = memcmp(&one->host, &other->host, sizeof one->host);
    return order != 0 ? order : (one->pe > other->pe) - (one->pe < other->pe);
}

/* To the PEs of one host: who they are. */
static void welcome_host(struct ist_uid_server *server, const struct place *places, int n,
                         struct ist_uid_neighbour *neighbours)
{
    const struct ist_uid_member *members = server->job.members;
    struct ist_uid_head head = {.type = IST_UID_WELCOME, .pe = server->job.server_pe};
    head.value_bytes = (uint32_t)((size_t)n * sizeof *neighbours);
    for (int i = 0; i < n; i++) {
        const struct ist_uid_hello *hello = &members[places[i].pe].hello;
        neighbours[i] = (struct ist_uid_neighbour){.pe = places[i].pe, .pid = hello->pid, .started = hello->started};
    }
    for (int i = 0; i < n; i++) {
        struct ist_uid_connection *connection = members[places[i].pe].connection;
        if (connection != NULL) reply(server, connection, head, neighbours);
    }
}

/* Everybody is here. */
static void welcome_all(struct ist_uid_server *server)
{
    struct ist_uid_job *job = &server->job;
    struct place *places = calloc((size_t)job->n_pes, sizeof *places);
    struct ist_uid_neighbour *neighbours = calloc((size_t)job->n_pes, sizeof *neighbours);
    job->deadline_ms = -1;
    for (int pe = 0; places != NULL && pe < job->n_pes; pe++)
        places[pe] = (struct place){.host = job->members[pe].hello.host, .pe = pe};
    if (places != NULL && neighbours != NULL) {
        qsort(places, (size_t)job->n_pes, sizeof *places, by_host);
        for (int first = 0, next = 0; first < job->n_pes; first = next) {
            while (next < job->n_pes && ist_host_id_equal(&places[first].host, &places[next].host)) next++;
            welcome_host(server, places + first, next - first, neighbours);
        }
    } else {
        fail(server, "no memory for a job of %d PEs in the process that serves its unique id", job->n_pes);
    }
    free(places);
    free(neighbours);
}

/* The first one says how many there are. */
static bool begin_job(struct ist_uid_server *server, const struct ist_uid_hello *hello)
{
    struct ist_uid_job *job = &server->job;
    if (job->n_pes > 0) return true;
    if (hello->n_pes < 1 || hello->n_pes > MOST_PES) return false;
    job->members = calloc((size_t)hello->n_pes, sizeof *job->members);
    if (job->members == NULL) return false;
    job->n_pes = hello->n_pes;
    job->deadline_ms = ist_uid_now_ms() + (int64_t)server->timeout_s * 1000;
    return true;
}

/* Does this newcomer fit to those that are here? If not, the job has failed when this returns. */
static void check_newcomer(struct ist_uid_server *server, const struct ist_uid_hello *hello)
{
    const struct ist_uid_job *job = &server->job;
    if (hello->n_pes != job->n_pes) {
        int known = 0;
        while (known < job->n_pes - 1 && !job->members[known].has_joined) known++;
        fail(server, "process %d on %s was told that the job has %d PEs, and PE %d on %s that it has %d",
             (int)hello->pid, hello->host_name, (int)hello->n_pes, known, job->members[known].hello.host_name,
             job->n_pes);
    } else if (hello->pe < 0 || hello->pe >= job->n_pes) {
        fail(server, "process %d on %s calls itself PE %d of a job of %d PEs", (int)hello->pid, hello->host_name,
             (int)hello->pe, job->n_pes);
    } else if (job->members[hello->pe].has_joined) {
        const struct ist_uid_hello *first = &job->members[hello->pe].hello;
        fail(server, "two processes call themselves PE %d: process %d on %s and process %d on %s", (int)hello->pe,
             (int)first->pid, first->host_name, (int)hello->pid, hello->host_name);
    }
}

/* Does it know the secret? Then it is shown that this server does too. */
static bool prove(struct ist_uid_server *server, struct ist_uid_connection *connection,
                  const struct ist_uid_hello *hello)
{
    uint8_t tag[IST_TAG_BYTES];
    ist_uid_tag_hello(&server->uid, &connection->challenge, hello, tag);
    if (!ist_same_bytes(tag, hello->tag, sizeof tag)) {
        connection->is_last = true;
        reply(server, connection, (struct ist_uid_head){.type = IST_UID_STRANGER}, NULL);
        return false;
    }
    ist_uid_tag_server(&server->uid, &connection->challenge, hello, tag);
    reply(server, connection, (struct ist_uid_head){.type = IST_UID_PROOF, .value_bytes = sizeof tag}, tag);
    return true;
}

static void join(struct ist_uid_server *server, struct ist_uid_connection *connection, struct ist_uid_hello *hello)
{
    struct ist_uid_job *job = &server->job;
    if (!prove(server, connection, hello)) return;
    hello->host_name[sizeof hello->host_name - 1] = '\0';
    if (!job->has_failed && !begin_job(server, hello)) fail(server, "a job of %d PEs cannot be", (int)hello->n_pes);
    if (!job->has_failed) check_newcomer(server, hello);
    if (job->has_failed) {
        connection->is_last = true;
        queue_end(server, connection, IST_UID_REFUSED, -1);
        return;
    }
    struct ist_uid_member *member = &job->members[hello->pe];
    member->hello = *hello;
    member->connection = connection;
    member->has_joined = true;
    connection->pe = hello->pe;
    server->n_strangers--;
    if (hello->pid == (int32_t)getpid() && ist_host_id_equal(&hello->host, &server->uid.host))
        job->server_pe = hello->pe;
    if (++job->n_joined == job->n_pes) welcome_all(server);
}

/* ---- put and look up ---- */

static const struct ist_uid_kept *find_kept(const struct ist_uid_job *job, int pe, const char *key)
{
    const struct ist_uid_kept *kept = job->members[pe].kept;
    while (kept != NULL && strcmp(kept->key, key) != 0) kept = kept->next;
    return kept;
}

static void answer(struct ist_uid_server *server, struct ist_uid_connection *connection, uint32_t id,
                   const struct ist_uid_kept *kept)
{
    struct ist_uid_head head = {.type = IST_UID_VALUE, .id = id, .value_bytes = kept->value_bytes};
    reply(server, connection, head, kept->value);
}

static void answer_waiters(struct ist_uid_server *server, int pe, const struct ist_uid_kept *kept)
{
    for (struct ist_uid_waiter **at = &server->job.waiters; *at != NULL;) {
        struct ist_uid_waiter *waiter = *at;
        if (waiter->pe != pe || strcmp(waiter->key, kept->key) != 0) {
            at = &waiter->next;
            continue;
        }
        answer(server, waiter->connection, waiter->id, kept);
        *at = waiter->next;
        free(waiter);
    }
}

static void kept_free(struct ist_uid_kept *kept)
{
    free(kept->key);
    free(kept->value);
    free(kept);
}

static void put(struct ist_uid_server *server, int pe, const char *key, const void *value, uint32_t value_bytes)
{
    struct ist_uid_kept *kept = calloc(1, sizeof *kept);
    if (kept != NULL) {
        *kept = (struct ist_uid_kept){
            .value_bytes = value_bytes, .key = strdup(key), .value = malloc(value_bytes + 1u)};
        if (kept->key == NULL || kept->value == NULL) {
            kept_free(kept);
            kept = NULL;
        }
    }
    if (kept == NULL) {
        fail(server, "no memory for %u bytes in the process that serves the unique id", value_bytes);
        return;
    }
    memcpy(kept->value, value, value_bytes);
    kept->next = server->job.members[pe].kept; /* the newest of a key is found first */
    server->job.members[pe].kept = kept;
    answer_waiters(server, pe, kept);
}

static void get(struct ist_uid_server *server, struct ist_uid_connection *connection, const struct ist_uid_head *head,
                const char *key)
{
    struct ist_uid_job *job = &server->job;
    if (head->pe < 0 || head->pe >= job->n_pes) return; /* the client checks */
    const struct ist_uid_kept *kept = find_kept(job, head->pe, key);
    if (kept != NULL) {
        answer(server, connection, head->id, kept);
        return;
    }
    struct ist_uid_waiter *waiter = calloc(1, sizeof *waiter);
    if (waiter == NULL) {
        fail(server, "no memory for a look-up in the process that serves the unique id");
        return;
    }
    *waiter = (struct ist_uid_waiter){.connection = connection, .id = head->id, .pe = head->pe, .next = job->waiters};
    snprintf(waiter->key, sizeof waiter->key, "%s", key);
    job->waiters = waiter;
}

/* ---- meeting and leaving ---- */

static void arrive(struct ist_uid_server *server, int pe)
{
    struct ist_uid_job *job = &server->job;
    if (job->members[pe].has_arrived) return;
    job->members[pe].has_arrived = true;
    if (job->n_arrived++ == 0) job->deadline_ms = ist_uid_now_ms() + (int64_t)server->timeout_s * 1000;
    if (job->n_arrived < job->n_pes) return;
    job->deadline_ms = -1;
    job->n_arrived = 0; /* for the next one */
    for (int i = 0; i < job->n_pes; i++) {
        job->members[i].has_arrived = false;
        if (job->members[i].connection != NULL)
            reply(server, job->members[i].connection, (struct ist_uid_head){.type = IST_UID_ALL_HERE}, NULL);
    }
}

static void leave(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    struct ist_uid_member *member = &server->job.members[connection->pe];
    if (!member->has_left) server->job.n_left++;
    member->has_left = true;
    member->connection = NULL;
    connection->is_last = true;
    reply(server, connection, (struct ist_uid_head){.type = IST_UID_BYE}, NULL);
}

void ist_uid_job_frame(struct ist_uid_server *server, struct ist_uid_connection *connection,
                       const struct ist_uid_head *head, const char *key, const void *value)
{
    if (connection->pe < 0) {
        struct ist_uid_hello hello;
        memcpy(&hello, value, sizeof hello);
        join(server, connection, &hello);
        return;
    }
    switch (head->type) {
    case IST_UID_PUT: put(server, connection->pe, key, value, head->value_bytes); break;
    case IST_UID_GET: get(server, connection, head, key); break;
    case IST_UID_ARRIVE: arrive(server, connection->pe); break;
    case IST_UID_ABORT: end_all(server, connection->pe, head->code, ""); break;
    case IST_UID_LEAVE: leave(server, connection); break;
    default: break; /* of a later version */
    }
}

static bool has_members_connected(const struct ist_uid_server *server)
{
    for (const struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if (at->pe >= 0) return true;
    return false;
}

/* Over when everybody has come and gone, good-byes read; a failed one stays a moment for late comers. */
bool ist_uid_job_is_over(const struct ist_uid_server *server)
{
    const struct ist_uid_job *job = &server->job;
    bool all_came = job->n_pes > 0 && job->n_joined == job->n_pes;
    if (job->has_failed && job->deadline_ms < 0) return true;
    return all_came && job->n_left == job->n_pes && !has_members_connected(server);
}

void ist_uid_job_fini(struct ist_uid_job *job)
{
    for (int pe = 0; job->members != NULL && pe < job->n_pes; pe++) {
        while (job->members[pe].kept != NULL) {
            struct ist_uid_kept *kept = job->members[pe].kept;
            job->members[pe].kept = kept->next;
            kept_free(kept);
        }
    }
    free(job->members);
    while (job->waiters != NULL) {
        struct ist_uid_waiter *waiter = job->waiters;
        job->waiters = waiter->next;
        free(waiter);
    }
}
