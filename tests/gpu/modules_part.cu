/* tests/gpu/modules_part.cu: the other file of relocatable code of modules.cu: it has no state of its own. */
#include "modules.h"

__device__ void put_in_part(long *to, long value, int pe) { nvshmem_long_p(to, value, pe); }
__global__ void put_from_part(long *to, long value, int pe) { put_in_part(to, value + nvshmem_my_pe(), pe); }
