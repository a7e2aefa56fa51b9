/* tests/doubles/cuda/nvml.c: libnvidia-ml.so.1, without which UCX's modules for CUDA are not loaded. It reports no
 * device. With COUNTS_DEVICES it is for Python, whose cuda.core counts them. */

enum { NVML_ERROR_NOT_SUPPORTED = 3, NVML_ERROR_LIBRARY_NOT_FOUND = 12 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int error);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetFieldValues(void *device, int n, void *values);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *pci);
int nvmlDeviceGetGpuFabricInfo(void *device, void *info);

#ifdef COUNTS_DEVICES
int nvmlDeviceGetCount_v2(unsigned *count);

int nvmlInit_v2(void) { return 0; }

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 1;
    return 0;
}
#else
int nvmlInit_v2(void) { return NVML_ERROR_LIBRARY_NOT_FOUND; }
#endif

int nvmlShutdown(void) { return 0; }

const char *nvmlErrorString(int error) { return error == 0 ? "success" : "this is a double"; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    (void)index, (void)device;
    return NVML_ERROR_NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(void *device, int n, void *values)
{
    (void)device, (void)n, (void)values;
    return NVML_ERROR_NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *pci)
{
    (void)device, (void)link, (void)pci;
    return NVML_ERROR_NOT_SUPPORTED;
}

int nvmlDeviceGetGpuFabricInfo(void *device, void *info)
{
    (void)device, (void)info;
    return NVML_ERROR_NOT_SUPPORTED;
}
