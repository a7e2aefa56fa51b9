/* tests/doubles/hip/hip.h: what the double's files share: hip.c has devices, memory and streams, hip_vmm.c virtual
 * memory, hip_code.c loaded code. */
#ifndef TESTS_DOUBLES_HIP_H
#define TESTS_DOUBLES_HIP_H

#include "tests/doubles/gpu/gpu.h"

#include <hip/hip_runtime_api.h>

/* What every call begins with. */
#define ENTER(code)                                             \
    do {                                                        \
        int failed_ = gpu_enter(__func__, code);                \
        if (failed_ == 0) failed_ = gpu_device_error();         \
        if (failed_ != 0) return (hipError_t)failed_;           \
        if (gpu_knobs()->devices == 0) return hipErrorNoDevice; \
    } while (0)

bool double_is_device(int device);
bool double_is_amo(const void *function); /* the plugin's kernel */

#endif
