/* tests/doubles/verbs/verbs_double.h: libibverbs with adapters that do what the specifications permit.
 *
 * Preloaded, it takes the place of the system's libibverbs for UCX and for the ib plugin. Each process has a thread,
 * its adapters, which executes what other processes ask for: the target's program takes no part. Processes reach each
 * other by sockets in the folder VERBS_DOUBLE_FOLDER (without it: a part of TMPDIR), also from other network
 * namespaces; each namespace is a host, with one port on each adapter.
 *
 * VERBS_DOUBLE is a list of words, separated by commas:
 *   unordered      writes of a queue pair land in any order, unless a fence flag, a read, an atomic or a send's
 *                  completion orders them; a write is acknowledged when it and all before it have landed
 *   relaxed        a write is acknowledged when the adapter has it, and lands later, at the latest before the adapter
 *                  reads that host's memory or reports a receive: in any order where its memory is registered with
 *                  relaxed ordering, else behind what its adapter has received before; adapters order nothing among
 *                  each other. Not together with unordered
 *   late           the memory of a request is read some time after the request is posted
 *   ethernet       ports are RoCE: a table of GIDs in place of LIDs
 *   unspecified    ports are of no link that has a name, and there are no connected queue pairs, as on EFA
 *   vlans          the table has 16 GIDs, of VLANs too: 10.80.9.x at index 10 is of VLAN 9
 *   subnets        of InfiniBand: one for each number of adapters; packets need a global route from one to another
 *   partitions     P_Keys are 0x7fff, which is a limited member, and 0x8123
 *   odp            memory can be registered on demand, and is not locked then; odp=no_atomics: but not for atomics
 *   memlock        registrations count against RLIMIT_MEMLOCK, for root too; memlock=KIB: against that number
 *   adapters=N     of each host; 1
 *   down=N         number N has no link
 *   name=NAME      of the adapters, before their numbers; hca_
 *   vendor=N       0x8086; part=N: 0x1592
 *   atomics=WHICH  none, adapter (atomic among those of adapters only) or system (also with processors); adapter
 *   masked         adapters are mlx5 with masked atomics, and libmlx5.so.1 is the double's; masked=N: number N is
 *   no_devx        the kernel lets no process query an mlx5
 *   max_mr=N       of a process
 *   max_qp=N       of an adapter, for all processes of its host
 *   seed=N         of all that is drawn
 * A caller that breaks a rule ends, with the rule's name. */
#ifndef TESTS_DOUBLES_VERBS_DOUBLE_H
#define TESTS_DOUBLES_VERBS_DOUBLE_H

#include <infiniband/verbs.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_ADAPTERS = 16, MOST_GIDS = 16, QPS_OF_A_PROCESS = 4096, CHUNK_BYTES = 64 << 10, PACKET_BYTES = 4096 };

enum { ALL_ADAPTERS = -1, NO_ADAPTER = -2 };

struct settings {
    bool unordered, relaxed, late, is_ethernet, is_unspecified, has_vlans, has_subnets, has_partitions, counts_memlock,
        has_odp, has_odp_atomics, has_no_devx;
    int n_adapters, down, max_mr, max_qp, masked; /* masked: a number, ALL_ADAPTERS or NO_ADAPTER */
    unsigned vendor, part;
    enum ibv_atomic_cap atomics;
    char name[24];
    uint64_t seed, most_locked; /* bytes; 0: RLIMIT_MEMLOCK */
};

/* ---- objects: each begins with what the caller sees ---- */

struct adapter {
    struct ibv_device device;
    void *unused[8]; /* rdma-core reads its own fields here */
    int number;
};

struct context {
    struct ibv_context verbs; /* the last part of a struct verbs_context */
    struct adapter *adapter;
    int async_write_fd;
    bool is_devx; /* takes commands */
};

struct region {
    struct ibv_mr verbs;
    int access;
    uint64_t iova; /* what peers call its first byte */
};

struct completion_queue {
    struct ibv_cq verbs;
    struct ibv_wc *ring;
    unsigned first, n;
    bool is_armed, is_armed_for_solicited;
};

struct receive { /* a receive request */
    struct receive *next;
    uint64_t wr_id;
    int n_sge;
    struct ibv_sge sge[];
};

struct receive_queue {
    struct receive *first, **last;
    unsigned n, most;
};

struct shared_queue {
    struct ibv_srq verbs;
    struct receive_queue queue;
    int max_sge;
};

struct address {
    struct ibv_ah verbs;
    struct ibv_ah_attr attr;
};

struct masks {     /* of a masked atomic */
    uint64_t swap; /* the bits that change; of an addition: those that pass no carry on */
    uint64_t compare;
};

struct work { /* a send request that is under way */
    struct work *next;
    uint64_t number, wr_id;
    enum ibv_wr_opcode opcode;
    unsigned flags;
    bool is_signaled, is_done, is_masked;
    uint32_t imm, n_bytes, sent, replied;
    uint64_t remote, compare, swap;
    struct masks masks;
    uint32_t rkey, qkey, qpn;
    const struct address *to; /* of a datagram */
    char *inline_bytes;
    int n_sge;
    struct ibv_sge sge[];
};

struct queue_pair {
    union {
        struct ibv_qp verbs;
        struct ibv_qp_ex ex;
    };
    struct raw_queue *raw; /* of mlx5.c; NULL: it takes no raw requests */
    struct context *context;
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    struct receive_queue receives;
    struct link *link; /* to the peer of a connected one; NULL: it has none (left) */
    /* requests of its own */
    struct work *first, **last, *unsent;
    uint64_t n_posted, n_retired; /* the space of the send queue is free when a later completion has been polled */
    unsigned n_replies;           /* reads and atomics that wait for theirs */
    int64_t due_ns;               /* of the first unsent one, where they are sent late */
    /* requests of its peer */
    struct arrival *arrived, **arrived_last;
    uint64_t n_received, n_acked;
    struct receive *filling; /* of a message that has not arrived whole */
    uint32_t n_filled;
};

/* ---- on the wire ---- */

enum kind { WRITE = 1, SEND, READ, FETCH_ADD, SWAP, MASKED_ADD, MASKED_SWAP, DATAGRAM, ACK, DATA, VALUE, NAK };
enum { LAST = 1, FENCED = 2, SOLICITED = 4, HAS_IMM = 8 };

struct frame {
    uint32_t n_bytes; /* that follow */
    uint16_t kind, flags;
    uint32_t qpn, from_qpn;
    uint64_t number, remote, compare, swap;
    struct masks masks;
    uint32_t rkey, length, imm, qkey, status;
    uint16_t pkey, slid, vlan;
    uint8_t traffic_class, sl, adapter;
    union ibv_gid sgid, dgid;
};

struct arrival {
    struct arrival *next;
    struct link *link;
    struct frame frame;
    char bytes[];
};

/* Where a packet goes, as its address says. */
struct place {
    int host, adapter;
    uint16_t vlan;
};

extern pthread_mutex_t verbs_lock; /* of all objects of this process */
extern struct settings settings;
extern struct queue_pair *queue_pairs[QPS_OF_A_PROCESS];

/* ---- device.c ---- */
void settings_read(void);
int adapter_host(void); /* the number of this host */
union ibv_gid gid_of(int host, int adapter, int index);
uint16_t vlan_of(int index);
int n_gids(void);
bool find_gid(const union ibv_gid *gid, struct place *out);
uint16_t lid_of(int host, int adapter);
uint16_t pkey_at(int index); /* 0: no entry */
bool has_masked(const struct adapter *adapter);
int query_device_ex(struct ibv_context *verbs, const struct ibv_query_device_ex_input *input,
                    struct ibv_device_attr_ex *out, size_t out_bytes);
const char *folder_of_sockets(void);
int *queue_pairs_of(int adapter); /* how many this host's processes have there; atomically */
int folder_lock(void);
void folder_unlock(int fd);

/* ---- memory.c ---- */
/* The memory of a local operand, or NULL: a rule is broken then, and the process has ended. */
void *local_memory(const struct ibv_sge *sge, bool is_written);
bool is_relaxed_region(uint32_t rkey);
/* Returns NULL if a peer may not access that: *why names the rule. */
void *remote_memory(uint32_t rkey, uint64_t address, uint32_t length, int access, const char **why);

/* ---- queue.c: with the lock held ---- */
void report_completion(struct ibv_cq *cq, const struct ibv_wc *wc, bool is_solicited);
void forget_completions(struct ibv_cq *cq, uint32_t qpn);
struct receive *take_receive(struct queue_pair *qp);
struct queue_pair *qp_find(uint32_t qpn);
void fail_queue_pair(struct queue_pair *qp, enum ibv_wc_status status);
void finish_works(struct queue_pair *qp);

/* ---- send.c: with the lock held ---- */
void pump(struct queue_pair *qp);
int post_masked(struct queue_pair *qp, const struct ibv_send_wr *wr, const struct masks *masks);
void take_reply(struct queue_pair *qp, const struct frame *frame, const void *bytes);

/* ---- wire.c ---- */
int wire_start(void);                           /* 0, or an error number */
struct link *wire_link(int host, uint32_t qpn); /* NULL: no process there has that queue pair */
bool wire_is_full(const struct link *link);
void wire_send(struct link *link, const struct frame *frame, const void *bytes);
void wire_kick(void);
uint32_t wire_slot(void);
int64_t now_ns(void);
uint64_t draw(uint64_t below);

/* ---- execute.c: with the lock held ---- */
void execute(struct link *link, const struct frame *frame, const void *bytes);
void serve(struct queue_pair *qp);
int64_t land_due(void); /* lands what is due; when the next is, or -1 */
void land_all(void);
void forget_arrivals(struct queue_pair *qp);
void forget_link(struct link *link);

/* ---- record.c ---- */
void record(const struct frame *frame);

void break_rule(const char *rule, const char *detail, ...) __attribute__((noreturn, format(printf, 2, 3)));

#endif
