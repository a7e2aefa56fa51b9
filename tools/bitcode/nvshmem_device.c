/* tools/bitcode/nvshmem_device.c: libnvshmem_device.bc: every routine of nvshmem_device.h as a function with its C
 * name, for compilers of kernels that link bitcode. Compiled by clang for NVPTX. */
#include <nvshmem_device.h>
