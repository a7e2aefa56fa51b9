/* tests/doubles/cuda/cuda_work.c: see cuda_double.h: operations on streams, and kernels. */
#include "tests/doubles/cuda/cuda_double.h"

#include "plugins/common/kernels/coll_args.h"
#include "plugins/common/p2p.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <isthmus/amo_cpu.h>

/* ---- streams ---- */

static struct gpu_stream *stream_of(CUstream stream)
{
    return stream != NULL ? (struct gpu_stream *)(void *)stream : gpu_stream_default();
}

static CUresult submit(CUstream stream, const struct gpu_op *op)
{
    return gpu_stream_submit(stream_of(stream), op) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    ENTER_CONTEXT();
    if ((flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0) return CUDA_ERROR_INVALID_VALUE;
    *stream = (CUstream)(void *)gpu_stream_create(false);
    return *stream != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

enum { GREATEST_PRIORITY = -5 };

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER_CONTEXT();
    if (least != NULL) *least = 0;
    if (greatest != NULL) *greatest = GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

/* Numbers beyond the range are taken for its ends. */
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    ENTER_CONTEXT();
    if ((flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0) return CUDA_ERROR_INVALID_VALUE;
    *stream = (CUstream)(void *)gpu_stream_create(priority <= GREATEST_PRIORITY);
    return *stream != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Also on a device that has failed: every object can always be released. */
CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER_CODE(CUDA_ERROR_INVALID_HANDLE);
    if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
    gpu_stream_destroy(stream_of(stream));
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER_CONTEXT();
    gpu_stream_wait(stream_of(stream));
    return (CUresult)gpu_device_error();
}

CUresult cuCtxSynchronize(void)
{
    ENTER_CONTEXT();
    gpu_device_wait();
    return (CUresult)gpu_device_error();
}

/* Memory of the host that the driver does not know is copied differently: all copies to it, and many copies from
 * it, are complete when the call returns, and so is what the stream had before. */
static bool must_wait(CUdeviceptr dest, CUdeviceptr source, size_t size)
{
    enum { IN_THE_COMMAND = 64 << 10 };
    return gpu_find(dest).kind == GPU_UNKNOWN || (gpu_find(source).kind == GPU_UNKNOWN && size > IN_THE_COMMAND);
}

CUresult cuMemcpyAsync(CUdeviceptr dest, CUdeviceptr source, size_t size, CUstream stream)
{
    ENTER_CONTEXT();
    if (!gpu_is_valid(dest, size) || !gpu_is_valid(source, size)) return CUDA_ERROR_INVALID_VALUE;
    if (size == 0) return CUDA_SUCCESS;
    CUresult result = submit(
        stream, &(struct gpu_op){.run = gpu_run_copy, .dest = dest, .source = source, .length_bytes = size});
    if (result == CUDA_SUCCESS && must_wait(dest, source, size)) gpu_stream_wait(stream_of(stream));
    return result;
}

CUresult cuMemsetD8Async(CUdeviceptr dest, unsigned char value, size_t size, CUstream stream)
{
    ENTER_CONTEXT();
    if (gpu_find(dest).kind != GPU_DEVICE || !gpu_is_valid(dest, size)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, &(struct gpu_op){.run = gpu_run_fill, .dest = dest, .value = value, .length_bytes = size});
}

static int run_wait_value(struct gpu_op *op)
{
    const uint64_t *word = gpu_word(op->dest, sizeof *word);
    if (word == NULL) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (;;) {
        uint64_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        bool is_equal = op->source == CU_STREAM_WAIT_VALUE_EQ;
        if (is_equal ? now == op->value : (int64_t)(now - op->value) >= 0) return 0;
        usleep(20); /* a device polls; this one leaves the processor to others */
    }
}

static CUresult wait_value(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags)
{
    if (flags > CU_STREAM_WAIT_VALUE_EQ || addr % 8 != 0 || gpu_find(addr).kind == GPU_UNKNOWN)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, &(struct gpu_op){.run = run_wait_value, .dest = addr, .value = value, .source = flags});
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned flags)
{
    ENTER_CONTEXT();
    return wait_value(stream, addr, value, flags);
}

static int run_write_value(struct gpu_op *op)
{
    void *word = gpu_word(op->dest, op->length_bytes);
    if (word == NULL) return CUDA_ERROR_ILLEGAL_ADDRESS;
    (void)isthmus_amo_cpu(ISTHMUS_AMO_SET, word, op->value, 0, op->length_bytes);
    return 0;
}

static CUresult write_value(CUstream stream, CUdeviceptr addr, uint64_t value, uint64_t bytes, unsigned flags)
{
    if (flags != 0 || addr % bytes != 0 || gpu_find(addr).kind == GPU_UNKNOWN || !gpu_is_valid(addr, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return submit(stream,
                  &(struct gpu_op){.run = run_write_value, .dest = addr, .value = value, .length_bytes = bytes});
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned flags)
{
    ENTER_CONTEXT();
    return write_value(stream, addr, value, sizeof value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned flags)
{
    ENTER_CONTEXT();
    return write_value(stream, addr, value, sizeof value, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned n, CUstreamBatchMemOpParams *list, unsigned flags)
{
    enum { MOST = 256 };
    ENTER_CONTEXT();
    CUresult result = n > 0 && n <= MOST && flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n && result == CUDA_SUCCESS; i++) {
        const CUstreamBatchMemOpParams *op = &list[i];
        if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
            result = wait_value(stream, op->waitValue.address, op->waitValue.value64, op->waitValue.flags);
        else if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
            result = write_value(stream, op->writeValue.address, op->writeValue.value64, sizeof(uint64_t),
                                 op->writeValue.flags);
        else
            result = CUDA_ERROR_INVALID_VALUE;
    }
    return result;
}

static int run_host_function(struct gpu_op *op)
{
    double_is_in_host_function = true;
    int result = gpu_run_function(op);
    double_is_in_host_function = false;
    return result;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *argument)
{
    ENTER_CONTEXT();
    if (function == NULL) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, &(struct gpu_op){.run = run_host_function, .function = function, .argument = argument});
}

/* ---- kernels: those of the plugin, each in C under the name of its entry in the image ---- */

/* Executes an operation, and those of a batch that are there when the kernel closes it, as amo.ptx does. */
static int run_isthmus_amo(struct gpu_op *op)
{
    int code = gpu_run_isthmus_amo(op);
    if (code != 0 || op->parameters[GPU_AMO_PARAMETERS] == 0) return code;
    struct p2p_batch *batch = gpu_word(op->parameters[GPU_AMO_PARAMETERS], sizeof *batch);
    if (batch == NULL) return CUDA_ERROR_ILLEGAL_ADDRESS;
    __atomic_store_n(&batch->closed, 1, __ATOMIC_SEQ_CST);
    uint64_t n = __atomic_load_n(&batch->n_posted, __ATOMIC_SEQ_CST);
    __atomic_store_n(&batch->taken, n + 1, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < n && code == 0; i++) {
        const struct p2p_batch_entry *e = &batch->list[i];
        struct gpu_op one = {.parameters = {e->addr, e->operand, e->compare, 0, e->op, e->bytes}};
        code = gpu_run_isthmus_amo(&one);
    }
    __atomic_store_n(&batch->done, 1, __ATOMIC_RELEASE);
    return code;
}

static const uint8_t amo_bytes[] = {8, 8, 8, 8, 4, 4, 8};

static const struct kernel {
    const char *name;
    int n;
    const uint8_t *bytes; /* of each parameter */
    size_t struct_bytes;  /* of its only parameter, which is a struct; or 0 */
    int (*run)(struct gpu_op *op);
} kernels[] = {
    {"isthmus_amo", sizeof amo_bytes, amo_bytes, 0, run_isthmus_amo},
    {"isthmus_coll", 0, NULL, sizeof(struct coll_args), double_run_isthmus_coll},
};

static bool has_kernel(const char *image, const char *name)
{
    char entry[80];
    snprintf(entry, sizeof entry, ".visible .entry %s(", name);
    return strstr(image, entry) != NULL;
}

/* Returns false if the image is the library's own and has none of these. */
static bool has_kernels(const char *image)
{
    if (strstr(image, ".entry isthmus_") == NULL) return true;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (has_kernel(image, kernels[i].name)) return true;
    return false;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER_CONTEXT();
    void *code = NULL;
    if (!has_kernels(image)) return CUDA_ERROR_INVALID_PTX;
    CUresult result = double_code_load(image, DOUBLE_MODULE, &code);
    if (result == CUDA_SUCCESS) *module = code;
    return result;
}

CUresult cuModuleUnload(CUmodule module)
{
    ENTER();
    return double_code_unload(module, DOUBLE_MODULE) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER();
    if (!double_code_is(module, DOUBLE_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strcmp(kernels[i].name, name) != 0 || !has_kernel(double_code_image(module), name)) continue;
        *function = (CUfunction)(uintptr_t)&kernels[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* The last launch of the calling thread, for tests that repeat it. */
static _Thread_local struct {
    CUstream stream;
    struct gpu_op op;
    struct coll_args args;
} last_large;

static CUresult submit_large(CUstream stream, const struct gpu_op *op, const struct coll_args *args)
{
    struct gpu_op copy = *op;
    struct coll_args *own = malloc(sizeof *own);
    if (own == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    *own = *args;
    copy.argument = own;
    CUresult result = submit(stream, &copy);
    if (result != CUDA_SUCCESS) free(own);
    return result;
}

static bool is_kernel(CUfunction function)
{
    size_t i = 0, n = sizeof kernels / sizeof *kernels;
    while (i < n && (const void *)function != &kernels[i]) i++;
    return i < n;
}

/* Parameters are copied at the launch, as the driver does. */
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,
                        void **extra)
{
    ENTER_CONTEXT();
    (void)shared_bytes;
    const struct kernel *kernel = (const struct kernel *)(const void *)function;
    if (!is_kernel(function)) return CUDA_ERROR_INVALID_HANDLE;
    unsigned blocks = grid_x * grid_y * grid_z, threads = block_x * block_y * block_z;
    bool is_one_thread = kernel->struct_bytes == 0;
    if (extra != NULL || parameters == NULL || blocks == 0 || threads == 0 || threads > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_one_thread && blocks * threads != 1) return CUDA_ERROR_INVALID_VALUE;
    struct gpu_op op = {.run = kernel->run, .blocks = blocks, .value = threads};
    for (int i = 0; i < kernel->n; i++) memcpy(&op.parameters[i], parameters[i], kernel->bytes[i]);
    if (is_one_thread) return submit(stream, &op);
    last_large.stream = stream;
    last_large.op = op;
    memcpy(&last_large.args, parameters[0], kernel->struct_bytes);
    return submit_large(stream, &op, &last_large.args);
}

void cuda_double_repeat(void)
{
    if (submit_large(last_large.stream, &last_large.op, &last_large.args) != CUDA_SUCCESS) abort();
}
