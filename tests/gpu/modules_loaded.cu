/* tests/gpu/modules_loaded.cu: a shared object of relocatable code, which modules.cu loads when the library runs. */
#include "modules.h"

static __global__ void put_from_here(long *to, long value, int pe) { nvshmem_long_p(to, value + nvshmem_my_pe(), pe); }

extern "C" cudaError_t put_from_loaded(long *to, long value, int pe)
{
    put_from_here<<<1, 1>>>(to, value, pe);
    cudaError_t error = cudaGetLastError();
    return error != cudaSuccess ? error : cudaDeviceSynchronize();
}
