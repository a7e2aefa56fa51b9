/* tests/doubles/hip/hip_code.c: loaded code of the double of HIP. An image is text: the plugin's kernel, or code of a
 * program, whose line ".b8 NAME[BYTES]" is its one variable. */
#include "tests/doubles/hip/hip.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODES_MAX = 64 };
struct code {
    bool has_amo;
    char name[64]; /* of its variable; "": it has none */
    size_t bytes;
    void *at;
};

/* A handle is looked up, not followed: a program may pass one that names nothing. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct code *codes[CODES_MAX];

/* Returns the place of a handle, or with NULL a free one; CODES_MAX: there is none. */
static int place_of(const void *code)
{
    int i = 0;
    while (i < CODES_MAX && codes[i] != code) i++;
    return i;
}

static bool is_code(const void *handle)
{
    pthread_mutex_lock(&lock);
    bool is_it = handle != NULL && place_of(handle) < CODES_MAX;
    pthread_mutex_unlock(&lock);
    return is_it;
}

static bool change(const struct code *from, struct code *to)
{
    pthread_mutex_lock(&lock);
    int i = place_of(from);
    if (i < CODES_MAX) codes[i] = to;
    pthread_mutex_unlock(&lock);
    return i < CODES_MAX;
}

static void discard(struct code *code)
{
    if (code->at != NULL) (void)hipFree(code->at);
    free(code);
}

bool double_is_amo(const void *function) { return is_code(function) && ((const struct code *)function)->has_amo; }

hipError_t hipModuleLoadData(hipModule_t *out, const void *image)
{
    ENTER(hipErrorOutOfMemory);
    const char *variable = strstr(image, ".b8 ");
    struct code *code = calloc(1, sizeof *code);
    if (code == NULL) return hipErrorOutOfMemory;
    code->has_amo = strstr(image, "isthmus_amo") != NULL;
    bool has_variable = variable != NULL && sscanf(variable, ".b8 %63[a-z0-9_][%zu]", code->name, &code->bytes) == 2;
    hipError_t result = code->has_amo || has_variable ? hipSuccess : hipErrorInvalidImage;
    if (result == hipSuccess && has_variable) result = hipExtMallocWithFlags(&code->at, code->bytes, 0);
    if (result == hipSuccess && !change(NULL, code)) result = hipErrorOutOfMemory;
    if (result != hipSuccess) {
        discard(code);
        return result;
    }
    *out = (hipModule_t)(void *)code;
    gpu_count(GPU_MODULE, 1);
    return hipSuccess;
}

hipError_t hipModuleUnload(hipModule_t module)
{
    ENTER(hipErrorInvalidHandle);
    if (!is_code(module) || !change((void *)module, NULL)) return hipErrorInvalidHandle;
    discard((void *)module);
    gpu_count(GPU_MODULE, -1);
    return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t *out, hipModule_t module, const char *name)
{
    ENTER(hipErrorNotFound);
    if (!double_is_amo(module) || strcmp(name, "isthmus_amo") != 0) return hipErrorNotFound;
    *out = (hipFunction_t)(void *)module;
    return hipSuccess;
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *addr, size_t *size, hipModule_t module, const char *name)
{
    ENTER(hipErrorNotFound);
    if (name == NULL) return hipErrorInvalidValue;
    if (!is_code(module)) return hipErrorInvalidHandle;
    const struct code *code = (const void *)module;
    if (strcmp(code->name, name) != 0) return hipErrorNotFound;
    *addr = code->at;
    *size = code->bytes;
    return hipSuccess;
}
