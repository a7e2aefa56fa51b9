/* plugins/nvlink/cuda_load.c: see nvlink.h. */
#include "plugins/nvlink/nvlink.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* cuStreamWaitValue64_v2 is the newest call that must be there. */
enum { OLDEST_VERSION = 11070 };

struct cuda_api nvl_cuda;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

static const struct {
    const char *name;
    bool is_newer; /* than the oldest version: it may be missing */
} calls[] = {
#define CUDA(name, parameters) {#name, false},
#define CUDA_NEWER(name, parameters) {#name, true},
#include "plugins/nvlink/cuda.def"
};

const char *nvl_result_name(CUresult result)
{
    const char *name = NULL;
    if (nvl_cuda.cuGetErrorName == NULL || nvl_cuda.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        name = "an unknown CUDA error";
    return name;
}

isthmus_status nvl_status(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS: return ISTHMUS_OK;
    case CUDA_ERROR_OUT_OF_MEMORY: return ISTHMUS_ERR_NO_MEMORY;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: return ISTHMUS_ERR_NO_DEVICE;
    case CUDA_ERROR_NOT_PERMITTED: return ISTHMUS_ERR_PERMISSION;
    case CUDA_ERROR_NOT_SUPPORTED: return ISTHMUS_ERR_UNSUPPORTED;
    default: return ISTHMUS_ERR_IO;
    }
}

/* The driver's version is checked first: one that is too old lacks calls, and its version is the better reason. */
static isthmus_status check_version(const struct isthmus_services *s, void *library)
{
    CUresult (*get)(int *);
    int version = 0;
    *(void **)(void *)&get = dlsym(library, "cuDriverGetVersion");
    CUresult result = get != NULL ? get(&version) : CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_ERROR_STUB_LIBRARY)
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                       "no CUDA driver: libcuda.so.1 is the stub for linking; remove its folder from LD_LIBRARY_PATH");
    if (result != CUDA_SUCCESS)
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "the CUDA driver does not report its version: error %d",
                       (int)result);
    if (version < OLDEST_VERSION)
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                       "the driver on this host is for CUDA %d.%d; this plugin needs one for CUDA %d.%d or newer",
                       version / 1000, version % 1000 / 10, OLDEST_VERSION / 1000, OLDEST_VERSION % 1000 / 10);
    return ISTHMUS_OK;
}

static isthmus_status find_calls(const struct isthmus_services *s, void *library, struct cuda_api *out)
{
    void **entry = (void **)(void *)out; /* POSIX: dlsym's objects and functions have one kind of address */
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        entry[i] = dlsym(library, calls[i].name);
        if (entry[i] == NULL && !calls[i].is_newer)
            return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                           "the CUDA driver lacks %s; install one for CUDA %d.%d or newer", calls[i].name,
                           OLDEST_VERSION / 1000, OLDEST_VERSION % 1000 / 10);
    }
    return ISTHMUS_OK;
}

enum { PATH_BYTES = 4096 };

/* LIBRARY names the file, else CUDA_PATH its folder. */
static isthmus_status choose_library(const struct isthmus_services *s, char path[PATH_BYTES], const char **name)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/dxg", NULL}; /* the second one: under Windows */
    const char *wish = s->config(s->core, "LIBRARY"), *folder = s->config(s->core, "CUDA_PATH");
    bool is_in_folder = (wish == NULL || *wish == '\0') && folder != NULL && *folder != '\0';
    *name = path;
    if (is_in_folder) snprintf(path, PATH_BYTES, "%s/libcuda.so.1", folder);
    return is_in_folder ? ISTHMUS_OK : p2p_library(s, nvl_driver.hardware, nodes, name);
}

/* Loads the library and finds all calls; *library is to be closed, also after an error when it is not NULL. */
static isthmus_status look(const struct isthmus_services *s, int flags, void **library, struct cuda_api *out)
{
    char path[PATH_BYTES];
    const char *name;
    *library = NULL;
    isthmus_status status = choose_library(s, path, &name);
    if (status != ISTHMUS_OK) return status;
    *library = dlopen(name != NULL ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL | flags);
    if (*library == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "no CUDA driver: %s", dlerror());
    status = check_version(s, *library);
    return status == ISTHMUS_OK ? find_calls(s, *library, out) : status;
}

isthmus_status nvl_probe(const struct isthmus_services *services)
{
    struct cuda_api unused;
    void *library;
    isthmus_status status = look(services, 0, &library, &unused);
    if (library != NULL) dlclose(library);
    return status;
}

isthmus_status nvl_load(const struct isthmus_services *services)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&lock);
    if (!is_loaded) {
        void *library;
        struct cuda_api api;
        status = look(services, RTLD_NODELETE, &library, &api);
        if (status == ISTHMUS_OK) nvl_cuda = api;
        is_loaded = status == ISTHMUS_OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
