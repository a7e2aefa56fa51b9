/* tests/cpu_device/on_double.h: kernels of the CPU device with the state that the library has written for a GPU: the
 * double of CUDA, whose memory the processor may touch (GPU_DOUBLE_HOST_ACCESS=1). */
#ifndef TESTS_CPU_DEVICE_ON_DOUBLE_H
#define TESTS_CPU_DEVICE_ON_DOUBLE_H

#include "tests/doubles/cuda/code.h"

#include <isthmus/device_state.h>

/* The driver that the library has loaded. */
struct on_double {
    void *library;
    CUresult (*load)(CUmodule *module, const void *image);
    CUresult (*unload)(CUmodule module);
    CUresult (*get_global)(CUdeviceptr *addr, size_t *size, CUmodule module, const char *name);
    CUresult (*get_global_of_library)(CUdeviceptr *addr, size_t *size, CUlibrary library, const char *name);
    CUresult (*attributes)(unsigned n, CUpointer_attribute *attributes, void **values, CUdeviceptr addr);
    CUresult (*retain)(CUcontext *context, CUdevice device);
    CUresult (*push)(CUcontext context);
    void (*set_engine)(int (*engine)(uint32_t, uint32_t, void (*)(void *), void *)); /* cuda_double_set_engine() */
};
const struct on_double *on_double(void);

/* Loads code with a state, in the context that is current, and returns where its state is. */
const struct isthmus_device_state *on_double_load(CUmodule *module);

/* Announced before main: a module as nvcc makes one. Its state; NULL: the library has not looked for it. */
const struct isthmus_device_state *on_double_state(void);

/* In place of nvshmem_init (-Dnvshmem_init=on_double_init): kernels that are launched from then on use that state. The
 * CPU device also runs those that the double launches. */
void on_double_init(void);

#endif
