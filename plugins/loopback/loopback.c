/* plugins/loopback/loopback.c: the transport to oneself and to PEs on the same host, by load and store on mapped
 * memory. The exported table; reads as a table of contents. Memory is in lb_mem.c, data in lb_data.c. */
#include "plugins/loopback/loopback.h"

#include <stdlib.h>
#include <string.h>

static isthmus_status lb_open(const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_tr *tr = calloc(1, sizeof *tr);
    if (tr == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    tr->services = services;
    const char *timeout = services->config(services->core, "TIMEOUT");
    const char *sparse = services->config(services->core, "SPARSE");
    const char *limit = services->config(services->core, "EXPOSE_LIMIT");
    tr->is_sparse = sparse == NULL || strcmp(sparse, "0") != 0;
    tr->expose_limit_bytes = limit != NULL ? strtoull(limit, NULL, 10) : UINT64_MAX;
    tr->timeout_s = timeout != NULL && atoi(timeout) > 0 ? (unsigned)atoi(timeout) : LB_DEFAULT_TIMEOUT_S;
    isthmus_status status = fd_pass_server_open(services, &tr->server);
    if (status != ISTHMUS_OK) {
        free(tr);
        return status;
    }
    *out = tr;
    return ISTHMUS_OK;
}

static void lb_close(isthmus_tr *tr)
{
    fd_pass_server_close(tr->server);
    free(tr);
}

static isthmus_status lb_describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    const struct isthmus_traits traits = {
        .kinds_expose = 1u << ISTHMUS_MEM_HOST,
        .kinds_attach = 1u << ISTHMUS_MEM_HOST,
        .kinds_local = 1u << ISTHMUS_MEM_HOST,
        .card_max_bytes = sizeof(struct fd_pass_address),
        .key_max_bytes = 32,
        .shared_channels = 1,
        .traits = tr->is_sparse ? ISTHMUS_TRAIT_SPARSE : 0,
    };
    isthmus_write_out(out, &traits, sizeof traits);
    return ISTHMUS_OK;
}

static isthmus_status lb_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    size_t room = *length_bytes;
    *length_bytes = sizeof(struct fd_pass_address);
    if (room < sizeof(struct fd_pass_address))
        return tr->services->fail(tr->services->core, ISTHMUS_ERR_LIMIT,
                                  "a card takes %zu bytes, but there is room for %zu", *length_bytes, room);
    memcpy(buf, fd_pass_server_address(tr->server), sizeof(struct fd_pass_address));
    return ISTHMUS_OK;
}

static isthmus_status lb_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    const struct isthmus_services *s = tr->services;
    if (peer->card_bytes != sizeof(struct fd_pass_address))
        return s->fail(s->core, ISTHMUS_ERR_VERSION,
                       "the peer's card has %zu bytes instead of %zu; use one version of this plugin on all PEs",
                       peer->card_bytes, sizeof(struct fd_pass_address));
    struct fd_pass_address address;
    memcpy(&address, peer->card, sizeof address);
    isthmus_status status = fd_pass_reach(s, peer, &address);
    if (status != ISTHMUS_OK) return status;
    const struct isthmus_reach reach = {
        .latency_ns = peer->pe == s->my_pe ? 5 : 50,
        .bandwidth_bytes_per_s = 10000000000u,
        .caps = ISTHMUS_CAP_ALIAS | ISTHMUS_CAP_ORDERED | ISTHMUS_CAP_NO_TARGET,
        .atomics_domain = ISTHMUS_DOMAIN_CPU,
        .visibility = ISTHMUS_VISIBLE_EVERYONE,
    };
    isthmus_write_out(out, &reach, sizeof reach);
    return ISTHMUS_OK;
}

static int32_t lb_progress(isthmus_tr *tr) { return fd_pass_serve(tr->server); }

static isthmus_status lb_arm(isthmus_tr *tr, int32_t *event_fd)
{
    *event_fd = fd_pass_server_event_fd(tr->server);
    return ISTHMUS_OK;
}

static isthmus_status lb_counters(isthmus_tr *tr, uint64_t *values, const char *const **names, size_t *n)
{
    static const char *const all[] = {"bytes_mapped"};
    if (*n < 1) {
        *n = 1;
        return tr->services->fail(tr->services->core, ISTHMUS_ERR_LIMIT, "there is 1 counter, but no room for it");
    }
    values[0] = tr->bytes_mapped;
    *names = all;
    *n = 1;
    return ISTHMUS_OK;
}

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof(struct isthmus_transport),
    .abi_minor = ISTHMUS_ABI_MINOR,
    .name = "loopback",
    .version = PLUGIN_VERSION,
    .scopes = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST,
    .open = lb_open,
    .close = lb_close,
    .describe = lb_describe,
    .card = lb_card,
    .reach = lb_reach,
    .path_open = lb_path_open,
    .path_close = lb_path_close,
    .expose = lb_expose,
    .unregister_local = lb_unregister,
    .attach = lb_attach,
    .detach = lb_detach,
    .channel_open = lb_channel_open,
    .channel_close = lb_channel_close,
    .progress = lb_progress,
    .arm = lb_arm,
    .counters = lb_counters,
};
