/* tests/fuzz/liveness.c: datagrams of heartbeats, and the addresses on cards to which they are sent. The first byte
 * selects one, and whether the datagram bears a valid tag: a member of the job may send anything too. */
#include "core/life/liveness_wire.h"
#include "tests/fuzz/fuzz.h"

static const struct ist_liveness_address mine = {.token = 0x0123456789abcdef, .key = "key of this PE"};

static void take_datagram(uint8_t *bytes, size_t n_bytes, bool is_of_job)
{
    struct ist_liveness_datagram d;
    if (is_of_job && n_bytes == sizeof d) {
        memcpy(&d, bytes, sizeof d);
        ist_liveness_sign(&mine, mine.key, &d);
        memcpy(bytes, &d, sizeof d);
    }
    if (!ist_liveness_datagram_read(&mine, bytes, n_bytes, &d)) return;
    if (strlen(d.from_host) >= sizeof d.from_host || ist_liveness_is_signed(&d, mine.key) != is_of_job) {
        if (is_of_job) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ist_liveness_address address;
    if (size == 0) return 0;
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    if ((data[0] & 1) != 0)
        take_datagram(bytes, size - 1, (data[0] & 2) != 0);
    else if (ist_liveness_address_read(bytes, size - 1, &address) && address.n_addresses > IST_LIVENESS_MAX_ADDRESSES)
        abort();
    free(bytes);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    struct ist_liveness_datagram d = {.kind = IST_LIVENESS_REQUEST,
                                      .to_token = mine.token,
                                      .from_pe = 1,
                                      .pace = 1,
                                      .from_host = "there",
                                      .number = 1};
    if (i > 2) return 0;
    out[0] = (uint8_t)(i == 0 ? 0 : 2 * i - 1);
    ist_liveness_sign(&mine, mine.key, &d);
    return 1 + (i == 0 ? fuzz_put(out + 1, room - 1, &mine, sizeof mine) : fuzz_put(out + 1, room - 1, &d, sizeof d));
}
