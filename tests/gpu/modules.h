/* tests/gpu/modules.h: what the files of the program `modules` share; two of them are linked together as relocatable
 * code, and one is a shared object. Each has kernels that put a number of this PE's at another one. */
#ifndef TESTS_GPU_MODULES_H
#define TESTS_GPU_MODULES_H

#include <nvshmem.h>

/* Of modules_part.cu: a kernel, and a function for kernels of other files. */
extern __global__ void put_from_part(long *to, long value, int pe);
extern __device__ void put_in_part(long *to, long value, int pe);

/* Of modules_loaded.cu, which is loaded while the library runs. Returns what CUDA says of the kernel. */
typedef cudaError_t put_from_loaded_function(long *to, long value, int pe);

#endif
