/* tests/cpu_device/on_double.c: see on_double.h. */
#undef nvshmem_init /* of the programs beside it */
#define ISTHMUS_DEVICE_CPU
#define ISTHMUS_NO_CUDA_HEADERS /* plugins/nvlink/cuda_api.h has the types of the driver */
#include "tests/cpu_device/on_double.h"

#include <isthmus/device.h>
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <stdio.h>
#include <string.h>

static const struct isthmus_device_state *state;

const struct on_double *on_double(void)
{
    static struct on_double d;
    static const struct {
        void *call;
        const char *name;
    } calls[] = {{&d.load, "cuModuleLoadData"},
                 {&d.unload, "cuModuleUnload"},
                 {&d.get_global, "cuModuleGetGlobal_v2"},
                 {&d.get_global_of_library, "cuLibraryGetGlobal"},
                 {&d.attributes, "cuPointerGetAttributes"},
                 {&d.retain, "cuDevicePrimaryCtxRetain"},
                 {&d.push, "cuCtxPushCurrent_v2"},
                 {&d.set_engine, "cuda_double_set_engine"}};
    const char *path = getenv("ISTHMUS_NVLINK_LIBRARY");
    if (d.library != NULL) return &d;
    d.library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *at = d.library != NULL ? dlsym(d.library, calls[i].name) : NULL;
        if (at == NULL) {
            fprintf(stderr, "the library has not loaded the double of CUDA's driver, or it lacks %s\n", calls[i].name);
            abort();
        }
        memcpy(calls[i].call, &at, sizeof at);
    }
    return &d;
}

const struct isthmus_device_state *on_double_load(CUmodule *module)
{
    CUdeviceptr at;
    size_t size;
    if (on_double()->load(module, code_with_state) != CUDA_SUCCESS ||
        on_double()->get_global(&at, &size, *module, "isthmus_device_v1") != CUDA_SUCCESS)
        return NULL;
    return (const struct isthmus_device_state *)(uintptr_t)at;
}

/* As the function that device_cuda.h registers: it needs the device to be current. */
static void *find_state(void)
{
    CUmodule module;
    if (state == NULL) state = on_double_load(&module);
    return (void *)(uintptr_t)state;
}

static __attribute__((constructor)) void announce(void)
{
    enum { OF_CUDA = 1 };
    (void)isthmus_device_register_gpu_v1(OF_CUDA, find_state);
}

const struct isthmus_device_state *on_double_state(void) { return state; }

void on_double_init(void)
{
    nvshmem_init();
    if (state == NULL || state->n == 0) {
        fprintf(stderr, "the library has written no state\n");
        abort();
    }
    isthmus_device_v1 = *state;
    on_double()->set_engine(isthmus_cpu_launch);
}
