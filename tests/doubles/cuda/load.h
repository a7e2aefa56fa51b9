/* tests/doubles/cuda/load.h: the calls of plugins/nvlink/cuda.def from a driver's library, the double or a real one. */
#ifndef TESTS_DOUBLES_CUDA_LOAD_H
#define TESTS_DOUBLES_CUDA_LOAD_H

#include "plugins/nvlink/cuda_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns false if the library, which may be NULL, lacks one of them. */
static inline bool cuda_load(void *library, struct cuda_api *out)
{
    static const char *const names[] = {
#define CUDA(name, parameters) #name,
#include "plugins/nvlink/cuda.def"
    };
    void **entry = (void **)(void *)out;
    for (size_t i = 0; library != NULL && i < sizeof names / sizeof *names; i++)
        if ((entry[i] = dlsym(library, names[i])) == NULL) return false;
    return library != NULL;
}

#endif
