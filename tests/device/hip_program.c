/* tests/device/hip_program.c: the copies of cuda_program.h by HIP, on the double of its library. */
#include "tests/device/cuda_program.h"

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

static __typeof__(hipMemcpyAsync) *copy_async;
static __typeof__(hipStreamSynchronize) *synchronize;

#define WORKS(call)                                                           \
    do {                                                                      \
        hipError_t got_ = (call);                                             \
        if (got_ == hipSuccess) break;                                        \
        printf("%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, (int)got_); \
        exit(1);                                                              \
    } while (0)

/* Reserves nothing: pieces of the program's own are CUDA's matter here. */
bool program_open(const char *driver_file, int granules)
{
    void *driver = dlopen(driver_file, RTLD_NOW | RTLD_NOLOAD);
    (void)granules;
    if (driver == NULL) return false;
    *(void **)(void *)&copy_async = dlsym(driver, "hipMemcpyAsync");
    *(void **)(void *)&synchronize = dlsym(driver, "hipStreamSynchronize");
    return copy_async != NULL && synchronize != NULL;
}

void program_close(void) {}

void program_copy(void *dest, const void *source, size_t bytes)
{
    WORKS(copy_async(dest, source, bytes, hipMemcpyDefault, NULL));
    WORKS(synchronize(NULL));
}

long program_word(const long *addr)
{
    long value;
    program_copy(&value, addr, sizeof value);
    return value;
}
