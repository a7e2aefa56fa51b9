/* plugins/xgmi/hip_load.c: see xgmi.h. */
#include "plugins/xgmi/xgmi.h"

#include <dlfcn.h>
#include <pthread.h>

struct hip_api xg_hip;
struct hip_more xg_more;
struct hiprtc_api xg_rtc;
bool xg_has_rtc;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

static const char *const names[] = {
#define HIP(name) #name,
#include "plugins/xgmi/hip.def"
};

static const char *const more_names[] = {
#define HIP_MORE(name) #name,
#include "plugins/xgmi/hip_more.def"
};

static const char *const rtc_names[] = {
#define HIPRTC(name) #name,
#include "plugins/xgmi/hiprtc.def"
};

const char *xg_result_name(hipError_t result)
{
    const char *name = xg_hip.hipGetErrorName(result);
    return name != NULL ? name : "an unknown HIP error";
}

isthmus_status xg_status(hipError_t result)
{
    switch (result) {
    case hipSuccess: return ISTHMUS_OK;
    case hipErrorOutOfMemory: return ISTHMUS_ERR_NO_MEMORY;
    case hipErrorNoDevice:
    case hipErrorInvalidDevice: return ISTHMUS_ERR_NO_DEVICE;
    case hipErrorNotSupported: return ISTHMUS_ERR_UNSUPPORTED;
    default: return ISTHMUS_ERR_IO;
    }
}

/* The library of the newest release that is here: the calls used have the same types in all of them. */
static void *open_library(const char *name, int flags)
{
    static const char *const versions[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
    if (name != NULL) return dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof versions / sizeof *versions; i++)
        library = dlopen(versions[i], RTLD_NOW | RTLD_LOCAL | flags);
    return library;
}

/* Loads the library and finds all calls; *library is to be closed, also after an error when it is not NULL. */
static isthmus_status look(const struct isthmus_services *s, int flags, void **library, struct hip_api *out)
{
    static const char *const nodes[] = {"/dev/kfd", NULL};
    const char *name;
    *library = NULL;
    isthmus_status status = p2p_library(s, xg_driver.hardware, nodes, &name);
    if (status != ISTHMUS_OK) return status;
    *library = open_library(name, flags);
    if (*library == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "no HIP: %s", dlerror());
    void **entry = (void **)(void *)out; /* POSIX: dlsym's objects and functions have one kind of address */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        entry[i] = dlsym(*library, names[i]);
        if (entry[i] == NULL)
            return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "this HIP lacks %s; install ROCm 5 or newer", names[i]);
    }
    return ISTHMUS_OK;
}

static void look_for_more(void *library)
{
    void **entry = (void **)(void *)&xg_more;
    for (size_t i = 0; i < sizeof more_names / sizeof *more_names; i++) entry[i] = dlsym(library, more_names[i]);
}

/* Loads all calls of the compiler from one library. Returns false if it is not there. */
static bool find_compiler(void *library)
{
    void **entry = (void **)(void *)&xg_rtc;
    for (size_t i = 0; i < sizeof rtc_names / sizeof *rtc_names; i++)
        if ((entry[i] = dlsym(library, rtc_names[i])) == NULL) return false;
    return true;
}

/* Up to ROCm 6 the compiler is in HIP's library, later in one of its own. */
static void look_for_compiler(void *library)
{
    static const char *const versions[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5"};
    xg_has_rtc = find_compiler(library);
    for (size_t i = 0; !xg_has_rtc && i < sizeof versions / sizeof *versions; i++) {
        void *compiler = dlopen(versions[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        xg_has_rtc = compiler != NULL && find_compiler(compiler);
    }
}

isthmus_status xg_probe(const struct isthmus_services *services)
{
    struct hip_api unused;
    void *library;
    isthmus_status status = look(services, 0, &library, &unused);
    if (library != NULL) dlclose(library);
    return status;
}

isthmus_status xg_load(const struct isthmus_services *services)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&lock);
    if (!is_loaded) {
        void *library;
        struct hip_api api;
        status = look(services, RTLD_NODELETE, &library, &api);
        if (status == ISTHMUS_OK) xg_hip = api;
        if (status == ISTHMUS_OK) look_for_more(library);
        if (status == ISTHMUS_OK) look_for_compiler(library);
        is_loaded = status == ISTHMUS_OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
