/* plugins/xelink/ze_load.c: see xelink.h. */
#include "plugins/xelink/xelink.h"

#include <dlfcn.h>
#include <pthread.h>

struct ze_api xe_ze;
#ifdef ZE_PCI_PROPERTIES_EXT_NAME
__typeof__(zeDevicePciGetPropertiesExt) *xe_get_pci;
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

static const char *const names[] = {
#define ZE(name) #name,
#include "plugins/xelink/ze.def"
};

isthmus_status xe_status(ze_result_t result)
{
    switch (result) {
    case ZE_RESULT_SUCCESS: return ISTHMUS_OK;
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY: return ISTHMUS_ERR_NO_MEMORY;
    case ZE_RESULT_ERROR_UNINITIALIZED:
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE: return ISTHMUS_ERR_NO_DEVICE;
    case ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS: return ISTHMUS_ERR_PERMISSION;
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE: return ISTHMUS_ERR_UNSUPPORTED;
    default: return ISTHMUS_ERR_IO;
    }
}

/* Loads the library and finds all calls; *library is to be closed, also after an error when it is not NULL. */
static isthmus_status look(const struct isthmus_services *s, int flags, void **library, struct ze_api *out)
{
    static const char *const nodes[] = {"/dev/dri", "/dev/dxg", NULL}; /* the second one: under Windows */
    const char *name;
    *library = NULL;
    isthmus_status status = p2p_library(s, xe_driver.hardware, nodes, &name);
    if (status != ISTHMUS_OK) return status;
    *library = dlopen(name != NULL ? name : "libze_loader.so.1", RTLD_NOW | RTLD_LOCAL | flags);
    if (*library == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "no Level Zero: %s", dlerror());
    void **entry = (void **)(void *)out; /* POSIX: dlsym's objects and functions have one kind of address */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        entry[i] = dlsym(*library, names[i]);
        if (entry[i] == NULL)
            return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "this Level Zero lacks %s; install version 1.3 or newer",
                           names[i]);
    }
    return ISTHMUS_OK;
}

isthmus_status xe_probe(const struct isthmus_services *services)
{
    struct ze_api unused;
    void *library;
    isthmus_status status = look(services, 0, &library, &unused);
    if (library != NULL) dlclose(library);
    return status;
}

static void find_newer_calls(void *library)
{
#ifdef ZE_PCI_PROPERTIES_EXT_NAME
    *(void **)(void *)&xe_get_pci = dlsym(library, "zeDevicePciGetPropertiesExt");
#else
    (void)library;
#endif
}

isthmus_status xe_load(const struct isthmus_services *services)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&lock);
    if (!is_loaded) {
        void *library;
        struct ze_api api;
        status = look(services, RTLD_NODELETE, &library, &api);
        if (status == ISTHMUS_OK) {
            xe_ze = api;
            find_newer_calls(library);
        }
        is_loaded = status == ISTHMUS_OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
