"""Names under which programs for NVSHMEM include parts of its headers; here each stands for nvshmem.h. Those of its
internal headers are not there."""

NAMES = (
    "bootstrap_device_host/nvshmem_uniqueid.h",
    "device/nvshmem_coll_defines.cuh",
    "device/nvshmem_defines.h",
    "device/nvshmem_device_macros.h",
    "device/nvshmemx_coll_defines.cuh",
    "device/nvshmemx_collective_launch_apis.h",
    "device/nvshmemx_defines.h",
    "device/tile/nvshmemx_tile_api.hpp",
    "device/tile/nvshmemx_tile_api_defines.cuh",
    "device_host/nvshmem_common.cuh",
    "device_host/nvshmem_tensor.h",
    "device_host/nvshmem_types.h",
    "device_host_transport/nvshmem_constants.h",
    "host/nvshmem_api.h",
    "host/nvshmem_coll_api.h",
    "host/nvshmem_macros.h",
    "host/nvshmemx_api.h",
    "host/nvshmemx_coll_api.h",
    "non_abi/nvshmem_build_options.h",
    "non_abi/nvshmem_version.h",
    "non_abi/nvshmemx_error.h",
)
# Names without a prefix, which only programs get that include such a header by its own name.
MORE = {
    "bootstrap_device_host/nvshmem_uniqueid.h": """
#ifndef UNIQUEID_PADDING
#define UNIQUEID_PADDING 124 /* bytes of nvshmemx_uniqueid_t.internal */
#define UNIQUEID_ARGS_INVALID (-1)
#endif
""",
}


def headers():
    """(path below include/, text) of each."""
    return [(name, f"/* {name}: another name of nvshmem.h. */\n#include <nvshmem.h>\n{MORE.get(name, '')}")
            for name in NAMES]
