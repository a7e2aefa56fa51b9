/* tools/isthmus-perf/limit_ucp.c: see limit_ucp.h. Without UCX's headers there is no such limit. */
#include "tools/isthmus-perf/limit_ucp.h"
#include "tools/isthmus-perf/start.h"

#ifdef PERF_WITH_UCX

#include <dlfcn.h>
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum { ADDRESS_ROOM = 4096, KEY_ROOM = 1024, REASON_BYTES = 128 };

/* What is called of UCX. A header knows more than an old library has: each is looked up by its name. */
#define CALLS(X)                  \
    X(ucp_config_read)            \
    X(ucp_config_modify)          \
    X(ucp_config_release)         \
    X(ucp_init_version)           \
    X(ucp_cleanup)                \
    X(ucp_worker_create)          \
    X(ucp_worker_destroy)         \
    X(ucp_worker_progress)        \
    X(ucp_worker_get_address)     \
    X(ucp_worker_release_address) \
    X(ucp_mem_map)                \
    X(ucp_mem_unmap)              \
    X(ucp_rkey_pack)              \
    X(ucp_rkey_buffer_release)    \
    X(ucp_rkey_destroy)           \
    X(ucp_ep_create)              \
    X(ucp_ep_rkey_unpack)         \
    X(ucp_ep_close_nbx)           \
    X(ucp_ep_flush_nbx)           \
    X(ucp_put_nbx)                \
    X(ucp_get_nbx)                \
    X(ucp_atomic_op_nbx)          \
    X(ucp_request_check_status)   \
    X(ucp_request_free)           \
    X(ucs_status_string)

static struct {
#define DECLARE(name) __typeof__(name) *(name);
    CALLS(DECLARE)
#undef DECLARE
} ucx;

/* What the PE that calls has to know of the other one. Symmetric: it gets this. */
static struct {
    size_t address_bytes, key_bytes;
    uint64_t window;
    char address[ADDRESS_ROOM], key[KEY_ROOM];
} card, peer_card;

static uint64_t n_served; /* symmetric: counts the batches that `from` has ended */

static struct {
    void *library;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    ucp_mem_h memory;
    char *window;
    size_t window_bytes;
    ucp_ep_h ep;
    ucp_rkey_h key;
    int from, to; /* the pair that is connected */
    bool is_connected, has_failed;
    long n_pending;
    char reason[REASON_BYTES];
} ucp;

/* Returns true if it is UCS_OK; else keeps the first reason. */
static bool is_ok(ucs_status_t status, const char *call)
{
    if (status == UCS_OK) return true;
    if (!ucp.has_failed) snprintf(ucp.reason, sizeof ucp.reason, "%s: %s", call, ucx.ucs_status_string(status));
    ucp.has_failed = true;
    return false;
}

/* ---- requests ---- */

static void progress(void)
{
    if (ucx.ucp_worker_progress(ucp.worker) == 0) sched_yield();
}

static void on_done(void *request, ucs_status_t status, void *unused)
{
    (void)unused;
    is_ok(status, "an operation");
    ucp.n_pending--;
    ucx.ucp_request_free(request);
}

static const ucp_request_param_t counted = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.send = on_done};
static const ucp_request_param_t plain = {.op_attr_mask = 0};

static void count(ucs_status_ptr_t request, const char *call)
{
    if (UCS_PTR_IS_ERR(request))
        is_ok(UCS_PTR_STATUS(request), call);
    else if (request != NULL)
        ucp.n_pending++;
}

static void wait_for(ucs_status_ptr_t request, const char *call)
{
    ucs_status_t status;
    if (request == NULL) return;
    if (UCS_PTR_IS_ERR(request)) {
        is_ok(UCS_PTR_STATUS(request), call);
        return;
    }
    while ((status = ucx.ucp_request_check_status(request)) == UCS_INPROGRESS) progress();
    ucx.ucp_request_free(request);
    is_ok(status, call);
}

static void flush(void)
{
    while (ucp.n_pending > 0) progress();
    wait_for(ucx.ucp_ep_flush_nbx(ucp.ep, &plain), "ucp_ep_flush_nbx");
}

/* ---- batches ---- */

static void batch_put(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !ucp.has_failed; i++) {
        count(ucx.ucp_put_nbx(ucp.ep, place->source, place->size_bytes, peer_card.window, ucp.key, &counted),
              "ucp_put_nbx");
        flush();
    }
}

static void batch_put_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !ucp.has_failed; i++)
        count(ucx.ucp_put_nbx(ucp.ep, place->source, place->size_bytes, peer_card.window, ucp.key, &counted),
              "ucp_put_nbx");
    flush();
}

static void batch_get(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !ucp.has_failed; i++)
        wait_for(ucx.ucp_get_nbx(ucp.ep, place->source, place->size_bytes, peer_card.window, ucp.key, &plain),
                 "ucp_get_nbx");
}

static void batch_get_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !ucp.has_failed; i++)
        count(ucx.ucp_get_nbx(ucp.ep, place->source, place->size_bytes, peer_card.window, ucp.key, &counted),
              "ucp_get_nbx");
    flush();
}

static void batch_fetch_add(const struct place *place, long reps)
{
    uint64_t old, one = 1;
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
        .datatype = ucp_dt_make_contig(sizeof old),
        .reply_buffer = &old,
    };
    (void)place;
    for (long i = 0; i < reps && !ucp.has_failed; i++)
        wait_for(ucx.ucp_atomic_op_nbx(ucp.ep, UCP_ATOMIC_OP_ADD, &one, 1, peer_card.window, ucp.key, &params),
                 "ucp_atomic_op_nbx");
}

perf_batch *limit_ucp_batch(enum transfer what)
{
    switch (what) {
    case TRANSFER_PUT: return batch_put;
    case TRANSFER_GET: return batch_get;
    case TRANSFER_PUT_NBI: return batch_put_nbi;
    case TRANSFER_GET_NBI: return batch_get_nbi;
    case TRANSFER_FETCH_ADD: return batch_fetch_add;
    case TRANSFER_NONE: break;
    }
    return NULL;
}

/* Acquire: pairs with the put of limit_ucp_end_serving, which another thread of this process may execute. */
void limit_ucp_serve(void)
{
    static uint64_t n_ended;
    n_ended++;
    while (__atomic_load_n(&n_served, __ATOMIC_ACQUIRE) < n_ended) progress();
}

void limit_ucp_end_serving(int to)
{
    shmem_uint64_atomic_inc(&n_served, to);
    shmem_quiet();
}

const char *limit_ucp_failure(void) { return ucp.has_failed ? ucp.reason : NULL; }

/* ---- set-up ---- */

/* Only a library that is loaded already: this tool is to compare with what transport ib uses. */
static bool load(void)
{
    if (ucp.library != NULL) return true;
    ucp.library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (ucp.library == NULL) {
        snprintf(ucp.reason, sizeof ucp.reason, "no UCX in this process: transport ib is not in use");
        return false;
    }
#define LOAD(name)                                                                       \
    if ((*(void **)(void *)&ucx.name = dlsym(ucp.library, #name)) == NULL) {             \
        snprintf(ucp.reason, sizeof ucp.reason, "the UCX of transport ib lacks " #name); \
        return false;                                                                    \
    }
    CALLS(LOAD)
#undef LOAD
    return true;
}

/* Without shared memory, as transport ib has it: the PEs may be on one host that stands for two. */
static bool open_worker(void)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64,
    };
    const ucp_worker_params_t worker_params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE,
    };
    ucp_config_t *config;
    if (ucp.worker != NULL) return true;
    if (!is_ok(ucx.ucp_config_read(NULL, NULL, &config), "ucp_config_read")) return false;
    if (getenv("UCX_TLS") == NULL) (void)ucx.ucp_config_modify(config, "TLS", "^sm");
    /* While the library is measured, no PE polls this worker: an unanswered probe would end the endpoint. */
    (void)ucx.ucp_config_modify(config, "KEEPALIVE_INTERVAL", "inf");
    bool is_open = is_ok(ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &ucp.context),
                         "ucp_init") &&
                   is_ok(ucx.ucp_worker_create(ucp.context, &worker_params, &ucp.worker), "ucp_worker_create") &&
                   is_ok(ucx.ucp_worker_get_address(ucp.worker, &ucp.address, &card.address_bytes),
                         "ucp_worker_get_address");
    ucx.ucp_config_release(config);
    return is_open;
}

static bool open_window(size_t window_bytes)
{
    if (ucp.window != NULL) return true;
    ucp.window = calloc(window_bytes, 1);
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = ucp.window,
        .length = window_bytes,
    };
    return is_ok(ucp.window != NULL ? UCS_OK : UCS_ERR_NO_MEMORY, "the window") &&
           is_ok(ucx.ucp_mem_map(ucp.context, &params, &ucp.memory), "ucp_mem_map");
}

static bool write_card(void)
{
    void *key;
    if (!is_ok(ucx.ucp_rkey_pack(ucp.context, ucp.memory, &key, &card.key_bytes), "ucp_rkey_pack")) return false;
    bool is_short = card.address_bytes <= ADDRESS_ROOM && card.key_bytes <= KEY_ROOM;
    if (is_ok(is_short ? UCS_OK : UCS_ERR_EXCEEDS_LIMIT, "the address or the key")) {
        memcpy(card.address, ucp.address, card.address_bytes);
        memcpy(card.key, key, card.key_bytes);
        card.window = (uint64_t)(uintptr_t)ucp.window;
    }
    ucx.ucp_rkey_buffer_release(key);
    return is_short;
}

static bool prepare(size_t window_bytes)
{
    return load() && open_worker() && open_window(window_bytes) && write_card();
}

/* PE `from`; the other one serves. The first put waits for the connection. */
static bool connect_to(int to)
{
    const uint64_t word = 0;
    shmem_getmem(&peer_card, &card, sizeof card, to);
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address = (const ucp_address_t *)(const void *)peer_card.address,
    };
    if (!is_ok(ucx.ucp_ep_create(ucp.worker, &params, &ucp.ep), "ucp_ep_create") ||
        !is_ok(ucx.ucp_ep_rkey_unpack(ucp.ep, peer_card.key, &ucp.key), "ucp_ep_rkey_unpack"))
        return false;
    wait_for(ucx.ucp_put_nbx(ucp.ep, &word, sizeof word, peer_card.window, ucp.key, &plain), "ucp_put_nbx");
    flush();
    return !ucp.has_failed;
}

static void disconnect(void)
{
    if (ucp.key != NULL) ucx.ucp_rkey_destroy(ucp.key);
    if (ucp.ep != NULL) wait_for(ucx.ucp_ep_close_nbx(ucp.ep, &plain), "ucp_ep_close_nbx");
    ucp.key = NULL;
    ucp.ep = NULL;
}

/* Collective. The peer makes progress until this PE has disconnected. */
static void disconnect_pair(void)
{
    shmem_barrier_all();
    if (ucp.is_connected && shmem_my_pe() == ucp.from) {
        disconnect();
        limit_ucp_end_serving(ucp.to);
    } else if (ucp.is_connected && shmem_my_pe() == ucp.to) {
        limit_ucp_serve();
    }
    ucp.is_connected = false;
    shmem_barrier_all();
}

static const char *reason(void)
{
    return ucp.reason[0] != '\0' ? ucp.reason : "the other PE has no UCX to compare with";
}

const char *limit_ucp_open(int from, int to, size_t window_bytes)
{
    int me = shmem_my_pe();
    bool is_good = true;
    if (ucp.is_connected && ucp.from == from && ucp.to == to) return NULL;
    if (ucp.is_connected) disconnect_pair();
    if (me == from || me == to) is_good = prepare(window_bytes);
    if (!start_on_all(is_good)) return reason();
    shmem_barrier_all(); /* the card of `to` is written */
    if (me == from) {
        is_good = connect_to(to);
        limit_ucp_end_serving(to);
    } else if (me == to) {
        limit_ucp_serve();
    }
    if (!start_on_all(is_good)) return reason();
    ucp.from = from;
    ucp.to = to;
    ucp.is_connected = true;
    return NULL;
}

void limit_ucp_close(void)
{
    if (ucp.is_connected) disconnect_pair();
    if (ucp.memory != NULL) ucx.ucp_mem_unmap(ucp.context, ucp.memory);
    if (ucp.address != NULL) ucx.ucp_worker_release_address(ucp.worker, ucp.address);
    if (ucp.worker != NULL) ucx.ucp_worker_destroy(ucp.worker);
    if (ucp.context != NULL) ucx.ucp_cleanup(ucp.context);
    free(ucp.window);
}

#else

const char *limit_ucp_open(int from, int to, size_t window_bytes)
{
    (void)from, (void)to, (void)window_bytes;
    return "this isthmus-perf was built without UCX's headers";
}

void limit_ucp_close(void) {}
void limit_ucp_serve(void) {}
void limit_ucp_end_serving(int to) { (void)to; }
const char *limit_ucp_failure(void) { return NULL; }

perf_batch *limit_ucp_batch(enum transfer what)
{
    (void)what;
    return NULL;
}

#endif
