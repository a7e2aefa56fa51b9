/* tests/perf/limit_gpu_test.c: limit_gpu_test CUDA.so [HIP.so]: a driver that cannot open its limit keeps nothing, and
 * the next driver gets its turn. On the doubles of drivers: no hardware. */
#include "tools/isthmus-perf/limit_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096 };

#define EXPECT(is_true)                                        \
    do {                                                       \
        if (is_true) break;                                    \
        printf("line %d: %s is not so\n", __LINE__, #is_true); \
        exit(EXIT_FAILURE);                                    \
    } while (0)

static void *open_double(const char *variable, const char *file)
{
    setenv(variable, file, 1);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    EXPECT(library != NULL);
    return library;
}

static void *call_of(void *library, const char *name)
{
    void *call = dlsym(library, name);
    if (call == NULL) printf("%s is missing\n", name);
    EXPECT(call != NULL);
    return call;
}

static int held(void *library)
{
    int (*count)(char *, size_t) = (int (*)(char *, size_t))call_of(library, "gpu_double_held");
    return count(NULL, 0);
}

/* Memory of CUDA, in a context that the caller keeps but has not current. */
static void *allocate_cuda(void *library)
{
    void *context, *popped;
    unsigned long long addr = 0;
    EXPECT(((int (*)(unsigned))call_of(library, "cuInit"))(0) == 0);
    EXPECT(((int (*)(void **, int))call_of(library, "cuDevicePrimaryCtxRetain"))(&context, 0) == 0);
    EXPECT(((int (*)(void *))call_of(library, "cuCtxPushCurrent_v2"))(context) == 0);
    EXPECT(((int (*)(unsigned long long *, size_t))call_of(library, "cuMemAlloc_v2"))(&addr, BYTES) == 0);
    EXPECT(((int (*)(void **))call_of(library, "cuCtxPopCurrent_v2"))(&popped) == 0);
    return (void *)(uintptr_t)addr;
}

static void *current_context(void *library)
{
    void *context = NULL;
    EXPECT(((int (*)(void **))call_of(library, "cuCtxGetCurrent"))(&context) == 0);
    return context;
}

static void *allocate_hip(void *library)
{
    void *addr = NULL;
    EXPECT(((int (*)(void **, size_t, unsigned))call_of(library, "hipExtMallocWithFlags"))(&addr, BYTES, 0) == 0);
    return addr;
}

/* The last call of the opening fails: what came before it is undone, and the reason is kept. */
static void cuda_fails(void *cuda)
{
    void *own = allocate_cuda(cuda);
    int before = held(cuda);
    setenv("GPU_DOUBLE_FAIL", "cuStreamCreate:1", 1);
    const char *reason = limit_gpu_open(own, BYTES);
    EXPECT(reason != NULL && strstr(reason, "cuStreamCreate: ") == reason);
    EXPECT(held(cuda) == before && current_context(cuda) == NULL);
    EXPECT(limit_gpu_open(own, BYTES) != NULL && !limit_gpu_has_streams());
    limit_gpu_close();
    EXPECT(held(cuda) == before);
}

/* Both drivers are loaded, and the memory is HIP's. */
static void hip_opens(void *cuda, void *hip)
{
    void *own = allocate_hip(hip);
    int before = held(hip), before_of_cuda = held(cuda);
    EXPECT(limit_gpu_open(own, BYTES) == NULL && limit_gpu_has_streams());
    EXPECT(strcmp(limit_gpu_name(TRANSFER_PUT), "hipMemcpyAsync") == 0);
    EXPECT(held(cuda) == before_of_cuda && held(hip) == before + 1);
    limit_gpu_close();
    EXPECT(held(hip) == before);
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2 || argc == 3);
    void *cuda = open_double("ISTHMUS_NVLINK_LIBRARY", argv[1]);
    if (argc == 2)
        cuda_fails(cuda);
    else
        hip_opens(cuda, open_double("ISTHMUS_XGMI_LIBRARY", argv[2]));
    return EXIT_SUCCESS;
}
