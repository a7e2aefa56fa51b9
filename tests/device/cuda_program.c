/* tests/device/cuda_program.c: see cuda_program.h. */
#include "tests/device/cuda_program.h"

#include "tests/doubles/cuda/load.h"

#include <stdio.h>
#include <stdlib.h>

enum { PIECES_MAX = 8 };

static const CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
static struct cuda_api cu;
static CUresult (*mem_alloc)(CUdeviceptr *addr, size_t size);
static CUresult (*mem_free)(CUdeviceptr addr);
static CUcontext context;
static CUdeviceptr reserved;
static size_t reserved_bytes;
static struct {
    CUdeviceptr addr;
    size_t bytes;
} pieces[PIECES_MAX];
static int n_pieces;

#define WORKS(call)                                                           \
    do {                                                                      \
        CUresult got_ = (call);                                               \
        if (got_ == CUDA_SUCCESS) break;                                      \
        printf("%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, (int)got_); \
        exit(1);                                                              \
    } while (0)

static bool load(const char *file)
{
    void *driver = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (!cuda_load(driver, &cu)) return false;
    *(void **)(void *)&mem_alloc = dlsym(driver, "cuMemAlloc_v2");
    *(void **)(void *)&mem_free = dlsym(driver, "cuMemFree_v2");
    return mem_alloc != NULL && mem_free != NULL;
}

bool program_open(const char *driver_file, int granules)
{
    if (!load(driver_file)) return false;
    reserved_bytes = (size_t)granules * PROGRAM_GRANULE;
    WORKS(cu.cuDevicePrimaryCtxRetain(&context, 0));
    WORKS(cu.cuCtxPushCurrent_v2(context));
    WORKS(cu.cuMemAddressReserve(&reserved, reserved_bytes, 0, 0, 0));
    return true;
}

void program_close(void)
{
    CUcontext ours;
    while (n_pieces > 0) {
        n_pieces--;
        WORKS(cu.cuMemUnmap(pieces[n_pieces].addr, pieces[n_pieces].bytes));
    }
    WORKS(cu.cuMemAddressFree(reserved, reserved_bytes));
    WORKS(cu.cuCtxPopCurrent_v2(&ours));
    WORKS(cu.cuDevicePrimaryCtxRelease_v2(0));
}

void program_enter(void) { WORKS(cu.cuCtxPushCurrent_v2(context)); }

static CUmemGenericAllocationHandle create(CUmemLocation location, size_t bytes, bool for_export)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location};
    CUmemGenericAllocationHandle handle;
    if (for_export) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    WORKS(cu.cuMemCreate(&handle, bytes, &prop, 0));
    return handle;
}

static long *map(int at, size_t bytes, CUmemGenericAllocationHandle handle)
{
    const CUdeviceptr addr = reserved + (CUdeviceptr)at * PROGRAM_GRANULE;
    const CUmemAccessDesc access = {.location = device, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (n_pieces == PIECES_MAX) exit(1);
    WORKS(cu.cuMemMap(addr, bytes, 0, handle, 0));
    WORKS(cu.cuMemSetAccess(addr, bytes, &access, 1));
    pieces[n_pieces].addr = addr;
    pieces[n_pieces++].bytes = bytes;
    return (long *)(uintptr_t)addr;
}

/* The mapping keeps the memory after the release of the handle, as in real programs. */
static long *map_new(CUmemLocation location, int at, int granules, bool for_export)
{
    const size_t bytes = (size_t)granules * PROGRAM_GRANULE;
    CUmemGenericAllocationHandle handle = create(location, bytes, for_export);
    long *addr = map(at, bytes, handle);
    WORKS(cu.cuMemRelease(handle));
    return addr;
}

long *program_map(int at, int granules, bool for_export) { return map_new(device, at, granules, for_export); }

long *program_map_on_host(int at, int granules)
{
    const CUmemLocation node = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0};
    return map_new(node, at, granules, true);
}

long *program_map_twice(int at, int granules)
{
    const size_t bytes = (size_t)granules * PROGRAM_GRANULE;
    CUmemGenericAllocationHandle handle = create(device, bytes, true);
    long *addr = map(at, bytes, handle);
    (void)map(at + granules, bytes, handle);
    WORKS(cu.cuMemRelease(handle));
    return addr;
}

long *program_alloc(void)
{
    CUdeviceptr addr;
    WORKS(mem_alloc(&addr, PROGRAM_GRANULE));
    return (long *)(uintptr_t)addr;
}

void program_free(long *addr) { WORKS(mem_free((CUdeviceptr)(uintptr_t)addr)); }

void program_copy(void *dest, const void *source, size_t bytes)
{
    CUstream stream;
    WORKS(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    WORKS(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)dest, (CUdeviceptr)(uintptr_t)source, bytes, stream));
    WORKS(cu.cuStreamSynchronize(stream));
    WORKS(cu.cuStreamDestroy_v2(stream));
}

long program_word(const long *addr)
{
    long value = 0;
    program_copy(&value, addr, sizeof value);
    return value;
}
