/* plugins/ib/rc/rc_masked.c: see rc_masked.h. The target needs nothing: mlx5's kernel driver lets each queue pair with
 * remote atomics execute masked ones, where the adapter has them (get_atomic_mode() in its qp.c, Linux 5.0). */
#include "plugins/ib/rc/rc_masked.h"

#ifdef IB_HAVE_MLX5
#include "plugins/ib/ib_library.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

struct ib_masked {
    void *library;
#define VERBS(name) __typeof__(ibv_##name) *(name);
#define MLX5(name) __typeof__(mlx5dv_##name) *(mlx5_##name);
#include "plugins/ib/rc/rc_masked.def"
};

static bool load(struct ib_masked *masked, void *verbs)
{
    bool all = true;
    masked->library = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
    if (masked->library == NULL) return false;
#define VERBS(name) all = ib_library_find(verbs, "ibv_" #name, &masked->name) && all;
#define MLX5(name) all = ib_library_find(masked->library, "mlx5dv_" #name, &masked->mlx5_##name) && all;
#include "plugins/ib/rc/rc_masked.def"
    return all;
}

/* The command QUERY_HCA_CAP, for the atomics that the adapter is set to. Returns false if it fails. */
static bool query_atomics(const struct ib_masked *masked, struct ibv_context *context, uint8_t *out, size_t out_bytes)
{
    const uint8_t in[16] = {[0] = 0x01 /* the command, 0x100 */, [7] = 3 << 1 /* atomics */ | 1 /* as set */};
    return masked->mlx5_devx_general_cmd(context, in, sizeof in, out, out_bytes) == 0 && out[0] == 0;
}

/* Fields of the reply, which is big-endian: masked operations, their sizes, and the order of the bytes of a result,
 * which libibverbs states for the ordinary atomics only. */
static bool has_operations(const uint8_t *reply)
{
    enum { HEAD = 16, ENDIANNESS = HEAD + 8, OPERATIONS = HEAD + 18, SIZES = HEAD + 22, MASKED_BOTH = 1 << 2 | 1 << 3 };
    return reply[ENDIANNESS] >> 6 != 0 && (reply[OPERATIONS + 1] & MASKED_BOTH) == MASKED_BOTH &&
           (reply[SIZES + 1] & sizeof(uint64_t)) != 0;
}

/* In a context of its own: the kernel may refuse commands, and the queue pairs need none. */
static const char *check_device(const struct ib_masked *masked, struct ibv_device *device)
{
    enum { REPLY_BYTES = 16 + 4096 };
    struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
    if (!masked->mlx5_is_supported(device)) return "it is no mlx5";
    uint8_t *reply = calloc(1, REPLY_BYTES);
    struct ibv_context *context = reply != NULL ? masked->mlx5_open_device(device, &attr) : NULL;
    const char *why = NULL;
    if (context == NULL || !query_atomics(masked, context, reply, REPLY_BYTES))
        why = "the kernel does not let this process query it (DEVX)";
    else if (!has_operations(reply))
        why = "it has no masked atomics of 64 bits";
    if (context != NULL) masked->close_device(context);
    free(reply);
    return why;
}

static const char *check_qp(const struct ib_masked *masked, struct ibv_pd *pd, struct ibv_cq *cq)
{
    const struct ibv_qp_init_attr attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp *qp = ib_masked_qp_create(masked, pd, &attr);
    if (qp == NULL) return "libmlx5 creates no queue pair for masked atomics";
    (void)masked->destroy_qp(qp);
    return NULL;
}

struct ib_masked *ib_masked_open(void *verbs, struct ibv_pd *pd, struct ibv_cq *cq, const char **why)
{
    struct ib_masked *masked = calloc(1, sizeof *masked);
    *why = "libmlx5.so.1 is missing, or too old";
    if (masked != NULL && load(masked, verbs)) {
        *why = check_device(masked, pd->context->device);
        if (*why == NULL) *why = check_qp(masked, pd, cq);
    }
    if (*why == NULL) return masked;
    ib_masked_close(masked);
    return NULL;
}

void ib_masked_close(struct ib_masked *masked)
{
    if (masked == NULL) return;
    if (masked->library != NULL) dlclose(masked->library);
    free(masked);
}

struct ibv_qp *ib_masked_qp_create(const struct ib_masked *masked, struct ibv_pd *pd,
                                   const struct ibv_qp_init_attr *attr)
{
    /* Libmlx5 counts requests, and makes room for each as large as these settings allow, in blocks of 64 bytes. A
     * masked swap has 80: with so many bytes of inline data, which no request has, the room is two blocks. */
    enum { INLINE_BYTES = 32 };
    struct ibv_qp_init_attr_ex ex = {
        .send_cq = attr->send_cq,
        .recv_cq = attr->recv_cq,
        .cap = attr->cap,
        .qp_type = attr->qp_type,
        .sq_sig_all = attr->sq_sig_all,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = pd,
        .send_ops_flags = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
    };
    /* The completion of a masked atomic has its value in it, unless that is off: libmlx5 would leave it there. */
    struct mlx5dv_qp_init_attr mlx5 = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS | MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
        .create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
        .send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE,
    };
    ex.cap.max_inline_data = INLINE_BYTES;
    return masked->mlx5_create_qp(pd->context, &ex, &mlx5);
}

/* A request is a list of segments: control, remote address, operands (those of a swap: swap and compare; the masks of
 * both), and where the old value goes. */
union segment {
    struct mlx5_wqe_ctrl_seg control;
    struct mlx5_wqe_raddr_seg remote;
    struct mlx5_wqe_atomic_seg operands;
    struct mlx5_wqe_data_seg value;
};
_Static_assert(sizeof(union segment) == 16, "the unit in which a request is counted");

int ib_masked_post(const struct ib_masked *masked, struct ibv_qp *qp, const struct ib_qp_target *target,
                   const struct ib_word_op *op, const struct ibv_sge *value)
{
    enum { EXTENDED_8_BYTES = 8 | 1 };
    bool swaps = op->op == IB_MASKED_SWAP;
    struct ibv_qp_ex *ex = masked->qp_to_qp_ex(qp);
    union segment list[5];
    uint8_t n = 1;
    list[n++].remote = (struct mlx5_wqe_raddr_seg){htobe64(target->address), htobe32(target->rkey), 0};
    list[n++].operands = (struct mlx5_wqe_atomic_seg){htobe64(op->operand), swaps ? 0 : htobe64(op->mask)};
    if (swaps) list[n++].operands = (struct mlx5_wqe_atomic_seg){htobe64(op->mask), 0};
    mlx5dv_set_data_seg(&list[n++].value, value->length, value->lkey, value->addr);
    mlx5dv_set_ctrl_seg(&list[0].control, 0, swaps ? MLX5_OPCODE_ATOMIC_MASKED_CS : MLX5_OPCODE_ATOMIC_MASKED_FA,
                        EXTENDED_8_BYTES, qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE, n, 0, 0);
    ibv_wr_start(ex);
    ex->wr_id = target->wr_id;
    mlx5dv_wr_raw_wqe(masked->mlx5_qp_ex_from_ibv_qp_ex(ex), list);
    return ibv_wr_complete(ex);
}

#elif defined(IB_HAVE_VERBS) /* built with headers of rdma-core that lack such requests */

struct ib_masked *ib_masked_open(void *verbs, struct ibv_pd *pd, struct ibv_cq *cq, const char **why)
{
    (void)verbs, (void)pd, (void)cq;
    *why = "ib was built without the headers of libmlx5";
    return NULL;
}

void ib_masked_close(struct ib_masked *masked) { (void)masked; }

struct ibv_qp *ib_masked_qp_create(const struct ib_masked *masked, struct ibv_pd *pd,
                                   const struct ibv_qp_init_attr *attr)
{
    (void)masked, (void)pd, (void)attr;
    return NULL;
}

int ib_masked_post(const struct ib_masked *masked, struct ibv_qp *qp, const struct ib_qp_target *target,
                   const struct ib_word_op *op, const struct ibv_sge *value)
{
    (void)masked, (void)qp, (void)target, (void)op, (void)value;
    return -1;
}

#endif
