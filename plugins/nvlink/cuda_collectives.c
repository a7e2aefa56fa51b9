/* plugins/nvlink/cuda_collectives.c: see nvlink.h. The kernel of collectives (common/kernels), as text that the driver
 * compiles for the device: once for a device and version of the driver, which keeps the result. */
#include "plugins/common/kernels/coll_args.h"
#include "plugins/nvlink/nvlink.h"

static const char coll_ptx[] =
#include "coll_ptx.inc"
    ;

isthmus_status nvl_collective_prepare(struct p2p_gpu *gpu)
{
    const struct isthmus_services *s = gpu->services;
    CUcontext ours;
    if (sizeof coll_ptx == 1)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "this build has no kernel for collectives; install clang, and build again");
    CUresult result = nvl_cuda.cuCtxPushCurrent_v2(gpu->context);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuModuleLoadData(&gpu->coll_module, coll_ptx);
    if (result == CUDA_SUCCESS) result = nvl_cuda.cuModuleGetFunction(&gpu->coll, gpu->coll_module, "isthmus_coll");
    (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
    return nvl_check(gpu, result, "loading the kernel of collectives");
}

isthmus_status nvl_collective_launch(struct p2p_gpu *gpu, void *stream, uint32_t blocks, uint32_t threads,
                                     const struct coll_args *args)
{
    struct coll_args copy = *args;
    void *parameters[] = {&copy};
    CUcontext ours;
    CUresult result = nvl_cuda.cuCtxPushCurrent_v2(gpu->context);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuLaunchKernel(gpu->coll, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
    (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
    return nvl_check(gpu, result, "cuLaunchKernel of a collective");
}
