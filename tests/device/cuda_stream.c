/* tests/device/cuda_stream.c: see cuda_stream.h. Apart, because CUDA's headers, where there are any, know the driver's
 * types by declarations of their own. */
#include "tests/device/cuda_stream.h"

#include "tests/doubles/cuda/load.h"
#include "tests/pe/check.h"

#include <string.h>

static struct cuda_api cu;
static void *library;
static uint64_t *gate; /* in memory of the host that the driver knows */

#define CU(call) CHECK_EQ(cu.call, CUDA_SUCCESS)

void cuda_begin(void)
{
    const char *path = getenv("ISTHMUS_NVLINK_LIBRARY");
    void *memory = NULL;
    CUcontext context;
    library = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(cuda_load(library, &cu));
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxPushCurrent_v2(context));
    CU(cuMemHostAlloc(&memory, sizeof *gate, CU_MEMHOSTALLOC_PORTABLE));
    gate = memory;
    *gate = 0;
}

void cuda_end(void)
{
    CU(cuMemFreeHost(gate));
    CU(cuDevicePrimaryCtxRelease_v2(0));
}

void *stream_new(void)
{
    CUstream stream;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

void stream_free(void *stream) { CU(cuStreamDestroy_v2(stream)); }

void stream_hold(void *stream, uint64_t turn)
{
    CU(cuStreamWaitValue64_v2(stream, (CUdeviceptr)(uintptr_t)gate, turn, CU_STREAM_WAIT_VALUE_GEQ));
}

void stream_end(void *stream) { CU(cuStreamSynchronize(stream)); }

void gate_open(void) { __atomic_add_fetch(gate, 1, __ATOMIC_RELEASE); }
uint64_t gate_turn(void) { return __atomic_load_n(gate, __ATOMIC_RELAXED); }

static int count_calls(const char *const *calls, size_t n_calls)
{
    const char *(*call_of)(int number, int *uses);
    const char *name;
    int n = 0, uses;
    *(void **)(void *)&call_of = dlsym(library, "gpu_double_call");
    if (call_of == NULL) return -1;
    for (int i = 0; (name = call_of(i, &uses)) != NULL; i++)
        for (size_t k = 0; k < n_calls; k++)
            if (strcmp(name, calls[k]) == 0) n += uses;
    return n;
}

int cuda_launches(void)
{
    static const char *const calls[] = {"cuMemcpyAsync",           "cuMemsetD8Async",       "cuStreamWaitValue64_v2",
                                        "cuStreamWriteValue64_v2", "cuStreamBatchMemOp_v2", "cuLaunchHostFunc",
                                        "cuLaunchKernel"};
    return count_calls(calls, sizeof calls / sizeof *calls);
}

int cuda_kernels(void)
{
    static const char *const calls[] = {"cuLaunchKernel"};
    return count_calls(calls, 1);
}

void cuda_repeat(void)
{
    void (*repeat)(void);
    *(void **)(void *)&repeat = dlsym(library, "cuda_double_repeat");
    CHECK(repeat != NULL);
    repeat();
}
