/* isthmus/cuda_launch.h: nvshmemx_collective_launch and its query, which nvshmemx.h describes. In a header because they
 * are calls of the program's own CUDA runtime: the library needs none. nvshmemx.h includes it.
 *
 * Atomic operations of other hosts on memory of a GPU are executed by that GPU, in a kernel of one thread. Where the
 * program's blocks leave no room for it and wait for what it does, both wait for ever. */
#ifndef ISTHMUS_CUDA_LAUNCH_H
#define ISTHMUS_CUDA_LAUNCH_H

#include <isthmus/device_state.h>

#if defined(__cplusplus) && (defined(__CUDACC__) || defined(__CUDA_RUNTIME_H__))

#include <stdio.h>

/* A kernel on the current device: how many blocks run at once, and how many leave room for that small one. */
struct isthmus_cuda_room {
    long long all, most;
};

/* What the device has for the blocks on one multiprocessor. */
struct isthmus_cuda_multiprocessor {
    int threads, registers, blocks, shared_bytes, reserved_bytes;
};

static inline int isthmus_cuda_attribute(enum cudaDeviceAttr attribute, int device)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

/* Whether a block of one warp fits beside n of these. Its registers and its warp come from one of the four parts of a
 * multiprocessor, the others' blocks may be spread over them unevenly: room for a warp in each of them is enough. */
static inline bool isthmus_cuda_leaves_room(const struct isthmus_cuda_multiprocessor *of,
                                            const struct cudaFuncAttributes *kernel, long long n, long long threads,
                                            long long shared_bytes)
{
    enum { WARP = 32, PARTS = 4, SMALL_REGISTERS = 64, REGISTER_GRANULE = 256 };
    long long warps = (threads + WARP - 1) / WARP, warp_registers = (long long)kernel->numRegs * WARP;
    warp_registers = (warp_registers + REGISTER_GRANULE - 1) / REGISTER_GRANULE * REGISTER_GRANULE;
    long long bytes = shared_bytes + (long long)kernel->sharedSizeBytes + of->reserved_bytes;
    return n * warps * WARP + PARTS * WARP <= of->threads &&
           n * warps * warp_registers + PARTS * SMALL_REGISTERS * WARP <= of->registers && n + 1 <= of->blocks &&
           n * bytes + of->reserved_bytes <= of->shared_bytes;
}

static inline cudaError_t isthmus_cuda_room_of(const void *func, dim3 block, size_t shared_bytes,
                                               struct isthmus_cuda_room *out)
{
    int device = 0, on_one = 0;
    struct cudaFuncAttributes kernel;
    long long threads = (long long)block.x * block.y * block.z;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess && isthmus_cuda_attribute(cudaDevAttrCooperativeLaunch, device) == 0)
        error = cudaErrorNotSupported;
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&kernel, func);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_one, func, (int)threads, shared_bytes);
    if (error != cudaSuccess) return error;
    const struct isthmus_cuda_multiprocessor of = {
        isthmus_cuda_attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device),
        isthmus_cuda_attribute(cudaDevAttrMaxRegistersPerMultiprocessor, device),
        isthmus_cuda_attribute(cudaDevAttrMaxBlocksPerMultiprocessor, device),
        isthmus_cuda_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
        isthmus_cuda_attribute(cudaDevAttrReservedSharedMemoryPerBlock, device),
    };
    out->all = (long long)on_one * isthmus_cuda_attribute(cudaDevAttrMultiProcessorCount, device);
    bool is_left = isthmus_cuda_leaves_room(&of, &kernel, on_one, threads, (long long)shared_bytes);
    out->most = is_left || out->all == 0 ? out->all : out->all - 1;
    return cudaSuccess;
}

/* No GPU is no mistake of the program, and has no message. */
static inline int isthmus_cuda_refusal(const char *routine, cudaError_t error)
{
    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || error == cudaErrorNotSupported)
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    fprintf(stderr, "isthmus: %s: %s\n", routine, cudaGetErrorString(error));
    return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

static inline int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims, void **args,
                                                            size_t sharedMem, int *gridsize)
{
    struct isthmus_cuda_room room;
    (void)args;
    cudaError_t error = isthmus_cuda_room_of(func, blockDims, sharedMem, &room);
    if (error != cudaSuccess) return isthmus_cuda_refusal("nvshmemx_collective_launch_query_gridsize", error);
    *gridsize = (int)room.most;
    return NVSHMEMX_SUCCESS;
}

static inline int nvshmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims, void **args,
                                             size_t sharedMem, cudaStream_t stream)
{
    struct isthmus_cuda_room room;
    cudaError_t error = isthmus_cuda_room_of(func, blockDims, sharedMem, &room);
    if (error != cudaSuccess) return isthmus_cuda_refusal("nvshmemx_collective_launch", error);
    bool is_ours = gridDims.x == 0 && gridDims.y == 0 && gridDims.z == 0;
    if (is_ours) gridDims = dim3((unsigned)room.most, 1, 1);
    long long blocks = (long long)gridDims.x * gridDims.y * gridDims.z;
    long long most = isthmus_device_launch_v1() != 0 ? room.most : room.all;
    if (blocks == 0 && !is_ours) return NVSHMEMX_ERROR_INVALID_VALUE;
    if (blocks == 0 || blocks > most) {
        fprintf(stderr,
                "isthmus: nvshmemx_collective_launch: a grid of %lld blocks; valid: 1 to %lld, which run at once%s\n",
                blocks, most, most < room.all ? " and leave room for atomics of other hosts" : "");
        return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    }
    error = cudaLaunchCooperativeKernel(func, gridDims, blockDims, args, sharedMem, stream);
    return error == cudaSuccess ? NVSHMEMX_SUCCESS : isthmus_cuda_refusal("nvshmemx_collective_launch", error);
}

#endif

#endif
