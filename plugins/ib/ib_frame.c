/* plugins/ib/ib_frame.c: see ib_frame.h. */
#include "plugins/ib/ib_frame.h"

#include <string.h>
#include <ucp/api/ucp_version.h>

/* FNV-1a: against cut and mixed-up bytes, not against an enemy; whoever can write the job's cards runs as its user. */
static uint64_t sum_of(uint64_t sum, const void *bytes, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) sum = (sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return sum;
}

static uint64_t checksum_of(const struct ib_frame *frame, const void *payload)
{
    uint64_t sum = sum_of(0xcbf29ce484222325u, frame, offsetof(struct ib_frame, checksum));
    return sum_of(sum, payload, frame->payload_bytes);
}

isthmus_status ib_frame_write(const struct isthmus_services *s, struct ib_frame frame, const void *payload, void *out,
                              size_t *out_bytes)
{
    size_t room = *out_bytes;
    *out_bytes = sizeof frame + frame.payload_bytes;
    if (room < *out_bytes)
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "it takes %zu bytes, there is room for %zu", *out_bytes, room);
    frame.version = IB_FRAME_VERSION;
    frame.ucx_major = UCP_API_MAJOR;
    frame.checksum = checksum_of(&frame, payload);
    memcpy(out, &frame, sizeof frame);
    memcpy((char *)out + sizeof frame, payload, frame.payload_bytes);
    return ISTHMUS_OK;
}

isthmus_status ib_frame_read(const struct isthmus_services *s, uint32_t magic, const char *what, int pe,
                             const void *bytes, size_t n_bytes, struct ib_frame *frame, const void **payload)
{
    struct ib_frame head;
    if (n_bytes < sizeof head)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the %s of PE %d has %zu bytes, less than its head", what, pe,
                       n_bytes);
    memcpy(&head, bytes, sizeof head);
    if (head.magic != magic || head.version != IB_FRAME_VERSION)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the %s of PE %d is not of version %d", what, pe,
                       IB_FRAME_VERSION);
    const char *rest = (const char *)bytes + sizeof head;
    if (head.payload_bytes != n_bytes - sizeof head || head.checksum != checksum_of(&head, rest))
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the %s of PE %d is damaged", what, pe);
    if (head.ucx_major != UCP_API_MAJOR)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "PE %d uses UCX %u, this PE UCX %d", pe, head.ucx_major,
                       UCP_API_MAJOR);
    *frame = head;
    *payload = rest;
    return ISTHMUS_OK;
}
