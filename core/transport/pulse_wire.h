/* core/transport/pulse_wire.h: datagrams between the PEs of a job: the socket, who may be believed, where a PE is found.
 * Not what they mean: that is pulse.c.
 * A datagram can end a job, and anybody can send one. So each bears a tag under a key that is on the card of one of the two PEs,
 * where the job's members read it, and a number that its receiver takes once.
 * Addresses are those of IPv6 throughout, with IPv4 mapped into them, also where the socket is one of IPv4. */
#ifndef IST_TRANSPORT_PULSE_WIRE_H
#define IST_TRANSPORT_PULSE_WIRE_H

#include "core/base/mac.h"
#include "core/base/status.h"

#include <netinet/in.h>
#include <stdbool.h>

enum { IST_PULSE_MAX_ADDRESSES = 8, IST_PULSE_HOST_BYTES = 64 };

/* Where a PE hears, on its card. */
struct ist_pulse_place {
    uint64_t token;             /* drawn by that PE at start: a datagram that does not quote it is not for this job */
    uint8_t key[IST_KEY_BYTES]; /* drawn too, and never sent */
    uint16_t port;              /* in network order */
    uint16_t n_addresses;
    uint32_t reserved;
    struct in6_addr addresses[IST_PULSE_MAX_ADDRESSES];
};

enum ist_pulse_kind {
    IST_PULSE_ASK = 1, /* are you there? */
    IST_PULSE_HERE,    /* yes */
    IST_PULSE_BYE,     /* this PE leaves in good order: do not look for it any longer */
    IST_PULSE_SEEN,    /* of that bye */
    IST_PULSE_END      /* the job ends; PE `speaker` says why */
};

/* One layout everywhere: a peer of the other byte order is refused by its magic. */
struct ist_pulse_datagram {
    uint32_t magic, kind;
    uint64_t to_token, from_token;
    int32_t from_pe, speaker;
    uint32_t pace;     /* ticks between two questions that the sender can bear */
    uint32_t is_close; /* not 0: it asks on every tick, and wants to be asked */
    char from_host[IST_PULSE_HOST_BYTES];
    uint64_t number;            /* of the sender's datagrams to this receiver, growing */
    uint8_t tag[IST_TAG_BYTES]; /* over all of the above */
};

struct ist_pulse_socket {
    int fd;
    bool is_v6;
    struct ist_pulse_place place; /* of this PE */
};

isthmus_status ist_pulse_socket_open(struct ist_pulse_socket *out);
void ist_pulse_socket_close(struct ist_pulse_socket *s); /* takes a closed one */

/* Complete a datagram: where it comes from, and its tag. */
void ist_pulse_sign(const struct ist_pulse_place *mine, const uint8_t key[IST_KEY_BYTES], struct ist_pulse_datagram *d);
bool ist_pulse_is_signed(const struct ist_pulse_datagram *d, const uint8_t key[IST_KEY_BYTES]);

/* Lost datagrams are the caller's business, and those that the system refuses to send are lost. */
void ist_pulse_send(const struct ist_pulse_socket *s, const struct sockaddr_in6 *to,
                    const struct ist_pulse_datagram *d);

/* The next datagram that quotes this PE's token; who it is from is_signed() tells. false: there is none now. */
bool ist_pulse_receive(const struct ist_pulse_socket *s, struct sockaddr_in6 *from, struct ist_pulse_datagram *out);

/* From the bytes of a packet. false: none of ours. */
bool ist_pulse_datagram_read(const struct ist_pulse_place *mine, const void *bytes, size_t n_bytes,
                             struct ist_pulse_datagram *out);

/* From the bytes of a card. false: it has none, or not of this layout. */
bool ist_pulse_place_read(const void *bytes, size_t n_bytes, struct ist_pulse_place *out);

#endif
