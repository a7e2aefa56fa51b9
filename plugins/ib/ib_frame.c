/* plugins/ib/ib_frame.c: see ib_frame.h. */
#include "plugins/ib/ib_frame.h"

#include <string.h>
#include <ucp/api/ucp_version.h>

/* FNV-1a: against truncated and corrupted bytes, not against an attacker: a process that can write the job's cards runs
 * as its user. */
static uint64_t sum_of(uint64_t sum, const void *bytes, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) sum = (sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return sum;
}

uint64_t ib_frame_checksum(const struct ib_frame *frame, const void *payload)
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
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "a card or key takes %zu bytes, but there is room for %zu",
                       *out_bytes, room);
    frame.version = IB_FRAME_VERSION;
    frame.ucx_major = UCP_API_MAJOR;
    frame.word_bytes = sizeof(void *);
    frame.checksum = ib_frame_checksum(&frame, payload);
    memcpy(out, &frame, sizeof frame);
    memcpy((char *)out + sizeof frame, payload, frame.payload_bytes);
    return ISTHMUS_OK;
}

/* Returns OK if the frame is whole. The places of magic and version are the same in all versions. */
static isthmus_status check_whole(const struct isthmus_services *s, uint32_t magic, struct ib_frame_owner owner,
                                  const void *bytes, size_t n_bytes, struct ib_frame *head)
{
    const char *what = magic == IB_FRAME_CARD ? "card" : "key";
    size_t n_head = n_bytes < sizeof *head ? n_bytes : sizeof *head;
    memset(head, 0, sizeof *head);
    memcpy(head, bytes, n_head);
    if (head->magic == magic && head->version != IB_FRAME_VERSION && head->version != 0)
        return s->fail(
            s->core, ISTHMUS_ERR_VERSION,
            "the %s of PE %d on %s is of version %u, but this PE reads version %d; use one version of this plugin on "
            "all PEs",
            what, owner.pe, owner.host_name, head->version, IB_FRAME_VERSION);
    if (n_head < sizeof *head || head->magic != magic || head->payload_bytes != n_bytes - sizeof *head ||
        head->checksum != ib_frame_checksum(head, (const char *)bytes + sizeof *head) ||
        head->note_bytes > head->payload_bytes)
        return s->fail(s->core, ISTHMUS_ERR_VERSION,
                       "the %s of PE %d on %s is damaged: its bytes do not fit its length", what, owner.pe,
                       owner.host_name);
    return ISTHMUS_OK;
}

static isthmus_status check_fits(const struct isthmus_services *s, struct ib_frame_owner owner,
                                 const struct ib_frame *head)
{
    if (head->ucx_major != UCP_API_MAJOR)
        return s->fail(s->core, ISTHMUS_ERR_VERSION,
                       "PE %d on %s uses UCX %u, this PE UCX %d; all PEs need one major version", owner.pe,
                       owner.host_name, head->ucx_major, UCP_API_MAJOR);
    if (head->word_bytes != sizeof(void *))
        return s->fail(s->core, ISTHMUS_ERR_VERSION,
                       "PE %d on %s is a program of %u bits, this PE one of %zu; build both alike", owner.pe,
                       owner.host_name, 8 * head->word_bytes, 8 * sizeof(void *));
    return ISTHMUS_OK;
}

isthmus_status ib_frame_read(const struct isthmus_services *s, uint32_t magic, struct ib_frame_owner owner,
                             const void *bytes, size_t n_bytes, struct ib_frame *frame, const void **payload)
{
    struct ib_frame head;
    isthmus_status status = check_whole(s, magic, owner, bytes, n_bytes, &head);
    if (status == ISTHMUS_OK) status = check_fits(s, owner, &head);
    if (status != ISTHMUS_OK) return status;
    *frame = head;
    *payload = (const char *)bytes + sizeof head;
    return ISTHMUS_OK;
}

const char *ib_frame_note(const struct ib_frame *frame, const void *payload)
{
    const char *note = (const char *)payload + frame->payload_bytes - frame->note_bytes;
    return frame->note_bytes > 0 && note[frame->note_bytes - 1] == '\0' ? note : "";
}
