/* tests/abi/plugins/hook.c: a real plugin under another name: HOOK_NAME, HOOK_VERSION, HOOK_LATENCY_NS.
 * With HOOK_NEWER the table is that of a later minor version: two slots more than this core knows. */
#define isthmus_transport_v1 declared_by_the_header
#include <isthmus/transport.h>
#undef isthmus_transport_v1

#include "base.h"

#ifndef HOOK_NEWER
#define HOOK_NEWER 0
#endif

struct newer_transport {
    struct isthmus_transport now;
    isthmus_status (*invented_later)(isthmus_tr *);
    uint64_t also_later;
};

extern ISTHMUS_PLUGIN_EXPORT struct newer_transport isthmus_transport_v1;
struct newer_transport isthmus_transport_v1;

static const struct isthmus_transport *base;

static isthmus_status reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    isthmus_status status = base->reach(tr, peer, out);
    if (status == ISTHMUS_OK) out->latency_ns = HOOK_LATENCY_NS;
    return status;
}

static isthmus_status invented_later(isthmus_tr *tr)
{
    (void)tr;
    abort(); /* the core does not know it */
}

__attribute__((constructor)) static void make_table(void)
{
    base = base_load();
    isthmus_transport_v1 = (struct newer_transport){.now = *base, .invented_later = invented_later, .also_later = 7};
    isthmus_transport_v1.now.name = HOOK_NAME;
    isthmus_transport_v1.now.version = HOOK_VERSION;
    isthmus_transport_v1.now.reach = reach;
    if (!HOOK_NEWER) return;
    isthmus_transport_v1.now.struct_size = sizeof isthmus_transport_v1;
    isthmus_transport_v1.now.abi_minor = ISTHMUS_ABI_MINOR + 1;
}
