/* tests/doubles/ofi/ofi_double.h: a libfabric of one provider, between processes of one host. It behaves as adapters do
 * and software providers do not: registrations are checked, data lands in no order, and some modes move nothing unless
 * the target calls. OFI_DOUBLE names the mode, a row of modes.def.
 *
 * An endpoint is a Unix datagram socket. Operations are cut into packets; what has arrived is kept for a while and
 * lands in random order, except where libfabric promises one. A caller that breaks a rule of libfabric's manual is
 * aborted with the rule. */
#ifndef OFI_DOUBLE_H
#define OFI_DOUBLE_H

#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    NAME_BYTES = 32,
    RAW_KEY_BYTES = 24,
    PIECE_BYTES = 32768,
    WINDOW_BYTES = 16 * PIECE_BYTES, /* of one operation under way */
    LANDING_MOST = 48,
    SENDS_MOST = 64, /* operations that are posted and not complete; then EAGAIN */
    RECEIVES_MOST = 1024,
    REGIONS_MOST = 4096,
    PEERS_MOST = 1024,
    DEVICES_MOST = 64,
    WINDOW_LOOPS = 2000, /* between the load and the store of an atomic */
};

/* FEW: of 64 bits, fetch and add, compare and swap; NARROW: all of 32 bits; ALL: all of 32 and 64 bits. */
enum atomics { ATOMICS_NONE, ATOMICS_FEW, ATOMICS_NARROW, ATOMICS_ALL };

struct mode {
    const char *name, *provider;
    uint64_t caps;
    int mr_mode;
    uint32_t key_bytes, inject_bytes, max_bytes;
    bool has_order;       /* FI_ORDER_SAS */
    bool has_delivery;    /* FI_DELIVERY_COMPLETE; else reads stay behind writes (FI_ORDER_RAW) */
    bool has_thread;      /* automatic progress: else data moves in fi_cq_read of both sides */
    bool has_descriptor;  /* a wait object */
    uint32_t refuses_of4; /* of four posts so many return EAGAIN */
    enum atomics atomics;
};
extern const struct mode *double_mode(void);

enum packet_kind {
    PACKET_PROBE,
    PACKET_SEND,
    PACKET_WRITE,
    PACKET_WRITTEN,
    PACKET_READ,
    PACKET_DATA,
    PACKET_ATOMIC,
    PACKET_FETCHED,
    PACKET_REFUSED
};

struct packet_head {
    uint32_t kind, length, key_bytes, atomic; /* the last: enum fi_op of an atomic */
    uint64_t op, offset, address, compare;    /* offset: in the operation */
    uint8_t key[RAW_KEY_BYTES];
    uint32_t version; /* of the library that sends it */
    char from[NAME_BYTES];
};

struct packet {
    struct packet *next;
    char to[NAME_BYTES];
    struct packet_head head;
    char data[]; /* head.length bytes, of SEND, WRITE, DATA, ATOMIC (the operand) and FETCHED (the old value) */
};

struct double_op {
    struct double_op *next;
    enum packet_kind kind; /* SEND, WRITE, READ or ATOMIC */
    struct fi_context *context;
    bool completes; /* with an entry of the completion queue; fi_inject does not */
    char *local, *owned;
    size_t length, sent, done;
    enum fi_op atomic;
    const void *compare; /* NULL: it compares nothing */
    void *fetched;       /* NULL: it fetches nothing */
    uint64_t address;
    uint8_t key[RAW_KEY_BYTES];
    uint32_t key_bytes;
    uint32_t peer;
    uint64_t id; /* never used again */
    int error;
    uint64_t probed_ns;
};

struct region {
    struct fid_mr fid;
    struct double_domain *domain;
    char *addr;
    size_t length;
    uint64_t access;
    uint8_t key[RAW_KEY_BYTES];
    bool is_bound, is_enabled;
    bool is_device; /* memory of a device, registered as such */
};

struct entry {
    struct entry *next;
    struct fi_cq_data_entry data;
    int error;
};

struct double_cq {
    struct fid_cq fid;
    struct double_domain *domain;
    struct double_ep *ep;
    struct entry *first, **end;
    size_t n, most;
    int event_fd; /* readable: with automatic progress when there is an entry, else the socket when a packet is here */
};

/* Errors that belong to no operation. */
struct double_eq {
    struct fid_eq fid;
    struct double_ep *ep;
    int error; /* the oldest that has not been read; 0: none */
};

struct receive {
    char *buffer;
    size_t length;
    void *context;
};

struct double_ep {
    struct fid_ep fid;
    struct double_domain *domain;
    struct double_cq *cq;
    struct double_eq *eq; /* NULL: none is bound */
    int socket, doorbell; /* the latter: wakes the adapter's thread */
    char name[NAME_BYTES];
    bool is_enabled, stops;
    pthread_t thread;
    struct receive receives[RECEIVES_MOST];
    size_t n_received, n_posted; /* a ring */
    struct double_op *ops, **ops_end;
    size_t n_ops;
    struct packet *landing, **landing_end;
    size_t n_landing;
    struct packet *replies, **replies_end;
    uint64_t n_completed;
};

struct double_domain {
    struct fid_domain fid;
    const struct mode *mode;
    pthread_mutex_t lock;   /* over all below, against the adapter's thread */
    atomic_flag is_entered; /* FI_THREAD_DOMAIN: one caller at a time */
    int n_open;             /* objects in it */
    bool has_hmem;          /* opened with FI_HMEM */
    bool has_atomics;       /* opened with FI_ATOMIC */
    uint64_t n_device_accesses, n_atomics;
    struct region *regions[REGIONS_MOST];
    uint64_t newest_key;
    uint8_t mapped[REGIONS_MOST][RAW_KEY_BYTES];
    bool is_mapped[REGIONS_MOST];
    char peers[PEERS_MOST][NAME_BYTES];
    uint32_t n_peers;
    uint64_t newest_op;
    unsigned seed;
};

struct double_av {
    struct fid_av fid;
    struct double_domain *domain;
};

/* Ends the program with the rule that its caller has broken. */
#define RULE(holds, ...) ((holds) ? (void)0 : double_broken(__func__, __VA_ARGS__))
__attribute__((noreturn, format(printf, 2, 3))) void double_broken(const char *where, const char *format, ...);

void double_enter(struct double_domain *domain);
void double_leave(struct double_domain *domain);
uint64_t double_now_ns(void);

/* memory.c: the domain's table of registrations. */
extern struct fi_ops_mr double_mr_ops;
int double_domain_control(struct fid *fid, int command, void *arg);
struct region *double_region_of(struct double_domain *domain, const struct packet_head *head, size_t length,
                                uint64_t access, char **at); /* NULL: refused */
void double_check_local(struct double_domain *domain, const void *at, size_t length, void *desc);
void double_key_of(struct double_domain *domain, uint64_t key, struct double_op *op);

/* endpoint.c */
int double_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out, void *context);
extern struct fi_ops_msg double_msg_ops;
extern struct fi_ops_rma double_rma_ops;

ssize_t double_post(struct double_ep *ep, const struct double_op *what, void *desc, bool is_injected);

/* atomic.c */
extern struct fi_ops_atomic double_atomic_ops;
void double_execute(struct double_domain *domain, const struct packet *packet, char *at, char *old); /* old: out */

/* queue.c */
int double_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out, void *context);
void double_complete(struct double_ep *ep, void *context, uint64_t flags, size_t length, int error);
int double_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out, void *context);
void double_report(struct double_ep *ep, int error); /* of no operation */

/* wire.c: moves what can be moved now. Under the domain's lock. */
void double_move(struct double_ep *ep);
void *double_adapter(void *ep); /* the thread of automatic progress */
bool double_is_busy(const struct double_ep *ep);
void double_drop_all(struct double_ep *ep);

#endif
