/* tests/unit/test_ib_frame.c: the frames of UCX's addresses: an incomplete frame, or one of another build, is refused,
 * and the text names its sender and what each side has. */
#include "plugins/ib/ib_frame.h"

#include "tests/unit/ib_test.h"

#include <stdbool.h>
#include <ucp/api/ucp_version.h>

static const struct isthmus_services services = {.struct_size = sizeof services, .fail = keep_failure};
static const struct ib_frame_owner owner = {3, "node17"};
static const char payload[] = "an address\0UCX_TLS=tcp";

static size_t write_frame(char out[256])
{
    const struct ib_frame frame = {.magic = IB_FRAME_CARD, .payload_bytes = sizeof payload, .note_bytes = 12};
    size_t n_bytes = 256;
    assert_int_equal(ib_frame_write(&services, frame, payload, out, &n_bytes), ISTHMUS_OK);
    return n_bytes;
}

static isthmus_status read_frame(const char *bytes, size_t n_bytes)
{
    struct ib_frame frame;
    const void *at;
    failed[0] = '\0';
    return ib_frame_read(&services, IB_FRAME_CARD, owner, bytes, n_bytes, &frame, &at);
}

static void whole_frame_is_read(void **state)
{
    (void)state;
    char bytes[256];
    struct ib_frame frame;
    const void *at = NULL;
    size_t n_bytes = write_frame(bytes);
    assert_int_equal(ib_frame_read(&services, IB_FRAME_CARD, owner, bytes, n_bytes, &frame, &at), ISTHMUS_OK);
    assert_memory_equal(at, payload, sizeof payload);
    assert_string_equal(ib_frame_note(&frame, at), "UCX_TLS=tcp");
}

static void every_cut_and_flip_is_refused(void **state)
{
    (void)state;
    char bytes[256];
    size_t n_bytes = write_frame(bytes);
    for (size_t cut = 0; cut < n_bytes; cut++) assert_int_equal(read_frame(bytes, cut), ISTHMUS_ERR_VERSION);
    for (size_t at = 0; at < n_bytes; at++) {
        bytes[at] = (char)(bytes[at] ^ 0x10);
        assert_int_equal(read_frame(bytes, n_bytes), ISTHMUS_ERR_VERSION);
        bytes[at] = (char)(bytes[at] ^ 0x10);
    }
}

/* A frame as another build writes it: one field differs, and its checksum is right. */
static void read_other(size_t field, uint32_t value)
{
    char bytes[256];
    struct ib_frame frame;
    size_t n_bytes = write_frame(bytes);
    memcpy(bytes + field, &value, sizeof value);
    memcpy(&frame, bytes, sizeof frame);
    frame.checksum = ib_frame_checksum(&frame, payload);
    memcpy(bytes, &frame, sizeof frame);
    assert_int_equal(read_frame(bytes, n_bytes), ISTHMUS_ERR_VERSION);
}

static void mismatch_names_both_sides(void **state)
{
    (void)state;
    char expected[200];
    read_other(offsetof(struct ib_frame, version), IB_FRAME_VERSION + 5);
    snprintf(expected, sizeof expected,
             "the card of PE 3 on node17 is of version %d, but this PE reads version %d; "
             "use one version of this plugin on all PEs",
             IB_FRAME_VERSION + 5, IB_FRAME_VERSION);
    assert_string_equal(failed, expected);
    read_other(offsetof(struct ib_frame, ucx_major), UCP_API_MAJOR + 1);
    snprintf(expected, sizeof expected, "PE 3 on node17 uses UCX %d, this PE UCX %d; all PEs need one major version",
             UCP_API_MAJOR + 1, UCP_API_MAJOR);
    assert_string_equal(failed, expected);
    read_other(offsetof(struct ib_frame, word_bytes), 4);
    assert_string_equal(failed, "PE 3 on node17 is a program of 32 bits, this PE one of 64; build both alike");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_frame_is_read),
        cmocka_unit_test(every_cut_and_flip_is_refused),
        cmocka_unit_test(mismatch_names_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
