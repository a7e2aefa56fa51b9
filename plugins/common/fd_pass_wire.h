/* plugins/common/fd_pass_wire.h: the two packets of fd_pass, and the checks before any field in them is trusted.
 * Functions of bytes only; the sockets are fd_pass.c and fd_pass_client.c. */
#ifndef ISTHMUS_FD_PASS_WIRE_H
#define ISTHMUS_FD_PASS_WIRE_H

#include "plugins/common/fd_pass.h"

#include <stdbool.h>

struct fd_pass_request {
    uint32_t magic, version;
    uint8_t ticket[16];
};

struct fd_pass_reply {
    uint32_t magic, version;
    uint8_t countersign[16];
    uint32_t n, ids[FD_PASS_MAX_OFFERS];
};

void fd_pass_request_write(const struct fd_pass_address *address, struct fd_pass_request *out);
bool fd_pass_request_check(const struct fd_pass_address *address, const void *bytes, size_t n_bytes);

/* Without its list. */
void fd_pass_reply_write(const struct fd_pass_address *address, struct fd_pass_reply *out);

/* n_fds: descriptors received with it. VERSION: no packet of this protocol. PERMISSION: the sender does not know the
 * countersign. */
isthmus_status fd_pass_reply_check(const struct fd_pass_address *address, const void *bytes, size_t n_bytes,
                                   uint32_t n_fds, struct fd_pass_reply *out);

#endif
