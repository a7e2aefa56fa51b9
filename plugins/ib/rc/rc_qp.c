/* plugins/ib/rc/rc_qp.c: see rc_qp.h. */
#include "plugins/ib/rc/rc_qp.h"

#ifdef IB_HAVE_VERBS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_INCOMING = 16, /* atomics that one queue serves at a time, and sends before answers */
    TIMEOUT = 18,      /* 4.096 us << 18, about a second, until a packet is sent again */
    RETRIES = 7,       /* of that; then the peer counts as lost, unless UCX or the core has reported it */
    RNR_TIMER = 12,
    POLL_BATCH = 16
};

/* Behind a macro of the same name, in the header. Its inline functions go through the context of a
 * device. */
typedef struct ibv_mr *reg_mr_function(struct ibv_pd *pd, void *addr, size_t length_bytes, int access);

struct ib_adapter {
    const struct isthmus_services *services;
    void *library;
#define VERBS(name) __typeof__(ibv_##name) *(name);
#include "plugins/ib/rc/rc_qp.def"
    reg_mr_function *reg_mr;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *unused; /* of queues that only serve: nothing ends there */
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    uint8_t port_number;
    enum ib_link link;
    struct ib_queue_settings settings;
    uint8_t gid[16];
};

struct ib_region {
    struct ib_adapter *adapter;
    struct ibv_mr *mr;
};

struct ib_completions {
    struct ib_adapter *adapter;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint32_t n_slots;
    uint64_t values[]; /* of each slot, written by the adapter */
};

struct ib_queue {
    struct ib_adapter *adapter;
    struct ib_completions *completions; /* NULL: it serves */
    struct ibv_qp *qp;
    uint32_t sequence;
};

static isthmus_status fail(const struct ib_adapter *adapter, const char *call, int error)
{
    const struct isthmus_services *s = adapter->services;
    isthmus_status code = error == ENOMEM ? ISTHMUS_ERR_NO_MEMORY : ISTHMUS_ERR_IO;
    return s->fail(s->core, code, "%s: %s", call, strerror(error));
}

/* ---- the adapter ---- */

/* POSIX: dlsym's objects and functions have one kind of address. */
static bool find_function(struct ib_adapter *adapter, const char *name, void *out)
{
    void *found = dlsym(adapter->library, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static isthmus_status load(struct ib_adapter *adapter)
{
    const struct isthmus_services *s = adapter->services;
    adapter->library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (adapter->library == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "libibverbs.so.1: %s", dlerror());
    bool all = find_function(adapter, "ibv_reg_mr", &adapter->reg_mr);
#define VERBS(name) all = find_function(adapter, "ibv_" #name, &adapter->name) && all;
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
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "%s cannot be opened", port->adapter);
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

static isthmus_status prepare(struct ib_adapter *adapter, const struct ib_port *port)
{
    isthmus_status status = load(adapter);
    if (status == ISTHMUS_OK) status = open_device(adapter, port);
    if (status == ISTHMUS_OK) status = query(adapter, port);
    if (status != ISTHMUS_OK) return status;
    adapter->pd = adapter->alloc_pd(adapter->context);
    if (adapter->pd == NULL) return fail(adapter, "ibv_alloc_pd", errno);
    adapter->unused = adapter->create_cq(adapter->context, 1, NULL, NULL, 0);
    return adapter->unused != NULL ? ISTHMUS_OK : fail(adapter, "ibv_create_cq", errno);
}

isthmus_status ib_adapter_open(const struct isthmus_services *services, const struct ib_port *port,
                               const struct ib_queue_settings *settings, struct ib_adapter **out)
{
    struct ib_adapter *adapter = calloc(1, sizeof *adapter);
    if (adapter == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an adapter");
    adapter->services = services;
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
    if (adapter->unused != NULL) (void)adapter->destroy_cq(adapter->unused);
    if (adapter->pd != NULL) (void)adapter->dealloc_pd(adapter->pd);
    if (adapter->context != NULL) (void)adapter->close_device(adapter->context);
    if (adapter->library != NULL) dlclose(adapter->library);
    free(adapter);
}

/* ---- memory ---- */

isthmus_status ib_region_create(struct ib_adapter *adapter, void *addr, uint64_t length_bytes, struct ib_region **out,
                                uint32_t *key)
{
    const struct isthmus_services *s = adapter->services;
    uint64_t before = (uintptr_t)addr % sizeof(uint64_t), total = before + length_bytes;
    struct ib_region *region = calloc(1, sizeof *region);
    if (region == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a registration");
    total += (sizeof(uint64_t) - total % sizeof(uint64_t)) % sizeof(uint64_t);
    region->adapter = adapter;
    region->mr = adapter->reg_mr(adapter->pd, (char *)addr - before, total,
                                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    if (region->mr == NULL) {
        isthmus_status status = s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "ibv_reg_mr of %llu bytes for atomics: %s",
                                        (unsigned long long)total, strerror(errno));
        free(region);
        return status;
    }
    *key = region->mr->rkey;
    *out = region;
    return ISTHMUS_OK;
}

void ib_region_destroy(struct ib_region *region)
{
    if (region == NULL) return;
    (void)region->adapter->dereg_mr(region->mr);
    free(region);
}

/* ---- ends of requests ---- */

static isthmus_status make_completions(struct ib_completions *completions)
{
    struct ib_adapter *adapter = completions->adapter;
    uint32_t n = completions->n_slots;
    completions->mr = adapter->reg_mr(adapter->pd, completions->values, n * sizeof completions->values[0],
                                      IBV_ACCESS_LOCAL_WRITE);
    if (completions->mr == NULL) return fail(adapter, "ibv_reg_mr", errno);
    completions->channel = adapter->create_comp_channel(adapter->context);
    if (completions->channel == NULL) return fail(adapter, "ibv_create_comp_channel", errno);
    int flags = fcntl(completions->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(completions->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return fail(adapter, "fcntl", errno);
    /* Twice: an adapter may leave the ends of requests of a queue that is destroyed. */
    completions->cq = adapter->create_cq(adapter->context, 2 * (int)n, NULL, completions->channel, 0);
    return completions->cq != NULL ? ISTHMUS_OK : fail(adapter, "ibv_create_cq", errno);
}

isthmus_status ib_completions_create(struct ib_adapter *adapter, uint32_t n_slots, struct ib_completions **out)
{
    const struct isthmus_services *s = adapter->services;
    struct ib_completions *completions = calloc(1, sizeof *completions + n_slots * sizeof(uint64_t));
    if (completions == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for atomics");
    completions->adapter = adapter;
    completions->n_slots = n_slots;
    isthmus_status status = make_completions(completions);
    if (status != ISTHMUS_OK) {
        ib_completions_destroy(completions);
        return status;
    }
    *out = completions;
    return ISTHMUS_OK;
}

void ib_completions_destroy(struct ib_completions *completions)
{
    if (completions == NULL) return;
    struct ib_adapter *adapter = completions->adapter;
    if (completions->cq != NULL) (void)adapter->destroy_cq(completions->cq);
    if (completions->channel != NULL) (void)adapter->destroy_comp_channel(completions->channel);
    if (completions->mr != NULL) (void)adapter->dereg_mr(completions->mr);
    free(completions);
}

int ib_completions_fd(const struct ib_completions *completions) { return completions->channel->fd; }

/* Takes the events that the descriptor has reported before: else it stays readable. */
void ib_completions_arm(struct ib_completions *completions)
{
    struct ibv_cq *cq;
    void *context;
    while (completions->adapter->get_cq_event(completions->channel, &cq, &context) == 0)
        completions->adapter->ack_cq_events(cq, 1);
    (void)ibv_req_notify_cq(completions->cq, 0);
}

uint32_t ib_completions_poll(struct ib_completions *completions, struct ib_completion *list, uint32_t room)
{
    struct ibv_wc ends[POLL_BATCH];
    int n = ibv_poll_cq(completions->cq, (int)(room < POLL_BATCH ? room : POLL_BATCH), ends);
    for (int i = 0; i < n; i++) {
        uint32_t slot = (uint32_t)ends[i].wr_id;
        list[i].id = ends[i].wr_id;
        list[i].value = slot < completions->n_slots ? completions->values[slot] : 0;
        list[i].failure = ends[i].status == IBV_WC_SUCCESS ? NULL : completions->adapter->wc_status_str(ends[i].status);
        list[i].is_loss = ends[i].status == IBV_WC_RETRY_EXC_ERR || ends[i].status == IBV_WC_RNR_RETRY_EXC_ERR;
    }
    return n > 0 ? (uint32_t)n : 0;
}

/* ---- queues ---- */

static int enter_init(const struct ib_queue *queue)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = queue->adapter->port_number,
        .qp_access_flags = queue->completions == NULL ? IBV_ACCESS_REMOTE_ATOMIC : 0,
    };
    return queue->adapter->modify_qp(queue->qp, &attr,
                                     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

isthmus_status ib_queue_create(struct ib_adapter *adapter, struct ib_completions *completions, struct ib_queue **out)
{
    const struct isthmus_services *s = adapter->services;
    struct ibv_cq *cq = completions != NULL ? completions->cq : adapter->unused;
    struct ibv_qp_init_attr attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = completions != NULL ? completions->n_slots : 1,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    struct ib_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a queue pair");
    queue->adapter = adapter;
    queue->completions = completions;
    queue->qp = adapter->create_qp(adapter->pd, &attr);
    int error = queue->qp != NULL ? enter_init(queue) : errno;
    if (error != 0) {
        isthmus_status status = fail(adapter, queue->qp != NULL ? "ibv_modify_qp to INIT" : "ibv_create_qp", error);
        ib_queue_destroy(queue);
        return status;
    }
    /* 24 bits, so that a packet of an earlier queue does not fit this one. */
    queue->sequence = queue->qp->qp_num * 2654435761u >> 8;
    *out = queue;
    return ISTHMUS_OK;
}

void ib_queue_destroy(struct ib_queue *queue)
{
    if (queue == NULL) return;
    if (queue->qp != NULL) (void)queue->adapter->destroy_qp(queue->qp);
    free(queue);
}

static uint32_t at_most(int value) { return value < MAX_INCOMING ? (uint32_t)value : MAX_INCOMING; }

void ib_queue_address(const struct ib_queue *queue, struct ib_queue_address *out)
{
    const struct ib_adapter *adapter = queue->adapter;
    *out = (struct ib_queue_address){
        .number = queue->qp->qp_num,
        .sequence = queue->sequence,
        .lid = adapter->port.lid,
        .mtu = adapter->port.active_mtu,
        .link = adapter->link,
        .n_incoming = at_most(adapter->device.max_qp_rd_atom),
    };
    memcpy(out->gid, adapter->gid, sizeof out->gid);
}

/* Between ports of InfiniBand a local address is enough unless the subnet manager gave none; over Ethernet there are
 * GIDs only. */
static struct ibv_ah_attr way_to(const struct ib_adapter *adapter, const struct ib_queue_address *peer)
{
    const struct ib_queue_settings *settings = &adapter->settings;
    struct ibv_ah_attr way = {
        .dlid = (uint16_t)peer->lid,
        .sl = settings->service_level,
        .is_global = adapter->link == IB_LINK_ETHERNET || peer->lid == 0,
        .port_num = adapter->port_number,
    };
    way.grh.sgid_index = (uint8_t)settings->gid_index;
    way.grh.hop_limit = 64;
    way.grh.traffic_class = settings->traffic_class;
    memcpy(way.grh.dgid.raw, peer->gid, sizeof way.grh.dgid.raw);
    return way;
}

static int enter_rtr(const struct ib_queue *queue, const struct ib_queue_address *peer)
{
    const struct ib_adapter *adapter = queue->adapter;
    uint32_t mtu = peer->mtu < (uint32_t)adapter->port.active_mtu ? peer->mtu : (uint32_t)adapter->port.active_mtu;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .ah_attr = way_to(adapter, peer),
        .path_mtu = (enum ibv_mtu)mtu,
        .dest_qp_num = peer->number,
        .rq_psn = peer->sequence,
        .max_dest_rd_atomic = (uint8_t)at_most(adapter->device.max_qp_rd_atom),
        .min_rnr_timer = RNR_TIMER,
    };
    return adapter->modify_qp(queue->qp, &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int enter_rts(const struct ib_queue *queue, const struct ib_queue_address *peer)
{
    uint32_t n_outgoing = at_most(queue->adapter->device.max_qp_init_rd_atom);
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .sq_psn = queue->sequence,
        .max_rd_atomic = (uint8_t)(peer->n_incoming < n_outgoing ? peer->n_incoming : n_outgoing),
    };
    return queue->adapter->modify_qp(queue->qp, &attr,
                                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                         IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

isthmus_status ib_queue_connect(struct ib_queue *queue, const struct ib_queue_address *peer)
{
    const struct ib_adapter *adapter = queue->adapter;
    const struct isthmus_services *s = adapter->services;
    if (peer->link != (uint32_t)adapter->link)
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE, "one adapter is of InfiniBand, and the other of RoCE");
    int error = enter_rtr(queue, peer);
    if (error != 0) return fail(adapter, "ibv_modify_qp to RTR", error);
    if (queue->completions == NULL) return ISTHMUS_OK;
    error = enter_rts(queue, peer);
    return error == 0 ? ISTHMUS_OK : fail(adapter, "ibv_modify_qp to RTS", error);
}

int ib_queue_post(struct ib_queue *queue, const struct ib_queue_target *target, const struct ib_word_request *request)
{
    struct ib_completions *completions = queue->completions;
    struct ibv_sge value = {
        .addr = (uint64_t)(uintptr_t)&completions->values[(uint32_t)target->id],
        .length = sizeof(uint64_t),
        .lkey = completions->mr->lkey,
    };
    bool swaps = request->op == IB_COMPARE_SWAP;
    struct ibv_send_wr wr = {
        .wr_id = target->id,
        .sg_list = &value,
        .num_sge = 1,
        .opcode = swaps ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
        .wr.atomic = {.remote_addr = target->address,
                      .compare_add = swaps ? request->compare : request->operand,
                      .swap = request->operand,
                      .rkey = target->key},
    };
    struct ibv_send_wr *refused;
    return ibv_post_send(queue->qp, &wr, &refused);
}

#endif
