/* tests/doubles/verbs/mlx5.c: libmlx5 with what the ib plugin calls, for adapters with the word `masked`. A request is
 * read as the adapter reads it; what that would refuse, or would execute wrongly, is a rule that is broken. */
#include "tests/doubles/verbs/verbs_double.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

struct raw_queue {
    struct mlx5dv_qp_ex mlx5;
    struct queue_pair *qp;
    uint32_t request_bytes; /* of the queue's space, for each */
    bool is_started;
    int error;
};

bool mlx5dv_is_supported(struct ibv_device *device) { return has_masked((struct adapter *)device); }

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
    bool is_devx = (attr->flags & MLX5DV_CONTEXT_FLAGS_DEVX) != 0;
    if (is_devx && settings.has_no_devx) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct ibv_context *verbs = ibv_open_device(device);
    if (verbs != NULL) ((struct context *)verbs)->is_devx = is_devx;
    return verbs;
}

static uint16_t read16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

int mlx5dv_devx_general_cmd(struct ibv_context *verbs, const void *in, size_t in_bytes, void *out, size_t out_bytes)
{
    enum { QUERY_HCA_CAP = 0x100, CURRENT_ATOMICS = 3 << 1 | 1, HOST_ORDER = 1 << 6, ALL_OPERATIONS = 0xf };
    uint8_t *reply = out;
    if (!((struct context *)verbs)->is_devx) return EOPNOTSUPP;
    if (in_bytes != 16 || read16(in) != QUERY_HCA_CAP || read16((const uint8_t *)in + 6) != CURRENT_ATOMICS)
        break_rule("the double knows one command of mlx5", "%#x, %zu bytes", read16(in), in_bytes);
    if (out_bytes < 16 + 4096) break_rule("a reply of mlx5 has room", "%zu bytes", out_bytes);
    memset(reply, 0, out_bytes);
    reply[16 + 0x40 / 8] = HOST_ORDER;
    reply[16 + 0x90 / 8 + 1] = ALL_OPERATIONS;
    reply[16 + 0xb0 / 8 + 1] = 4 | 8;
    return 0;
}

/* ---- requests ---- */

static void start(struct ibv_qp_ex *ex)
{
    struct raw_queue *raw = ((struct queue_pair *)(void *)ex)->raw;
    pthread_mutex_lock(&verbs_lock);
    raw->is_started = true;
    raw->error = 0;
}

static int complete(struct ibv_qp_ex *ex)
{
    struct raw_queue *raw = ((struct queue_pair *)(void *)ex)->raw;
    int error = raw->error;
    raw->is_started = false;
    pthread_mutex_unlock(&verbs_lock);
    return error;
}

static void check_control(const struct raw_queue *raw, const struct mlx5_wqe_ctrl_seg *control)
{
    enum { EXTENDED_8_BYTES = 9 };
    uint32_t head = be32toh(control->opmod_idx_opcode), opcode = head & 0xff, which = be32toh(control->qpn_ds);
    uint32_t n_segments = which & 0x3f, n_right = opcode == MLX5_OPCODE_ATOMIC_MASKED_CS ? 5 : 4;
    if (!raw->is_started) break_rule("a raw request follows ibv_wr_start", "opcode %#x", opcode);
    if (opcode != MLX5_OPCODE_ATOMIC_MASKED_CS && opcode != MLX5_OPCODE_ATOMIC_MASKED_FA)
        break_rule("a raw request is a masked atomic", "opcode %#x", opcode);
    if (head >> 24 != EXTENDED_8_BYTES) break_rule("a masked atomic states its size", "opmod %#x", head >> 24);
    if (which >> 8 != raw->qp->verbs.qp_num) break_rule("a raw request names its queue pair", "qp %#x", which >> 8);
    if (n_segments != n_right) break_rule("a raw request counts its segments", "%u, of %u", n_segments, n_right);
    if ((control->fm_ce_se & MLX5_WQE_CTRL_CQ_UPDATE) == 0)
        break_rule("a raw request asks for its completion", "flags %#x", control->fm_ce_se);
    if ((n_segments * 16 + 63) / 64 * 64 > raw->request_bytes)
        break_rule("a raw request fits the size that its queue counts", "%u segments in %u bytes", n_segments,
                   raw->request_bytes);
}

static void post(struct mlx5dv_qp_ex *mlx5, const void *request)
{
    struct raw_queue *raw = (struct raw_queue *)mlx5;
    const struct mlx5_wqe_ctrl_seg *control = request;
    const struct mlx5_wqe_raddr_seg *remote = (const void *)(control + 1);
    const struct mlx5_wqe_atomic_seg *values = (const void *)(remote + 1);
    check_control(raw, control);
    bool swaps = (be32toh(control->opmod_idx_opcode) & 0xff) == MLX5_OPCODE_ATOMIC_MASKED_CS;
    const struct mlx5_wqe_data_seg *data = (const void *)(values + (swaps ? 2 : 1));
    struct ibv_sge sge = {be64toh(data->addr), be32toh(data->byte_count), be32toh(data->lkey)};
    struct ibv_send_wr wr = {.wr_id = raw->qp->ex.wr_id,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = swaps ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
                             .send_flags = IBV_SEND_SIGNALED};
    uint64_t first = be64toh(values->swap_add), second = be64toh(values->compare);
    wr.wr.atomic.remote_addr = be64toh(remote->raddr);
    wr.wr.atomic.rkey = be32toh(remote->rkey);
    wr.wr.atomic.compare_add = swaps ? second : first;
    wr.wr.atomic.swap = first;
    struct masks masks = {.swap = swaps ? be64toh(values[1].swap_add) : second,
                          .compare = swaps ? be64toh(values[1].compare) : 0};
    raw->error = post_masked(raw->qp, &wr, &masks);
}

/* ---- queue pairs ---- */

/* Libmlx5 counts requests, each as long as the longest of libibverbs that the queue pair is created for. */
static uint32_t request_bytes(const struct ibv_qp_init_attr_ex *attr)
{
    uint32_t head = 3 * 16, gathered = head + attr->cap.max_send_sge * 16;
    uint32_t inlined = attr->cap.max_inline_data > 0 ? head + (4 + attr->cap.max_inline_data + 15) / 16 * 16 : 0;
    return ((gathered > inlined ? gathered : inlined) + 63) / 64 * 64;
}

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *verbs, struct ibv_qp_init_attr_ex *attr,
                                struct mlx5dv_qp_init_attr *mlx5)
{
    enum { BOTH = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS | MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS };
    struct ibv_qp_init_attr init = {.send_cq = attr->send_cq,
                                    .recv_cq = attr->recv_cq,
                                    .srq = attr->srq,
                                    .cap = attr->cap,
                                    .qp_type = attr->qp_type,
                                    .sq_sig_all = attr->sq_sig_all};
    if (!mlx5dv_is_supported(verbs->device)) break_rule("libmlx5 is for mlx5", "%s", verbs->device->name);
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) break_rule("a queue pair has a domain", "%#x", attr->comp_mask);
    if (mlx5->comp_mask != BOTH || (mlx5->send_ops_flags & MLX5DV_QP_EX_WITH_RAW_WQE) == 0)
        break_rule("raw requests are asked for at creation", "%#llx", (unsigned long long)mlx5->send_ops_flags);
    if ((mlx5->create_flags & MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE) == 0)
        break_rule("libmlx5 copies no value of a masked atomic out of a completion", "flags %#x", mlx5->create_flags);
    struct queue_pair *qp = (struct queue_pair *)ibv_create_qp(attr->pd, &init);
    if (qp == NULL) return NULL;
    struct raw_queue *raw = qp->raw = calloc(1, sizeof *raw);
    *raw = (struct raw_queue){.mlx5 = {.wr_raw_wqe = post}, .qp = qp, .request_bytes = request_bytes(attr)};
    qp->ex.wr_start = start;
    qp->ex.wr_complete = complete;
    return &qp->verbs;
}

struct mlx5dv_qp_ex *mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *ex)
{
    return &((struct queue_pair *)(void *)ex)->raw->mlx5;
}
