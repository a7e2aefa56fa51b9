/* plugins/xgmi/xgmi.h: the parts of this plugin, for its own files. The engine above them is plugins/common/p2p.h. */
#ifndef ISTHMUS_XGMI_H
#define ISTHMUS_XGMI_H

#include "plugins/common/p2p.h"

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ /* NOLINT(bugprone-reserved-identifier): HIP's header asks for it */
#endif
#include <hip/hip_runtime_api.h>

/* hip_load.c: HIP's library, loaded at run time: the same build runs where there is none. Stays loaded from xg_load() on. */
extern struct hip_api {
#define HIP(name) __typeof__(name) *(name);
#include "plugins/xgmi/hip.def"
} xg_hip;
isthmus_status xg_probe(const struct isthmus_services *services);
isthmus_status xg_load(const struct isthmus_services *services);
const char *xg_result_name(hipError_t result);
isthmus_status xg_status(hipError_t result);

/* hip_driver.c */
extern const struct p2p_driver xg_driver;

#endif
