/* tools/isthmus-perf/limit_net.h: the limit where an operation crosses a network: the same operation by the library
 * that the transport uses, without a runtime on it, between the same buffers. Libraries are rows of limit_net.c; only
 * one that this process has loaded is used. The PE that calls makes progress; so does its peer, as software providers
 * and UCP over TCP need it. */
#ifndef ISTHMUS_PERF_LIMIT_NET_H
#define ISTHMUS_PERF_LIMIT_NET_H

#include "tools/isthmus-perf/operations.h"

enum { NET_CARD_BYTES = 8192, NET_BUFFERS_MOST = 8, NET_REASON_BYTES = 160 };

/* Peers access the first ones, NET_REGIONS; all may be local operands. */
enum net_region { NET_DATA, NET_FLAGS, NET_REGIONS };
struct net_buffer {
    char *addr; /* NULL: there is none */
    size_t n_bytes;
};

struct net_access {
    enum net_region region; /* of the peer */
    uint64_t offset;
    void *local;
    size_t n_bytes;
};

enum net_amo { NET_ADD, NET_FETCH_ADD, NET_COMPARE_SWAP };

/* A library. After a failure, which failure() names, the other calls return at once. */
struct net_driver {
    const char *transport, *name; /* that uses it; of the limit */
    bool (*open)(const struct net_buffer *buffers, int n);
    void (*close)(void); /* accepts any state */

    /* A card has NET_CARD_BYTES. Returns NULL after a failure. */
    bool (*write_card)(void *card);
    void *(*connect)(const void *card);
    void (*disconnect)(void *peer); /* the peer makes progress meanwhile */

    /* Nonblocking, all of them. */
    void (*put)(void *peer, const struct net_access *access);
    void (*get)(void *peer, const struct net_access *access);
    void (*amo)(void *peer, enum net_amo what, uint64_t offset, uint64_t operand, uint64_t compare); /* in NET_DATA */
    bool (*has_amo)(void);

    bool (*progress)(void); /* returns true if something has moved */
    void (*wait)(void);     /* until all local buffers may be used again, and what is fetched has arrived */
    void (*flush)(void);    /* the same, and all puts are at their targets */
    const char *(*failure)(void);
};
extern const struct net_driver net_driver_ucp, net_driver_ofi;

/* Returns true if the library that the transport uses is one of these. */
bool limit_net_knows(const char *transport);

/* Collective. Opens the library of that transport, with these buffers. Returns NULL on all PEs, or on all PEs a text,
 * the reason; the PE that lacks something has the exact one. Later calls return what the first one did: a job has one
 * transport to other hosts. `transport` may be NULL: there is none. */
const char *limit_net_open(const char *transport, const struct net_buffer *buffers, int n);
void limit_net_close(void); /* collective; accepts any state */

/* Once it is open. */
const char *limit_net_name(void);

/* Returns NULL if there is no such operation. */
perf_batch *limit_net_batch(enum transfer what);

/* After a batch of one PE: the PE that was accessed, until the one that called has ended its own batch. */
void limit_net_serve(void);
void limit_net_end_serving(int to);

/* Collective. After a batch of all PEs: returns when each has ended it, and makes progress until then. */
void limit_net_serve_all(void);

/* Why a batch of this PE failed; NULL: none has. Later batches return at once. */
const char *limit_net_failure(void);

#endif
