/* core/life/liveness_wire.h: datagrams between the PEs of a job: the socket, authentication, addresses.
 * liveness.c handles their contents.
 * A datagram can end a job, and any process can send one. So each has a tag under a key on the card of one of the two
 * PEs, where the job's members read it, and a number that its receiver accepts once.
 * Addresses are IPv6 throughout, with IPv4 mapped into them, also if the socket is an IPv4 one. */
#ifndef IST_LIFE_LIVENESS_WIRE_H
#define IST_LIFE_LIVENESS_WIRE_H

#include "core/base/mac.h"
#include "core/base/status.h"

#include <netinet/in.h>
#include <stdbool.h>

enum { IST_LIVENESS_MAX_ADDRESSES = 8, IST_LIVENESS_HOST_BYTES = 64 };

/* The heartbeat address of a PE, on its card. */
struct ist_liveness_address {
    uint64_t token;             /* drawn by that PE at start: a datagram without it is not for this job */
    uint8_t key[IST_KEY_BYTES]; /* random too, and never sent */
    uint16_t port;              /* in network order */
    uint16_t n_addresses;
    uint32_t reserved;
    struct in6_addr addresses[IST_LIVENESS_MAX_ADDRESSES];
};

enum ist_liveness_kind {
    IST_LIVENESS_REQUEST = 1, /* request */
    IST_LIVENESS_REPLY,       /* reply */
    IST_LIVENESS_BYE,         /* this PE leaves in good order: stop watching it */
    IST_LIVENESS_BYE_SEEN,    /* acknowledges that bye */
    IST_LIVENESS_END,         /* the job ends; PE `reporter` reports why */
    IST_LIVENESS_EXIT         /* a bye of a PE that exits without finalize */
};

/* One layout everywhere: the magic rejects a peer of the other byte order. */
struct ist_liveness_datagram {
    uint32_t magic, kind;
    uint64_t to_token, from_token;
    int32_t from_pe, reporter;
    uint32_t pace;     /* ticks between two requests that the sender can bear */
    uint32_t is_close; /* not 0: it sends a request on every tick, and expects the same */
    char from_host[IST_LIVENESS_HOST_BYTES];
    uint64_t number;            /* of the sender's datagrams to this receiver, growing */
    uint8_t tag[IST_TAG_BYTES]; /* over all of the above */
};

struct ist_liveness_socket {
    int fd;
    bool is_v6;
    struct ist_liveness_address address; /* of this PE */
};

/* interfaces: ISTHMUS_INTERFACE. */
isthmus_status ist_liveness_socket_open(const char *interfaces, struct ist_liveness_socket *out);
void ist_liveness_socket_close(struct ist_liveness_socket *s); /* accepts a closed one */

/* Completes a datagram: its sender, and its tag. */
void ist_liveness_sign(const struct ist_liveness_address *mine, const uint8_t key[IST_KEY_BYTES],
                       struct ist_liveness_datagram *d);
bool ist_liveness_is_signed(const struct ist_liveness_datagram *d, const uint8_t key[IST_KEY_BYTES]);

/* Reports no lost datagrams, nor those that the system refuses to send. */
void ist_liveness_send(const struct ist_liveness_socket *s, const struct sockaddr_in6 *to,
                       const struct ist_liveness_datagram *d);

/* Receives the next datagram that has this PE's token; ist_liveness_is_signed() verifies its sender. Returns false if
 * there is none now. */
bool ist_liveness_receive(const struct ist_liveness_socket *s, struct sockaddr_in6 *from,
                          struct ist_liveness_datagram *out);

/* Reads a packet. Returns false if it is not one of ours. */
bool ist_liveness_datagram_read(const struct ist_liveness_address *mine, const void *bytes, size_t n_bytes,
                                struct ist_liveness_datagram *out);

/* Reads the bytes of a card. Returns false if it has none, or not of this layout. */
bool ist_liveness_address_read(const void *bytes, size_t n_bytes, struct ist_liveness_address *out);

#endif
