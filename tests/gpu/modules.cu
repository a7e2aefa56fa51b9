/* tests/gpu/modules.cu: kernels of each kind of module: two files of relocatable code, a shared object that is loaded
 * when the library runs, and code that the program loads itself, as a module and as a library of CUDA's driver. Each
 * puts a number at the next PE; then again in pieces that the heap has grown by.
 *     modules SHARED-OBJECT IMAGE...; an image is PTX or a cubin with `kernel_p(int *dest, int pe)`, which puts 7 */
#include "modules.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

enum { OLD = -1, FROM_MAIN = 1000, FROM_PART = 2000, THROUGH_PART = 3000, FROM_LOADED = 4000 };
static const size_t PIECE_WORDS = (size_t)48 << 17; /* 48 MiB: more than the heap has at first */
static const int N_PIECES = 3;

static int me, next_pe, previous_pe;

static __global__ void put_from_main(long *to, long value, int pe) { nvshmem_long_p(to, value + nvshmem_my_pe(), pe); }

static __global__ void put_through_part(long *to, long value, int pe) { put_in_part(to, value + nvshmem_my_pe(), pe); }

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "PE %d: %s: %s\n", me, what, why);
    nvshmem_global_exit(1);
}

static void check_cuda(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}

static void check_driver(CUresult result, const char *what)
{
    const char *why = "an unknown error";
    if (result == CUDA_SUCCESS) return;
    (void)cuGetErrorString(result, &why);
    fail(what, why);
}

/* The host's own calls make the word old before, and read it afterwards. */
static void make_old(long *word)
{
    nvshmem_long_p(word, OLD, me);
    nvshmem_barrier_all();
}

static void expect(long *word, long value, const char *what)
{
    nvshmem_barrier_all();
    long seen = nvshmem_long_g(word, me);
    std::string numbers = "the word is " + std::to_string(seen) + ", expected " + std::to_string(value);
    if (seen != value) fail(what, numbers.c_str());
    nvshmem_barrier_all();
}

static void check_kernel(void (*kernel)(long *, long, int), long *word, long value, const char *what)
{
    make_old(word);
    kernel<<<1, 1>>>(word, value, next_pe);
    check_cuda(cudaGetLastError(), what);
    check_cuda(cudaDeviceSynchronize(), what);
    expect(word, value + previous_pe, what);
}

static void check_loaded(put_from_loaded_function *put, long *word, const char *what)
{
    make_old(word);
    check_cuda(put(word, FROM_LOADED, next_pe), what);
    expect(word, FROM_LOADED + previous_pe, what);
}

/* ---- code that the program loads itself ---- */

static void check_image_kernel(CUfunction kernel, long *word, const char *what)
{
    void *arguments[] = {&word, &next_pe};
    make_old(word);
    check_driver(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), what);
    check_cuda(cudaDeviceSynchronize(), what);
    nvshmem_barrier_all();
    if (nvshmem_int_g((const int *)word, me) != 7) fail(what, "the kernel has not put 7");
    nvshmem_barrier_all();
}

static void check_module(const char *path, const std::vector<char> &code, long *word)
{
    CUmodule module;
    CUfunction kernel;
    check_driver(cuModuleLoadData(&module, code.data()), path);
    if (nvshmemx_cumodule_init(module) != NVSHMEMX_SUCCESS) fail(path, "nvshmemx_cumodule_init fails");
    check_driver(cuModuleGetFunction(&kernel, module, "kernel_p"), path);
    check_image_kernel(kernel, word, path);
    if (nvshmemx_cumodule_finalize(module) != NVSHMEMX_SUCCESS) fail(path, "nvshmemx_cumodule_finalize fails");
    check_driver(cuModuleUnload(module), path);
    printf("PE %d: %s: as a module\n", me, path);
}

static void check_library(const char *path, const std::vector<char> &code, long *word)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    check_driver(cuLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), path);
    if (nvshmemx_culibrary_init(library) != NVSHMEMX_SUCCESS) fail(path, "nvshmemx_culibrary_init fails");
    check_driver(cuLibraryGetKernel(&kernel, library, "kernel_p"), path);
    check_driver(cuKernelGetFunction(&function, kernel), path);
    check_image_kernel(function, word, path);
    if (nvshmemx_culibrary_finalize(library) != NVSHMEMX_SUCCESS) fail(path, "nvshmemx_culibrary_finalize fails");
    check_driver(cuLibraryUnload(library), path);
    printf("PE %d: %s: as a library\n", me, path);
}

static std::vector<char> read_file(const char *path)
{
    std::vector<char> code;
    FILE *file = fopen(path, "rb");
    if (file == nullptr) fail(path, "cannot be opened");
    for (int c; (c = getc(file)) != EOF;) code.push_back((char)c);
    fclose(file);
    code.push_back(0); /* the end of PTX */
    return code;
}

/* ---- the heap grows ---- */

static void check_all(long *word, put_from_loaded_function *put)
{
    check_kernel(put_from_main, word, FROM_MAIN, "a kernel of this file");
    check_kernel(put_from_part, word, FROM_PART, "a kernel of another file");
    check_kernel(put_through_part, word, THROUGH_PART, "a kernel that calls a function of another file");
    check_loaded(put, word, "a kernel of a shared object that was loaded later");
}

static void check_growth(put_from_loaded_function *put)
{
    long *pieces[N_PIECES];
    for (long *&piece : pieces) {
        piece = (long *)nvshmem_malloc(PIECE_WORDS * sizeof *piece);
        if (piece == nullptr) fail("nvshmem_malloc of 48 MiB", "the heap has not grown");
    }
    for (long *piece : pieces) check_all(&piece[PIECE_WORDS - 1], put);
    for (long *piece : pieces) nvshmem_free(piece);
    printf("PE %d: in a heap that has grown\n", me);
}

int main(int argc, char **argv)
{
    int n_devices = 0;
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || n_devices == 0 || argc < 2) {
        printf("skipped: no GPU, or no shared object was named\n");
        return 77;
    }
    nvshmem_init();
    me = nvshmem_my_pe();
    next_pe = (me + 1) % nvshmem_n_pes();
    previous_pe = (me + nvshmem_n_pes() - 1) % nvshmem_n_pes();
    long *word = (long *)nvshmem_calloc(1, sizeof *word);
    check_cuda(cudaFree(nullptr), "the context"); /* of the runtime, for the driver's calls */
    void *loaded = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    auto *put = loaded != nullptr ? (put_from_loaded_function *)dlsym(loaded, "put_from_loaded") : nullptr;
    if (put == nullptr) fail(argv[1], dlerror());
    check_all(word, put);
    for (int i = 2; i < argc; i++) {
        std::vector<char> code = read_file(argv[i]);
        check_module(argv[i], code, word);
        check_library(argv[i], code, word);
    }
    check_growth(put);
    nvshmem_barrier_all();
    dlclose(loaded);
    nvshmem_finalize();
    return 0;
}
