/* core/life/liveness_wire.c: see liveness_wire.h. */
#include "core/life/liveness_wire.h"

#include "core/topo/interfaces.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAGIC = 0x49735075 };

/* ---- addresses ---- */

static struct sockaddr_in6 mapped(const struct sockaddr_in *v4)
{
    struct sockaddr_in6 out = {.sin6_family = AF_INET6, .sin6_port = v4->sin_port};
    out.sin6_addr.s6_addr[10] = out.sin6_addr.s6_addr[11] = 0xff;
    memcpy(out.sin6_addr.s6_addr + 12, &v4->sin_addr, sizeof v4->sin_addr);
    return out;
}

static struct sockaddr_in unmapped(const struct sockaddr_in6 *v6)
{
    struct sockaddr_in out = {.sin_family = AF_INET, .sin_port = v6->sin6_port};
    memcpy(&out.sin_addr, v6->sin6_addr.s6_addr + 12, sizeof out.sin_addr);
    return out;
}

/* A host whose interfaces the system does not list is reached at the addresses from which it sends. */
static isthmus_status collect_addresses(struct ist_liveness_socket *s, const char *interfaces)
{
    size_t n = 0;
    isthmus_status status = ist_interfaces_find(interfaces, s->is_v6 ? AF_UNSPEC : AF_INET, s->address.addresses,
                                                IST_LIVENESS_MAX_ADDRESSES, &n);
    s->address.n_addresses = (uint16_t)n;
    bool is_chosen = interfaces != NULL && *interfaces != '\0';
    return is_chosen && status == ISTHMUS_ERR_NO_DEVICE ? status : ISTHMUS_OK;
}

bool ist_liveness_address_read(const void *bytes, size_t n_bytes, struct ist_liveness_address *out)
{
    if (n_bytes != sizeof *out) return false;
    memcpy(out, bytes, sizeof *out);
    return out->n_addresses <= IST_LIVENESS_MAX_ADDRESSES;
}

/* ---- the socket ---- */

static bool bind_any(struct ist_liveness_socket *s)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    socklen_t length = sizeof v6;
    int off = 0;
    s->fd = socket(s->is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0) return false;
    bool is_bound = s->is_v6 ? setsockopt(s->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
                                   bind(s->fd, (struct sockaddr *)&v6, sizeof v6) == 0
                             : bind(s->fd, (struct sockaddr *)&v4, sizeof v4) == 0;
    is_bound = is_bound && getsockname(s->fd, (struct sockaddr *)&v6, &length) == 0;
    if (!is_bound) ist_liveness_socket_close(s);
    s->address.port = v6.sin6_port; /* sin_port has the same offset */
    return is_bound;
}

_Static_assert(offsetof(struct sockaddr_in6, sin6_port) == offsetof(struct sockaddr_in, sin_port),
               "one offset of ports");

isthmus_status ist_liveness_socket_open(const char *interfaces, struct ist_liveness_socket *out)
{
    struct ist_liveness_socket s = {.fd = -1, .is_v6 = true};
    bool is_open = bind_any(&s);
    if (!is_open) {
        s.is_v6 = false; /* a machine without IPv6 */
        is_open = bind_any(&s);
    }
    if (!is_open) return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot open a socket for heartbeats");
    isthmus_status status = ist_random_bytes(&s.address.token, sizeof s.address.token);
    if (status == ISTHMUS_OK) status = ist_random_bytes(s.address.key, sizeof s.address.key);
    if (status == ISTHMUS_OK) status = collect_addresses(&s, interfaces);
    if (status != ISTHMUS_OK) {
        ist_liveness_socket_close(&s);
        return status;
    }
    *out = s;
    return ISTHMUS_OK;
}

void ist_liveness_socket_close(struct ist_liveness_socket *s)
{
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

_Static_assert(offsetof(struct ist_liveness_datagram, tag) + IST_TAG_BYTES == sizeof(struct ist_liveness_datagram) &&
                   sizeof(struct ist_liveness_datagram) == 4 * 6 + 8 * 3 + IST_LIVENESS_HOST_BYTES + IST_TAG_BYTES,
               "all but the tag is tagged, and nothing lies between");

static void make_tag(const struct ist_liveness_datagram *d, const uint8_t key[IST_KEY_BYTES],
                     uint8_t out[IST_TAG_BYTES])
{
    ist_mac(key, d, offsetof(struct ist_liveness_datagram, tag), out);
}

void ist_liveness_sign(const struct ist_liveness_address *mine, const uint8_t key[IST_KEY_BYTES],
                       struct ist_liveness_datagram *d)
{
    d->magic = MAGIC;
    d->from_token = mine->token;
    make_tag(d, key, d->tag);
}

bool ist_liveness_is_signed(const struct ist_liveness_datagram *d, const uint8_t key[IST_KEY_BYTES])
{
    uint8_t tag[IST_TAG_BYTES];
    make_tag(d, key, tag);
    return ist_same_bytes(tag, d->tag, sizeof tag);
}

void ist_liveness_send(const struct ist_liveness_socket *s, const struct sockaddr_in6 *to,
                       const struct ist_liveness_datagram *d)
{
    if (s->is_v6) {
        (void)sendto(s->fd, d, sizeof *d, MSG_NOSIGNAL, (const struct sockaddr *)to, sizeof *to);
    } else if (IN6_IS_ADDR_V4MAPPED(&to->sin6_addr)) {
        struct sockaddr_in v4 = unmapped(to);
        (void)sendto(s->fd, d, sizeof *d, MSG_NOSIGNAL, (const struct sockaddr *)&v4, sizeof v4);
    }
}

bool ist_liveness_datagram_read(const struct ist_liveness_address *mine, const void *bytes, size_t n_bytes,
                                struct ist_liveness_datagram *out)
{
    if (n_bytes != sizeof *out) return false;
    memcpy(out, bytes, sizeof *out);
    bool ends = memchr(out->from_host, '\0', sizeof out->from_host) != NULL;
    return out->magic == MAGIC && out->to_token == mine->token && ends;
}

bool ist_liveness_receive(const struct ist_liveness_socket *s, struct sockaddr_in6 *from,
                          struct ist_liveness_datagram *out)
{
    for (;;) {
        struct sockaddr_in6 at;
        struct ist_liveness_datagram bytes;
        socklen_t length = sizeof at;
        ssize_t n = recvfrom(s->fd, &bytes, sizeof bytes, MSG_TRUNC, (struct sockaddr *)&at, &length);
        if (n < 0) return false;
        if (!ist_liveness_datagram_read(&s->address, &bytes, (size_t)n, out)) continue;
        *from = s->is_v6 ? at : mapped((const struct sockaddr_in *)(const void *)&at);
        return true;
    }
}
