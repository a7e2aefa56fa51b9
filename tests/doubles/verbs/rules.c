/* rules: the double of libibverbs ends a process that breaks a rule of libibverbs, and names the rule. Each case is a
 * process of its own, with two queue pairs that are connected to each other. Rows without a name break none. */
#include <dlfcn.h>
#include <endian.h>
#include <infiniband/verbs.h>
#ifdef IB_HAVE_MLX5
#include <infiniband/mlx5dv.h>
#endif
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MEMORY_BYTES = 4096,
    ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC
};

static struct {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp, *other;
    struct ibv_port_attr port;
    char memory[MEMORY_BYTES] __attribute__((aligned(8)));
} v;

static void need(bool is_true, const char *what)
{
    if (is_true) return;
    fprintf(stderr, "rules: %s fails\n", what);
    exit(2);
}

/* ---- a connection ---- */

static struct ibv_qp *create_qp(enum ibv_qp_type type)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = v.cq,
        .recv_cq = v.cq,
        .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 16},
        .qp_type = type};
    return ibv_create_qp(v.pd, &attr);
}

static int to_init(struct ibv_qp *qp, int access)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)access};
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct ibv_qp *qp, uint32_t peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = IBV_MTU_4096,
                               .dest_qp_num = peer,
                               .max_dest_rd_atomic = 4,
                               .min_rnr_timer = 12,
                               .ah_attr = {.dlid = v.port.lid, .port_num = 1}};
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4};
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                             IBV_QP_MAX_QP_RD_ATOMIC);
}

static void open_device(int n_completions)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(list != NULL && list[0] != NULL, "ibv_get_device_list");
    v.context = ibv_open_device(list[0]);
    need(v.context != NULL && ibv_query_port(v.context, 1, &v.port) == 0, "ibv_query_port");
    v.pd = ibv_alloc_pd(v.context);
    v.cq = ibv_create_cq(v.context, n_completions, NULL, NULL, 0);
    v.mr = ibv_reg_mr(v.pd, v.memory, sizeof v.memory, ALL);
    v.qp = create_qp(IBV_QPT_RC);
    v.other = create_qp(IBV_QPT_RC);
    need(v.pd != NULL && v.cq != NULL && v.mr != NULL && v.qp != NULL && v.other != NULL, "ibv_create_qp");
}

static void connect_with(int n_completions, int access)
{
    open_device(n_completions);
    need(to_init(v.qp, access) == 0 && to_init(v.other, access) == 0, "INIT");
    need(to_rtr(v.qp, v.other->qp_num) == 0 && to_rtr(v.other, v.qp->qp_num) == 0, "RTR");
    need(to_rts(v.qp) == 0 && to_rts(v.other) == 0, "RTS");
}

/* ---- requests ---- */

static struct ibv_sge operand(uint32_t length)
{
    return (struct ibv_sge){.addr = (uintptr_t)v.memory, .length = length, .lkey = v.mr->lkey};
}

static void post(enum ibv_wr_opcode opcode, struct ibv_sge sge, uint64_t remote, uint32_t rkey)
{
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}, *bad;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = remote;
        wr.wr.atomic.rkey = rkey;
    } else {
        wr.wr.rdma.remote_addr = remote;
        wr.wr.rdma.rkey = rkey;
    }
    need(ibv_post_send(v.qp, &wr, &bad) == 0, "ibv_post_send");
}

static uint64_t far_half(void) { return (uintptr_t)v.memory + MEMORY_BYTES / 2; }

static void await(void)
{
    struct ibv_wc wc;
    while (ibv_poll_cq(v.cq, 1, &wc) == 0) usleep(100);
    need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

static void receive(uint32_t length)
{
    struct ibv_sge sge = {.addr = far_half(), .length = length, .lkey = v.mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    need(ibv_post_recv(v.other, &wr, &bad) == 0, "ibv_post_recv");
}

/* ---- the cases ---- */

static void no_rule(void)
{
    connect_with(16, ALL);
    memcpy(v.memory, "12345678", 8);
    post(IBV_WR_RDMA_WRITE, operand(8), far_half(), v.mr->rkey);
    await();
    post(IBV_WR_RDMA_READ, operand(8), far_half(), v.mr->rkey);
    await();
    need(memcmp(v.memory + MEMORY_BYTES / 2, "12345678", 8) == 0, "a write");
    receive(8);
    post(IBV_WR_SEND, operand(8), 0, 0);
    await();
    await();
    need(ibv_dereg_mr(v.mr) == 0, "ibv_dereg_mr");
}

static void unregistered(void)
{
    connect_with(16, ALL);
    struct ibv_sge sge = operand(8);
    sge.lkey ^= 1;
    post(IBV_WR_RDMA_WRITE, sge, far_half(), v.mr->rkey);
    await();
}

static void beyond_region(void)
{
    connect_with(16, ALL);
    post(IBV_WR_RDMA_WRITE, operand(MEMORY_BYTES + 1), far_half(), v.mr->rkey);
    await();
}

static void result_in_read_only(void)
{
    connect_with(16, ALL);
    struct ibv_mr *mr = ibv_reg_mr(v.pd, v.memory, 8, IBV_ACCESS_REMOTE_READ);
    need(mr != NULL, "ibv_reg_mr");
    struct ibv_sge sge = operand(8);
    sge.lkey = mr->lkey;
    post(IBV_WR_RDMA_READ, sge, far_half(), v.mr->rkey);
    await();
}

static void wrong_rkey(void)
{
    connect_with(16, ALL);
    post(IBV_WR_RDMA_WRITE, operand(8), far_half(), v.mr->rkey ^ 1);
    await();
}

static void beyond_remote_region(void)
{
    connect_with(16, ALL);
    post(IBV_WR_RDMA_READ, operand(8), (uintptr_t)v.memory + MEMORY_BYTES - 4, v.mr->rkey);
    await();
}

static void region_without_flag(void)
{
    connect_with(16, ALL);
    struct ibv_mr *mr = ibv_reg_mr(v.pd, v.memory, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    need(mr != NULL, "ibv_reg_mr");
    post(IBV_WR_RDMA_WRITE, operand(8), (uintptr_t)v.memory, mr->rkey);
    await();
}

static void queue_pair_without_flag(void)
{
    connect_with(16, IBV_ACCESS_REMOTE_WRITE);
    post(IBV_WR_RDMA_READ, operand(8), far_half(), v.mr->rkey);
    await();
}

static void request_in_init(void)
{
    open_device(16);
    need(to_init(v.qp, ALL) == 0, "INIT");
    post(IBV_WR_RDMA_WRITE, operand(8), far_half(), v.mr->rkey);
}

static void receive_in_reset(void)
{
    open_device(16);
    receive(8);
}

static void states_left_out(void)
{
    open_device(16);
    (void)to_rts(v.qp);
}

static void overrun(void)
{
    connect_with(1, ALL);
    for (int i = 0; i < 2; i++) post(IBV_WR_RDMA_WRITE, operand(8), far_half(), v.mr->rkey);
    pause();
}

/* A message that its receiver has no request for waits. */
static void deregistered_under_request(void)
{
    connect_with(16, ALL);
    post(IBV_WR_SEND, operand(8), 0, 0);
    (void)ibv_dereg_mr(v.mr);
}

static void remote_write_alone(void)
{
    open_device(16);
    (void)ibv_reg_mr(v.pd, v.memory, 64, IBV_ACCESS_REMOTE_WRITE);
}

static void empty_region(void)
{
    open_device(16);
    (void)ibv_reg_mr(v.pd, v.memory, 0, ALL);
}

static void long_message(void)
{
    connect_with(16, ALL);
    receive(8);
    post(IBV_WR_SEND, operand(64), 0, 0);
    await();
}

static void many_operands(void)
{
    connect_with(16, ALL);
    struct ibv_sge sges[] = {operand(8), operand(8)};
    struct ibv_send_wr wr = {.sg_list = sges, .num_sge = 2, .opcode = IBV_WR_SEND}, *bad;
    (void)ibv_post_send(v.qp, &wr, &bad);
}

static void long_inline(void)
{
    connect_with(16, ALL);
    struct ibv_sge sge = operand(MEMORY_BYTES);
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE}, *bad;
    (void)ibv_post_send(v.qp, &wr, &bad);
}

static void unaligned_atomic(void)
{
    connect_with(16, ALL);
    post(IBV_WR_ATOMIC_FETCH_AND_ADD, operand(8), far_half() + 4, v.mr->rkey);
    await();
}

static void no_atomics(void)
{
    setenv("VERBS_DOUBLE", "atomics=none", 1);
    connect_with(16, ALL);
    post(IBV_WR_ATOMIC_FETCH_AND_ADD, operand(8), far_half(), v.mr->rkey);
    await();
}

static void no_route(void)
{
    setenv("VERBS_DOUBLE", "ethernet", 1);
    connect_with(16, ALL);
}

static void datagram_writes(void)
{
    open_device(16);
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1}, rtr = {.qp_state = IBV_QPS_RTR},
                       rts = {.qp_state = IBV_QPS_RTS};
    v.qp = create_qp(IBV_QPT_UD);
    need(v.qp != NULL &&
             ibv_modify_qp(v.qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0 &&
             ibv_modify_qp(v.qp, &rtr, IBV_QP_STATE) == 0 &&
             ibv_modify_qp(v.qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0,
         "a UD queue pair");
    post(IBV_WR_RDMA_WRITE, operand(8), far_half(), v.mr->rkey);
}

#ifdef IB_HAVE_MLX5
/* ---- of libmlx5 ---- */

static void *mlx5_function(const char *name)
{
    void *library = dlopen("libmlx5.so.1", RTLD_NOW);
    need(library != NULL && dlsym(library, name) != NULL, name);
    return dlsym(library, name);
}

static struct ibv_qp *create_raw_qp(uint32_t inline_bytes, uint32_t create_flags)
{
    __typeof__(mlx5dv_create_qp) *create;
    *(void **)&create = mlx5_function("mlx5dv_create_qp");
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = v.cq,
        .recv_cq = v.cq,
        .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_inline_data = inline_bytes},
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = v.pd};
    struct mlx5dv_qp_init_attr mlx5 = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
                                                    MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
                                       .create_flags = create_flags,
                                       .send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE};
    return create(v.context, &attr, &mlx5);
}

/* A masked swap of the lower 32 bits where the upper 32 are these, or a masked addition of bytes. */
struct raw {
    struct mlx5_wqe_ctrl_seg control;
    struct mlx5_wqe_raddr_seg remote;
    struct mlx5_wqe_atomic_seg values;
    union {
        struct {
            struct mlx5_wqe_atomic_seg masks;
            struct mlx5_wqe_data_seg data;
        } swap;
        struct mlx5_wqe_data_seg data;
    };
};
static const uint64_t word_before = 0x00000001000000ff, low = 0xffffffff, ends_of_bytes = 0x8080808080808080;

static struct raw raw_request(bool swaps)
{
    struct raw raw = {.remote = {htobe64(far_half()), htobe32(v.mr->rkey), 0}};
    raw.values.swap_add = htobe64(swaps ? 0xabcd : 0x0000000100000001);
    raw.values.compare = htobe64(swaps ? word_before : ends_of_bytes);
    if (swaps) raw.swap.masks = (struct mlx5_wqe_atomic_seg){htobe64(low), htobe64(~low)};
    mlx5dv_set_data_seg(swaps ? &raw.swap.data : &raw.data, 8, v.mr->lkey, (uintptr_t)v.memory);
    mlx5dv_set_ctrl_seg(&raw.control, 0, swaps ? MLX5_OPCODE_ATOMIC_MASKED_CS : MLX5_OPCODE_ATOMIC_MASKED_FA, 9,
                        v.qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE, swaps ? 5 : 4, 0, 0);
    return raw;
}

static void connect_raw(uint32_t inline_bytes)
{
    setenv("VERBS_DOUBLE", "masked", 1);
    open_device(16);
    v.qp = create_raw_qp(inline_bytes, MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE);
    need(v.qp != NULL && to_init(v.qp, ALL) == 0 && to_init(v.other, ALL) == 0, "INIT");
    need(to_rtr(v.qp, v.other->qp_num) == 0 && to_rtr(v.other, v.qp->qp_num) == 0, "RTR");
    need(to_rts(v.qp) == 0 && to_rts(v.other) == 0, "RTS");
}

static void post_raw(const struct raw *raw)
{
    __typeof__(mlx5dv_qp_ex_from_ibv_qp_ex) *mlx5_of;
    *(void **)&mlx5_of = mlx5_function("mlx5dv_qp_ex_from_ibv_qp_ex");
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(v.qp);
    ibv_wr_start(qp);
    mlx5dv_wr_raw_wqe(mlx5_of(qp), raw);
    need(ibv_wr_complete(qp) == 0, "ibv_wr_complete");
    await();
}

static void no_raw_rule(void)
{
    connect_raw(32);
    uint64_t *here = (uint64_t *)(void *)v.memory, *there = (uint64_t *)(uintptr_t)far_half();
    *there = word_before;
    struct raw add = raw_request(false), swap = raw_request(true);
    post_raw(&add); /* 0xff + 1 is 0 in the lowest byte, and passes nothing on */
    need(*here == word_before && *there == 0x0000000200000000, "a masked addition");
    post_raw(&swap); /* the upper half is another one */
    need(*here == 0x0000000200000000 && *there == *here, "a masked comparison");
    *there = 0x0000000112345678;
    post_raw(&swap);
    need(*here == 0x0000000112345678 && *there == 0x000000010000abcd, "a masked swap");
}

static void raw_opcode(void)
{
    connect_raw(32);
    struct raw raw = raw_request(true);
    raw.control.opmod_idx_opcode = htobe32(9u << 24 | MLX5_OPCODE_ATOMIC_CS);
    post_raw(&raw);
}

static void raw_size(void)
{
    connect_raw(32);
    struct raw raw = raw_request(true);
    raw.control.opmod_idx_opcode = htobe32(8u << 24 | MLX5_OPCODE_ATOMIC_MASKED_CS);
    post_raw(&raw);
}

static void raw_of_another(void)
{
    connect_raw(32);
    struct raw raw = raw_request(true);
    raw.control.qpn_ds = htobe32(v.other->qp_num << 8 | 5);
    post_raw(&raw);
}

static void raw_count(void)
{
    connect_raw(32);
    struct raw raw = raw_request(true);
    raw.control.qpn_ds = htobe32(v.qp->qp_num << 8 | 4);
    post_raw(&raw);
}

static void raw_unsignaled(void)
{
    connect_raw(32);
    struct raw raw = raw_request(true);
    raw.control.fm_ce_se = 0;
    post_raw(&raw);
}

static void raw_small(void)
{
    connect_raw(0);
    struct raw raw = raw_request(true);
    post_raw(&raw);
}

static void raw_scattered(void)
{
    setenv("VERBS_DOUBLE", "masked", 1);
    open_device(16);
    (void)create_raw_qp(32, 0);
}
#endif

static const struct rule {
    const char *name; /* NULL: none is broken */
    void (*break_it)(void);
} rules[] = {
    {NULL, no_rule},
    {"operands are registered", unregistered},
    {"operands lie in their region", beyond_region},
    {"results need local write access", result_in_read_only},
    {"keys of peers are valid", wrong_rkey},
    {"accesses of peers lie in their region", beyond_remote_region},
    {"accesses of peers need the region's access flag", region_without_flag},
    {"accesses of peers need the queue pair's access flag", queue_pair_without_flag},
    {"requests need a queue pair in RTS", request_in_init},
    {"receives need a queue pair in INIT", receive_in_reset},
    {"states of a queue pair follow each other", states_left_out},
    {"a completion queue does not overrun", overrun},
    {"memory stays registered until its requests are complete", deregistered_under_request},
    {"remote write needs local write", remote_write_alone},
    {"a region has a length", empty_region},
    {"a message fits its receive request", long_message},
    {"a request has max_send_sge operands at most", many_operands},
    {"inline requests have max_inline_data bytes at most", long_inline},
    {"atomics are of 8 aligned bytes", unaligned_atomic},
    {"the device has no atomics", no_atomics},
    {"RoCE needs a global route", no_route},
    {"a UD queue pair sends only", datagram_writes},
#ifdef IB_HAVE_MLX5
    {NULL, no_raw_rule},
    {"a raw request is a masked atomic", raw_opcode},
    {"a masked atomic states its size", raw_size},
    {"a raw request names its queue pair", raw_of_another},
    {"a raw request counts its segments", raw_count},
    {"a raw request asks for its completion", raw_unsignaled},
    {"a raw request fits the size that its queue counts", raw_small},
    {"libmlx5 copies no value of a masked atomic out of a completion", raw_scattered},
#endif
};

/* Returns true if the process ends as it should: with the rule's name and SIGABRT, or well. */
static bool is_kept(const struct rule *rule)
{
    int ends[2], status;
    char said[1024] = "", expected[128] = "";
    size_t n = 0;
    need(pipe(ends) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        alarm(30);
        rule->break_it();
        exit(0);
    }
    close(ends[1]);
    for (ssize_t got = 1; got > 0 && n<sizeof said - 1; n += got> 0 ? (size_t)got : 0)
        got = read(ends[0], said + n, sizeof said - 1 - n);
    close(ends[0]);
    need(waitpid(child, &status, 0) == child, "waitpid");
    if (rule->name != NULL) snprintf(expected, sizeof expected, "broke the rule '%s'", rule->name);
    bool is_right = rule->name == NULL
                        ? WIFEXITED(status) && WEXITSTATUS(status) == 0
                        : WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, expected) != NULL;
    if (!is_right)
        printf("rule '%s': status %#x, %s\n", rule->name != NULL ? rule->name : "none", (unsigned)status, said);
    return is_right;
}

int main(void)
{
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) n_wrong += !is_kept(&rules[i]);
    return n_wrong > 0;
}
