/* tests/fuzz/fd_pass.c: the two packets by which PEs of a host pass descriptors: the request, as the server sees it,
 * and the reply, as the client does. The first byte selects one, and the number of descriptors with it. */
#include "plugins/common/fd_pass_wire.h"
#include "tests/fuzz/fuzz.h"

static const struct fd_pass_address address = {.name = "name", .ticket = "ticket", .countersign = "countersign"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fd_pass_reply reply;
    if (size == 0) return 0;
    uint32_t n_fds = data[0] >> 1;
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    if ((data[0] & 1) == 0)
        (void)fd_pass_request_check(&address, bytes, size - 1);
    else if (fd_pass_reply_check(&address, bytes, size - 1, n_fds, &reply) == ISTHMUS_OK &&
             (reply.n != n_fds || reply.n > FD_PASS_MAX_OFFERS))
        abort();
    free(bytes);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    struct fd_pass_request request;
    struct fd_pass_reply reply;
    if (i > 2) return 0;
    out[0] = (uint8_t)(i == 0 ? 0 : 1 | (i * 3) << 1);
    fd_pass_request_write(&address, &request);
    fd_pass_reply_write(&address, &reply);
    reply.n = i * 3;
    return 1 + (i == 0 ? fuzz_put(out + 1, room - 1, &request, sizeof request)
                       : fuzz_put(out + 1, room - 1, &reply, sizeof reply));
}
