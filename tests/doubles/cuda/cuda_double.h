/* tests/doubles/cuda/cuda_double.h: what the double's files share: cuda.c has devices, contexts and memory, cuda_work.c
 * streams and kernels. */
#ifndef TESTS_DOUBLES_CUDA_DOUBLE_H
#define TESTS_DOUBLES_CUDA_DOUBLE_H

#include "plugins/nvlink/cuda_api.h"
#include "tests/doubles/gpu/gpu.h"

#define CUDA(name, parameters) CUresult name parameters;
#include "plugins/nvlink/cuda.def"

extern bool double_is_initialized;
extern _Thread_local bool double_is_in_host_function; /* of a stream: it must not call the driver */
bool double_has_context(void);                        /* in this thread */

/* What every call begins with. */
#define ENTER_CODE(code)                                                 \
    do {                                                                 \
        int failed_ = gpu_enter(__func__, code);                         \
        if (failed_ != 0) return (CUresult)failed_;                      \
        if (double_is_in_host_function) return CUDA_ERROR_NOT_PERMITTED; \
    } while (0)
#define ENTER()                                                           \
    do {                                                                  \
        ENTER_CODE(CUDA_ERROR_OUT_OF_MEMORY);                             \
        if (!double_is_initialized) return CUDA_ERROR_NOT_INITIALIZED;    \
        if (gpu_device_error() != 0) return (CUresult)gpu_device_error(); \
    } while (0)
#define ENTER_CONTEXT()                                               \
    do {                                                              \
        ENTER();                                                      \
        if (!double_has_context()) return CUDA_ERROR_INVALID_CONTEXT; \
    } while (0)

#endif
