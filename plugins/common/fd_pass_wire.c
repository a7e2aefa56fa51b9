/* plugins/common/fd_pass_wire.c: see fd_pass_wire.h. */
#include "plugins/common/fd_pass_wire.h"

#include <string.h>

enum { MAGIC = 0x49734664, VERSION = 2 };

/* Compares in constant time, which does not reveal where the two differ. */
static bool is_same_secret(const uint8_t a[16], const uint8_t b[16])
{
    uint8_t difference = 0;
    for (int i = 0; i < 16; i++) difference |= a[i] ^ b[i];
    return difference == 0;
}

void fd_pass_request_write(const struct fd_pass_address *address, struct fd_pass_request *out)
{
    *out = (struct fd_pass_request){.magic = MAGIC, .version = VERSION};
    memcpy(out->ticket, address->ticket, sizeof out->ticket);
}

bool fd_pass_request_check(const struct fd_pass_address *address, const void *bytes, size_t n_bytes)
{
    struct fd_pass_request request;
    if (n_bytes != sizeof request) return false;
    memcpy(&request, bytes, sizeof request);
    return request.magic == MAGIC && request.version == VERSION && is_same_secret(request.ticket, address->ticket);
}

void fd_pass_reply_write(const struct fd_pass_address *address, struct fd_pass_reply *out)
{
    *out = (struct fd_pass_reply){.magic = MAGIC, .version = VERSION};
    memcpy(out->countersign, address->countersign, sizeof out->countersign);
}

isthmus_status fd_pass_reply_check(const struct fd_pass_address *address, const void *bytes, size_t n_bytes,
                                   uint32_t n_fds, struct fd_pass_reply *out)
{
    struct fd_pass_reply reply;
    if (n_bytes != sizeof reply) return ISTHMUS_ERR_VERSION;
    memcpy(&reply, bytes, sizeof reply);
    if (reply.magic != MAGIC || reply.version != VERSION) return ISTHMUS_ERR_VERSION;
    if (!is_same_secret(reply.countersign, address->countersign)) return ISTHMUS_ERR_PERMISSION;
    if (reply.n != n_fds || n_fds > FD_PASS_MAX_OFFERS) return ISTHMUS_ERR_VERSION;
    *out = reply;
    return ISTHMUS_OK;
}
