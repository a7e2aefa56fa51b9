/* plugins/ib/ib_gid.c: under which of a RoCE port's addresses this PE is on the network. See ib_hca.h. */
#include "plugins/ib/ib_hca.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct ib_gid *ib_gid_best(const struct ib_port *port)
{
    const struct ib_gid *best = NULL;
    for (uint32_t i = 0; i < port->n_gids; i++) {
        const struct ib_gid *gid = &port->gids[i];
        bool is_better = best == NULL || gid->type > best->type ||
                         (gid->type == best->type && gid->is_ipv4 > best->is_ipv4);
        if (is_better) best = gid;
    }
    return best;
}

struct wish {
    bool is_ipv4;
    enum ib_gid_type type;
    uint8_t prefix[16];
    unsigned prefix_bits;
};

static isthmus_status read_family(const struct isthmus_services *s, const char *text, struct wish *out)
{
    out->is_ipv4 = text == NULL || strcmp(text, "AF_INET") == 0;
    if (out->is_ipv4 || strcmp(text, "AF_INET6") == 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_INVALID, "ISTHMUS_IB_ADDR_FAMILY is '%s'; valid: AF_INET, AF_INET6", text);
}

static isthmus_status read_version(const struct isthmus_services *s, const char *text, struct wish *out)
{
    out->type = text != NULL && strcmp(text, "1") == 0 ? IB_GID_ROCE_1 : IB_GID_ROCE_2;
    if (text == NULL || strcmp(text, "1") == 0 || strcmp(text, "2") == 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_INVALID, "ISTHMUS_IB_ROCE_VERSION_NUM is '%s'; valid: 1, 2", text);
}

/* An IPv4 range is one of mapped addresses, 96 bits further on. */
static isthmus_status read_range(const struct isthmus_services *s, const char *text, struct wish *out)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char address[64] = "", rest;
    unsigned bits = 0;
    if (text == NULL || strcmp(text, "::/0") == 0) return ISTHMUS_OK;
    bool is_range = sscanf(text, "%63[^/]/%3u%c", address, &bits, &rest) == 2;
    if (is_range && bits <= 32 && inet_pton(AF_INET, address, out->prefix + 12) == 1) {
        memcpy(out->prefix, mapped, sizeof mapped);
        out->prefix_bits = bits + 96;
        return ISTHMUS_OK;
    }
    out->prefix_bits = bits;
    if (is_range && bits <= 128 && inet_pton(AF_INET6, address, out->prefix) == 1) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_INVALID,
                   "ISTHMUS_IB_ADDR_RANGE is '%s'; valid: an address and its length, such as 10.1.0.0/16 or fd00::/8",
                   text);
}

static bool fits(const struct ib_gid *gid, const struct wish *wish)
{
    if (gid->type != wish->type || gid->is_ipv4 != wish->is_ipv4) return false;
    for (unsigned bit = 0; bit < wish->prefix_bits; bit++)
        if (((gid->raw[bit / 8] ^ wish->prefix[bit / 8]) & (0x80u >> bit % 8)) != 0) return false;
    return true;
}

isthmus_status ib_gid_choose(const struct isthmus_services *services, const struct ib_port *port, int32_t *index)
{
    const char *family = services->config(services->core, "ADDR_FAMILY");
    const char *range = services->config(services->core, "ADDR_RANGE");
    const char *version = services->config(services->core, "ROCE_VERSION_NUM");
    struct wish wish = {0};
    *index = -1;
    if (family == NULL && range == NULL && version == NULL) return ISTHMUS_OK;
    isthmus_status status = read_family(services, family, &wish);
    if (status == ISTHMUS_OK) status = read_version(services, version, &wish);
    if (status == ISTHMUS_OK) status = read_range(services, range, &wish);
    if (status != ISTHMUS_OK || port == NULL || port->link != IB_LINK_ETHERNET) return status;
    for (uint32_t i = 0; i < port->n_gids && *index < 0; i++)
        if (fits(&port->gids[i], &wish)) *index = (int32_t)port->gids[i].index;
    if (*index >= 0) return ISTHMUS_OK;
    return services->fail(
        services->core, ISTHMUS_ERR_NO_DEVICE,
        "%s has no address that fits ISTHMUS_IB_ADDR_FAMILY, _ADDR_RANGE and _ROCE_VERSION_NUM; isthmus-info lists "
        "its GIDs",
        port->name);
}
