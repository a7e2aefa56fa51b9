/* core/boot/boot_pmix.c: the job as a PMIx server describes it: mpirun, prterun, srun --mpi=pmix, isthmus-run.
 * One fence at start-up and no other collective call: values are fetched from their PE on first use, so that the cost
 * of starting does not grow with the square of the job.
 * See the PMIx standard, version 4, "Initialization", "Data access" and "Event notification". */
#include "core/boot/boot.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/process.h"

#include <pmix.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pmix_boot {
    ist_boot base;
    pmix_proc_t me;
    uint64_t patience_ns; /* for a value that a PE has put */
};

/* With less the client prints warnings of its own, ends the process or crashes (PMIx 4.2). */
enum { CLIENT_DESCRIPTORS = 8, CLIENT_BYTES = 32 << 20 };

static ist_boot_lost *launcher_lost; /* static, because PMIx passes the handler below no argument of ours */

/* The session with the server lasts from the first init to the end of the process. A server may see the end of an old
 * session after the start of the next one, and then completes a fence without this PE: repeated PMIx initialization
 * hangs occasionally (seen with PMIx 4.2 under mpirun). */
static struct {
    bool is_open;
    pmix_proc_t me;
} session;

static isthmus_status fail_pmix(const char *what, pmix_status_t rc)
{
    isthmus_status status = rc == PMIX_ERR_NOMEM ? ISTHMUS_ERR_NO_MEMORY : ISTHMUS_ERR_IO;
    return ist_fail(status, "%s: %s (PMIx status %d)", what, PMIx_Error_string(rc), rc);
}

static pmix_proc_t proc_of(const struct pmix_boot *boot, pmix_rank_t rank)
{
    pmix_proc_t proc;
    PMIX_PROC_CONSTRUCT(&proc);
    memcpy(proc.nspace, boot->me.nspace, sizeof proc.nspace);
    proc.rank = rank;
    return proc;
}

/* Returns a number of the job from the server, or `missing` if the server has none. */
static int job_number(const struct pmix_boot *boot, const char *key, int missing)
{
    pmix_proc_t job = proc_of(boot, PMIX_RANK_WILDCARD);
    pmix_value_t *value = NULL;
    if (PMIx_Get(&job, key, NULL, 0, &value) != PMIX_SUCCESS) return missing;
    int number = value->type == PMIX_UINT32   ? (int)value->data.uint32
                 : value->type == PMIX_UINT16 ? (int)value->data.uint16
                                              : missing;
    PMIX_VALUE_RELEASE(value);
    return number;
}

static int by_number(const void *a, const void *b)
{
    const int *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

/* Parses "0,4,2" of PMIX_LOCAL_PEERS, which a launcher that ranks PEs out of order may list so; only this PE if the
 * server has no such key. */
static isthmus_status read_local_pes(struct pmix_boot *boot)
{
    pmix_proc_t job = proc_of(boot, PMIX_RANK_WILDCARD);
    pmix_value_t *value = NULL;
    char *text = NULL;
    bool has_list = false;
    if (PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &value) == PMIX_SUCCESS) {
        has_list = value->type == PMIX_STRING && value->data.string != NULL;
        if (has_list) text = strdup(value->data.string);
        PMIX_VALUE_RELEASE(value);
    }
    boot->base.local_pes = calloc((size_t)boot->base.n_pes, sizeof *boot->base.local_pes);
    if (boot->base.local_pes == NULL || (has_list && text == NULL)) { /* not the list of a PE that is alone */
        free(text);
        return ist_fail_memory("%d peers", boot->base.n_pes);
    }
    char *rest = text;
    for (char *item; rest != NULL && (item = strsep(&rest, ",")) != NULL;) {
        long pe = strtol(item, NULL, 10);
        if (pe >= 0 && pe < boot->base.n_pes && boot->base.n_local < boot->base.n_pes)
            boot->base.local_pes[boot->base.n_local++] = (int)pe;
    }
    free(text);
    if (boot->base.n_local == 0) boot->base.local_pes[boot->base.n_local++] = boot->base.pe;
    qsort(boot->base.local_pes, (size_t)boot->base.n_local, sizeof *boot->base.local_pes, by_number);
    int *fitting = realloc(boot->base.local_pes, (size_t)boot->base.n_local * sizeof *fitting);
    if (fitting != NULL) boot->base.local_pes = fitting;
    return ISTHMUS_OK;
}

static isthmus_status pmix_put(ist_boot *base, const char *key, const void *bytes, size_t n_bytes)
{
    (void)base;
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *)(uintptr_t)bytes; /* PMIx copies and does not write */
    value.data.bo.size = n_bytes;
    pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, key, &value);
    if (rc == PMIX_SUCCESS) rc = PMIx_Commit();
    return rc == PMIX_SUCCESS ? ISTHMUS_OK : fail_pmix("PMIx_Put", rc);
}

/* The exchange in progress: one at a time, in init or in finalize. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
    pmix_status_t rc;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

/* Runs on PMIx's own thread. */
static void on_met(pmix_status_t rc, void *unused)
{
    (void)unused;
    pthread_mutex_lock(&meeting.lock);
    meeting.has_ended = true;
    meeting.rc = rc;
    pthread_cond_signal(&meeting.ended);
    pthread_mutex_unlock(&meeting.lock);
}

static pmix_status_t await_end(void)
{
    enum { LOOK_EVERY_MS = 250 };
    pthread_mutex_lock(&meeting.lock);
    while (!meeting.has_ended) {
        struct timespec until = ist_clock_until_ms(LOOK_EVERY_MS);
        (void)ist_clock_wait(&meeting.ended, &meeting.lock, &until);
        if (meeting.has_ended) continue;
        pthread_mutex_unlock(&meeting.lock);
        ist_life_report_wait(IST_LIFE_WAIT_IN_BOOTSTRAP);
        pthread_mutex_lock(&meeting.lock);
    }
    pmix_status_t rc = meeting.rc;
    pthread_mutex_unlock(&meeting.lock);
    return rc;
}

static isthmus_status pmix_exchange(ist_boot *base)
{
    struct pmix_boot *boot = (struct pmix_boot *)base;
    pmix_proc_t all = proc_of(boot, PMIX_RANK_WILDCARD);
    pthread_mutex_lock(&meeting.lock);
    meeting.has_ended = false;
    pthread_mutex_unlock(&meeting.lock);
    pmix_status_t rc = PMIx_Fence_nb(&all, 1, NULL, 0, on_met, NULL);
    if (rc == PMIX_SUCCESS) rc = await_end();
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED) return ISTHMUS_OK;
    ist_fatal_yield(); /* a PE has ended, perhaps: it reports why, or the launcher does, and the job ends meanwhile */
    return fail_pmix("PMIx_Fence", rc);
}

/* A server may report a key as not found that its PE is about to put, though it should wait (seen with Open MPI 4.1 on
 * hosts other than the launcher's), and its own limit of two seconds is short on a busy machine. */
static pmix_status_t get_patiently(const struct pmix_boot *boot, const pmix_proc_t *proc, const char *key,
                                   pmix_value_t **value)
{
    enum { PAUSE_MS = 50 };
    uint64_t since_ns = ist_clock_ns();
    pmix_status_t rc = PMIx_Get(proc, key, NULL, 0, value);
    while ((rc == PMIX_ERR_NOT_FOUND || rc == PMIX_ERR_TIMEOUT) && ist_clock_ns() - since_ns < boot->patience_ns) {
        (void)poll(NULL, 0, PAUSE_MS);
        rc = PMIx_Get(proc, key, NULL, 0, value);
    }
    return rc;
}

static isthmus_status pmix_get(ist_boot *base, int pe, const char *key, void **out, size_t *out_bytes)
{
    struct pmix_boot *boot = (struct pmix_boot *)base;
    pmix_proc_t proc = proc_of(boot, (pmix_rank_t)pe);
    pmix_value_t *value = NULL;
    pmix_status_t rc = get_patiently(boot, &proc, key, &value);
    if (rc != PMIX_SUCCESS) {
        (void)fail_pmix("PMIx_Get", rc);
        char why[200];
        strncpy(why, ist_fail_text(), sizeof why - 1);
        why[sizeof why - 1] = '\0';
        return ist_fail(ISTHMUS_ERR_UNREACHABLE, "cannot get the card of PE %d from the launcher: %s", pe, why);
    }
    isthmus_status status = ISTHMUS_OK;
    if (value->type != PMIX_BYTE_OBJECT) {
        status = ist_fail(
            ISTHMUS_ERR_VERSION,
            "the key '%s' of PE %d has another type than this library publishes; use one version of Isthmus on all PEs",
            key, pe);
    } else {
        *out = value->data.bo.bytes; /* owned by the caller now: malloc'ed by PMIx */
        *out_bytes = value->data.bo.size;
        value->data.bo.bytes = NULL;
        value->data.bo.size = 0;
    }
    PMIX_VALUE_RELEASE(value);
    return status;
}

/* Returns the name of a PE's node, malloc'ed; NULL if this node does not have it. */
static char *node_name(const struct pmix_boot *boot, int pe)
{
    pmix_proc_t proc = proc_of(boot, (pmix_rank_t)pe);
    pmix_info_t here_only;
    pmix_value_t *value = NULL;
    PMIX_INFO_LOAD(&here_only, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    if (PMIx_Get(&proc, PMIX_HOSTNAME, &here_only, 1, &value) != PMIX_SUCCESS) return NULL;
    char *name = value->type == PMIX_STRING && value->data.string != NULL ? strdup(value->data.string) : NULL;
    PMIX_VALUE_RELEASE(value);
    return name;
}

/* A set of node names: open addressing, at most half full. */
struct names {
    char **slots;
    uint32_t *numbers;
    size_t n_slots; /* a power of two */
    uint32_t n;
};

static size_t hash_of(const char *name)
{
    uint64_t sum = 14695981039346656037u; /* FNV-1a */
    for (; *name != '\0'; name++) sum = (sum ^ (uint8_t)*name) * 1099511628211u;
    return (size_t)(sum ^ sum >> 32);
}

/* Returns the slot of a name, or the free slot for it. */
static size_t slot_of(const struct names *names, const char *name)
{
    size_t at = hash_of(name) & (names->n_slots - 1);
    while (names->slots[at] != NULL && strcmp(names->slots[at], name) != 0) at = (at + 1) & (names->n_slots - 1);
    return at;
}

static void names_fini(struct names *names)
{
    for (size_t i = 0; names->slots != NULL && i < names->n_slots; i++) free(names->slots[i]);
    free(names->slots);
    free(names->numbers);
}

static bool names_grow(struct names *names)
{
    struct names bigger = {.n_slots = names->n_slots > 0 ? 2 * names->n_slots : 64, .n = names->n};
    bigger.slots = calloc(bigger.n_slots, sizeof *bigger.slots);
    bigger.numbers = calloc(bigger.n_slots, sizeof *bigger.numbers);
    if (bigger.slots == NULL || bigger.numbers == NULL) {
        names_fini(&bigger);
        return false;
    }
    for (size_t i = 0; i < names->n_slots; i++) {
        if (names->slots[i] == NULL) continue;
        size_t to = slot_of(&bigger, names->slots[i]);
        bigger.slots[to] = names->slots[i];
        bigger.numbers[to] = names->numbers[i];
    }
    free(names->slots);
    free(names->numbers);
    *names = bigger;
    return true;
}

/* Takes ownership of the name. Returns false if memory is short. */
static bool number_name(struct names *names, char *name, uint32_t *number)
{
    if (2 * (size_t)names->n >= names->n_slots && !names_grow(names)) {
        free(name);
        return false;
    }
    size_t at = slot_of(names, name);
    if (names->slots[at] == NULL) {
        names->slots[at] = name;
        names->numbers[at] = names->n++;
    } else {
        free(name);
    }
    *number = names->numbers[at];
    return true;
}

/* Numbers nodes by their first PE. Uses names, because Open MPI 4 reports PMIX_NODEID for this node only, and
 * PMIx_Resolve_peers of PMIx 4.2 can deadlock on a lock of its own for another node. */
static bool pmix_nodes(ist_boot *base, uint32_t *node_of)
{
    struct names names = {.n = 0};
    int pe = 0;
    for (; pe < base->n_pes; pe++) {
        char *name = node_name((struct pmix_boot *)base, pe);
        if (name == NULL || !number_name(&names, name, &node_of[pe])) break;
    }
    names_fini(&names);
    return pe == base->n_pes;
}

static void pmix_abort(ist_boot *base, int exit_code)
{
    (void)base;
    PMIx_Abort(exit_code, "", NULL, 0);
}

static void pmix_close(ist_boot *base)
{
    struct pmix_boot *boot = (struct pmix_boot *)base;
    launcher_lost = NULL;
    free(boot->base.local_pes);
    free(boot);
}

static const struct ist_boot_ops pmix_ops = {
    .name = "pmix",
    .put = pmix_put,
    .exchange = pmix_exchange,
    .get = pmix_get,
    .nodes = pmix_nodes,
    .abort = pmix_abort,
    .close = pmix_close,
};

/* Runs on PMIx's own thread. The signature is PMIx's. */
static void on_lost(size_t id, pmix_status_t rc, const pmix_proc_t *source, pmix_info_t info[], size_t n_info,
                    pmix_info_t results[], size_t n_results, pmix_event_notification_cbfunc_fn_t done, void *done_arg)
{
    (void)id, (void)rc, (void)source, (void)info, (void)n_info, (void)results, (void)n_results;
    if (launcher_lost != NULL) launcher_lost("the launcher has ended", EXIT_FAILURE);
    if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_arg);
}

static void watch_launcher(void)
{
    pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
    PMIx_Register_event_handler(&code, 1, NULL, 0, on_lost, NULL, NULL);
}

/* PMIx_Finalize removes the handler for a lost launcher. Deregistering it first would send two short messages in a row,
 * and the second would wait 40 ms for the acknowledgement of the first (Nagle's algorithm). */
void ist_boot_pmix_leave(void)
{
    launcher_lost = NULL;
    if (session.is_open) PMIx_Finalize(NULL, 0);
    session.is_open = false;
}

/* Returns the number before the first dot, or 0 if there is none. */
static long major_version(const char *text)
{
    while (*text != '\0' && (*text < '0' || *text > '9')) text++;
    return strtol(text, NULL, 10);
}

/* The first message of a PMIx 4 client is one zero byte too long. A PMIx 5 server reads that as a number, fails, prints
 * "PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER" for each PE, and goes on. With fully described buffers it detects without a
 * message that this is not a number. Children of the program inherit the server's own choice. */
static pmix_status_t init_session(pmix_proc_t *me)
{
    static const char variable[] = "PMIX_BFROP_BUFFER_TYPE", described[] = "PMIX_BFROP_BUFFER_FULLY_DESC";
    const char *server = getenv("PMIX_VERSION"), *given = getenv(variable);
    bool describes = server != NULL && given != NULL && major_version(server) >= 5 &&
                     major_version(PMIx_Get_version()) == 4;
    char *before = describes ? strdup(given) : NULL;
    if (before != NULL) (void)setenv(variable, described, 1);
    pmix_status_t rc = PMIx_Init(me, NULL, 0);
    if (before != NULL) (void)setenv(variable, before, 1);
    free(before);
    return rc;
}

isthmus_status ist_boot_pmix_open(const struct ist_config *config, ist_boot_lost *lost, ist_boot **out)
{
    struct pmix_boot *boot = calloc(1, sizeof *boot);
    if (boot == NULL) return ist_fail_memory("the connection to the launcher");
    boot->base.ops = &pmix_ops;
    boot->patience_ns = config->start_timeout_s > 0 ? config->start_timeout_s * UINT64_C(1000000000) : UINT64_MAX;

    if (!session.is_open && !ist_process_has_room(CLIENT_DESCRIPTORS, CLIENT_BYTES)) {
        free(boot);
        return ist_fail(ISTHMUS_ERR_NO_MEMORY,
                        "the client of the launcher's PMIx server needs %d descriptors and %d MiB of addresses; raise "
                        "'ulimit -n' or 'ulimit -v'",
                        CLIENT_DESCRIPTORS, CLIENT_BYTES >> 20);
    }
    pmix_status_t rc = session.is_open ? PMIX_SUCCESS : init_session(&session.me);
    if (rc != PMIX_SUCCESS) {
        free(boot);
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "PMIX_NAMESPACE is %s and PMIX_RANK is %s, but the PMIx server of the launcher cannot be "
                        "reached: %s (PMIx status %d)",
                        getenv("PMIX_NAMESPACE"), getenv("PMIX_RANK"), PMIx_Error_string(rc), rc);
    }
    bool is_first = !session.is_open;
    session.is_open = true;
    boot->me = session.me;
    boot->base.pe = (int)boot->me.rank;
    boot->base.n_pes = job_number(boot, PMIX_JOB_SIZE, 0);
    isthmus_status status = ISTHMUS_OK;
    if (boot->base.n_pes < 1 || boot->base.pe >= boot->base.n_pes)
        status = ist_fail(ISTHMUS_ERR_UNREACHABLE,
                          "the PMIx server of the launcher reports PE %d of %d; valid: 0 to one less", boot->base.pe,
                          boot->base.n_pes);
    if (status == ISTHMUS_OK) status = read_local_pes(boot);
    if (status != ISTHMUS_OK) {
        pmix_close(&boot->base);
        return status;
    }
    launcher_lost = lost;
    if (is_first) watch_launcher();
    *out = &boot->base;
    return ISTHMUS_OK;
}
