/* tools/isthmus-perf/driver_ucp.c: UCP of UCX, which transport ib uses. See limit_net.h. */
#include "tools/isthmus-perf/limit_net.h"

#ifdef PERF_WITH_UCX

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum { ADDRESS_ROOM = 4096, KEY_ROOM = 1024 };

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
    X(ucp_worker_flush_nbx)       \
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

struct card {
    size_t address_bytes, key_bytes[NET_REGIONS]; /* of keys 0: there is no such memory */
    uint64_t addr[NET_REGIONS];
    char address[ADDRESS_ROOM], key[NET_REGIONS][KEY_ROOM];
};
_Static_assert(sizeof(struct card) <= NET_CARD_BYTES, "a card has room");

struct peer {
    ucp_ep_h ep;
    ucp_rkey_h key[NET_REGIONS];
    uint64_t addr[NET_REGIONS];
};

static struct {
    void *library;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    struct net_buffer buffers[NET_REGIONS];
    ucp_mem_h memory[NET_REGIONS];
    long n_pending;
    uint64_t operand, fetched; /* of the atomic under way */
    bool has_failed;
    char reason[NET_REASON_BYTES];
} ucp;

/* Returns true if it is UCS_OK; else keeps the first reason. */
static bool is_ok(ucs_status_t status, const char *call)
{
    if (status == UCS_OK) return true;
    if (!ucp.has_failed) snprintf(ucp.reason, sizeof ucp.reason, "%s: %s", call, ucx.ucs_status_string(status));
    ucp.has_failed = true;
    return false;
}

static const char *failure(void) { return ucp.has_failed ? ucp.reason : NULL; }

/* ---- requests ---- */

static bool progress(void)
{
    if (ucx.ucp_worker_progress(ucp.worker) != 0) return true;
    sched_yield();
    return false;
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

static void wait_all(void)
{
    while (ucp.n_pending > 0) progress();
}

static void flush(void)
{
    wait_all();
    if (!ucp.has_failed) wait_for(ucx.ucp_worker_flush_nbx(ucp.worker, &plain), "ucp_worker_flush_nbx");
}

/* ---- operations ---- */

static void put(void *to, const struct net_access *a)
{
    const struct peer *peer = to;
    if (ucp.has_failed) return;
    count(ucx.ucp_put_nbx(peer->ep, a->local, a->n_bytes, peer->addr[a->region] + a->offset, peer->key[a->region],
                          &counted),
          "ucp_put_nbx");
}

static void get(void *from, const struct net_access *a)
{
    const struct peer *peer = from;
    if (ucp.has_failed) return;
    count(ucx.ucp_get_nbx(peer->ep, a->local, a->n_bytes, peer->addr[a->region] + a->offset, peer->key[a->region],
                          &counted),
          "ucp_get_nbx");
}

/* UCP's compare and swap takes the comparand as its operand, and the new value where it returns the old one. */
static void amo(void *at, enum net_amo what, uint64_t offset, uint64_t operand, uint64_t compare)
{
    const struct peer *peer = at;
    ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_DATATYPE,
        .cb.send = on_done,
        .datatype = ucp_dt_make_contig(sizeof operand),
    };
    if (ucp.has_failed) return;
    if (what != NET_ADD) {
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        params.reply_buffer = &ucp.fetched;
    }
    ucp.operand = what == NET_COMPARE_SWAP ? compare : operand;
    ucp.fetched = operand;
    count(ucx.ucp_atomic_op_nbx(peer->ep, what == NET_COMPARE_SWAP ? UCP_ATOMIC_OP_CSWAP : UCP_ATOMIC_OP_ADD,
                                &ucp.operand, 1, peer->addr[NET_DATA] + offset, peer->key[NET_DATA], &params),
          "ucp_atomic_op_nbx");
}

static bool has_amo(void) { return true; }

/* ---- set-up ---- */

static bool fail_to_load(const char *reason, const char *what)
{
    snprintf(ucp.reason, sizeof ucp.reason, "%s%s", reason, what);
    ucp.has_failed = true;
    return false;
}

/* Only a library that is loaded already: this tool is to compare with what transport ib uses. */
static bool load(void)
{
    ucp.library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (ucp.library == NULL) return fail_to_load("no UCX in this process: transport ib is not in use", "");
#define LOAD(name)                                                         \
    if ((*(void **)(void *)&ucx.name = dlsym(ucp.library, #name)) == NULL) \
        return fail_to_load("the UCX of transport ib lacks ", #name);
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
    if (!is_ok(ucx.ucp_config_read(NULL, NULL, &config), "ucp_config_read")) return false;
    if (getenv("UCX_TLS") == NULL) (void)ucx.ucp_config_modify(config, "TLS", "^sm");
    /* While the library is measured, no PE polls this worker: an unanswered probe would end the endpoint. */
    (void)ucx.ucp_config_modify(config, "KEEPALIVE_INTERVAL", "inf");
    bool is_open = is_ok(ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &ucp.context),
                         "ucp_init") &&
                   is_ok(ucx.ucp_worker_create(ucp.context, &worker_params, &ucp.worker), "ucp_worker_create") &&
                   is_ok(ucx.ucp_worker_get_address(ucp.worker, &ucp.address, &ucp.address_bytes),
                         "ucp_worker_get_address");
    ucx.ucp_config_release(config);
    return is_open;
}

static bool map(int region)
{
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = ucp.buffers[region].addr,
        .length = ucp.buffers[region].n_bytes,
    };
    return params.address == NULL || is_ok(ucx.ucp_mem_map(ucp.context, &params, &ucp.memory[region]), "ucp_mem_map");
}

static bool open_driver(const struct net_buffer *buffers, int n)
{
    bool is_open = load() && open_worker();
    for (int i = 0; i < NET_REGIONS && i < n && is_open; i++) {
        ucp.buffers[i] = buffers[i];
        is_open = map(i);
    }
    return is_open;
}

static void close_driver(void)
{
    for (int i = 0; i < NET_REGIONS; i++)
        if (ucp.memory[i] != NULL) (void)ucx.ucp_mem_unmap(ucp.context, ucp.memory[i]);
    if (ucp.address != NULL) ucx.ucp_worker_release_address(ucp.worker, ucp.address);
    if (ucp.worker != NULL) ucx.ucp_worker_destroy(ucp.worker);
    if (ucp.context != NULL) ucx.ucp_cleanup(ucp.context);
}

/* ---- peers ---- */

static bool write_key(int region, struct card *card)
{
    void *key;
    if (ucp.memory[region] == NULL) return true;
    if (!is_ok(ucx.ucp_rkey_pack(ucp.context, ucp.memory[region], &key, &card->key_bytes[region]), "ucp_rkey_pack"))
        return false;
    bool is_short = card->key_bytes[region] <= KEY_ROOM;
    if (is_ok(is_short ? UCS_OK : UCS_ERR_EXCEEDS_LIMIT, "the key"))
        memcpy(card->key[region], key, card->key_bytes[region]);
    ucx.ucp_rkey_buffer_release(key);
    card->addr[region] = (uint64_t)(uintptr_t)ucp.buffers[region].addr;
    return is_short;
}

static bool write_card(void *out)
{
    struct card *card = out;
    *card = (struct card){.address_bytes = ucp.address_bytes};
    if (!is_ok(ucp.address_bytes <= ADDRESS_ROOM ? UCS_OK : UCS_ERR_EXCEEDS_LIMIT, "the address")) return false;
    memcpy(card->address, ucp.address, ucp.address_bytes);
    bool is_written = true;
    for (int i = 0; i < NET_REGIONS && is_written; i++) is_written = write_key(i, card);
    return is_written;
}

static void disconnect(void *which)
{
    struct peer *peer = which;
    for (int i = 0; i < NET_REGIONS; i++)
        if (peer->key[i] != NULL) ucx.ucp_rkey_destroy(peer->key[i]);
    if (peer->ep != NULL) wait_for(ucx.ucp_ep_close_nbx(peer->ep, &plain), "ucp_ep_close_nbx");
    free(peer);
}

static void *connect_to(const void *text)
{
    const struct card *card = text;
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address = (const ucp_address_t *)(const void *)card->address,
    };
    struct peer *peer = calloc(1, sizeof *peer);
    bool is_good = is_ok(peer != NULL ? UCS_OK : UCS_ERR_NO_MEMORY, "a peer") &&
                   is_ok(ucx.ucp_ep_create(ucp.worker, &params, &peer->ep), "ucp_ep_create");
    for (int i = 0; i < NET_REGIONS && is_good; i++) {
        peer->addr[i] = card->addr[i];
        if (card->key_bytes[i] > 0)
            is_good = is_ok(ucx.ucp_ep_rkey_unpack(peer->ep, card->key[i], &peer->key[i]), "ucp_ep_rkey_unpack");
    }
    if (is_good) return peer;
    if (peer != NULL) disconnect(peer);
    return NULL;
}

const struct net_driver net_driver_ucp = {
    .transport = "ib",
    .name = "bare UCP",
    .open = open_driver,
    .close = close_driver,
    .write_card = write_card,
    .connect = connect_to,
    .disconnect = disconnect,
    .put = put,
    .get = get,
    .amo = amo,
    .has_amo = has_amo,
    .progress = progress,
    .wait = wait_all,
    .flush = flush,
    .failure = failure,
};

#else

static const char *failure(void) { return "this isthmus-perf was built without UCX's headers"; }
static bool open_driver(const struct net_buffer *buffers, int n) { return (void)buffers, (void)n, false; }
static void close_driver(void) {}

const struct net_driver net_driver_ucp = {
    .transport = "ib", .open = open_driver, .close = close_driver, .failure = failure};

#endif
