/* tests/doubles/cuda/rules_test.c: rules_test DOUBLE.so: does the double of CUDA refuse what the driver refuses, and is
 * it asynchronous? A double that lets everything pass would prove nothing about the code above it. */
#include "tests/doubles/cuda/cuda_double.h"
#include "tests/doubles/cuda/launch_api.h"
#include "tests/doubles/cuda/load.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPECT(call, result)                                                                      \
    do {                                                                                          \
        CUresult got_ = (call);                                                                   \
        if (got_ == (result)) break;                                                              \
        printf("line %d: %s gives %d, expected %d\n", __LINE__, #call, (int)got_, (int)(result)); \
        exit(1);                                                                                  \
    } while (0)
#define WORKS(call) EXPECT(call, CUDA_SUCCESS)

enum { PIECE = 2 << 20, TRIES = 40 };

static struct cuda_api cu;

/* Launches of a program's kernels. */
static struct {
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                       void **);
    CUresult (*blocks_at_once)(int *, CUfunction, int, size_t);
    CUfunction (*function)(double_kernel);
    void (*set_engine)(double_engine);
    int (*waiting)(void);
} launches;

static void load(const char *path)
{
    void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!cuda_load(driver, &cu)) exit(1);
    *(void **)&launches.launch = dlsym(driver, "cuLaunchCooperativeKernel");
    *(void **)&launches.blocks_at_once = dlsym(driver, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    *(void **)&launches.function = dlsym(driver, "cuda_double_function");
    *(void **)&launches.set_engine = dlsym(driver, "cuda_double_set_engine");
    *(void **)&launches.waiting = dlsym(driver, "gpu_double_waiting");
}

static const CUmemAllocationProp prop = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};
static const CUmemAccessDesc for_device = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static void check_handles(void)
{
    CUmemGenericAllocationHandle handle, stale;
    EXPECT(cu.cuMemCreate(&handle, PIECE / 2, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemCreate(&stale, PIECE, &prop, 0));
    WORKS(cu.cuMemRelease(stale));
    EXPECT(cu.cuMemRelease(stale), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemCreate(&handle, PIECE, &prop, 0)); /* in the place of the old one */
    EXPECT(cu.cuMemRelease(stale), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemRelease(handle));
    EXPECT(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)STDOUT_FILENO,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
           CUDA_ERROR_INVALID_VALUE);
}

static void check_mappings(CUstream stream)
{
    CUmemGenericAllocationHandle handle, twice;
    CUdeviceptr addr;
    static char buffer[64];
    CUdeviceptr host = (CUdeviceptr)(uintptr_t)buffer;
    EXPECT(cu.cuMemAddressReserve(&addr, PIECE + 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemAddressReserve(&addr, 4 * (size_t)PIECE, 0, 0, 0));
    WORKS(cu.cuMemCreate(&handle, 2 * (size_t)PIECE, &prop, 0));
    WORKS(cu.cuMemCreate(&twice, PIECE, &prop, 0));
    EXPECT(cu.cuMemcpyAsync(addr, host, 64, stream), CUDA_ERROR_INVALID_VALUE); /* nothing is there */
    EXPECT(cu.cuMemMap(addr, 4 * (size_t)PIECE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cu.cuMemMap(addr, PIECE, PIECE, handle, 0), CUDA_ERROR_INVALID_VALUE); /* the driver permits no offset */
    EXPECT(cu.cuMemMap(addr + 4096, PIECE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemMap(addr, 2 * (size_t)PIECE, 0, handle, 0));
    EXPECT(cu.cuMemMap(addr + PIECE, PIECE, 0, twice, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cu.cuMemcpyAsync(addr, host, 64, stream), CUDA_ERROR_INVALID_VALUE); /* no access so far */
    EXPECT(cu.cuMemSetAccess(addr, PIECE, &for_device, 1), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemSetAccess(addr, 2 * (size_t)PIECE, &for_device, 1));
    WORKS(cu.cuMemcpyAsync(addr + 2 * (CUdeviceptr)PIECE - 64, host, 64, stream));
    EXPECT(cu.cuMemcpyAsync(addr + 2 * (CUdeviceptr)PIECE - 32, host, 64, stream), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuStreamSynchronize(stream));
    EXPECT(cu.cuMemAddressFree(addr, 4 * (size_t)PIECE), CUDA_ERROR_INVALID_VALUE); /* still mapped */
    EXPECT(cu.cuMemUnmap(addr, PIECE), CUDA_ERROR_INVALID_VALUE);                   /* a part */
    WORKS(cu.cuMemRelease(handle));                                                 /* the mapping keeps the memory */
    WORKS(cu.cuMemcpyAsync(addr, host, 64, stream));
    WORKS(cu.cuStreamSynchronize(stream));
    WORKS(cu.cuMemUnmap(addr, 2 * (size_t)PIECE));
    EXPECT(cu.cuMemUnmap(addr, 2 * (size_t)PIECE), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cu.cuMemAddressFree(addr, PIECE), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemAddressFree(addr, 4 * (size_t)PIECE));
    WORKS(cu.cuMemRelease(twice));
}

/* Any address of a piece gives its handle, also when the program has released its own; a property that was not set at
 * creation cannot be added later. */
static void check_retained(void)
{
    CUmemGenericAllocationHandle first, again;
    CUmemAllocationProp closed = prop, about;
    CUdeviceptr addr;
    int fd = -1;
    closed.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    WORKS(cu.cuMemAddressReserve(&addr, 4 * (size_t)PIECE, 0, 0, 0));
    EXPECT(cu.cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)addr), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemCreate(&first, 2 * (size_t)PIECE, &closed, 0));
    WORKS(cu.cuMemMap(addr, 2 * (size_t)PIECE, 0, first, 0));
    WORKS(cu.cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(addr + PIECE + 8)));
    if (again != first) exit(1);
    WORKS(cu.cuMemRelease(first));
    WORKS(cu.cuMemGetAllocationPropertiesFromHandle(&about, again)); /* one use is left */
    if (about.requestedHandleTypes != CU_MEM_HANDLE_TYPE_FABRIC) exit(1);
    EXPECT(cu.cuMemExportToShareableHandle(&fd, again, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
           CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemRelease(again));
    EXPECT(cu.cuMemRelease(again), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemUnmap(addr, 2 * (size_t)PIECE));
    WORKS(cu.cuMemAddressFree(addr, 4 * (size_t)PIECE));
}

static void ask_mapping(CUdeviceptr at, CUdeviceptr *base, size_t *bytes)
{
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
    void *values[] = {base, bytes};
    WORKS(cu.cuPointerGetAttributes(2, asked, values, at));
}

/* The driver reports a mapping as one, also where one handle is mapped twice, side by side. */
static void check_ranges(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr addr, base;
    size_t bytes;
    WORKS(cu.cuMemAddressReserve(&addr, 4 * (size_t)PIECE, 0, 0, 0));
    WORKS(cu.cuMemCreate(&handle, 2 * (size_t)PIECE, &prop, 0));
    WORKS(cu.cuMemMap(addr, 2 * (size_t)PIECE, 0, handle, 0));
    WORKS(cu.cuMemMap(addr + 2 * (size_t)PIECE, 2 * (size_t)PIECE, 0, handle, 0));
    WORKS(cu.cuMemRelease(handle));
    ask_mapping(addr + 3 * (size_t)PIECE + 8, &base, &bytes);
    if (base != addr + 2 * (size_t)PIECE || bytes != 2 * (size_t)PIECE) exit(1);
    WORKS(cu.cuMemUnmap(addr, 4 * (size_t)PIECE));
    ask_mapping(addr, &base, &bytes);
    if (base != 0 || bytes != 0) exit(1);
    WORKS(cu.cuMemAddressFree(addr, 4 * (size_t)PIECE));
}

/* Memory of the host made for devices: the processor may touch it once access is granted, unlike a device's memory. */
static void check_host_memory(void)
{
    const CUmemAccessDesc for_host = {.location = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0},
                                      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAllocationProp on_host = prop, about;
    CUmemGenericAllocationHandle handle, of_device;
    CUpointer_attribute asked = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    unsigned type = 0;
    void *value = &type;
    CUdeviceptr addr;
    on_host.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    WORKS(cu.cuMemAddressReserve(&addr, 2 * (size_t)PIECE, 0, 0, 0));
    WORKS(cu.cuMemCreate(&handle, PIECE, &on_host, 0));
    WORKS(cu.cuMemCreate(&of_device, PIECE, &prop, 0));
    WORKS(cu.cuMemGetAllocationPropertiesFromHandle(&about, handle));
    if (about.location.type != CU_MEM_LOCATION_TYPE_HOST_NUMA || about.location.id != 0) exit(1);
    WORKS(cu.cuMemMap(addr, PIECE, 0, handle, 0));
    WORKS(cu.cuMemMap(addr + PIECE, PIECE, 0, of_device, 0));
    WORKS(cu.cuPointerGetAttributes(1, &asked, &value, addr));
    if (type != CU_MEMORYTYPE_HOST) exit(1);
    EXPECT(cu.cuMemSetAccess(addr + PIECE, PIECE, &for_host, 1), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuMemSetAccess(addr, PIECE, &for_host, 1));
    *(volatile char *)(uintptr_t)addr = 1;
    WORKS(cu.cuMemRelease(handle));
    WORKS(cu.cuMemRelease(of_device));
    WORKS(cu.cuMemUnmap(addr, 2 * (size_t)PIECE));
    WORKS(cu.cuMemAddressFree(addr, 2 * (size_t)PIECE));
}

/* A context is current in the thread that made it so. */
static void *check_other_thread(void *argument)
{
    EXPECT(cu.cuStreamSynchronize(argument), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cu.cuCtxPushCurrent_v2(NULL), CUDA_ERROR_INVALID_CONTEXT);
    return NULL;
}

/* A copy into memory of the host that the driver does not know is done when its call returns. With a delay on every
 * operation a copy into other memory is not, which one of many tries at least shows. */
static void check_asynchrony(CUstream stream)
{
    static volatile char unknown;
    void *memory;
    WORKS(cu.cuMemHostAlloc(&memory, 2, 0));
    volatile char *dest = memory, *source = dest + 1;
    bool was_late = false;
    for (char round = 1; round < TRIES; round++) {
        *source = round;
        WORKS(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)dest, (CUdeviceptr)(uintptr_t)source, 1, stream));
        was_late |= *dest != round;
        WORKS(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)&unknown, (CUdeviceptr)(uintptr_t)source, 1, stream));
        if (*dest == round && unknown == round) continue;
        printf("the copy was not made\n");
        exit(1);
    }
    WORKS(cu.cuMemFreeHost(memory));
    if (was_late) return;
    printf("every copy was made before its call returned\n");
    exit(1);
}

static void call_driver(void *result)
{
    int n;
    *(CUresult *)result = cu.cuDeviceGetCount(&n);
}

/* In a context, for one of the two scopes. */
static void check_flush(CUcontext context)
{
    CUcontext ours;
    const CUflushGPUDirectRDMAWritesTarget target = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
    WORKS(cu.cuFlushGPUDirectRDMAWrites(target, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    EXPECT(cu.cuFlushGPUDirectRDMAWrites(target, (CUflushGPUDirectRDMAWritesScope)0), CUDA_ERROR_INVALID_VALUE);
    WORKS(cu.cuCtxPopCurrent_v2(&ours));
    EXPECT(cu.cuFlushGPUDirectRDMAWrites(target, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER), CUDA_ERROR_INVALID_CONTEXT);
    WORKS(cu.cuCtxPushCurrent_v2(context));
}

static void check_host_function(CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    WORKS(cu.cuLaunchHostFunc(stream, call_driver, &result));
    WORKS(cu.cuStreamSynchronize(stream));
    EXPECT(result, CUDA_ERROR_NOT_PERMITTED);
}

/* ---- launches of a program's kernels: four blocks run at once, on two multiprocessors ---- */

static int has_begun, may_end;

static void wait_for_test(void *argument)
{
    (void)argument;
    __atomic_store_n(&has_begun, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&may_end, __ATOMIC_ACQUIRE)) sched_yield();
}

static int run_once(uint32_t blocks, uint32_t threads, double_kernel kernel, void *argument)
{
    (void)blocks, (void)threads;
    kernel(argument);
    return 0;
}

static CUresult launch(CUstream stream, CUfunction kernel, unsigned blocks)
{
    void *argument = NULL, *arguments[] = {&argument};
    return launches.launch(kernel, blocks, 1, 1, 32, 1, 1, 0, stream, arguments);
}

/* What the queries report is what a launch takes; while it runs, there is no room for another kernel. */
static void check_room(CUstream stream)
{
    int multiprocessors = 0, n = 0;
    CUstream other;
    CUfunction kernel = launches.function(wait_for_test);
    EXPECT(launch(stream, kernel, 1), CUDA_ERROR_INVALID_HANDLE); /* nothing runs it */
    launches.set_engine(run_once);
    kernel = launches.function(wait_for_test);
    WORKS(cu.cuDeviceGetAttribute(&multiprocessors, (CUdevice_attribute)CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    WORKS(launches.blocks_at_once(&n, kernel, 32, 0));
    if (multiprocessors != 2 || n != 2) exit(1);
    WORKS(launches.blocks_at_once(&n, kernel, 1024, 200 << 10));
    if (n != 1) exit(1); /* shared memory for one */
    EXPECT(launch(stream, kernel, 5), (CUresult)CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    EXPECT(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    WORKS(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    WORKS(launch(stream, kernel, 4));
    while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE)) sched_yield();
    WORKS(launch(other, kernel, 1));
    while (launches.waiting() != 1) sched_yield();
    __atomic_store_n(&may_end, 1, __ATOMIC_RELEASE);
    WORKS(cu.cuStreamSynchronize(other));
    if (launches.waiting() != 0) exit(1);
    WORKS(cu.cuStreamSynchronize(stream));
    WORKS(cu.cuStreamDestroy_v2(other));
}

/* The last case: an operation that fails on the device makes the device unusable, but streams can be destroyed. */
static void check_sticky_error(CUstream stream)
{
    static char dest, source;
    int n;
    setenv("GPU_DOUBLE_FAIL", "operation:1+", 1);
    WORKS(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)&dest, (CUdeviceptr)(uintptr_t)&source, 1, stream));
    EXPECT(cu.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(cu.cuDeviceGetCount(&n), CUDA_ERROR_ILLEGAL_ADDRESS);
    WORKS(cu.cuStreamDestroy_v2(stream));
}

int main(int argc, char **argv)
{
    int n;
    CUcontext context;
    CUstream stream;
    pthread_t thread;
    if (argc != 2) return 2;
    setenv("GPU_DOUBLE_DELAY_US", "5000", 1);
    setenv("GPU_DOUBLE_BLOCKS", "4", 1);
    setenv("GPU_DOUBLE_MULTIPROCESSORS", "2", 1);
    load(argv[1]);
    EXPECT(cu.cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    WORKS(cu.cuInit(0));
    EXPECT(cu.cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    WORKS(cu.cuDevicePrimaryCtxRetain(&context, 0));
    WORKS(cu.cuCtxPushCurrent_v2(context));
    WORKS(cu.cuStreamCreate(&stream, 0));
    check_handles();
    check_mappings(stream);
    check_retained();
    check_ranges();
    check_host_memory();
    check_flush(context);
    if (pthread_create(&thread, NULL, check_other_thread, stream) != 0 || pthread_join(thread, NULL) != 0) return 1;
    check_asynchrony(stream);
    check_host_function(stream);
    check_room(stream);
    check_sticky_error(stream);
    return 0;
}
