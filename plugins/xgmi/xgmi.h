/* plugins/xgmi/xgmi.h: the parts of this plugin, for its own files. The engine above them is plugins/common/p2p.h. */
#ifndef ISTHMUS_XGMI_H
#define ISTHMUS_XGMI_H

#include "plugins/common/p2p.h"

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ /* NOLINT(bugprone-reserved-identifier): HIP's header needs it */
#endif
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <pthread.h>

/* hip_load.c: HIP's library, loaded at run time: the same build runs where there is none. Stays loaded from xg_load()
 * on. */
extern struct hip_api {
#define HIP(name) __typeof__(name) *(name);
#include "plugins/xgmi/hip.def"
} xg_hip;

/* What not every release has: NULL where it is missing. */
extern struct hip_more {
#define HIP_MORE(name) __typeof__(name) *(name);
#include "plugins/xgmi/hip_more.def"
} xg_more;

/* HIP's compiler: in the library itself, in a second one, or not here: then has_rtc is false, and there are no
 * atomics. */
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

struct p2p_gpu {
    const struct isthmus_services *services;
    int device;
    uint64_t granule;     /* of virtual memory; 0: there is none, nothing grows */
    bool has_streams;     /* of the program's own, see stream.1 */
    pthread_mutex_t lock; /* of the kernel, which is loaded when it is first needed */
    struct xg_kernel kernel;
};

/* hip_driver.c: the common end of a call, and our device current in the thread for one. What was current is to be given
 * to xg_leave(); -1: nothing is to be restored. */
isthmus_status xg_check(const struct p2p_gpu *gpu, hipError_t result, const char *what);
hipError_t xg_enter(const struct p2p_gpu *gpu, int *before);
void xg_leave(int before);
extern const struct p2p_driver xg_driver;

/* hip_mem.c: memory as HIP allocates it, at addresses of its choice, shared by a handle. */
uint64_t xg_granule(struct p2p_gpu *gpu);
isthmus_status xg_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out);
void xg_destroy(struct p2p_gpu *gpu, struct p2p_memory *memory);
isthmus_status xg_share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out);
isthmus_status xg_import(struct p2p_gpu *gpu, const struct p2p_share *share, void *addr, uint64_t length_bytes,
                         struct p2p_memory *out);
void xg_drop(struct p2p_gpu *gpu, struct p2p_memory *memory);
isthmus_status xg_host_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr);
void xg_host_free(struct p2p_gpu *gpu, void *addr);
isthmus_status xg_pin(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes);
void xg_unpin(struct p2p_gpu *gpu, void *addr);
isthmus_status xg_place(struct p2p_gpu *gpu, const void *addr, struct isthmus_mem *out);

/* Zeroed memory of any length, of which no other process gets a handle; with our device current. */
isthmus_status xg_allocate(struct p2p_gpu *gpu, uint64_t length_bytes, struct p2p_memory *out);

/* hip_kernels.c: memory for kernels that make calls, and the variables of their modules. See p2p.h. */
isthmus_status xg_host_view(struct p2p_gpu *gpu, void *addr, void **view);
isthmus_status xg_device_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr);
void xg_device_free(struct p2p_gpu *gpu, void *addr);
isthmus_status xg_find(struct p2p_gpu *gpu, uint32_t code, void *handle, const char *name, void **addr,
                       uint64_t *length_bytes);
isthmus_status xg_call(struct p2p_gpu *gpu, void (*function)(void *), void *argument);

/* hip_vmm.c: pieces of memory at addresses of our choice, shared by descriptor; memory.handle is then not 0. */
uint64_t xg_vmm_granule(const struct p2p_gpu *gpu); /* 0, after a line in the log: this HIP or device has none */
isthmus_status xg_vmm_reserve(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr);
void xg_vmm_unreserve(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes);
isthmus_status xg_vmm_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out);
void xg_vmm_destroy(struct p2p_gpu *gpu, struct p2p_memory *memory); /* an own piece, or a peer's */
isthmus_status xg_vmm_share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out);
isthmus_status xg_vmm_import(struct p2p_gpu *gpu, int fd, void *addr, uint64_t length_bytes, struct p2p_memory *out);

/* hip_stream.c: work, in the order of a stream: ours, or one of the program's. */
bool xg_streams_work(const struct p2p_gpu *gpu);
isthmus_status xg_stream_open(struct p2p_gpu *gpu, void **stream);
void xg_stream_close(struct p2p_gpu *gpu, void *stream);
isthmus_status xg_stream_wait(struct p2p_gpu *gpu, void *stream);
isthmus_status xg_copy(struct p2p_gpu *gpu, void *stream, void *dest, const void *source, size_t length_bytes);
isthmus_status xg_amo(struct p2p_gpu *gpu, void *stream, const struct p2p_amo *amo);
isthmus_status xg_wait_until(struct p2p_gpu *gpu, void *stream, const uint64_t *word, uint32_t compare, uint64_t value);
isthmus_status xg_words(struct p2p_gpu *gpu, void *stream, const struct p2p_word *list, uint32_t n);
isthmus_status xg_complete(struct p2p_gpu *gpu);
isthmus_status xg_host_function(struct p2p_gpu *gpu, void *stream, void (*function)(void *), void *argument);

#endif
