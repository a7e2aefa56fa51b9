/* tests/doubles/cuda/cuda_code.c: see cuda_double.h. */
#include "tests/doubles/cuda/cuda_double.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* For programs; the plugin loads no library. */
CUresult cuLibraryLoadData(CUlibrary *library, const void *image, void *options, void **values, unsigned n,
                           void *library_options, void **library_values, unsigned n_library);
CUresult cuLibraryUnload(CUlibrary library);

enum { CODES_MAX = 64, VARIABLES_MAX = 16 };
struct code {
    enum double_code sort;
    char *image; /* text of PTX, whose kernels are known by their names */
    int n;
    struct double_variable variables[VARIABLES_MAX];
    CUdeviceptr at[VARIABLES_MAX];
};

/* A handle is looked up, not followed: a program may pass one that names nothing. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct code *codes[CODES_MAX];

static int place_of(const void *code)
{
    int i = 0;
    while (i < CODES_MAX && (codes[i] == NULL || codes[i] != code)) i++;
    return i;
}

static bool enter_code(struct code *code)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < CODES_MAX && codes[i] != NULL) i++;
    if (i < CODES_MAX) codes[i] = code;
    pthread_mutex_unlock(&lock);
    return i < CODES_MAX;
}

const char *double_code_image(const void *code) { return ((const struct code *)code)->image; }

bool double_code_is(const void *code, enum double_code sort)
{
    pthread_mutex_lock(&lock);
    int i = place_of(code);
    bool is_it = i < CODES_MAX && codes[i]->sort == sort;
    pthread_mutex_unlock(&lock);
    return is_it;
}

static void free_code(struct code *code)
{
    for (int i = 0; i < code->n; i++)
        if (code->at[i] != 0) (void)cuMemFree_v2(code->at[i]);
    free(code->image);
    free(code);
}

static bool allocate_variables(struct code *code)
{
    bool ok = true;
    for (int i = 0; i < code->n && ok; i++)
        ok = code->variables[i].bytes == 0 || cuMemAlloc_v2(&code->at[i], code->variables[i].bytes) == CUDA_SUCCESS;
    return ok;
}

CUresult double_code_load(const char *image, enum double_code sort, void **out)
{
    struct code *code = calloc(1, sizeof *code);
    if (code == NULL || (code->image = strdup(image)) == NULL) {
        free(code);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    code->sort = sort;
    int n = double_image_read(image, code->variables, VARIABLES_MAX);
    code->n = n > 0 ? n : 0;
    if (n < 0 || !allocate_variables(code) || !enter_code(code)) {
        free_code(code);
        return n < 0 ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    gpu_count(GPU_MODULE, 1);
    *out = code;
    return CUDA_SUCCESS;
}

bool double_code_unload(void *handle, enum double_code sort)
{
    struct code *code = NULL;
    pthread_mutex_lock(&lock);
    int i = place_of(handle);
    if (i < CODES_MAX && codes[i]->sort == sort) {
        code = codes[i];
        codes[i] = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (code == NULL) return false;
    free_code(code);
    gpu_count(GPU_MODULE, -1);
    return true;
}

static CUresult get_variable(const void *handle, enum double_code sort, const char *name, CUdeviceptr *addr,
                             size_t *size)
{
    if (name == NULL) return CUDA_ERROR_INVALID_VALUE;
    if (!double_code_is(handle, sort)) return CUDA_ERROR_INVALID_HANDLE;
    const struct code *code = handle;
    int i = 0;
    while (i < code->n && strcmp(code->variables[i].name, name) != 0) i++;
    if (i == code->n) return CUDA_ERROR_NOT_FOUND;
    *addr = code->at[i];
    *size = code->variables[i].bytes;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *addr, size_t *size, CUmodule module, const char *name)
{
    ENTER();
    return get_variable(module, DOUBLE_MODULE, name, addr, size);
}

/* A library has its variables once for each context. */
CUresult cuLibraryGetGlobal(CUdeviceptr *addr, size_t *size, CUlibrary library, const char *name)
{
    ENTER_CONTEXT();
    return get_variable(library, DOUBLE_LIBRARY, name, addr, size);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *image, void *options, void **values, unsigned n,
                           void *library_options, void **library_values, unsigned n_library)
{
    ENTER_CONTEXT();
    if (options != NULL || values != NULL || n != 0) return CUDA_ERROR_INVALID_VALUE;
    if (library_options != NULL || library_values != NULL || n_library != 0) return CUDA_ERROR_INVALID_VALUE;
    void *code = NULL;
    CUresult result = double_code_load(image, DOUBLE_LIBRARY, &code);
    if (result == CUDA_SUCCESS) *library = code;
    return result;
}

CUresult cuLibraryUnload(CUlibrary library)
{
    ENTER();
    return double_code_unload(library, DOUBLE_LIBRARY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
