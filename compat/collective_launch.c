/* compat/collective_launch.c: nvshmemx_collective_launch and its kin as functions of the library, for programs that
 * were linked with NVSHMEM's. What isthmus/cuda_launch.h compiles into programs is called here through the program's
 * own CUDA runtime: a kernel's address means something to that one only. Without one in the process, or where it is
 * linked into the program so that its routines have no names, they return NVSHMEMX_ERROR_NOT_SUPPORTED. */
#include <dlfcn.h>
#include <isthmus/device_state.h>
#include <nvshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- CUDA's runtime, as its headers have it ---- */

struct dims {
    unsigned x, y, z;
};

struct launch_attribute {
    int id, unused;
    union {
        char bytes[64];
        int cooperative;
    } value;
};

struct launch_config {
    struct dims grid, block;
    size_t shared_bytes;
    void *stream;
    struct launch_attribute *attributes;
    unsigned n_attributes;
};

enum { MULTIPROCESSORS = 16, COOPERATIVE_LAUNCH = 95 }; /* cudaDeviceAttr */
enum { COOPERATIVE = 2 };                               /* cudaLaunchAttributeID */
enum { MOST_ATTRIBUTES = 32 };

struct runtime {
    int (*get_device)(int *device);
    int (*get_attribute)(int *value, int attribute, int device);
    int (*blocks_at_once)(int *n_blocks, const void *func, int threads, size_t shared_bytes);
    int (*launch)(const struct launch_config *config, const void *func, void **args);
    const char *(*error_text)(int error);
};

/* ---- here ---- */

#pragma GCC visibility push(default)
int nvshmemx_collective_launch(const void *func, struct dims grid, struct dims block, void **args, size_t shared_bytes,
                               void *stream);
int nvshmemx_collective_launch_attr(const struct launch_config *config, const void *func, void **args);
int nvshmemx_collective_launch_query_gridsize(const void *func, struct dims block, void **args, size_t shared_bytes,
                                              int *gridsize);
#pragma GCC visibility pop

static bool find(const char *name, void *function)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &at, sizeof at);
    return at != NULL;
}

static bool find_runtime(struct runtime *out)
{
    return find("cudaGetDevice", &out->get_device) && find("cudaDeviceGetAttribute", &out->get_attribute) &&
           find("cudaOccupancyMaxActiveBlocksPerMultiprocessor", &out->blocks_at_once) &&
           find("cudaLaunchKernelExC", &out->launch) && find("cudaGetErrorString", &out->error_text);
}

static int refuse(const struct runtime *cuda, const char *routine, int error)
{
    fprintf(stderr, "isthmus: %s: %s\n", routine, cuda->error_text(error));
    return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

/* Blocks of the kernel that run at once. One less where a small kernel has to run beside it, which executes atomics of
 * other hosts: cuda_launch.h counts whether it fits; here it always has a block's place. */
static int most_blocks(const struct runtime *cuda, const char *routine, const void *func, struct dims block,
                       size_t shared_bytes, long long *out)
{
    int device = 0, n = 0, on_one = 0, is_cooperative = 0;
    long long threads = (long long)block.x * block.y * block.z;
    int error = cuda->get_device(&device);
    if (error == 0) error = cuda->get_attribute(&is_cooperative, COOPERATIVE_LAUNCH, device);
    if (error == 0) error = cuda->get_attribute(&n, MULTIPROCESSORS, device);
    if (error == 0) error = cuda->blocks_at_once(&on_one, func, (int)threads, shared_bytes);
    if (error != 0) return refuse(cuda, routine, error);
    if (!is_cooperative) return NVSHMEMX_ERROR_NOT_SUPPORTED;
    long long all = (long long)on_one * n;
    *out = all > 0 && isthmus_device_launch_v1() != 0 ? all - 1 : all;
    return NVSHMEMX_SUCCESS;
}

/* The program's own attributes, and that of cooperative launches unless they have it. */
static bool add_cooperative(struct launch_config *config, struct launch_attribute *room)
{
    if (config->n_attributes >= MOST_ATTRIBUTES) return false;
    for (unsigned i = 0; i < config->n_attributes; i++) {
        room[i] = config->attributes[i];
        if (room[i].id == COOPERATIVE) return true;
    }
    room[config->n_attributes] = (struct launch_attribute){.id = COOPERATIVE, .value.cooperative = 1};
    config->attributes = room;
    config->n_attributes++;
    return true;
}

static int launch(const char *routine, struct launch_config config, const void *func, void **args)
{
    struct runtime cuda;
    struct launch_attribute attributes[MOST_ATTRIBUTES];
    long long most = 0;
    if (!find_runtime(&cuda)) return NVSHMEMX_ERROR_NOT_SUPPORTED;
    int status = most_blocks(&cuda, routine, func, config.block, config.shared_bytes, &most);
    if (status != NVSHMEMX_SUCCESS) return status;
    if (config.grid.x == 0 && config.grid.y == 0 && config.grid.z == 0)
        config.grid = (struct dims){(unsigned)most, 1, 1};
    else if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    long long blocks = (long long)config.grid.x * config.grid.y * config.grid.z;
    if (blocks < 1 || blocks > most) {
        fprintf(stderr, "isthmus: %s: a grid of %lld blocks; valid: 1 to %lld, which run at once\n", routine, blocks,
                most);
        return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    }
    if (!add_cooperative(&config, attributes)) return NVSHMEMX_ERROR_INVALID_VALUE;
    int error = cuda.launch(&config, func, args);
    return error == 0 ? NVSHMEMX_SUCCESS : refuse(&cuda, routine, error);
}

int nvshmemx_collective_launch(const void *func, struct dims grid, struct dims block, void **args, size_t shared_bytes,
                               void *stream)
{
    struct launch_config config = {.grid = grid, .block = block, .shared_bytes = shared_bytes, .stream = stream};
    return launch("nvshmemx_collective_launch", config, func, args);
}

int nvshmemx_collective_launch_attr(const struct launch_config *config, const void *func, void **args)
{
    if (config == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    return launch("nvshmemx_collective_launch_attr", *config, func, args);
}

int nvshmemx_collective_launch_query_gridsize(const void *func, struct dims block, void **args, size_t shared_bytes,
                                              int *gridsize)
{
    struct runtime cuda;
    long long most = 0;
    (void)args;
    if (!find_runtime(&cuda)) return NVSHMEMX_ERROR_NOT_SUPPORTED;
    int status = most_blocks(&cuda, "nvshmemx_collective_launch_query_gridsize", func, block, shared_bytes, &most);
    if (status == NVSHMEMX_SUCCESS) *gridsize = (int)most;
    return status;
}
