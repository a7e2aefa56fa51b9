/* tests/doubles/kinds/kinds.c: the exported table. See kinds.h. */
#include "tests/doubles/kinds/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) const char isthmus_double[] = "no hardware"; /* for isthmus-perf */

static uint64_t number_of(const struct isthmus_services *s, const char *key, uint64_t otherwise)
{
    const char *text = s->config(s->core, key);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static isthmus_status kinds_open(const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_tr *tr = calloc(1, sizeof *tr);
    if (tr == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    tr->services = services;
    tr->is_open = number_of(services, "OPEN", 0) != 0;
    tr->is_held = number_of(services, "HELD", 0) != 0;
    tr->granule_bytes = number_of(services, "GRANULE", (uint64_t)2 << 20);
    char of_mine[32];
    snprintf(of_mine, sizeof of_mine, "MEMORY_OF_%d", services->my_pe);
    tr->memory_bytes = number_of(services, of_mine, number_of(services, "MEMORY", UINT64_MAX));
    isthmus_status status = fd_pass_server_open(services, &tr->server);
    if (status != ISTHMUS_OK) {
        free(tr);
        return status;
    }
    *out = tr;
    return ISTHMUS_OK;
}

static void kinds_close(isthmus_tr *tr)
{
    fd_pass_server_close(tr->server);
    free(tr);
}

static isthmus_status kinds_describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    (void)tr;
    *out = (struct isthmus_traits){
        .struct_size = out->struct_size,
        .kinds_alloc = 1u << ISTHMUS_MEM_CUDA,
        .kinds_expose = 1u << ISTHMUS_MEM_CUDA,
        .kinds_attach = 1u << ISTHMUS_MEM_CUDA,
        .kinds_local = 1u << ISTHMUS_MEM_CUDA | 1u << ISTHMUS_MEM_HOST,
        .card_max_bytes = sizeof(struct fd_pass_address),
        .key_max_bytes = sizeof(struct kinds_key),
        .shared_channels = 1,
    };
    return ISTHMUS_OK;
}

static isthmus_status kinds_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    memcpy(buf, fd_pass_server_address(tr->server), sizeof(struct fd_pass_address));
    *length_bytes = sizeof(struct fd_pass_address);
    return ISTHMUS_OK;
}

static isthmus_status kinds_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    const struct isthmus_services *s = tr->services;
    if (memcmp(peer->host->bytes, s->host->bytes, sizeof s->host->bytes) != 0)
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE, "the peer runs on another host (%s)", peer->host_name);
    *out = (struct isthmus_reach){
        .struct_size = out->struct_size,
        .latency_ns = 2000,
        .bandwidth_bytes_per_s = 10000000000u,
        .caps = ISTHMUS_CAP_NO_TARGET,
        .atomics_domain = ISTHMUS_DOMAIN_GPU,
        .visibility = ISTHMUS_VISIBLE_EVERYONE,
    };
    return ISTHMUS_OK;
}

static int32_t kinds_progress(isthmus_tr *tr) { return fd_pass_serve(tr->server); }

static isthmus_status kinds_arm(isthmus_tr *tr, int32_t *event_fd)
{
    *event_fd = fd_pass_server_event_fd(tr->server);
    return ISTHMUS_OK;
}

static const void *kinds_extension(isthmus_tr *tr, const char *name)
{
    (void)tr;
    if (strcmp(name, "memory.1") == 0) return &kinds_memory;
    return strcmp(name, "growing.1") == 0 ? &kinds_growing : NULL;
}

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof(struct isthmus_transport),
    .abi_minor = ISTHMUS_ABI_MINOR,
    .name = "kinds",
    .version = "double",
    .scopes = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST,
    .open = kinds_open,
    .close = kinds_close,
    .describe = kinds_describe,
    .card = kinds_card,
    .reach = kinds_reach,
    .path_open = kinds_path_open,
    .path_close = kinds_path_close,
    .mem_alloc = kinds_mem_alloc,
    .mem_free = kinds_mem_free,
    .expose = kinds_expose,
    .register_local = kinds_register,
    .unregister_local = kinds_unregister,
    .attach = kinds_attach,
    .detach = kinds_detach,
    .channel_open = kinds_channel_open,
    .channel_close = kinds_channel_close,
    .progress = kinds_progress,
    .arm = kinds_arm,
    .extension = kinds_extension,
};
