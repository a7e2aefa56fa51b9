/* tcp.h: the parts of this transport, for its own files. The contract is isthmus/transport.h.
 * Each PE listens. A PE connects to a peer on first use and keeps that connection: requests go one way, replies the
 * other. progress() executes the requests of peers, without a call of the target's program (tcp_serve.c). The stream
 * keeps its order, and requests are executed in it: a reply confirms all requests before it. */
#ifndef TCP_H
#define TCP_H

#include <isthmus/transport.h>

#include <pthread.h>
#include <stdbool.h>

enum {
    TCP_MAGIC_CARD = 0x43504354,
    TCP_MAGIC_KEY = 0x4b504354,
    TCP_VERSION_WIRE = 2, /* of cards, keys and requests */
    TCP_MAX_ADDRESSES = 8,
    TCP_SECRET_BYTES = 16,
    TCP_DEFAULT_TIMEOUT_S = 30
};

/* ---- what peers see: whole words, no pointers, a checksum at the end ---- */

struct tcp_card {
    uint32_t magic, version;
    uint8_t secret[TCP_SECRET_BYTES]; /* a peer that sends it has this card, and so belongs to the job */
    uint32_t port, n_addresses;
    uint32_t addresses[TCP_MAX_ADDRESSES]; /* IPv4, network order */
    uint64_t checksum;
};

struct tcp_key {
    uint32_t magic, version;
    uint64_t extent, length_bytes;
    uint64_t checksum;
};

enum tcp_kind { TCP_HELLO = 1, TCP_CHECK, TCP_PUT, TCP_GET, TCP_AMO, TCP_FETCHING_AMO, TCP_COMMIT, TCP_BYE };

/* HELLO is followed by a struct tcp_hello, PUT by its data. */
struct tcp_request {
    uint32_t kind;
    uint16_t op, bits; /* of atomics */
    uint64_t extent, offset_bytes, length_bytes;
    uint64_t operand, compare; /* of COMMIT: operand is its ticket */
};

struct tcp_hello {
    uint8_t secret[TCP_SECRET_BYTES];
    int32_t pe; /* of the initiator */
    char host_name[60];
};

/* To HELLO, CHECK, FETCHING_AMO and COMMIT; to GET it is followed by the data. */
struct tcp_reply {
    uint32_t is_refused, reserved;
    uint64_t value; /* the fetched one; to COMMIT its ticket */
};

/* ---- objects ---- */

struct isthmus_lmem { /* an exposed extent */
    isthmus_lmem *next;
    isthmus_tr *tr;
    uint64_t extent; /* its number, never used again */
    char *addr;
    uint64_t length_bytes;
};

struct isthmus_path {
    isthmus_path *next;
    isthmus_tr *tr;
    int32_t pe;
    char host_name[60];
    int fd;               /* -1: to the own PE */
    pthread_mutex_t lock; /* one request and its reply at a time */
    bool has_uncommitted; /* something was sent since the last request that has a reply */
    uint32_t n_owed;      /* replies to COMMIT that nothing has waited for so far; they come before all others */
    uint64_t sent_ticket, done_ticket; /* of the last COMMIT, and of its last reply */
    bool is_lost;
};

struct isthmus_rmem {
    isthmus_path *path;
    uint64_t extent, length_bytes;
    char *addr; /* of the own PE's memory */
};

struct isthmus_chan { /* the same for all contexts */
    isthmus_tr *tr;
};

struct isthmus_tr {
    struct isthmus_chan channel;
    const struct isthmus_services *services;
    int timeout_s;
    struct tcp_card card;
    struct tcp_server *server;
    pthread_mutex_t extents_lock; /* progress() searches extents while others are exposed */
    isthmus_lmem *extents;
    uint64_t newest_extent;
    pthread_mutex_t paths_lock; /* never held while a reply is waited for */
    isthmus_path *paths;
    uint64_t newest_ticket; /* under that lock: on each path, tickets are sent in ascending order */
};

/* ---- tcp.c ---- */

uint64_t tcp_checksum(const void *bytes, size_t n_bytes);

/* ---- tcp_path.c: the initiator's side ---- */

isthmus_status tcp_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out);
void tcp_path_close(isthmus_path *path);

/* Sends a request and `n_bytes` after it. There is no reply. */
isthmus_status tcp_tell(isthmus_path *path, const struct tcp_request *request, const void *bytes, size_t n_bytes);
/* Sends a request with its bytes, and a second one right behind it. */
isthmus_status tcp_tell_both(isthmus_path *path, const struct tcp_request *request, const void *bytes, size_t n_bytes,
                             const struct tcp_request *second);
/* Sends a request, and waits for the reply and `n_bytes` after it. */
isthmus_status tcp_ask(isthmus_path *path, const struct tcp_request *request, struct tcp_reply *reply, void *bytes,
                       size_t n_bytes);
/* Returns REFUSED, with its text: a reply has is_refused. */
isthmus_status tcp_refused(const isthmus_path *path);
/* Waits until the peer has executed all requests sent so far. REFUSED: it could not execute one of them. */
isthmus_status tcp_commit(isthmus_path *path);
/* The same in two parts, which do not wait. `begin` returns AGAIN if the socket is full; `test` while the replies to
 * this ticket and those before it are missing. */
isthmus_status tcp_commit_begin(isthmus_path *path, uint64_t ticket);
isthmus_status tcp_commit_test(isthmus_path *path, uint64_t ticket);

/* ---- tcp_serve.c: the target's side ---- */

isthmus_status tcp_server_open(isthmus_tr *tr); /* fills in the card's port */
void tcp_server_close(struct tcp_server *server);
int32_t tcp_progress(isthmus_tr *tr);
isthmus_status tcp_arm(isthmus_tr *tr, int32_t *event_fd);

/* ---- tcp_mem.c ---- */

isthmus_status tcp_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                          isthmus_lmem **out);
void tcp_unregister(isthmus_lmem *lmem);
isthmus_status tcp_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
void tcp_detach(isthmus_rmem *rmem);
/* Returns the address of a range of an extent in this PE, or NULL if a part of it lies outside of the extent. */
char *tcp_extent_find(isthmus_tr *tr, uint64_t extent, uint64_t offset_bytes, uint64_t length_bytes);

/* ---- tcp_data.c ---- */

isthmus_status tcp_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                struct isthmus_data_ops *ops);
void tcp_channel_close(isthmus_chan *chan);

#endif
