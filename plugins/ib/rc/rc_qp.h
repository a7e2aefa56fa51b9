/* plugins/ib/rc/rc_qp.h: queue pairs of our own on the adapter of this PE, for atomics that the target's adapter
 * executes. UCX has adapters execute atomics only where they have all of add, swap, compare and swap, and, or, xor;
 * over others it sends messages that the target's processor executes, and does not report which of the two it does.
 * Every adapter with atomics has fetch and add, and compare and swap, of 64 bits; they are requested here through
 * libibverbs. Its values are of this machine's byte order. Not about UCX, nor about waits: no lock is taken here. */
#ifndef ISTHMUS_IB_QUEUE_H
#define ISTHMUS_IB_QUEUE_H

#include "plugins/ib/ib_hca.h"
#include "plugins/ib/rc/rc_word.h"

struct ib_adapter;     /* a port of one, opened */
struct ib_region;      /* memory that peers' queues may update */
struct ib_completions; /* of the queues of one worker, and the values that they have fetched */
struct ib_queue;       /* to one queue of a peer */

/* The parameters of a connection, besides its destination. */
struct ib_queue_settings {
    uint32_t gid_index; /* of a RoCE port */
    uint8_t service_level, traffic_class;
};

/* The address of a queue, for its peer; plain bytes of a message. */
struct ib_queue_address {
    uint32_t number; /* 0: there is none */
    uint32_t sequence, lid, mtu, link;
    uint32_t n_incoming; /* atomics that it serves at a time */
    uint8_t gid[16];
};

/* Every failure keeps its text. Each `close` and `destroy` takes NULL. */
isthmus_status ib_adapter_open(const struct isthmus_services *services, const struct ib_port *port,
                               const struct ib_queue_settings *settings, struct ib_adapter **out);
void ib_adapter_close(struct ib_adapter *adapter); /* after all that is below */

/* The aligned words that the range touches. */
isthmus_status ib_region_create(struct ib_adapter *adapter, void *addr, uint64_t length_bytes, struct ib_region **out,
                                uint32_t *key);
void ib_region_destroy(struct ib_region *region);

/* Room for n_slots requests under way, and a descriptor that reports their completions. */
isthmus_status ib_completions_create(struct ib_adapter *adapter, uint32_t n_slots, struct ib_completions **out);
void ib_completions_destroy(struct ib_completions *completions);
int ib_completions_fd(const struct ib_completions *completions);
void ib_completions_arm(struct ib_completions *completions); /* the next one makes the descriptor readable */

/* completions NULL: the queue serves one of a peer. */
isthmus_status ib_queue_create(struct ib_adapter *adapter, struct ib_completions *completions, struct ib_queue **out);
void ib_queue_destroy(struct ib_queue *queue);
void ib_queue_address(const struct ib_queue *queue, struct ib_queue_address *out);
isthmus_status ib_queue_connect(struct ib_queue *queue, const struct ib_queue_address *peer);

/* The destination of a request; its completion returns the id, whose low 32 bits are the slot. */
struct ib_queue_target {
    uint64_t address, id;
    uint32_t key;
};

/* Returns 0 or an error number. */
int ib_queue_post(struct ib_queue *queue, const struct ib_queue_target *target, const struct ib_word_request *request);

struct ib_completion {
    uint64_t id, value;
    const char *failure; /* NULL: done, and value is the old one */
    bool is_loss;        /* the peer's adapter does not respond */
};
uint32_t ib_completions_poll(struct ib_completions *completions, struct ib_completion *list, uint32_t room);

#endif
