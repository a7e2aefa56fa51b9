/* plugins/ib/ib.c: the transport between hosts: InfiniBand, RoCE and TCP through UCX.
 * The exported table, and what starts and ends it. docs/transports/ib.md states its needs and promises. */
#include "plugins/ib/am/am.h"
#include "plugins/ib/ib_config.h"
#include "plugins/ib/ib_registration.h"
#include "plugins/ib/rc/rc.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Estimates that rank this transport behind each transport within a host, and among those between hosts; UCX itself
 * chooses among networks. */
enum { LATENCY_SELF_NS = 20, LATENCY_ADAPTER_NS = 2000, LATENCY_SLOW_NS = 20000 };
#define BANDWIDTH_BYTES_PER_S UINT64_C(5000000000)

/* ---- life ---- */

/* Variables with NVSHMEM's names, for keys of UCX; UCX's own variables go before. */
static const struct {
    const char *ours;
    struct ib_config_key key;
} passed_on[] = {
    {"GID_INDEX", {"IB_GID_INDEX", .why = "ISTHMUS_IB_GID_INDEX is set", .variables = {"UCX_IB_GID_INDEX"}}},
    {"PKEY", {"IB_PKEY", .why = "ISTHMUS_IB_PKEY is set", .variables = {"UCX_IB_PKEY"}}},
    {"SL", {"IB_SL", .why = "ISTHMUS_IB_SL is set", .variables = {"UCX_IB_SL"}}},
    {"TRAFFIC_CLASS",
     {"IB_TRAFFIC_CLASS", .why = "ISTHMUS_IB_TRAFFIC_CLASS is set", .variables = {"UCX_IB_TRAFFIC_CLASS"}}},
};

/* The value of TLS where UCX knows devices and this job has memory of one; NULL: that of all jobs (ib_config.c).
 * cuda_ipc cannot pack keys for memory of cuMemCreate up to UCX 1.17, and adds some 300 bytes to each key from 1.18 on;
 * PEs of one host reach such memory over the devices' own links (nvlink, xgmi). gdr_copy copies by the processor, and
 * its part of a key looks like an adapter's. A UCX that does not know devices may not know these names, and warns of
 * them. */
static const char *without_device_links(const isthmus_tr *tr)
{
    bool has_cuda = (tr->kinds >> ISTHMUS_MEM_CUDA & 1) != 0, has_hip = (tr->kinds >> ISTHMUS_MEM_HIP & 1) != 0;
    if (tr->stage == NULL || (!has_cuda && !has_hip)) return NULL;
    if (!has_hip) return "^sm,cuda_ipc,gdr_copy";
    return has_cuda ? "^sm,cuda_ipc,gdr_copy,rocm_ipc" : "^sm,rocm_ipc";
}

/* Sets keys of UCX's configuration, unless the user has set them by variables of UCX's own. */
static isthmus_status configure(const isthmus_tr *tr, ucp_config_t *config)
{
    const struct isthmus_services *s = tr->services;
    const struct ib_config_key devices = {
        .name = "TLS",
        .value = without_device_links(tr),
        .why = "a link between the devices of one host has a transport of its own here",
        .variables = {"UCX_TLS"}};
    isthmus_status status = ib_config_set_all(s, config);
    if (status == ISTHMUS_OK) status = ib_config_set(s, config, &devices);
    if (status == ISTHMUS_OK) status = ib_net_configure(tr, config);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on && status == ISTHMUS_OK; i++) {
        struct ib_config_key key = passed_on[i].key;
        key.value = s->config(s->core, passed_on[i].ours);
        status = ib_config_set(s, config, &key);
    }
    return status;
}

/* Reports the failure of a call of UCX during the start of this PE. */
static isthmus_status fail_call(const isthmus_tr *tr, const char *call, ucs_status_t why)
{
    const struct isthmus_services *s = tr->services;
    char reason[IB_REASON_TEXT_BYTES];
    ib_ucp_reason(reason);
    bool is_search = why == UCS_ERR_NO_DEVICE || why == UCS_ERR_NO_ELEM;
    return s->fail(s->core, is_search ? ISTHMUS_ERR_NO_DEVICE : ib_ucp_code(why), "%s of UCX %s: %s%s%s", call,
                   ib_ucp_version(), ib_ucp.ucs_status_string(why), reason,
                   is_search ? "; see UCX_TLS, UCX_NET_DEVICES" : "");
}

static isthmus_status init_ucx(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    ucp_config_t *config;
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
        .features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1,
        .estimated_num_eps = tr->settings.n_peers < (uint32_t)s->n_pes ? tr->settings.n_peers : (size_t)s->n_pes,
    };
    ib_ucp_reason_begin();
    ucs_status_t ready = ib_ucp.ucp_config_read(NULL, NULL, &config);
    if (ready != UCS_OK) return fail_call(tr, "ucp_config_read", ready);
    isthmus_status status = configure(tr, config);
    if (status == ISTHMUS_OK) {
        ib_ucp_reason_begin();
        ready = ib_ucp.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &tr->ucp);
        if (ready != UCS_OK) status = fail_call(tr, "ucp_init", ready);
    }
    ib_ucp.ucp_config_release(config);
    return status;
}

/* UCX reports the kinds of memory that it supports only once it has started, and takes TLS only before. */
static isthmus_status init_for_devices(isthmus_tr *tr)
{
    isthmus_status status = init_ucx(tr);
    if (status == ISTHMUS_OK) status = ib_kinds_query(tr);
    if (status != ISTHMUS_OK || without_device_links(tr) == NULL || ib_ucp_is_set("UCX_TLS")) return status;
    ib_ucp.ucp_cleanup(tr->ucp);
    tr->ucp = NULL;
    return init_ucx(tr);
}

static isthmus_status open_ucx(isthmus_tr *tr)
{
    isthmus_status status = ib_registration_choose(tr->services, &tr->is_on_demand);
    if (status == ISTHMUS_OK) status = ib_net_open(tr);
    if (status == ISTHMUS_OK) status = ib_order_open(tr);
    if (status == ISTHMUS_OK) status = ib_stage_open(tr);
    if (status != ISTHMUS_OK) return status;
    status = init_for_devices(tr);
    if (status == ISTHMUS_OK) status = ib_rc_open(tr);
    if (status == ISTHMUS_OK) tr->wakes = ib_context_wakes(tr->ucp);
    if (status == ISTHMUS_OK) status = ib_worker_create(tr, false);
    if (status == ISTHMUS_OK && tr->stage != NULL) status = ib_stage_listen(tr);
    if (status != ISTHMUS_OK) return status;
    ib_ucp_reason_begin();
    ucs_status_t ready = ib_ucp.ucp_worker_get_address(tr->workers[0].ucp, &tr->address, &tr->address_bytes);
    return ready == UCS_OK ? ISTHMUS_OK : fail_call(tr, "ucp_worker_get_address", ready);
}

/* Takes a transport whose opening has failed, too. */
static void ib_close(isthmus_tr *tr)
{
    ib_stage_close(tr);
    if (tr->address != NULL) ib_ucp.ucp_worker_release_address(tr->workers[0].ucp, tr->address);
    for (uint32_t i = tr->n_workers; i-- > 0;) ib_worker_destroy(&tr->workers[i]);
    if (tr->ucp != NULL) ib_ucp.ucp_cleanup(tr->ucp);
    ib_rc_close(tr);
    if (tr->events >= 0) close(tr->events);
    ib_net_close(tr->net);
    pthread_mutex_destroy(&tr->lost_lock);
    ib_ucp_log_end();
    free(tr);
}

static isthmus_status ib_open(const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_status status = ib_ucp_load(services);
    if (status != ISTHMUS_OK) return status;
    isthmus_tr *tr = calloc(1, sizeof *tr);
    if (tr == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    tr->services = services;
    tr->lost_pe = -1;
    pthread_mutex_init(&tr->lost_lock, NULL);
    ib_ucp_log_to(services);
    tr->events = epoll_create1(EPOLL_CLOEXEC);
    status = ib_settings_read(services, &tr->settings);
    if (status == ISTHMUS_OK && tr->events < 0)
        status = services->fail(services->core, ISTHMUS_ERR_NO_MEMORY,
                                "cannot wait for UCX's events: epoll_create1: %s", strerror(errno));
    if (status == ISTHMUS_OK) status = open_ucx(tr);
    if (status != ISTHMUS_OK) {
        ib_close(tr);
        return status;
    }
    *out = tr;
    return ISTHMUS_OK;
}

static isthmus_status ib_describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    uint32_t staged = tr->stage != NULL ? 1u << ISTHMUS_MEM_CUDA | 1u << ISTHMUS_MEM_ZE | 1u << ISTHMUS_MEM_HIP : 0;
    const struct isthmus_traits traits = {
        .kinds_expose = tr->kinds | staged,
        .kinds_attach = tr->kinds | staged,
        .kinds_local = tr->kinds | staged,
        .card_max_bytes = (uint32_t)(sizeof(struct ib_frame) + tr->address_bytes + IB_NOTE_BYTES),
        .key_max_bytes = ISTHMUS_KEY_MAX_BYTES,
        .shared_channels = 1,
        .traits = ISTHMUS_TRAIT_ANY_LOCAL | ISTHMUS_TRAIT_PATHS_AT_ONCE,
    };
    isthmus_write_out(out, &traits, sizeof traits);
    return ISTHMUS_OK;
}

/* ---- peers ---- */

static isthmus_status ib_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    const struct isthmus_services *s = tr->services;
    char note[IB_NOTE_BYTES];
    size_t note_bytes = ib_ucp_note(note);
    const struct ib_frame frame = {
        .magic = IB_FRAME_CARD,
        .payload_bytes = (uint32_t)(tr->address_bytes + note_bytes),
        .note_bytes = (uint32_t)note_bytes,
        .is_relaxed = tr->order.is_relaxed,
    };
    char *payload = malloc(frame.payload_bytes);
    if (payload == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for this PE's card");
    memcpy(payload, tr->address, tr->address_bytes);
    memcpy(payload + tr->address_bytes, note, note_bytes);
    isthmus_status status = ib_frame_write(s, frame, payload, buf, length_bytes);
    free(payload);
    return status;
}

/* Slow: TCP, EFA, and copies by a device. */
static uint32_t latency_ns(const isthmus_tr *tr)
{
    return tr->wakes || ib_net_is_slow(tr->net) ? LATENCY_SLOW_NS : LATENCY_ADAPTER_NS;
}

/* Memory of a device has no alias; the device executes atomics, at the request of its PE. */
static void reach_device(const isthmus_tr *tr, uint32_t kind, struct isthmus_reach *reach)
{
    bool is_direct = (tr->kinds >> kind & 1) != 0;
    reach->caps = 0;
    reach->atomics_domain = tr->stage != NULL ? ISTHMUS_DOMAIN_GPU : ISTHMUS_DOMAIN_NONE;
    reach->latency_ns = is_direct ? latency_ns(tr) : LATENCY_SLOW_NS;
    reach->bandwidth_bytes_per_s = is_direct ? BANDWIDTH_BYTES_PER_S : BANDWIDTH_BYTES_PER_S / 2;
    reach->how = ib_kind_how(tr, kind);
    /* A flush of UCX is complete when the peer's adapter has the data. The device sees it once its PE has flushed such
     * writes, which it does when it synchronises. Staged data is on the device before the reply. */
    if (is_direct) reach->visibility = ISTHMUS_VISIBLE_OWNER;
}

static isthmus_status ib_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    struct ib_frame frame;
    const void *address;
    isthmus_status status = ib_frame_read(tr->services, IB_FRAME_CARD,
                                          (struct ib_frame_owner){peer->pe, peer->host_name}, peer->card,
                                          peer->card_bytes, &frame, &address);
    if (status != ISTHMUS_OK) return status;
    bool is_self = peer->pe == tr->services->my_pe;
    bool wakes = tr->wakes && tr->adapter == NULL; /* an atomic that the adapter executes wakes no processor */
    uint32_t kind = ISTHMUS_HAS(peer, kind) ? peer->kind : ISTHMUS_MEM_HOST;
    struct isthmus_reach reach = {
        .latency_ns = is_self ? LATENCY_SELF_NS : latency_ns(tr),
        .bandwidth_bytes_per_s = BANDWIDTH_BYTES_PER_S,
        .caps = is_self ? ISTHMUS_CAP_ALIAS | ISTHMUS_CAP_ORDERED | ISTHMUS_CAP_NO_TARGET
                : wakes ? ISTHMUS_CAP_WAKES
                        : 0,
        .atomics_domain = tr->adapter != NULL ? ISTHMUS_DOMAIN_NIC : ISTHMUS_DOMAIN_CPU,
        .visibility = ISTHMUS_VISIBLE_EVERYONE,
        .how = tr->why_no_adapter[0] != '\0' ? tr->why_no_adapter : NULL,
    };
    if (!is_self) reach.how = ib_kind_how(tr, kind);
    if (!is_self && kind == ISTHMUS_MEM_HOST && frame.is_relaxed != 0)
        reach.how =
            "a fence flushes the peer, and a flush reads from it: UCX registers its memory with relaxed ordering";
    if (kind != ISTHMUS_MEM_HOST) reach_device(tr, kind, &reach);
    isthmus_write_out(out, &reach, sizeof reach);
    return ISTHMUS_OK;
}

/* ---- progress ---- */

/* Reports a lost peer once: perhaps no later operation would. */
static isthmus_status report_loss(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status status = ISTHMUS_OK;
    if (__atomic_load_n(&tr->lost_pe, __ATOMIC_RELAXED) < 0) return ISTHMUS_OK; /* the lock orders the reads below */
    pthread_mutex_lock(&tr->lost_lock);
    if (tr->lost_pe >= 0 && !tr->has_reported) {
        tr->has_reported = true;
        status = s->fail(s->core, ISTHMUS_ERR_PEER_LOST, "PE %d on %s is lost: %s", tr->lost_pe, tr->lost_host,
                         ib_ucp.ucs_status_string(tr->lost_why));
    }
    pthread_mutex_unlock(&tr->lost_lock);
    return status;
}

/* Likewise: a peer waits for an operation for which this PE has no memory. */
static isthmus_status report_no_memory(const isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    char why[IB_NO_MEMORY_BYTES];
    if (!ib_ucp_take_no_memory(why)) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory to serve a waiting peer: %s", why);
}

/* A worker that another thread has locked or leads is left to that thread, a private one to its caller. */
static int32_t ib_progress(isthmus_tr *tr)
{
    int32_t n = 0;
    uint32_t n_workers = __atomic_load_n(&tr->n_workers, __ATOMIC_ACQUIRE); /* pairs with ib_worker_create() */
    for (uint32_t i = 0; i < n_workers; i++) {
        struct ib_worker *worker = &tr->workers[i];
        if (worker->is_private || !ib_worker_trylock(worker)) continue;
        if (!worker->has_leader) n += ib_worker_progress(worker);
        n += (int32_t)worker->n_armed_events;
        worker->n_armed_events = 0;
        ib_worker_unlock(worker);
    }
    isthmus_status status = report_loss(tr);
    if (status == ISTHMUS_OK) status = report_no_memory(tr);
    return status == ISTHMUS_OK ? n : status;
}

static isthmus_status ib_arm(isthmus_tr *tr, int32_t *event_fd)
{
    isthmus_status status = ISTHMUS_OK;
    uint32_t n_workers = __atomic_load_n(&tr->n_workers, __ATOMIC_ACQUIRE), n_shared = 0;
    for (uint32_t i = 0; i < n_workers && status == ISTHMUS_OK; i++) {
        struct ib_worker *worker = &tr->workers[i];
        if (worker->is_private) continue;
        n_shared++;
        if (!ib_worker_trylock(worker)) return ISTHMUS_ERR_AGAIN; /* a caller makes progress */
        status = worker->has_leader ? ISTHMUS_ERR_AGAIN : ib_worker_arm(worker);
        ib_worker_unlock(worker);
    }
    if (status == ISTHMUS_OK) *event_fd = n_shared == 1 ? tr->workers[0].event_fd : tr->events;
    return status;
}

static void describe_library(isthmus_tr *tr, struct isthmus_library_info *out)
{
    (void)tr;
    const struct isthmus_library_info info = {
        .name = "UCX",
        .version = ib_ucp_version(),
        .file = ib_ucp_file(),
    };
    isthmus_write_out(out, &info, sizeof info);
}

static const struct isthmus_library ib_library = {
    .struct_size = sizeof(struct isthmus_library),
    .describe = describe_library,
};

static const void *ib_extension(isthmus_tr *tr, const char *name)
{
    (void)tr;
    if (strcmp(name, "library.1") == 0) return &ib_library;
    return strcmp(name, "devices.1") == 0 ? &ib_devices : NULL;
}

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof(struct isthmus_transport),
    .abi_minor = ISTHMUS_ABI_MINOR,
    .name = "ib",
    .version = PLUGIN_VERSION,
    .scopes = ISTHMUS_SCOPE_NETWORK, /* on one host there is always something better */
    .open = ib_open,
    .close = ib_close,
    .describe = ib_describe,
    .card = ib_card,
    .reach = ib_reach,
    .path_open = ib_path_open,
    .path_close = ib_path_close,
    .expose = ib_expose,
    .register_local = ib_register,
    .unregister_local = ib_unregister,
    .attach = ib_attach,
    .detach = ib_detach,
    .channel_open = ib_channel_open,
    .channel_close = ib_channel_close,
    .progress = ib_progress,
    .arm = ib_arm,
    .extension = ib_extension,
};
