/* tests/doubles/cuda/cuda_launch.c: see cuda_double.h. Kernels of programs, and how many of their blocks run at once:
 * as many as the device has places (GPU_DOUBLE_BLOCKS), and no more than the threads and the shared memory of its
 * multiprocessors suffice for. Any kernel takes its places for as long as it runs, of the plugin's too. */
#include "tests/doubles/cuda/cuda_double.h"
#include "tests/doubles/cuda/launch_api.h"

#include <pthread.h>
#include <string.h>

/* No header of Isthmus has them. */
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, CUfunction function, int threads,
                                                     size_t shared_bytes);
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void **parameters);

/* A multiprocessor, and what a kernel takes of it. */
enum {
    WARP = 32,
    THREADS_OF_BLOCK = 1024,
    THREADS = 2048,
    REGISTERS = 65536,
    REGISTERS_OF_THREAD = REGISTERS / THREADS,
    SHARED_BYTES = 233472,
    RESERVED_BYTES = 1024, /* of shared memory, for each block */
    BLOCKS = 32            /* where GPU_DOUBLE_BLOCKS sets no limit */
};

enum { KERNELS_MAX = 16 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double_engine run_blocks;
static double_kernel kernels[KERNELS_MAX];

void cuda_double_set_engine(double_engine engine) { run_blocks = engine; }

CUfunction cuda_double_function(double_kernel kernel)
{
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < KERNELS_MAX && kernels[i] != NULL && kernels[i] != kernel) i++;
    bool is_there = i < KERNELS_MAX && run_blocks != NULL;
    if (is_there) kernels[i] = kernel;
    pthread_mutex_unlock(&lock);
    return is_there ? (CUfunction)(void *)&kernels[i] : NULL;
}

/* Returns NULL if it is no kernel of a program. */
static double_kernel kernel_of(CUfunction function)
{
    int i = 0;
    while (i < KERNELS_MAX && (void *)function != &kernels[i]) i++;
    return i < KERNELS_MAX ? kernels[i] : NULL;
}

static int places(void)
{
    const struct gpu_knobs *knobs = gpu_knobs();
    return knobs->blocks > 0 ? (int)(knobs->blocks / knobs->multiprocessors) : BLOCKS;
}

int double_launch_attribute(int attribute)
{
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return (int)gpu_knobs()->multiprocessors;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return places();
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return THREADS;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return REGISTERS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return SHARED_BYTES;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return RESERVED_BYTES;
    default: return 1; /* COOPERATIVE_LAUNCH: it has them */
    }
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    ENTER();
    if (kernel_of(function) == NULL) return CUDA_ERROR_INVALID_HANDLE;
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? THREADS_OF_BLOCK
             : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? REGISTERS_OF_THREAD
                                                                  : 0;
    return CUDA_SUCCESS;
}

static int blocks_at_once(unsigned threads, size_t shared_bytes)
{
    int n = places(), of_threads = (int)(THREADS / ((threads + WARP - 1) / WARP * WARP));
    int of_shared = (int)(SHARED_BYTES / (shared_bytes + RESERVED_BYTES));
    if (of_threads < n) n = of_threads;
    return of_shared < n ? of_shared : n;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, CUfunction function, int threads,
                                                     size_t shared_bytes)
{
    ENTER_CONTEXT();
    if (kernel_of(function) == NULL) return CUDA_ERROR_INVALID_HANDLE;
    if (threads < 1 || threads > THREADS_OF_BLOCK) return CUDA_ERROR_INVALID_VALUE;
    *n_blocks = blocks_at_once((unsigned)threads, shared_bytes);
    return CUDA_SUCCESS;
}

static int run_kernel(struct gpu_op *op)
{
    return run_blocks(op->blocks, (uint32_t)op->value, op->function, op->argument) == 0 ? 0 : CUDA_ERROR_LAUNCH_FAILED;
}

/* All blocks run at once, or the launch is refused. */
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void **parameters)
{
    ENTER_CONTEXT();
    double_kernel kernel = kernel_of(function);
    unsigned blocks = grid_x * grid_y * grid_z, threads = block_x * block_y * block_z;
    if (kernel == NULL) return CUDA_ERROR_INVALID_HANDLE;
    if (parameters == NULL || blocks == 0 || threads == 0 || threads > THREADS_OF_BLOCK)
        return CUDA_ERROR_INVALID_VALUE;
    if (blocks > (unsigned)blocks_at_once(threads, shared_bytes) * gpu_knobs()->multiprocessors)
        return (CUresult)CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    struct gpu_op op = {.run = run_kernel, .blocks = blocks, .value = threads, .function = kernel};
    memcpy(&op.argument, parameters[0], sizeof op.argument);
    struct gpu_stream *queue = stream != NULL ? (struct gpu_stream *)(void *)stream : gpu_stream_default();
    return gpu_stream_submit(queue, &op) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
