/* plugins/common/p2p_priv.h: shared by the engine's own files. See p2p.h. */
#ifndef ISTHMUS_P2P_PRIV_H
#define ISTHMUS_P2P_PRIV_H

#include "plugins/common/fd_pass.h"
#include "plugins/common/p2p.h"

#include <pthread.h>

enum { P2P_DEFAULT_TIMEOUT_S = 30 };

/* Memory that mem_alloc or commit has made. */
struct p2p_allocation {
    struct p2p_memory memory;
    struct p2p_allocation *next;
};

/* A stream for one caller at a time. */
struct p2p_side {
    pthread_mutex_t lock;    /* of what follows */
    void *stream;            /* NULL: not used yet */
    uint64_t *word;          /* host memory of the driver's, for what an atomic fetches or sets; NULL: not used yet */
    struct p2p_batch *batch; /* behind it, for lists of atomics */
};

/* The core calls cold slots one at a time; what data slots read here does not change while channels are open. */
struct isthmus_tr {
    const struct p2p_driver *driver;
    const struct isthmus_services *services;
    struct fd_pass_server *server;
    struct p2p_gpu *gpu;
    int ordinal, n_devices;
    struct p2p_device devices[P2P_MAX_DEVICES];
    bool has_atomics; /* of the own device at least */
    unsigned timeout_s;
    struct p2p_allocation *allocations;
    struct isthmus_lmem *exposed;
    uint32_t next_serial;
    struct p2p_side copies; /* outside of channels: copies, and sets of words */
    struct p2p_side amos;   /* the other atomics, which may wait for room on the device: no copy waits for them */
    struct {
        pthread_mutex_t lock;
        struct p2p_run *idle;
    } runs;                                    /* of collectives that are not in a stream of the program's */
    uint64_t n_copies, n_amos, bytes_attached; /* counters; atomically */
};

/* A registration: exposed memory, or a local operand. */
struct isthmus_lmem {
    isthmus_tr *tr;
    uint32_t kind;
    char *addr;
    uint64_t length_bytes;
    uint32_t serial, offer; /* exposed memory: its number, and that of its descriptor; 0: none */
    bool is_pinned;         /* by us */
    struct isthmus_lmem *next;
};

struct isthmus_path {
    isthmus_tr *tr;
    int32_t pe;
    bool is_self;
    struct fd_pass_client client; /* not of a path to oneself */
};

/* A peer's extent. Its memory is mapped as a whole; addr is where the extent begins in it. */
struct isthmus_rmem {
    isthmus_tr *tr;
    char *addr;
    uint64_t length_bytes;
    struct p2p_memory memory; /* of a peer only */
    bool is_own;
};

/* p2p_open.c: where a peer serves descriptors; reach() has taken its card. */
void p2p_card_address(const struct isthmus_peer *peer, struct fd_pass_address *out);

/* p2p_amo.c: an atomic operation in the order of a stream. A set that fetches nothing is a write of its word where the
 * platform has one: that needs no room for a kernel, so it arrives even while a kernel that waits for this word fills
 * the device. */
isthmus_status p2p_submit_amo(isthmus_tr *tr, void *stream, const struct p2p_amo *amo);

void p2p_batch_write(struct p2p_batch *batch, uint64_t i, const struct p2p_amo *amo); /* as its entry i */

/* p2p_data.c: of stream.1 */
uint32_t p2p_is_idle(isthmus_tr *tr, isthmus_chan *chan);

/* p2p_mem.c */
isthmus_status p2p_allocate(isthmus_tr *tr, void *addr, uint32_t kind, int32_t device, uint64_t length_bytes,
                            struct isthmus_mem *out);
isthmus_status p2p_check_kind(isthmus_tr *tr, uint32_t kind, int32_t device);
isthmus_status p2p_attach_at(isthmus_path *path, const void *key, size_t key_bytes, void *addr, isthmus_rmem **out);

/* p2p_coll.c: collectives.1; of a driver that writes words in streams, with those that the host calls. */
extern const struct isthmus_collectives p2p_collectives;
void p2p_runs_close(isthmus_tr *tr); /* none is under way */

#endif
