/* plugins/xgmi/xgmi.h: the parts of this plugin, for its own files. The engine above them is plugins/common/p2p.h. */
#ifndef ISTHMUS_XGMI_H
#define ISTHMUS_XGMI_H

#include "plugins/common/p2p.h"

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ /* NOLINT(bugprone-reserved-identifier): HIP's header asks for it */
#endif
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

/* hip_load.c: HIP's library, loaded at run time: the same build runs where there is none. Stays loaded from xg_load() on. */
extern struct hip_api {
#define HIP(name) __typeof__(name) *(name);
#include "plugins/xgmi/hip.def"
} xg_hip;

/* HIP's compiler: in the library itself, in a second one, or not here: then has_rtc is false, and there are no atomics. */
extern struct hiprtc_api {
#define HIPRTC(name) __typeof__(name) *(name);
#include "plugins/xgmi/hiprtc.def"
} xg_rtc;
extern bool xg_has_rtc;

isthmus_status xg_probe(const struct isthmus_services *services);
isthmus_status xg_load(const struct isthmus_services *services);
const char *xg_result_name(hipError_t result);
isthmus_status xg_status(hipError_t result);

/* hip_amo.c: the kernel of atomics, compiled for the device that is current. */
struct xg_kernel {
    hipModule_t module;
    hipFunction_t amo;
};
isthmus_status xg_amo_load(const struct isthmus_services *services, struct xg_kernel *kernel);
void xg_amo_unload(struct xg_kernel *kernel); /* also of one that was not loaded */
hipError_t xg_amo_launch(const struct xg_kernel *kernel, void *stream, const struct p2p_amo *amo);

/* hip_driver.c */
extern const struct p2p_driver xg_driver;

#endif
