/* tests/fuzz/frame_ib.c: the frames in which the transport ib sends UCX's addresses and keys. The first byte selects
 * the one that is expected, and whether the checksum is corrected, so that the code behind its check is reached. */
#include "plugins/ib/ib_frame.h"
#include "tests/fuzz/fuzz.h"

static const struct isthmus_services services = {.struct_size = sizeof services, .log = fuzz_log, .fail = fuzz_fail};
static const struct ib_frame_owner owner = {3, "node17"};

static void mend(uint8_t *bytes, size_t n_bytes)
{
    struct ib_frame head;
    if (n_bytes < sizeof head) return;
    memcpy(&head, bytes, sizeof head);
    if (head.payload_bytes != n_bytes - sizeof head) return;
    head.checksum = ib_frame_checksum(&head, bytes + sizeof head);
    memcpy(bytes, &head, sizeof head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ib_frame frame;
    const void *payload = NULL;
    if (size == 0) return 0;
    size_t n_bytes = size - 1;
    uint8_t *bytes = fuzz_copy(data + 1, n_bytes);
    if ((data[0] & 2) != 0) mend(bytes, n_bytes);
    uint32_t magic = (data[0] & 1) != 0 ? IB_FRAME_CARD : IB_FRAME_KEY;
    if (ib_frame_read(&services, magic, owner, bytes, n_bytes, &frame, &payload) == ISTHMUS_OK) {
        void *copy = fuzz_copy(payload, frame.payload_bytes); /* all of it is there */
        if (strlen(ib_frame_note(&frame, payload)) > frame.note_bytes) abort();
        free(copy);
    }
    free(bytes);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const char payload[] = "an address\0UCX_TLS=tcp";
    struct ib_frame frame = {.magic = i % 2 == 1 ? IB_FRAME_CARD : IB_FRAME_KEY, .payload_bytes = sizeof payload};
    size_t n_bytes = room - 1;
    if (i > 3) return 0;
    if (i % 2 == 1) frame.note_bytes = 12;
    out[0] = (uint8_t)i;
    if (ib_frame_write(&services, frame, payload, out + 1, &n_bytes) != ISTHMUS_OK) abort();
    return n_bytes + 1;
}
