/* tests/bench/init_on_double.c: in the place of nvshmemx_init_attr: kernels of the CPU device then have the state that
 * the library has written for a GPU. See tests/cpu_device/on_double.h. */
#undef nvshmemx_init_attr /* of the program beside it */
#define ISTHMUS_DEVICE_CPU
#define ISTHMUS_NO_CUDA_HEADERS /* plugins/nvlink/cuda_api.h has the types of the driver */
#include "tests/cpu_device/on_double.h"

#include <isthmus/device.h>
#include <nvshmem.h>
#include <nvshmemx.h>

int init_on_double(unsigned flags, nvshmemx_init_attr_t *attr);

int init_on_double(unsigned flags, nvshmemx_init_attr_t *attr)
{
    int status = nvshmemx_init_attr(flags, attr);
    if (status == 0 && on_double_state() != NULL) isthmus_device_v1 = *on_double_state();
    return status;
}
