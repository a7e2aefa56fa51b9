/* tests/doubles/cuda/runtime.h: the part of cuda_runtime.h that isthmus/cuda_launch.h uses, for programs in C++ that
 * are linked with the double of CUDA's runtime (cudart.c) and need no toolkit. Included before nvshmem.h, instead of
 * CUDA's headers. */
#ifndef TESTS_DOUBLES_CUDA_RUNTIME_H
#define TESTS_DOUBLES_CUDA_RUNTIME_H

#define ISTHMUS_NO_CUDA_HEADERS
#define __CUDA_RUNTIME_H__ /* NOLINT(bugprone-reserved-identifier): by it nvshmem.h knows CUDA's */

#include "tests/doubles/cuda/launch_api.h"

#include <stddef.h>

#include <isthmus/cuda_types.h>

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorNotSupported = 801
};

enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    cudaDevAttrMaxThreadsPerMultiProcessor = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    cudaDevAttrMaxRegistersPerMultiprocessor = CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
    cudaDevAttrCooperativeLaunch = CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
    cudaDevAttrMaxBlocksPerMultiprocessor = CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
    cudaDevAttrReservedSharedMemoryPerBlock = CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs;
};

extern "C" {
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *func);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int threads, size_t shared);
cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                                        cudaStream_t stream);
const char *cudaGetErrorString(cudaError_t error);
}

#endif
