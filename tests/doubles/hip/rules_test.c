/* tests/doubles/hip/rules_test.c: rules_test DOUBLE.so: does the double of HIP refuse what HIP 7 refuses of virtual
 * memory and streams? A double that lets everything pass would prove nothing about the code above it. */
#include <hip/hip_runtime_api.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPECT(call, result)                                                                      \
    do {                                                                                          \
        hipError_t got_ = (call);                                                                 \
        if (got_ == (result)) break;                                                              \
        printf("line %d: %s gives %d, expected %d\n", __LINE__, #call, (int)got_, (int)(result)); \
        exit(1);                                                                                  \
    } while (0)
#define WORKS(call) EXPECT(call, hipSuccess)
#define REFUSES(call) EXPECT(call, hipErrorInvalidValue)

enum { PIECE = 2 << 20, UNCACHED = 0x40000000 };

static struct {
#define HIP(name) __typeof__(name) *(name);
#define HIP_MORE(name) __typeof__(name) *(name);
#include "plugins/xgmi/hip.def"
#include "plugins/xgmi/hip_more.def"
} hip;

static void load(const char *path)
{
    static const char *const names[] = {
#define HIP(name) #name,
#define HIP_MORE(name) #name,
#include "plugins/xgmi/hip.def"
#include "plugins/xgmi/hip_more.def"
    };
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void **entry = (void **)(void *)&hip;
    if (library == NULL) exit(1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) entry[i] = dlsym(library, names[i]);
}

/* As HIP 7 has them. */
static struct {
    int type, handle_types;
    hipMemLocation location;
} prop = {UNCACHED, hipMemHandleTypePosixFileDescriptor, {hipMemLocationTypeDevice, 0}};

static hipMemGenericAllocationHandle_t create(size_t size)
{
    hipMemGenericAllocationHandle_t handle = NULL;
    WORKS(hip.hipMemCreate(&handle, size, (const void *)&prop, 0));
    return handle;
}

static void check_handles(void)
{
    hipMemGenericAllocationHandle_t handle, stale = create(PIECE);
    int fd = -1;
    REFUSES(hip.hipMemCreate(&handle, PIECE / 2, (const void *)&prop, 0));
    WORKS(hip.hipMemRelease(stale));
    REFUSES(hip.hipMemRelease(stale));
    prop.handle_types = hipMemHandleTypeNone;
    handle = create(PIECE);
    REFUSES(hip.hipMemExportToShareableHandle(&fd, handle, hipMemHandleTypePosixFileDescriptor, 0));
    WORKS(hip.hipMemRelease(handle));
    prop.handle_types = hipMemHandleTypeWin32;
    EXPECT(hip.hipMemCreate(&handle, PIECE, (const void *)&prop, 0), hipErrorNotSupported);
    prop.handle_types = hipMemHandleTypePosixFileDescriptor;
    prop.location.id = 7;
    EXPECT(hip.hipMemCreate(&handle, PIECE, (const void *)&prop, 0), hipErrorInvalidDevice);
    prop.location.id = 0;
    REFUSES(hip.hipMemImportFromShareableHandle(&handle, (void *)(intptr_t)STDOUT_FILENO,
                                                hipMemHandleTypePosixFileDescriptor));
}

static void check_mappings(hipStream_t stream)
{
    static char buffer[64];
    void *got = NULL;
    const hipMemAccessDesc access = {.location = prop.location, .flags = hipMemAccessFlagsProtReadWrite};
    REFUSES(hip.hipMemAddressReserve(&got, PIECE + 4096, 0, NULL, 0));
    WORKS(hip.hipMemAddressReserve(&got, 4 * (size_t)PIECE, 0, NULL, 0));
    char *addr = got;
    hipMemGenericAllocationHandle_t handle = create(2 * (size_t)PIECE);
    REFUSES(hip.hipMemMap(addr, PIECE, PIECE, handle, 0)); /* no offset */
    WORKS(hip.hipMemMap(addr, 2 * (size_t)PIECE, 0, handle, 0));
    REFUSES(hip.hipMemMap(addr + PIECE, PIECE, 0, handle, 0));
    REFUSES(hip.hipMemcpyAsync(addr, buffer, sizeof buffer, hipMemcpyDefault, stream)); /* no access so far */
    REFUSES(hip.hipMemSetAccess(addr, PIECE, &access, 1));                              /* a part */
    WORKS(hip.hipMemSetAccess(addr, 2 * (size_t)PIECE, &access, 1));
    WORKS(hip.hipMemRelease(handle)); /* the mapping keeps the memory */
    WORKS(hip.hipMemcpyAsync(addr, buffer, sizeof buffer, hipMemcpyDefault, stream));
    WORKS(hip.hipStreamSynchronize(stream));
    hipIpcMemHandle_t opaque;
    REFUSES(hip.hipIpcGetMemHandle(&opaque, addr)); /* pieces have descriptors instead */
    REFUSES(hip.hipMemAddressFree(addr, 4 * (size_t)PIECE));
    REFUSES(hip.hipMemUnmap(addr, PIECE));
    WORKS(hip.hipMemUnmap(addr, 2 * (size_t)PIECE));
    REFUSES(hip.hipMemUnmap(addr, 2 * (size_t)PIECE));
    WORKS(hip.hipMemAddressFree(addr, 4 * (size_t)PIECE));
}

static void check_streams(hipStream_t stream)
{
    uint64_t on_stack = 1;
    REFUSES(hip.hipStreamWaitValue64(stream, &on_stack, 1, hipStreamWaitValueGte, UINT64_MAX)); /* not known to HIP */
    REFUSES(hip.hipStreamWriteValue64(stream, &on_stack, 1, 0));
    REFUSES(hip.hipLaunchHostFunc(stream, NULL, NULL));
}

static void check_code(void)
{
    hipModule_t module, amo;
    hipFunction_t function;
    hipDeviceptr_t at = NULL;
    void *host, *view;
    size_t bytes = 0;
    WORKS(hip.hipModuleLoadData(&module, ".b8 some_state[24]"));
    WORKS(hip.hipModuleLoadData(&amo, "isthmus_amo"));
    EXPECT(hip.hipModuleLoadData(&module, "no code"), hipErrorInvalidImage);
    WORKS(hip.hipModuleGetGlobal(&at, &bytes, module, "some_state"));
    EXPECT(hip.hipModuleGetGlobal(&at, &bytes, module, "another"), hipErrorNotFound);
    EXPECT(hip.hipModuleGetGlobal(&at, &bytes, (hipModule_t)(void *)&bytes, "some_state"), hipErrorInvalidHandle);
    EXPECT(hip.hipModuleGetFunction(&function, module, "isthmus_amo"), hipErrorNotFound);
    WORKS(hip.hipModuleGetFunction(&function, amo, "isthmus_amo"));
    WORKS(hip.hipModuleUnload(module));
    WORKS(hip.hipModuleUnload(amo));
    EXPECT(hip.hipModuleUnload(module), hipErrorInvalidHandle);
    REFUSES(hip.hipHostGetDevicePointer(&view, &bytes, 0));
    WORKS(hip.hipHostMalloc(&host, 100, 0));
    WORKS(hip.hipHostGetDevicePointer(&view, host, 0));
    WORKS(hip.hipHostFree(host));
}

int main(int argc, char **argv)
{
    hipStream_t stream;
    if (argc != 2) return 2;
    load(argv[1]);
    WORKS(hip.hipInit(0));
    WORKS(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    check_handles();
    check_mappings(stream);
    check_streams(stream);
    check_code();
    WORKS(hip.hipStreamDestroy(stream));
    return 0;
}
