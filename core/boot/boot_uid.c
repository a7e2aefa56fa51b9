/* core/boot/boot_uid.c: the bootstrap of processes that share a unique id: one connection to the server of this PE,
 * which may be in any of them (uid_join.c, uid_server.c), and a thread that receives replies and failures from it.
 * The frames are in uid_wire.h. */
#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/thread.h"
#include "core/boot/boot.h"
#include "core/boot/uid_wire.h"
#include "core/topo/topo.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ABORT_MS is less than the time that an aborting PE is waited for. */
enum { GRACE_MS = 5000, ABORT_MS = 1500, LOOK_MS = 250 };

struct request { /* a look-up that waits for its reply */
    struct request *next;
    uint32_t id;
    bool is_answered;
    void *value;
    size_t value_bytes;
};

struct uid_boot {
    ist_boot base;
    struct ist_uid_seat seat;
    struct ist_uid_way way;        /* to its server */
    int root_pe;                   /* the PE whose process is the root; -1: none */
    char server[160];              /* for messages */
    char why[IST_UID_WHY_MAX + 1]; /* the reason of an end, as received */
    struct ist_uid_run *runs;      /* the host of each PE */
    int n_runs;
    ist_boot_lost *lost;
    pthread_t listener;
    pthread_mutex_t send_lock; /* a frame at a time */
    pthread_mutex_t lock;      /* of all below */
    pthread_cond_t changed;
    struct request *requests;
    uint32_t next_id;
    unsigned n_meetings; /* exchanges completed */
    int odd;             /* of the last one; see `agree` in boot.h */
    bool is_leaving;     /* failures of other PEs no longer matter */
    bool is_over;        /* no further frame will arrive */
};

static struct uid_boot *joined; /* the job that this process is in, for the end of the process and for children */

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

/* Ends this PE because the job cannot go on. Called first, so that no waiting thread reports a failure of its own. */
static void end_this_pe(struct uid_boot *boot, const char *why, int exit_code)
{
    pthread_mutex_lock(&boot->lock);
    bool matters = !boot->is_leaving;
    pthread_mutex_unlock(&boot->lock);
    if (matters) boot->lost(why, exit_code);
}

/* Ends this PE as the server requests, which has sent boot->why. */
static void handle_end(struct uid_boot *boot, const struct ist_uid_head *head)
{
    end_this_pe(boot, head->value_bytes > 0 && head->id == 1 ? boot->why : NULL, head->code);
}

/* Receives a frame. *value is malloc'ed for a VALUE or a WELCOME, NULL if memory is short; what else has a value is the
 * reason of an end, in boot->why. */
static bool receive(struct uid_boot *boot, int64_t deadline_ms, struct ist_uid_head *head, void **value)
{
    if (!ist_uid_receive_head(boot->way.fd, deadline_ms, IST_UID_VALUE_MAX, head)) return false;
    bool is_large = head->type == IST_UID_VALUE || head->type == IST_UID_WELCOME;
    errno = EPROTO;
    if (!is_large && head->value_bytes > IST_UID_WHY_MAX) return false;
    *value = is_large ? malloc((size_t)head->value_bytes + 1) : NULL;
    if (ist_uid_receive_value(boot->way.fd, deadline_ms, head, is_large ? *value : boot->why)) return true;
    int error = errno;
    free(*value);
    errno = error;
    return false;
}

/* Returns false after the last frame. */
static bool take_frame(struct uid_boot *boot, const struct ist_uid_head *head, void *value)
{
    bool is_last = head->type == IST_UID_END || head->type == IST_UID_BYE;
    if (head->type == IST_UID_END) handle_end(boot, head);
    pthread_mutex_lock(&boot->lock);
    if (head->type == IST_UID_VALUE)
        hand_over(boot, head, value);
    else
        free(value);
    if (head->type == IST_UID_ALL_HERE) {
        boot->n_meetings++;
        boot->odd = head->pe;
    }
    boot->is_over = boot->is_over || is_last;
    pthread_cond_broadcast(&boot->changed);
    pthread_mutex_unlock(&boot->lock);
    return !is_last;
}

/* After the leader of this host has ended: the root knows the reason, and lets one PE of the job report it. */
static bool hear_why(struct uid_boot *boot)
{
    struct ist_uid_head head;
    if (boot->way.leader < 0 || boot->way.is_own || !ist_uid_request_reason(&boot->seat, &head, boot->why))
        return false;
    bool has_failed = head.type == IST_UID_REFUSED || head.type == IST_UID_END;
    if (has_failed) handle_end(boot, &head);
    return has_failed;
}

static void lose_server(struct uid_boot *boot)
{
    char why[240];
    pthread_mutex_lock(&boot->lock);
    bool matters = !boot->is_leaving;
    pthread_mutex_unlock(&boot->lock);
    if (!matters || hear_why(boot)) return;
    snprintf(why, sizeof why, "%s has ended without finalizing", boot->server);
    end_this_pe(boot, why, EXIT_FAILURE);
}

static void *listen_to_server(void *argument)
{
    struct uid_boot *boot = argument;
    struct ist_uid_head head;
    void *value;
    while (receive(boot, -1, &head, &value))
        if (!take_frame(boot, &head, value)) return NULL;
    lose_server(boot);
    pthread_mutex_lock(&boot->lock);
    boot->is_over = true;
    pthread_cond_broadcast(&boot->changed);
    pthread_mutex_unlock(&boot->lock);
    return NULL;
}

static isthmus_status start_listening(struct uid_boot *boot)
{
    int error = ist_quiet_thread_create(&boot->listener, "isthmus-boot", listen_to_server, boot);
    if (error != 0)
        return ist_fail(
            ISTHMUS_ERR_NO_MEMORY,
            "cannot start the thread for the unique id's server: pthread_create: %s; raise 'ulimit -u' or 'ulimit -v'",
            strerror(error));
    return ISTHMUS_OK;
}

/* ---- the slots ---- */

/* Waits until no further frame can arrive, or until the timeout. */
static void wait_for_end(struct uid_boot *boot, int timeout_ms)
{
    struct timespec until = ist_clock_until_ms(timeout_ms);
    pthread_mutex_lock(&boot->lock);
    while (!boot->is_over && ist_clock_wait(&boot->changed, &boot->lock, &until) == 0) {}
    pthread_mutex_unlock(&boot->lock);
}

/* If the server has ended, the listening thread finds the reason and ends this PE with it. */
static isthmus_status say(struct uid_boot *boot, const struct ist_uid_head *head, const char *key, const void *value)
{
    pthread_mutex_lock(&boot->send_lock);
    bool is_sent = ist_uid_send(boot->way.fd, head, key, value);
    int error = errno;
    pthread_mutex_unlock(&boot->send_lock);
    if (is_sent) return ISTHMUS_OK;
    wait_for_end(boot, GRACE_MS);
    errno = error;
    return ist_fail_errno(ISTHMUS_ERR_PEER_LOST, "the connection to %s is lost", boot->server);
}

static isthmus_status fail_key(const char *key)
{
    return ist_fail(ISTHMUS_ERR_LIMIT, "cannot publish the key '%s': it is longer than %d bytes", key, IST_UID_KEY_MAX);
}

static isthmus_status uid_put(ist_boot *base, const char *key, const void *value, size_t value_bytes)
{
    struct uid_boot *boot = (struct uid_boot *)base;
    if (strlen(key) > IST_UID_KEY_MAX) return fail_key(key);
    if (value_bytes > IST_UID_VALUE_MAX)
        return ist_fail(ISTHMUS_ERR_LIMIT, "cannot publish %zu bytes under the key '%s': at most %d are possible",
                        value_bytes, key, IST_UID_VALUE_MAX);
    struct ist_uid_head head = {.type = IST_UID_PUT, .key_bytes = (uint32_t)strlen(key)};
    head.value_bytes = (uint32_t)value_bytes;
    return say(boot, &head, key, value);
}

/* Called with the lock held. Reports the wait, because the server's process may be the one that is stuck. */
static void wait_for_news(struct uid_boot *boot)
{
    struct timespec until = ist_clock_until_ms(LOOK_MS);
    if (ist_clock_wait(&boot->changed, &boot->lock, &until) == 0) return;
    pthread_mutex_unlock(&boot->lock);
    ist_life_report_wait(IST_LIFE_WAIT_IN_BOOTSTRAP);
    pthread_mutex_lock(&boot->lock);
}

static isthmus_status uid_remove(ist_boot *base, const char *key)
{
    struct ist_uid_head head = {.type = IST_UID_FORGET, .key_bytes = (uint32_t)strlen(key)};
    return strlen(key) <= IST_UID_KEY_MAX ? say((struct uid_boot *)base, &head, key, NULL) : fail_key(key);
}

static bool uid_nodes(ist_boot *base, uint32_t *node_of)
{
    const struct uid_boot *boot = (struct uid_boot *)base;
    for (int run = 0, pe = 0; run < boot->n_runs; run++)
        for (int i = 0; i < boot->runs[run].n_pes; i++) node_of[pe++] = (uint32_t)boot->runs[run].host;
    return true;
}

static isthmus_status uid_agree(ist_boot *base, uint32_t word, int *odd)
{
    struct uid_boot *boot = (struct uid_boot *)base;
    struct ist_uid_head head = {.type = IST_UID_ARRIVE, .code = (int32_t)word};
    pthread_mutex_lock(&boot->lock);
    unsigned before = boot->n_meetings;
    pthread_mutex_unlock(&boot->lock);
    isthmus_status status = say(boot, &head, NULL, NULL);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&boot->lock);
    while (boot->n_meetings == before && !boot->is_over) wait_for_news(boot);
    bool has_met = boot->n_meetings != before;
    *odd = boot->odd;
    pthread_mutex_unlock(&boot->lock);
    return has_met ? ISTHMUS_OK
                   : ist_fail(ISTHMUS_ERR_PEER_LOST, "the job has ended during an exchange between all PEs");
}

static isthmus_status uid_exchange(ist_boot *base)
{
    int odd;
    return uid_agree(base, 1, &odd);
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
        return ist_fail(ISTHMUS_ERR_PEER_LOST, "cannot get the key '%s' of PE %d: the job has ended", key, pe);
    if (request.value == NULL) return ist_fail_memory("the key '%s' of PE %d, %zu bytes", key, pe, request.value_bytes);
    *out = request.value;
    *out_bytes = request.value_bytes;
    return ISTHMUS_OK;
}

static void stop_caring(struct uid_boot *boot)
{
    pthread_mutex_lock(&boot->lock);
    boot->is_leaving = true;
    pthread_mutex_unlock(&boot->lock);
}

/* The server replies after it has notified all other PEs. */
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
    if (boot->way.fd >= 0) close(boot->way.fd);
    pthread_mutex_destroy(&boot->send_lock);
    pthread_mutex_destroy(&boot->lock);
    pthread_cond_destroy(&boot->changed);
    free(boot->base.local_pes);
    free(boot->base.local_processes);
    free(boot->runs);
    free(boot);
}

static void uid_close(ist_boot *base)
{
    struct uid_boot *boot = (struct uid_boot *)base;
    joined = NULL;
    say_good_bye(boot);
    shutdown(boot->way.fd, SHUT_RDWR);
    pthread_join(boot->listener, NULL);
    if (boot->root_pe == boot->base.pe || boot->way.is_own)
        ist_uid_servers_wait(ist_uid_wait_ms(boot->seat.patience.start_s));
    boot_free(boot);
}

static const struct ist_boot_ops uid_ops = {
    .name = "unique id",
    .put = uid_put,
    .remove = uid_remove,
    .nodes = uid_nodes,
    .exchange = uid_exchange,
    .agree = uid_agree,
    .get = uid_get,
    .abort = uid_abort,
    .close = uid_close,
};

/* ---- the end of the process, and children ---- */

void ist_boot_uid_leave(void)
{
    int timeout_ms = 30000; /* for a process that serves and is no PE */
    if (joined != NULL) {
        say_good_bye(joined);
        (void)shutdown(joined->way.fd, SHUT_RDWR);
        timeout_ms = ist_uid_wait_ms(joined->seat.patience.reply_s);
    }
    ist_uid_servers_wait(timeout_ms);
}

void ist_boot_uid_forget(void)
{
    if (joined != NULL) close(joined->way.fd);
    joined = NULL;
    ist_uid_servers_forget();
}

/* ---- joining ---- */

static isthmus_status take_neighbours(ist_boot *boot, const struct ist_uid_neighbour *neighbours, size_t n)
{
    boot->local_pes = calloc(n, sizeof *boot->local_pes);
    boot->local_processes = calloc(n, sizeof *boot->local_processes);
    if (boot->local_pes == NULL || boot->local_processes == NULL)
        return ist_fail_memory("the list of %zu PEs of this host", n);
    for (size_t i = 0; i < n; i++) {
        boot->local_pes[i] = neighbours[i].pe;
        boot->local_processes[i] = (struct ist_boot_process){neighbours[i].pid, neighbours[i].started};
    }
    boot->n_local = (int)n;
    return ISTHMUS_OK;
}

static isthmus_status take_runs(struct uid_boot *boot, const struct ist_uid_run *runs, int n)
{
    boot->runs = calloc((size_t)n, sizeof *runs);
    if (boot->runs == NULL) return ist_fail_memory("the hosts of the job");
    memcpy(boot->runs, runs, (size_t)n * sizeof *runs);
    boot->n_runs = n;
    return ISTHMUS_OK;
}

static void name_server(struct uid_boot *boot)
{
    if (boot->way.leader >= 0)
        snprintf(boot->server, sizeof boot->server, "PE %d, which serves the PEs of this host,", boot->way.leader);
    else if (boot->root_pe >= 0)
        snprintf(boot->server, sizeof boot->server, "PE %d, which serves the job,", boot->root_pe);
    else
        snprintf(boot->server, sizeof boot->server, "%s", boot->seat.root_name);
}

static isthmus_status read_welcome(struct uid_boot *boot, const struct ist_uid_head *head, void *value)
{
    const struct ist_uid_welcome *welcome = value;
    isthmus_status status;
    if (value == NULL)
        status = ist_fail_memory("the hosts of the job, %u bytes", (unsigned)head->value_bytes);
    else if (!ist_uid_welcome_check(value, head->value_bytes, boot->base.pe, boot->base.n_pes))
        status = ist_fail(ISTHMUS_ERR_VERSION, "the reply of %s is damaged; use one version of Isthmus on all PEs",
                          boot->server);
    else
        status = take_neighbours(&boot->base, ist_uid_welcome_neighbours(value), (size_t)welcome->n_neighbours);
    if (status == ISTHMUS_OK) status = take_runs(boot, ist_uid_welcome_runs(value), welcome->n_runs);
    free(value);
    if (status != ISTHMUS_OK) return status;
    boot->root_pe = head->pe;
    name_server(boot);
    return ISTHMUS_OK;
}

/* Joins, and waits until all PEs have joined. */
static isthmus_status enter(struct uid_boot *boot)
{
    struct ist_uid_head head;
    void *value = NULL;
    /* The root's own limit expires first. */
    int64_t deadline_ms = ist_uid_now_ms() + ist_uid_wait_ms(boot->seat.patience.start_s) + GRACE_MS;
    isthmus_status status = ist_uid_join(&boot->seat, &boot->way);
    if (status != ISTHMUS_OK) return status;
    name_server(boot);
    if (!receive(boot, deadline_ms, &head, &value)) {
        int error = errno;
        if (boot->way.leader < 0 || boot->way.is_own || !ist_uid_request_reason(&boot->seat, &head, boot->why)) {
            errno = error;
            return ist_uid_fail_answer(boot->server);
        }
    }
    if (head.type == IST_UID_WELCOME) return read_welcome(boot, &head, value);
    boot->is_over = true;
    status = head.id == 1 && head.value_bytes > 0 ? ISTHMUS_ERR_UNREACHABLE : ISTHMUS_ERR_PEER_LOST;
    if (head.value_bytes > 0)
        (void)ist_fail(status, "%s", boot->why);
    else
        (void)ist_fail(status, "PE %d has ended the job", head.pe);
    return status;
}

/* This PE has not joined, or cannot use its connection, and reports why: the others need not wait for it. */
static void give_up(struct uid_boot *boot)
{
    const struct ist_uid_head head = {.type = IST_UID_ABORT, .code = EXIT_FAILURE};
    if (boot->is_over) return; /* the server knows */
    if (boot->way.fd >= 0)
        (void)ist_uid_send(boot->way.fd, &head, NULL, NULL);
    else
        ist_uid_give_up(&boot->seat);
}

static struct uid_boot *boot_new(const struct ist_config *config, const struct ist_boot_request *request,
                                 ist_boot_lost *lost)
{
    struct uid_boot *boot = calloc(1, sizeof *boot);
    if (boot == NULL) return NULL;
    boot->base = (ist_boot){.ops = &uid_ops, .pe = request->pe, .n_pes = request->n_pes};
    boot->seat = (struct ist_uid_seat){.uid = request->uid,
                                       .pe = request->pe,
                                       .n_pes = request->n_pes,
                                       .patience = {config->peer_timeout_s, config->start_timeout_s}};
    boot->way.fd = boot->way.leader = boot->root_pe = -1;
    boot->lost = lost;
    pthread_mutex_init(&boot->send_lock, NULL);
    pthread_mutex_init(&boot->lock, NULL);
    pthread_cond_init(&boot->changed, NULL);
    ist_uid_name_root(&boot->seat);
    return boot;
}

isthmus_status ist_boot_uid_open(const struct ist_config *config, const struct ist_boot_request *request,
                                 ist_boot_lost *lost, ist_boot **out)
{
    if (!ist_uid_check(&request->uid))
        return ist_fail(
            ISTHMUS_ERR_INVALID,
            "the unique id is invalid: its bytes were not made by this version of Isthmus; pass on those of "
            "get_uniqueid unchanged");
    if (request->n_pes > IST_BOOT_MOST_PES)
        return ist_fail(ISTHMUS_ERR_LIMIT, "the job has %d PEs, but at most %d are possible; start fewer",
                        request->n_pes, IST_BOOT_MOST_PES);
    if (request->n_pes < 1 || request->pe < 0 || request->pe >= request->n_pes)
        return ist_fail(ISTHMUS_ERR_INVALID, "the number of this PE is %d in a job of %d PEs; valid: 0 to one less",
                        request->pe, request->n_pes);
    struct uid_boot *boot = boot_new(config, request, lost);
    if (boot == NULL) return ist_fail_memory("the connection to the unique id's server");
    struct ist_uid *uid = &boot->seat.uid;
    isthmus_status status = ist_host_id_read(&boot->seat.here);
    bool serves = uid->is_session && request->pe == 0;
    if (status == ISTHMUS_OK && serves) {
        uid->host = boot->seat.here;
        status = ist_uid_server_start(uid, &boot->seat.patience);
    }
    bool is_unserved = serves && status != ISTHMUS_OK; /* no server can tell the other PEs */
    ist_uid_server_seat(uid, request->pe, request->n_pes);
    if (status == ISTHMUS_OK) status = enter(boot);
    if (status == ISTHMUS_OK) status = start_listening(boot);
    if (status != ISTHMUS_OK) {
        char why[512];
        snprintf(why, sizeof why, "%s", ist_fail_text());
        if (!is_unserved && (status == ISTHMUS_ERR_NO_MEMORY || status == ISTHMUS_ERR_IO)) give_up(boot);
        boot_free(boot);
        return ist_fail(status, "%s", why);
    }
    joined = boot;
    *out = &boot->base;
    return ISTHMUS_OK;
}
