/* plugins/nvlink/cuda_adapters.c: see nvlink.h. Memory of a GPU that network adapters register and write: GPUDirect
 * RDMA. An adapter's writes into the GPU and its writes into host memory take different routes. When a processor has
 * seen a flag in host memory, the data may not be visible to the GPU yet, unless the driver reports that it orders such
 * writes, or flushes them. */
#include "plugins/nvlink/nvlink.h"

/* Returns the attribute, or 0 if it cannot be read. */
static int attribute_of(const struct p2p_gpu *gpu, CUdevice_attribute attribute)
{
    int value = 0;
    return nvl_cuda.cuDeviceGetAttribute(&value, attribute, gpu->device) == CUDA_SUCCESS ? value : 0;
}

/* The GPUs to which adapters' writes must be visible when a wait of this PE ends: its own, and others that can access
 * it. */
static CUflushGPUDirectRDMAWritesScope scope_of(const struct p2p_gpu *gpu)
{
    int n = 0;
    if (nvl_cuda.cuDeviceGetCount(&n) != CUDA_SUCCESS) n = 0;
    for (int i = 0; i < n; i++) {
        CUdevice device;
        int can = 0;
        if (nvl_cuda.cuDeviceGet(&device, i) != CUDA_SUCCESS || device == gpu->device) continue;
        if (nvl_cuda.cuDeviceCanAccessPeer(&can, device, gpu->device) == CUDA_SUCCESS && can != 0)
            return CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES;
    }
    return CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER;
}

/* Adapters register memory of cuMemCreate only if it was made for that, and a device that does not support the flag
 * refuses it. Not every device and not every virtual machine has GPUDirect RDMA: without it the memory serves all other
 * uses. So it does where writes would need a flush that this process cannot request. */
void nvl_look_at_adapters(struct p2p_gpu *gpu)
{
    const struct isthmus_services *s = gpu->services;
    CUflushGPUDirectRDMAWritesScope scope = scope_of(gpu);
    gpu->takes_adapters = attribute_of(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0;
    if (attribute_of(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >= (int)scope) return;
    int options = attribute_of(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
    if ((options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0) {
        gpu->flush_scope = scope;
        return;
    }
    if (gpu->takes_adapters)
        s->log(s->core, ISTHMUS_LOG_INFO,
               "GPU %d orders no writes of network adapters, and the driver flushes none for a processor: "
               "memory is not made for adapters",
               gpu->device);
    gpu->takes_adapters = false;
}

uint32_t nvl_offers(struct p2p_gpu *gpu)
{
    return P2P_GROWING | P2P_PLACES | P2P_STREAMS | (gpu->flush_scope != 0 ? P2P_FLUSHES : 0);
}

isthmus_status nvl_flush_writes(struct p2p_gpu *gpu)
{
    CUcontext ours;
    CUresult result = nvl_cuda.cuCtxPushCurrent_v2(gpu->context);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, gpu->flush_scope);
    (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
    return nvl_check(gpu, result, "cuFlushGPUDirectRDMAWrites");
}
