/* tests/gpu/image.cu: a kernel for NVRTC, as tests/bitcode/kernel.c has one for compilers that link bitcode. */
#include <nvshmem_device.h>

extern "C" __global__ void kernel_p(int *dest, int pe) { nvshmem_int_p(dest, 7, pe); }
