/* plugins/ib/ib_frame.h: frames for UCX's addresses and remote keys. UCX trusts every byte of these, and would crash on
 * damaged ones: the frame has a version and a checksum, so that they are refused before UCX reads them. */
#ifndef ISTHMUS_IB_FRAME_H
#define ISTHMUS_IB_FRAME_H

#include <isthmus/transport.h>

enum { IB_FRAME_CARD = 0x49734263, IB_FRAME_KEY = 0x4973426b, IB_FRAME_VERSION = 7 };

struct ib_frame {
    uint32_t magic, version; /* of this format */
    uint32_t ucx_major;      /* peers with different ones cannot communicate */
    uint32_t word_bytes;     /* of an address there */
    uint32_t payload_bytes;
    uint32_t note_bytes; /* at the end of a card's payload: the configuration of UCX there, as text with its zero */
    uint32_t is_relaxed; /* of a card: struct ib_order */
    uint32_t reserved;
    /* Of a key: the kind of memory, and whether its PE stages it: then the payload is empty. */
    uint32_t kind, is_staged;
    uint32_t atomic_rkey, has_atomic_rkey; /* of a key: for atomics by its PE's adapter; 0, 0: none */
    uint64_t address, length_bytes;        /* of the extent; 0 in a card */
    uint64_t checksum;                     /* over all of the above and the payload */
};

uint64_t ib_frame_checksum(const struct ib_frame *frame, const void *payload);

/* Writes frame and payload. *out_bytes: in, the room; out, the size. LIMIT: the room is too small. */
isthmus_status ib_frame_write(const struct isthmus_services *s, struct ib_frame frame, const void *payload, void *out,
                              size_t *out_bytes);

/* Checks a frame; *payload lies in `bytes`. VERSION: truncated, damaged, or of a build that does not fit this one. The
 * owner is for messages. */
struct ib_frame_owner {
    int pe;
    const char *host_name;
};
isthmus_status ib_frame_read(const struct isthmus_services *s, uint32_t magic, struct ib_frame_owner owner,
                             const void *bytes, size_t n_bytes, struct ib_frame *frame, const void **payload);

/* The note of a card that was read; "" without one. */
const char *ib_frame_note(const struct ib_frame *frame, const void *payload);

#endif
