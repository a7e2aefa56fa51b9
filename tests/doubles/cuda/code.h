/* tests/doubles/cuda/code.h: code for a GPU as a program loads it itself, through the double: an image whose only
 * variable is the state of kernels. */
#ifndef TESTS_DOUBLES_CUDA_CODE_H
#define TESTS_DOUBLES_CUDA_CODE_H

#include "plugins/nvlink/cuda_api.h"

#include <dlfcn.h>
#include <stdlib.h>

#define CODE_HEAD ".version 6.0\n.target sm_70\n.address_size 64\n"
static const char code_with_state[] = CODE_HEAD ".visible .const .align 8 .b8 isthmus_device_v1[128];\n";
static const char code_without_state[] = CODE_HEAD ".visible .const .align 8 .b8 other[128];\n";
static const char code_of_other_version[] = CODE_HEAD ".visible .const .align 8 .b8 isthmus_device_v1[96];\n";

/* The calls of libraries, which the plugin does not have. */
struct code_libraries {
    CUresult (*load)(CUlibrary *library, const void *image, void *options, void **values, unsigned n,
                     void *library_options, void **library_values, unsigned n_library);
    CUresult (*unload)(CUlibrary library);
};

static inline CUlibrary code_library_load(void *driver, const char *image)
{
    struct code_libraries calls;
    CUlibrary library;
    *(void **)(void *)&calls.load = dlsym(driver, "cuLibraryLoadData");
    if (calls.load == NULL || calls.load(&library, image, NULL, NULL, 0, NULL, NULL, 0) != CUDA_SUCCESS) abort();
    return library;
}

static inline void code_library_unload(void *driver, CUlibrary library)
{
    struct code_libraries calls;
    *(void **)(void *)&calls.unload = dlsym(driver, "cuLibraryUnload");
    if (calls.unload == NULL || calls.unload(library) != CUDA_SUCCESS) abort();
}

#endif
