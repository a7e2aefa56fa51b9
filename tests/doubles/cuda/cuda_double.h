/* tests/doubles/cuda/cuda_double.h: what the double's files share: cuda.c has devices, contexts and memory, cuda_work.c
 * streams and kernels, cuda_coll.c a larger kernel, cuda_launch.c kernels of programs, cuda_code.c what is loaded:
 * modules, libraries and their variables, cuda_image.c what the images of these have. */
#ifndef TESTS_DOUBLES_CUDA_DOUBLE_H
#define TESTS_DOUBLES_CUDA_DOUBLE_H

#include "plugins/nvlink/cuda_api.h"
#include "tests/doubles/gpu/gpu.h"

#define CUDA(name, parameters) CUresult name parameters;
#include "plugins/nvlink/cuda.def"

extern bool double_is_initialized;
extern _Thread_local bool double_is_in_host_function; /* of a stream: it must not call the driver */
bool double_has_context(void);                        /* in this thread */

/* cuda_image.c: the variables of an image. Returns their number, at most `most`, or -1: it is no image. */
struct double_variable {
    char name[64];
    size_t bytes;
};
int double_image_read(const char *image, struct double_variable *out, int most);

/* cuda_code.c: loaded code. Its variables are zeroed. */
enum double_code { DOUBLE_MODULE = 0x6d6f6431, DOUBLE_LIBRARY = 0x6c696231 };
CUresult double_code_load(const char *image, enum double_code sort, void **out); /* in a context */
bool double_code_is(const void *code, enum double_code sort);
const char *double_code_image(const void *code);
bool double_code_unload(void *code, enum double_code sort); /* Returns false if it is no such code. */

/* For tests: launches the kernel of collectives that this thread has launched last once more, as a graph does. */
void cuda_double_repeat(void);

/* cuda_coll.c: the kernel of collectives: op->argument is its struct coll_args, op->value the threads of a block. */
int double_run_isthmus_coll(struct gpu_op *op);

/* cuda_launch.c: kernels of programs are functions of the processor with one parameter. The program's own engine runs
 * them, as isthmus_cpu_launch() does: it returns nonzero if a thread has stopped the kernel. */
typedef void (*double_kernel)(void *argument);
typedef int (*double_engine)(uint32_t blocks, uint32_t threads, double_kernel kernel, void *argument);
void cuda_double_set_engine(double_engine engine);

/* Returns the handle of such a kernel, the same one each time; NULL: there is no engine, or no more handles. */
CUfunction cuda_double_function(double_kernel kernel);

/* Returns what the device has of an attribute that is about launches; 1 for any other. */
int double_launch_attribute(int attribute);

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
