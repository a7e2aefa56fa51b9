/* plugins/ofi/ofi_wire.h: what peers see of one another: cards, keys and messages. Whole words of fixed width, no
 * pointers. A request is a head and a body of its kind, with data behind them; a reply is a head, with data behind it.
 * The short requests are no longer than what every provider sends at once (inject). */
#ifndef ISTHMUS_OFI_WIRE_H
#define ISTHMUS_OFI_WIRE_H

#include <stdint.h>

enum {
    OFI_MAGIC_CARD = 0x4349464f,
    OFI_MAGIC_KEY = 0x4b49464f,
    OFI_VERSION_WIRE = 2, /* of cards, keys and messages */
    OFI_ADDRESS_BYTES = 160,
    OFI_PROVIDER_BYTES = 32,
    OFI_LIBRARY_BYTES = 16,
    OFI_RAW_KEY_BYTES = 256,
    OFI_HOST_NAME_BYTES = 64,
    OFI_MESSAGE_BYTES = 4096 /* the longest message: providers copy so much in one piece, and keep its order */
};

struct ofi_card {
    uint32_t magic, version;
    uint64_t token; /* a message with it is from a PE that has this card, and so belongs to the job */
    uint64_t pid_namespace;
    int32_t pid;
    uint32_t address_format, address_bytes;
    uint32_t has_atomics; /* the provider executes those of 64 bits on host memory */
    char provider[OFI_PROVIDER_BYTES], library[OFI_LIBRARY_BYTES]; /* the latter: the version of libfabric */
    uint8_t address[OFI_ADDRESS_BYTES];
    uint64_t checksum;
};

struct ofi_key {
    uint32_t magic, version;
    uint64_t extent, length_bytes;
    uint64_t base, rkey; /* for remote memory access, if has_rma */
    uint32_t kind, has_rma;
    uint32_t raw_bytes, reserved; /* of a key longer than 8 bytes, which stands in `raw`; 0: `rkey` is the key */
    uint8_t raw[OFI_RAW_KEY_BYTES];
    uint64_t checksum;
};

enum ofi_kind {
    OFI_HELLO = 1,  /* struct ofi_hello; replied to */
    OFI_CHECK,      /* struct ofi_place and a length; replied to */
    OFI_PUT,        /* struct ofi_place, data */
    OFI_PUT_SIGNAL, /* struct ofi_signal_body, data */
    OFI_GET,        /* struct ofi_get_body; replied to, with data */
    OFI_AMO,        /* struct ofi_amo_body; replied to if it has a call */
    OFI_COMMIT,     /* acknowledged */
    OFI_PING,       /* nothing happens: that it can be sent shows that the peer is there */
    OFI_REPLY,      /* to the request with that call */
    OFI_ACK         /* all requests of that path up to that number are executed */
};

enum { OFI_WANTS_ACK = 1 << 0, OFI_REFUSED = 1 << 1 }; /* flags */

struct ofi_head {
    uint64_t token; /* of the receiver's card */
    uint8_t kind, op, bits, flags;
    int32_t pe;        /* the sender */
    uint32_t sequence; /* of requests: consecutive for each pair of sender and receiver */
    uint16_t path;     /* the initiator's index of its path, for acknowledgements */
    uint16_t call;     /* the initiator's index of what waits for the reply; OFI_NO_CALL: there is none */
    uint64_t number;   /* of the request; of a reply: the fetched value, of an ACK: the newest executed request */
};

enum { OFI_NO_CALL = UINT16_MAX };

struct ofi_place {
    uint64_t extent, offset_bytes;
};

struct ofi_amo_body {
    struct ofi_place place;
    uint64_t operand, compare;
};

struct ofi_get_body {
    struct ofi_place place;
    uint64_t length_bytes;
};

struct ofi_signal_body {
    struct ofi_place place, signal;
    uint64_t value;
};

struct ofi_hello {
    char host_name[OFI_HOST_NAME_BYTES];
    uint64_t token; /* of the sender's card, for replies */
    uint32_t address_bytes, reserved;
    uint8_t address[OFI_ADDRESS_BYTES];
};

#endif
