/* plugins/ib/rc/rc_qp.h: queue pairs on the adapter of this PE, through libibverbs, for atomics that the target's
 * adapter executes. UCX has adapters execute atomics only where they have all of add, swap, compare and swap, and, or,
 * xor; over others it sends messages that the target's processor executes, and does not report which of the two it
 * does. Every adapter with atomics has fetch and add, and compare and swap, of 64 bits, in this machine's byte order;
 * some have masked ones besides (rc_masked.h).
 * Not about UCX, nor about waits: no lock is taken here. */
#ifndef ISTHMUS_IB_RC_QP_H
#define ISTHMUS_IB_RC_QP_H

#include "plugins/ib/ib_hca.h"
#include "plugins/ib/rc/rc_word.h"

struct ib_adapter; /* an adapter, opened for one of its ports */
struct ib_mr;      /* memory that peers may update */
struct ib_cq;      /* of the queue pairs of one worker, and the values that they have fetched */
struct ib_qp;      /* connected to one of a peer */

/* The parameters of a connection, besides its destination. */
struct ib_qp_settings {
    uint32_t gid_index;
    int32_t partition; /* a P_Key without its membership bit; of an InfiniBand port */
    uint8_t service_level, traffic_class;
};
enum { IB_ANY_PARTITION = -1 }; /* the first one with full membership, else the first one */

/* The address of a queue pair, for its peer; sent as it is. */
struct ib_qp_address {
    uint32_t qp_num; /* 0: there is none */
    uint32_t psn, lid, mtu, link;
    uint32_t max_rd_atomic; /* atomics that it executes for its peer at a time */
    uint32_t has_masked;    /* its adapter executes masked ones */
    uint8_t gid[16];
};

/* Each failure is reported with a text. Each `close` and `destroy` takes NULL. */
isthmus_status ib_adapter_open(const struct isthmus_services *services, const struct ib_port *port,
                               const struct ib_qp_settings *settings, struct ib_adapter **out);
void ib_adapter_close(struct ib_adapter *adapter);                       /* after all objects below */
uint32_t ib_adapter_max_qps(const struct ib_adapter *adapter);           /* of all processes */
bool ib_adapter_has_on_demand(const struct ib_adapter *adapter);         /* atomics on memory that is registered so */
const char *ib_adapter_why_not_masked(const struct ib_adapter *adapter); /* NULL: it has masked atomics */

/* Registers the aligned words that the range touches; on demand where that is asked for and the adapter can. */
isthmus_status ib_mr_create(struct ib_adapter *adapter, void *addr, uint64_t length_bytes, bool is_on_demand,
                            struct ib_mr **out, uint32_t *rkey);
void ib_mr_destroy(struct ib_mr *mr);

/* For n_slots requests under way at a time, with a descriptor that reports their completions. */
isthmus_status ib_cq_create(struct ib_adapter *adapter, uint32_t n_slots, struct ib_cq **out);
void ib_cq_destroy(struct ib_cq *cq);
int ib_cq_fd(const struct ib_cq *cq);
void ib_cq_arm(struct ib_cq *cq); /* the next completion makes the descriptor readable */

/* cq NULL: the queue pair is passive, and executes the atomics of a peer. */
isthmus_status ib_qp_create(struct ib_adapter *adapter, struct ib_cq *cq, struct ib_qp **out);
void ib_qp_destroy(struct ib_qp *qp);
void ib_qp_address(const struct ib_qp *qp, struct ib_qp_address *out);
isthmus_status ib_qp_connect(struct ib_qp *qp, const struct ib_qp_address *peer);
bool ib_qp_has_masked(const struct ib_qp *qp); /* once it is connected: both adapters have masked atomics */
enum { IB_QP_TEXT_BYTES = 192 };
void ib_qp_describe(const struct ib_qp *qp, char out[IB_QP_TEXT_BYTES]); /* how its packets are addressed */

/* The target of a request. Its completion returns wr_id, whose low 32 bits are the slot. */
struct ib_qp_target {
    uint64_t address, wr_id;
    uint32_t rkey;
};

/* Returns 0 or an error number. Masked operations only where ib_qp_has_masked(). */
int ib_qp_post(struct ib_qp *qp, const struct ib_qp_target *target, const struct ib_word_op *op);

struct ib_wc {
    uint64_t wr_id, value;
    const char *failure; /* NULL: executed, and value is the old one */
    bool is_loss;        /* the peer's adapter does not respond */
};
uint32_t ib_cq_poll(struct ib_cq *cq, struct ib_wc *list, uint32_t room);

#endif
