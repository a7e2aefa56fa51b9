/* plugins/ib/rc/rc_qp.c: see rc_qp.h. */
#include "plugins/ib/rc/rc_qp.h"

#ifdef IB_HAVE_VERBS
#include "plugins/ib/ib_library.h"
#include "plugins/ib/rc/rc_masked.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_RD_ATOMIC = 16, /* atomics that a queue pair executes at a time, and sends at a time */
    TIMEOUT = 18,       /* 4.096 us << 18, about a second, until a packet is sent again */
    RETRIES = 7,        /* of that; then the peer counts as lost, unless UCX or the core has reported it */
    RNR_TIMER = 12,
    POLL_BATCH = 16
};

/* The header hides the function of this name behind a macro. The inline functions of the header need no entry here:
 * they call through the context of a device. */
typedef struct ibv_mr *reg_mr_function(struct ibv_pd *pd, void *addr, size_t length_bytes, int access);

struct ib_adapter {
    const struct isthmus_services *services;
    void *library;
#define VERBS(name) __typeof__(ibv_##name) *(name);
#include "plugins/ib/rc/rc_qp.def"
    reg_mr_function *reg_mr;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *passive_cq; /* of passive queue pairs: nothing completes there */
    struct ib_masked *masked;  /* NULL: it has no masked atomics, or they cannot be requested */
    const char *why_not_masked;
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    char name[IB_PORT_NAME_BYTES];
    uint8_t port_number;
    uint16_t pkey, pkey_index;
    enum ib_link link;
    struct ib_qp_settings settings;
    uint8_t gid[16];
    bool has_on_demand;
    uint32_t n_qps; /* created so far */
};

struct ib_mr {
    struct ib_adapter *adapter;
    struct ibv_mr *ibv;
};

struct ib_cq {
    struct ib_adapter *adapter;
    struct ibv_comp_channel *channel;
    struct ibv_cq *ibv;
    struct ibv_mr *mr;
    uint32_t n_slots;
    uint64_t values[]; /* of each slot, written by the adapter */
};

struct ib_qp {
    struct ib_adapter *adapter;
    struct ib_cq *cq; /* NULL: it is passive */
    struct ibv_qp *ibv;
    uint32_t psn;
    bool has_masked; /* and so has the peer's adapter */
};

static isthmus_status fail(const struct ib_adapter *adapter, const char *call, int error)
{
    const struct isthmus_services *s = adapter->services;
    isthmus_status code = error == ENOMEM ? ISTHMUS_ERR_NO_MEMORY : ISTHMUS_ERR_IO;
    return s->fail(s->core, code, "%s: %s", call, strerror(error));
}

/* ---- the adapter ---- */

static isthmus_status load(struct ib_adapter *adapter)
{
    const struct isthmus_services *s = adapter->services;
    adapter->library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (adapter->library == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "libibverbs.so.1: %s", dlerror());
    bool all = ib_library_find(adapter->library, "ibv_reg_mr", &adapter->reg_mr);
#define VERBS(name) all = ib_library_find(adapter->library, "ibv_" #name, &adapter->name) && all;
#include "plugins/ib/rc/rc_qp.def"
    if (all) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_VERSION, "libibverbs.so.1 lacks functions for queue pairs");
}

static isthmus_status open_device(struct ib_adapter *adapter, const struct ib_port *port)
{
    const struct isthmus_services *s = adapter->services;
    int n = 0;
    struct ibv_device **list = adapter->get_device_list(&n);
    for (int i = 0; list != NULL && i < n && adapter->context == NULL; i++)
        if (strcmp(list[i]->name, port->adapter) == 0) adapter->context = adapter->open_device(list[i]);
    if (list != NULL) adapter->free_device_list(list);
    if (adapter->context != NULL) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "the adapter %s cannot be opened", port->adapter);
}

static isthmus_status query(struct ib_adapter *adapter, const struct ib_port *port)
{
    int error = adapter->query_device(adapter->context, &adapter->device);
    if (error != 0) return fail(adapter, "ibv_query_device", error);
    /* The exported function fills the older, smaller struct, which has every field that is read here. */
    error = (adapter->query_port)(adapter->context, adapter->port_number,
                                  (struct _compat_ibv_port_attr *)&adapter->port);
    if (error != 0) return fail(adapter, "ibv_query_port", error);
    for (uint32_t i = 0; i < port->n_gids; i++)
        if (port->gids[i].index == adapter->settings.gid_index)
            memcpy(adapter->gid, port->gids[i].raw, sizeof adapter->gid);
    return ISTHMUS_OK;
}

/* Not by the header's ibv_query_device_ex(), which calls the library. */
static bool has_atomics_on_demand(const struct ib_adapter *adapter)
{
    struct ibv_device_attr_ex attr = {.comp_mask = 0};
    const struct verbs_context *extended = verbs_get_ctx_op(adapter->context, query_device_ex);
    if (extended == NULL || extended->query_device_ex(adapter->context, NULL, &attr, sizeof attr) != 0) return false;
    return (attr.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0 &&
           (attr.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_ATOMIC) != 0;
}

bool ib_adapter_has_on_demand(const struct ib_adapter *adapter) { return adapter->has_on_demand; }
uint32_t ib_adapter_max_qps(const struct ib_adapter *adapter) { return (uint32_t)adapter->device.max_qp; }
const char *ib_adapter_why_not_masked(const struct ib_adapter *adapter) { return adapter->why_not_masked; }

/* UCX's rule: of the partitions that the settings allow, the first with full membership. Two limited members of a
 * partition do not reach each other, and a port's first P_Key often is the limited one of the default partition. */
static isthmus_status find_pkey(struct ib_adapter *adapter)
{
    enum { IS_FULL = 0x8000 };
    const struct isthmus_services *s = adapter->services;
    int32_t wanted = adapter->settings.partition;
    for (uint16_t i = 0; i < adapter->port.pkey_tbl_len && (adapter->pkey & IS_FULL) == 0; i++) {
        __be16 entry = 0;
        if (adapter->query_pkey(adapter->context, adapter->port_number, i, &entry) != 0) continue;
        uint16_t pkey = ntohs(entry);
        if (pkey == 0 || (wanted != IB_ANY_PARTITION && (pkey & ~IS_FULL) != wanted)) continue;
        if (adapter->pkey != 0 && (pkey & IS_FULL) == 0) continue;
        adapter->pkey = pkey;
        adapter->pkey_index = i;
        if (adapter->link == IB_LINK_ETHERNET) return ISTHMUS_OK; /* which has no partitions */
    }
    if (adapter->pkey != 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "it has no P_Key that UCX_IB_PKEY or ISTHMUS_IB_PKEY allows");
}

static isthmus_status prepare(struct ib_adapter *adapter, const struct ib_port *port)
{
    isthmus_status status = load(adapter);
    if (status == ISTHMUS_OK) status = open_device(adapter, port);
    if (status == ISTHMUS_OK) status = query(adapter, port);
    if (status == ISTHMUS_OK) status = find_pkey(adapter);
    if (status != ISTHMUS_OK) return status;
    adapter->has_on_demand = has_atomics_on_demand(adapter);
    adapter->pd = adapter->alloc_pd(adapter->context);
    if (adapter->pd == NULL) return fail(adapter, "ibv_alloc_pd", errno);
    adapter->passive_cq = adapter->create_cq(adapter->context, 1, NULL, NULL, 0);
    if (adapter->passive_cq == NULL) return fail(adapter, "ibv_create_cq", errno);
    adapter->masked = ib_masked_open(adapter->library, adapter->pd, adapter->passive_cq, &adapter->why_not_masked);
    return ISTHMUS_OK;
}

isthmus_status ib_adapter_open(const struct isthmus_services *services, const struct ib_port *port,
                               const struct ib_qp_settings *settings, struct ib_adapter **out)
{
    struct ib_adapter *adapter = calloc(1, sizeof *adapter);
    if (adapter == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an adapter");
    adapter->services = services;
    snprintf(adapter->name, sizeof adapter->name, "%s", port->name);
    adapter->port_number = (uint8_t)port->number;
    adapter->link = port->link;
    adapter->settings = *settings;
    isthmus_status status = prepare(adapter, port);
    if (status != ISTHMUS_OK) {
        ib_adapter_close(adapter);
        return status;
    }
    *out = adapter;
    return ISTHMUS_OK;
}

void ib_adapter_close(struct ib_adapter *adapter)
{
    if (adapter == NULL) return;
    ib_masked_close(adapter->masked);
    if (adapter->passive_cq != NULL) (void)adapter->destroy_cq(adapter->passive_cq);
    if (adapter->pd != NULL) (void)adapter->dealloc_pd(adapter->pd);
    if (adapter->context != NULL) (void)adapter->close_device(adapter->context);
    if (adapter->library != NULL) dlclose(adapter->library);
    free(adapter);
}

/* ---- memory ---- */

isthmus_status ib_mr_create(struct ib_adapter *adapter, void *addr, uint64_t length_bytes, bool is_on_demand,
                            struct ib_mr **out, uint32_t *rkey)
{
    const struct isthmus_services *s = adapter->services;
    uint64_t before = (uintptr_t)addr % sizeof(uint64_t), total = before + length_bytes;
    struct ib_mr *mr = calloc(1, sizeof *mr);
    if (mr == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a registration");
    total += (sizeof(uint64_t) - total % sizeof(uint64_t)) % sizeof(uint64_t);
    mr->adapter = adapter;
    is_on_demand = is_on_demand && adapter->has_on_demand;
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | (is_on_demand ? IBV_ACCESS_ON_DEMAND : 0);
    mr->ibv = adapter->reg_mr(adapter->pd, (char *)addr - before, total, access);
    if (mr->ibv == NULL) {
        isthmus_status status = s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "ibv_reg_mr of %llu bytes for atomics%s: %s",
                                        (unsigned long long)total,
                                        is_on_demand ? "" : ", beside UCX's registration of them", strerror(errno));
        free(mr);
        return status;
    }
    *rkey = mr->ibv->rkey;
    *out = mr;
    return ISTHMUS_OK;
}

void ib_mr_destroy(struct ib_mr *mr)
{
    if (mr == NULL) return;
    (void)mr->adapter->dereg_mr(mr->ibv);
    free(mr);
}

/* ---- completions ---- */

static isthmus_status open_cq(struct ib_cq *cq)
{
    struct ib_adapter *adapter = cq->adapter;
    uint32_t n = cq->n_slots;
    cq->mr = adapter->reg_mr(adapter->pd, cq->values, n * sizeof cq->values[0], IBV_ACCESS_LOCAL_WRITE);
    if (cq->mr == NULL) return fail(adapter, "ibv_reg_mr", errno);
    cq->channel = adapter->create_comp_channel(adapter->context);
    if (cq->channel == NULL) return fail(adapter, "ibv_create_comp_channel", errno);
    int flags = fcntl(cq->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) return fail(adapter, "fcntl", errno);
    /* Twice: an adapter may leave the completions of a queue pair that is destroyed. */
    cq->ibv = adapter->create_cq(adapter->context, 2 * (int)n, NULL, cq->channel, 0);
    return cq->ibv != NULL ? ISTHMUS_OK : fail(adapter, "ibv_create_cq", errno);
}

isthmus_status ib_cq_create(struct ib_adapter *adapter, uint32_t n_slots, struct ib_cq **out)
{
    const struct isthmus_services *s = adapter->services;
    struct ib_cq *cq = calloc(1, sizeof *cq + n_slots * sizeof(uint64_t));
    if (cq == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for atomics");
    cq->adapter = adapter;
    cq->n_slots = n_slots;
    isthmus_status status = open_cq(cq);
    if (status != ISTHMUS_OK) {
        ib_cq_destroy(cq);
        return status;
    }
    *out = cq;
    return ISTHMUS_OK;
}

void ib_cq_destroy(struct ib_cq *cq)
{
    if (cq == NULL) return;
    struct ib_adapter *adapter = cq->adapter;
    if (cq->ibv != NULL) (void)adapter->destroy_cq(cq->ibv);
    if (cq->channel != NULL) (void)adapter->destroy_comp_channel(cq->channel);
    if (cq->mr != NULL) (void)adapter->dereg_mr(cq->mr);
    free(cq);
}

int ib_cq_fd(const struct ib_cq *cq) { return cq->channel->fd; }

/* Takes the events that the descriptor has reported before: else it would stay readable. */
void ib_cq_arm(struct ib_cq *cq)
{
    struct ibv_cq *notified;
    void *context;
    while (cq->adapter->get_cq_event(cq->channel, &notified, &context) == 0) cq->adapter->ack_cq_events(notified, 1);
    (void)ibv_req_notify_cq(cq->ibv, 0);
}

uint32_t ib_cq_poll(struct ib_cq *cq, struct ib_wc *list, uint32_t room)
{
    struct ibv_wc wcs[POLL_BATCH];
    int n = ibv_poll_cq(cq->ibv, (int)(room < POLL_BATCH ? room : POLL_BATCH), wcs);
    for (int i = 0; i < n; i++) {
        uint32_t slot = (uint32_t)wcs[i].wr_id;
        list[i].wr_id = wcs[i].wr_id;
        list[i].value = slot < cq->n_slots ? cq->values[slot] : 0;
        list[i].failure = wcs[i].status == IBV_WC_SUCCESS ? NULL : cq->adapter->wc_status_str(wcs[i].status);
        list[i].is_loss = wcs[i].status == IBV_WC_RETRY_EXC_ERR || wcs[i].status == IBV_WC_RNR_RETRY_EXC_ERR;
    }
    return n > 0 ? (uint32_t)n : 0;
}

/* ---- queue pairs ---- */

/* Returns true if the queue pair takes masked requests. */
static bool is_masked(const struct ib_qp *qp) { return qp->cq != NULL && qp->adapter->masked != NULL; }

/* Mlx5's kernel driver sets the kind of atomics only of a queue pair that may execute them. UCX sets it at both ends;
 * the peer, whose end sends nothing, cannot use the permission. */
static int enter_init(const struct ib_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .pkey_index = qp->adapter->pkey_index,
        .port_num = qp->adapter->port_number,
        .qp_access_flags = qp->cq == NULL || is_masked(qp) ? IBV_ACCESS_REMOTE_ATOMIC : 0,
    };
    return qp->adapter->modify_qp(qp->ibv, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

isthmus_status ib_qp_create(struct ib_adapter *adapter, struct ib_cq *cq, struct ib_qp **out)
{
    const struct isthmus_services *s = adapter->services;
    struct ibv_cq *verbs_cq = cq != NULL ? cq->ibv : adapter->passive_cq;
    struct ibv_qp_init_attr attr = {
        .send_cq = verbs_cq,
        .recv_cq = verbs_cq,
        .cap = {.max_send_wr = cq != NULL ? cq->n_slots : 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    struct ib_qp *qp = calloc(1, sizeof *qp);
    if (qp == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a queue pair");
    qp->adapter = adapter;
    qp->cq = cq;
    qp->ibv = is_masked(qp) ? ib_masked_qp_create(adapter->masked, adapter->pd, &attr)
                            : adapter->create_qp(adapter->pd, &attr);
    int error = qp->ibv != NULL ? enter_init(qp) : errno;
    if (error != 0) {
        isthmus_status status = fail(adapter, qp->ibv != NULL ? "ibv_modify_qp to INIT" : "ibv_create_qp", error);
        ib_qp_destroy(qp);
        return status;
    }
    /* 24 bits that differ between queue pairs, also of one number, so that this one drops packets of an earlier one. */
    uint32_t n_before = __atomic_fetch_add(&adapter->n_qps, 1, __ATOMIC_RELAXED);
    qp->psn = (qp->ibv->qp_num + (n_before << 20)) * 2654435761u >> 8;
    *out = qp;
    return ISTHMUS_OK;
}

void ib_qp_destroy(struct ib_qp *qp)
{
    if (qp == NULL) return;
    if (qp->ibv != NULL) (void)qp->adapter->destroy_qp(qp->ibv);
    free(qp);
}

static uint32_t at_most(int value) { return value < MAX_RD_ATOMIC ? (uint32_t)value : MAX_RD_ATOMIC; }

void ib_qp_address(const struct ib_qp *qp, struct ib_qp_address *out)
{
    const struct ib_adapter *adapter = qp->adapter;
    *out = (struct ib_qp_address){
        .qp_num = qp->ibv->qp_num,
        .psn = qp->psn,
        .lid = adapter->port.lid,
        .mtu = adapter->port.active_mtu,
        .link = adapter->link,
        .max_rd_atomic = at_most(adapter->device.max_qp_rd_atom),
        .has_masked = adapter->masked != NULL,
    };
    memcpy(out->gid, adapter->gid, sizeof out->gid);
}

void ib_qp_describe(const struct ib_qp *qp, char out[IB_QP_TEXT_BYTES])
{
    const struct ib_adapter *adapter = qp->adapter;
    const struct ib_qp_settings *settings = &adapter->settings;
    char gid[INET6_ADDRSTRLEN];
    (void)inet_ntop(AF_INET6, adapter->gid, gid, sizeof gid);
    snprintf(out, IB_QP_TEXT_BYTES, "%s with GID %u (%s), P_Key %#x, traffic class %u, service level %u", adapter->name,
             settings->gid_index, gid, adapter->pkey, settings->traffic_class, settings->service_level);
}

/* Within a subnet of InfiniBand a local address is enough, unless the subnet manager gave none or its switches want
 * more; over Ethernet there are GIDs only. */
static bool needs_gid(const struct ib_adapter *adapter, const struct ib_qp_address *peer)
{
    enum { PREFIX_BYTES = 8 };
    return adapter->link == IB_LINK_ETHERNET || peer->lid == 0 || (adapter->port.flags & IBV_QPF_GRH_REQUIRED) != 0 ||
           memcmp(adapter->gid, peer->gid, PREFIX_BYTES) != 0;
}

static struct ibv_ah_attr ah_attr_to(const struct ib_adapter *adapter, const struct ib_qp_address *peer)
{
    const struct ib_qp_settings *settings = &adapter->settings;
    struct ibv_ah_attr ah = {
        .dlid = (uint16_t)peer->lid,
        .sl = settings->service_level,
        .is_global = needs_gid(adapter, peer),
        .port_num = adapter->port_number,
    };
    ah.grh.sgid_index = (uint8_t)settings->gid_index;
    ah.grh.hop_limit = 64;
    ah.grh.traffic_class = settings->traffic_class;
    memcpy(ah.grh.dgid.raw, peer->gid, sizeof ah.grh.dgid.raw);
    return ah;
}

static int enter_rtr(const struct ib_qp *qp, const struct ib_qp_address *peer)
{
    const struct ib_adapter *adapter = qp->adapter;
    uint32_t mtu = peer->mtu < (uint32_t)adapter->port.active_mtu ? peer->mtu : (uint32_t)adapter->port.active_mtu;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .ah_attr = ah_attr_to(adapter, peer),
        .path_mtu = (enum ibv_mtu)mtu,
        .dest_qp_num = peer->qp_num,
        .rq_psn = peer->psn,
        .max_dest_rd_atomic = (uint8_t)at_most(adapter->device.max_qp_rd_atom),
        .min_rnr_timer = RNR_TIMER,
    };
    return adapter->modify_qp(qp->ibv, &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int enter_rts(const struct ib_qp *qp, const struct ib_qp_address *peer)
{
    uint32_t n_outgoing = at_most(qp->adapter->device.max_qp_init_rd_atom);
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .sq_psn = qp->psn,
        .max_rd_atomic = (uint8_t)(peer->max_rd_atomic < n_outgoing ? peer->max_rd_atomic : n_outgoing),
    };
    return qp->adapter->modify_qp(qp->ibv, &attr,
                                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                      IBV_QP_MAX_QP_RD_ATOMIC);
}

isthmus_status ib_qp_connect(struct ib_qp *qp, const struct ib_qp_address *peer)
{
    const struct ib_adapter *adapter = qp->adapter;
    const struct isthmus_services *s = adapter->services;
    if (peer->link != (uint32_t)adapter->link)
        return s->fail(
            s->core, ISTHMUS_ERR_UNREACHABLE,
            "this PE's adapter and its peer's are not both InfiniBand or both RoCE; choose them by ISTHMUS_HCA");
    int error = enter_rtr(qp, peer);
    if (error != 0) return fail(adapter, "ibv_modify_qp to RTR", error);
    if (qp->cq == NULL) return ISTHMUS_OK;
    error = enter_rts(qp, peer);
    qp->has_masked = is_masked(qp) && peer->has_masked != 0;
    return error == 0 ? ISTHMUS_OK : fail(adapter, "ibv_modify_qp to RTS", error);
}

bool ib_qp_has_masked(const struct ib_qp *qp) { return qp->has_masked; }

int ib_qp_post(struct ib_qp *qp, const struct ib_qp_target *target, const struct ib_word_op *op)
{
    struct ib_cq *cq = qp->cq;
    struct ibv_sge value = {
        .addr = (uint64_t)(uintptr_t)&cq->values[(uint32_t)target->wr_id],
        .length = sizeof(uint64_t),
        .lkey = cq->mr->lkey,
    };
    if (op->op != IB_FETCH_ADD && op->op != IB_COMPARE_SWAP)
        return ib_masked_post(qp->adapter->masked, qp->ibv, target, op, &value);
    bool swaps = op->op == IB_COMPARE_SWAP;
    struct ibv_send_wr wr = {
        .wr_id = target->wr_id,
        .sg_list = &value,
        .num_sge = 1,
        .opcode = swaps ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
        .wr.atomic = {.remote_addr = target->address,
                      .compare_add = swaps ? op->compare : op->operand,
                      .swap = op->operand,
                      .rkey = target->rkey},
    };
    struct ibv_send_wr *refused;
    return ibv_post_send(qp->ibv, &wr, &refused);
}

#else /* built where the headers of libibverbs are missing: ib_adapter_open() fails, and nothing else is called */

isthmus_status ib_adapter_open(const struct isthmus_services *services, const struct ib_port *port,
                               const struct ib_qp_settings *settings, struct ib_adapter **out)
{
    (void)port, (void)settings, (void)out;
    return services->fail(services->core, ISTHMUS_ERR_UNSUPPORTED, "ib was built without the headers of libibverbs");
}

void ib_adapter_close(struct ib_adapter *adapter) { (void)adapter; }

bool ib_adapter_has_on_demand(const struct ib_adapter *adapter) { return (void)adapter, false; }
uint32_t ib_adapter_max_qps(const struct ib_adapter *adapter) { return (void)adapter, 0; }
const char *ib_adapter_why_not_masked(const struct ib_adapter *adapter) { return (void)adapter, ""; }

isthmus_status ib_mr_create(struct ib_adapter *adapter, void *addr, uint64_t length_bytes, bool is_on_demand,
                            struct ib_mr **out, uint32_t *rkey)
{
    (void)adapter, (void)addr, (void)length_bytes, (void)is_on_demand, (void)out, (void)rkey;
    return ISTHMUS_ERR_UNSUPPORTED;
}

void ib_mr_destroy(struct ib_mr *mr) { (void)mr; }

isthmus_status ib_cq_create(struct ib_adapter *adapter, uint32_t n_slots, struct ib_cq **out)
{
    (void)adapter, (void)n_slots, (void)out;
    return ISTHMUS_ERR_UNSUPPORTED;
}

void ib_cq_destroy(struct ib_cq *cq) { (void)cq; }

int ib_cq_fd(const struct ib_cq *cq)
{
    (void)cq;
    return -1;
}

void ib_cq_arm(struct ib_cq *cq) { (void)cq; }

isthmus_status ib_qp_create(struct ib_adapter *adapter, struct ib_cq *cq, struct ib_qp **out)
{
    (void)adapter, (void)cq, (void)out;
    return ISTHMUS_ERR_UNSUPPORTED;
}

void ib_qp_destroy(struct ib_qp *qp) { (void)qp; }

void ib_qp_address(const struct ib_qp *qp, struct ib_qp_address *out)
{
    (void)qp;
    *out = (struct ib_qp_address){0};
}

void ib_qp_describe(const struct ib_qp *qp, char out[IB_QP_TEXT_BYTES])
{
    (void)qp;
    out[0] = '\0';
}

isthmus_status ib_qp_connect(struct ib_qp *qp, const struct ib_qp_address *peer)
{
    (void)qp, (void)peer;
    return ISTHMUS_ERR_UNSUPPORTED;
}

bool ib_qp_has_masked(const struct ib_qp *qp) { return (void)qp, false; }

int ib_qp_post(struct ib_qp *qp, const struct ib_qp_target *target, const struct ib_word_op *op)
{
    (void)qp, (void)target, (void)op;
    return -1;
}

uint32_t ib_cq_poll(struct ib_cq *cq, struct ib_wc *list, uint32_t room)
{
    (void)cq, (void)list, (void)room;
    return 0;
}

#endif
