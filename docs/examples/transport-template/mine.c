/* mine.c: a transport to fill in: the required slots of isthmus/transport.h, in the header's order, and nothing behind
 * them. The optional ones are absent, so the core emulates them. */
#include <isthmus/transport.h>

#include <stdlib.h>

/* The objects of this transport; the core keeps pointers to them. */
struct isthmus_tr {
    const struct isthmus_services *services;
};
struct isthmus_path {
    isthmus_tr *tr;
    int32_t pe;
};

static isthmus_status not_written(const isthmus_tr *tr, const char *slot)
{
    return tr->services->fail(tr->services->core, ISTHMUS_ERR_UNSUPPORTED, "%s is not written yet", slot);
}

/* ---- life ---- */

static isthmus_status mine_open(const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_tr *tr = calloc(1, sizeof *tr);
    if (tr == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    tr->services = services;
    *out = tr;
    return ISTHMUS_OK;
}

static void mine_close(isthmus_tr *tr) { free(tr); }

static isthmus_status mine_describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    (void)tr;
    const struct isthmus_traits traits = {
        .kinds_expose = 1u << ISTHMUS_MEM_HOST,
        .kinds_attach = 1u << ISTHMUS_MEM_HOST,
        .kinds_local = 1u << ISTHMUS_MEM_HOST,
        .key_max_bytes = 64,
    };
    isthmus_write_out(out, &traits, sizeof traits);
    return ISTHMUS_OK;
}

/* ---- peers ---- */

/* With an address to publish, the slot `card` comes first, and this one checks the peer's. */
static isthmus_status mine_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)out;
    return tr->services->fail(tr->services->core, ISTHMUS_ERR_UNREACHABLE, "the path to PE %d is not written yet",
                              peer->pe);
}

static isthmus_status mine_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    isthmus_path *path = calloc(1, sizeof *path);
    if (path == NULL)
        return tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d",
                                  peer->pe);
    *path = (isthmus_path){.tr = tr, .pe = peer->pe};
    *out = path;
    return ISTHMUS_OK;
}

static void mine_path_close(isthmus_path *path) { free(path); }

/* ---- memory ---- */

static isthmus_status mine_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                                  isthmus_lmem **out)
{
    (void)mem, (void)key, (void)key_bytes, (void)out;
    return not_written(tr, "expose");
}

static isthmus_status mine_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out,
                                  void **alias)
{
    (void)key, (void)key_bytes, (void)out, (void)alias;
    return not_written(path->tr, "attach");
}

static void mine_detach(isthmus_rmem *rmem) { (void)rmem; }

static void mine_unregister_local(isthmus_lmem *lmem) { (void)lmem; } /* of expose, too */

/* ---- channels: put and get are required in `ops`, and remote_commit unless puts are visible at once ---- */

static isthmus_status mine_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                        struct isthmus_data_ops *ops)
{
    (void)thread_mode, (void)ctx_options, (void)out, (void)ops;
    return not_written(tr, "channel_open");
}

static void mine_channel_close(isthmus_chan *chan) { (void)chan; }

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof(struct isthmus_transport),
    .abi_minor = ISTHMUS_ABI_MINOR,
    .name = "mine",
    .version = MINE_VERSION,
    .scopes = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST | ISTHMUS_SCOPE_NETWORK,
    .open = mine_open,
    .close = mine_close,
    .describe = mine_describe,
    .reach = mine_reach,
    .path_open = mine_path_open,
    .path_close = mine_path_close,
    .expose = mine_expose,
    .attach = mine_attach,
    .detach = mine_detach,
    .unregister_local = mine_unregister_local,
    .channel_open = mine_channel_open,
    .channel_close = mine_channel_close,
};
