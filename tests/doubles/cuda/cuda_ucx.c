/* tests/doubles/cuda/cuda_ucx.c: the calls of CUDA's driver that UCX makes and the plugin does not. With them UCX takes
 * the double for a driver: it knows memory of CUDA, and copies it, while no adapter registers it. Types are spelled as
 * the caller passes them. */
#include "tests/doubles/cuda/cuda_double.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { HAS_CONTEXT = 1, MEMORY_BYTES_SHIFT = 34, ATTRIBUTE_SYNC_MEMOPS = 6, ATTRIBUTE_BUFFER_ID = 7 };

typedef struct gpu_event *double_event;

/* No header of Isthmus has them. */
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active);
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr addr);
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr addr);
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr addr);
CUresult cuMemRangeGetAttribute(void *data, size_t data_size, int attribute, CUdeviceptr addr, size_t size);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dest, CUdeviceptr source, size_t size, CUstream stream);
CUresult cuMemcpyHtoD_v2(CUdeviceptr dest, const void *source, size_t size);
CUresult cuEventCreate(double_event *event, unsigned flags);
CUresult cuEventDestroy_v2(double_event event);
CUresult cuEventRecord(double_event event, CUstream stream);
CUresult cuEventQuery(double_event event);
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags, int *found);

CUresult cuGetErrorString(CUresult error, const char **text) { return cuGetErrorName(error, text); }

/* ---- devices and contexts ---- */

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    ENTER();
    (void)device;
    *bytes = (size_t)1 << MEMORY_BYTES_SHIFT;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active)
{
    ENTER();
    (void)device;
    *flags = 0;
    *is_active = 1;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    ENTER();
    (void)context;
    *id = HAS_CONTEXT;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    ENTER();
    (void)context;
    *version = 3020;
    return CUDA_SUCCESS;
}

/* ---- what is at an address ---- */

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr addr)
{
    ENTER();
    struct gpu_place place = gpu_find(addr);
    if (place.kind == GPU_UNKNOWN) return CUDA_ERROR_NOT_FOUND;
    if (base != NULL) *base = place.base;
    if (size != NULL) *size = place.length_bytes;
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr addr)
{
    ENTER();
    if ((int)attribute == ATTRIBUTE_BUFFER_ID) {
        *(unsigned long long *)value = gpu_find(addr).base;
        return CUDA_SUCCESS;
    }
    return cuPointerGetAttributes(1, &attribute, &value, addr);
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr addr)
{
    ENTER();
    (void)value, (void)addr;
    return (int)attribute == ATTRIBUTE_SYNC_MEMOPS ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemRangeGetAttribute(void *data, size_t data_size, int attribute, CUdeviceptr addr, size_t size)
{
    ENTER();
    (void)data, (void)data_size, (void)attribute, (void)addr, (void)size;
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- copies and events ---- */

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dest, CUdeviceptr source, size_t size, CUstream stream)
{
    return cuMemcpyAsync(dest, source, size, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dest, const void *source, size_t size)
{
    CUresult result = cuMemcpyAsync(dest, (CUdeviceptr)(uintptr_t)source, size, NULL);
    return result == CUDA_SUCCESS ? cuStreamSynchronize(NULL) : result;
}

CUresult cuEventCreate(double_event *event, unsigned flags)
{
    ENTER_CONTEXT();
    (void)flags;
    *event = gpu_event_create(true);
    return *event != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy_v2(double_event event)
{
    ENTER();
    gpu_event_destroy(event);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(double_event event, CUstream stream)
{
    ENTER();
    struct gpu_stream *queue = stream != NULL ? (struct gpu_stream *)(void *)stream : gpu_stream_default();
    return gpu_stream_submit(queue, &(struct gpu_op){.run = gpu_run_nothing, .event = event})
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

enum { NOT_READY = 600 };

CUresult cuEventQuery(double_event event)
{
    ENTER();
    return gpu_event_is_set(event) ? CUDA_SUCCESS : (CUresult)NOT_READY;
}

/* ---- ways to share memory that a network does not need ---- */

#define REFUSE(name)                     \
    CUresult name(void);                 \
    CUresult name(void)                  \
    {                                    \
        ENTER();                         \
        return CUDA_ERROR_NOT_SUPPORTED; \
    }
REFUSE(cuIpcGetMemHandle)
REFUSE(cuIpcOpenMemHandle_v2)
REFUSE(cuIpcCloseMemHandle)
REFUSE(cuMemAllocManaged)
REFUSE(cuMemPoolDestroy)
REFUSE(cuMemPoolExportPointer)
REFUSE(cuMemPoolExportToShareableHandle)
REFUSE(cuMemPoolImportFromShareableHandle)
REFUSE(cuMemPoolImportPointer)
REFUSE(cuMemPoolSetAccess)
REFUSE(cuMemGetHandleForAddressRange)
REFUSE(cuStreamAddCallback)

/* Newer UCX resolves calls through the driver, by their names without a version. */
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags, int *found)
{
    static const char *const suffixes[] = {"_v2", ""};
    (void)version, (void)flags;
    Dl_info here;
    void *self = dladdr(&double_is_initialized, &here) != 0 ? dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    *function = NULL;
    for (size_t i = 0; self != NULL && i < sizeof suffixes / sizeof *suffixes && *function == NULL; i++) {
        char full[96];
        snprintf(full, sizeof full, "%s%s", name, suffixes[i]);
        *function = dlsym(self, full);
    }
    if (found != NULL) *found = *function == NULL;
    return *function != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
