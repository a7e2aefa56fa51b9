/* tests/abi/plugins/unusable.c: plugins that must not be used, one for each value of UNUSABLE:
 *   LACKS_ATTACH   a table without a required slot
 *   UNFIT          a valid table whose probe reports that the plugin cannot run here
 *   BAD_NAME       a name that ISTHMUS_TRANSPORTS could not hold
 *   CANNOT_OPEN    its probe succeeds, its open fails */
#include <isthmus/transport.h>

enum { LACKS_ATTACH, UNFIT, BAD_NAME, CANNOT_OPEN };

static isthmus_status probe(const struct isthmus_services *s)
{
    if (UNUSABLE != UNFIT) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "there is no flux capacitor in this machine");
}

static isthmus_status open_it(const struct isthmus_services *s, isthmus_tr **out)
{
    (void)out;
    return s->fail(s->core, ISTHMUS_ERR_IO, "the flux capacitor does not answer");
}

static void close_it(isthmus_tr *tr) { (void)tr; }

static isthmus_status describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    (void)tr, (void)out;
    return ISTHMUS_ERR_IO;
}

static isthmus_status reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)tr, (void)peer, (void)out;
    return ISTHMUS_ERR_UNREACHABLE;
}

static isthmus_status path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    (void)tr, (void)peer, (void)out;
    return ISTHMUS_ERR_UNREACHABLE;
}

static void path_close(isthmus_path *path) { (void)path; }

static isthmus_status expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                             isthmus_lmem **out)
{
    (void)tr, (void)mem, (void)key, (void)key_bytes, (void)out;
    return ISTHMUS_ERR_UNSUPPORTED;
}

static isthmus_status attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    (void)path, (void)key, (void)key_bytes, (void)out, (void)alias;
    return ISTHMUS_ERR_UNREACHABLE;
}

static void detach(isthmus_rmem *rmem) { (void)rmem; }

static isthmus_status channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                   struct isthmus_data_ops *ops)
{
    (void)tr, (void)thread_mode, (void)ctx_options, (void)out, (void)ops;
    return ISTHMUS_ERR_UNSUPPORTED;
}

static void channel_close(isthmus_chan *chan) { (void)chan; }

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof isthmus_transport_v1,
    .name = UNUSABLE == BAD_NAME      ? "No Good"
            : UNUSABLE == UNFIT       ? "unfit"
            : UNUSABLE == CANNOT_OPEN ? "closed"
                                      : "lacking",
    .version = "1",
    .scopes = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST,
    .probe = probe,
    .open = open_it,
    .close = close_it,
    .describe = describe,
    .reach = reach,
    .path_open = path_open,
    .path_close = path_close,
    .expose = expose,
    .attach = UNUSABLE == LACKS_ATTACH ? NULL : attach,
    .detach = detach,
    .channel_open = channel_open,
    .channel_close = channel_close,
};
