/* plugins/xgmi/xgmi.c: the transport between AMD GPUs of one host, by HIP. The exported table: every slot is the
 * engine's (plugins/common/p2p.h) on the driver in hip_driver.c. Never run on hardware: docs/transports/xgmi.md. */
#include "plugins/xgmi/xgmi.h"

static isthmus_status xg_transport_open(const struct isthmus_services *services, isthmus_tr **out)
{
    return p2p_open(&xg_driver, services, out);
}

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof(struct isthmus_transport),
    .abi_minor = ISTHMUS_ABI_MINOR,
    .name = "xgmi",
    .version = PLUGIN_VERSION,
    .scopes = ISTHMUS_SCOPE_DEVICE,
    .probe = xg_probe,
    .open = xg_transport_open,
    .close = p2p_close,
    .describe = p2p_describe,
    .card = p2p_card,
    .reach = p2p_reach,
    .path_open = p2p_path_open,
    .path_close = p2p_path_close,
    .mem_alloc = p2p_mem_alloc,
    .mem_free = p2p_mem_free,
    .expose = p2p_expose,
    .attach = p2p_attach,
    .detach = p2p_detach,
    .register_local = p2p_register_local,
    .unregister_local = p2p_unregister_local,
    .channel_open = p2p_channel_open,
    .channel_close = p2p_channel_close,
    .progress = p2p_progress,
    .arm = p2p_arm,
    .counters = p2p_counters,
    .extension = p2p_extension,
};
