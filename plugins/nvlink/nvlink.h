/* plugins/nvlink/nvlink.h: the parts of this plugin, for its own files. The engine above them is
 * plugins/common/p2p.h. */
#ifndef ISTHMUS_NVLINK_H
#define ISTHMUS_NVLINK_H

#include "plugins/common/p2p.h"
#include "plugins/nvlink/cuda_api.h"

/* cuda_load.c: the driver's library, loaded at run time: the same build runs where there is none. Stays loaded from
 * nvl_load() on, as the driver wants it. */
extern struct cuda_api nvl_cuda;
isthmus_status nvl_probe(const struct isthmus_services *services);
isthmus_status nvl_load(const struct isthmus_services *services);

/* A result in words for fail(), and its status: "cuMemCreate of 2 MiB: CUDA_ERROR_OUT_OF_MEMORY". */
const char *nvl_result_name(CUresult result);
isthmus_status nvl_status(CUresult result);

struct p2p_gpu {
    const struct isthmus_services *services;
    CUdevice device;
    CUcontext context;                     /* the device's primary one */
    CUmemAllocationHandleType handle_type; /* by which own pieces are shared */
    size_t granule;
    bool takes_adapters; /* its memory can be made such that network adapters register it: GPUDirect RDMA */
    CUflushGPUDirectRDMAWritesScope flush_scope; /* of a flush of their writes; 0: none is needed */
    CUmodule module, coll_module;                /* coll_module: NULL until collectives are prepared */
    CUfunction amo, coll;
};

/* cuda_driver.c */
extern const struct p2p_driver nvl_driver;
isthmus_status nvl_check(const struct p2p_gpu *gpu, CUresult result, const char *what); /* the common end of a call */

isthmus_status nvl_clear(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes); /* and waits for it */

/* cuda_kernels.c: memory for kernels that make calls, and the variables of their modules. See p2p.h. */
isthmus_status nvl_host_view(struct p2p_gpu *gpu, void *addr, void **view);
isthmus_status nvl_device_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr);
void nvl_device_free(struct p2p_gpu *gpu, void *addr);
isthmus_status nvl_find(struct p2p_gpu *gpu, uint32_t code, void *handle, const char *name, void **addr,
                        uint64_t *length_bytes);
isthmus_status nvl_call(struct p2p_gpu *gpu, void (*function)(void *), void *argument);

/* cuda_collectives.c: see p2p.h. */
isthmus_status nvl_collective_prepare(struct p2p_gpu *gpu);
isthmus_status nvl_collective_launch(struct p2p_gpu *gpu, void *stream, uint32_t blocks, uint32_t threads,
                                     const struct coll_args *args);

/* cuda_adapters.c: what network adapters may do with memory of this device, and what has to be done for it. See
 * p2p.h. */
void nvl_look_at_adapters(struct p2p_gpu *gpu);
uint32_t nvl_offers(struct p2p_gpu *gpu);
isthmus_status nvl_flush_writes(struct p2p_gpu *gpu);

/* cuda_share.c: see p2p.h. Sets gpu->handle_type from the variable CUMEM_HANDLE_TYPE. */
isthmus_status nvl_choose_handle_type(struct p2p_gpu *gpu);
isthmus_status nvl_share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out);
bool nvl_is_extended(const void *addr); /* returns true if it is memory of the host from cuMemCreate */
isthmus_status nvl_adopt(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out);
void nvl_release(struct p2p_gpu *gpu, struct p2p_memory *memory);

#endif
