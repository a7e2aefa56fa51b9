/* plugins/ofi/ofi_library.c: loads libfabric. See ofi_library.h. */
#include "ofi_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

enum { OLDEST_MAJOR = 1, OLDEST_MINOR = 14, N_SIGNALS = 65 };

struct ofi_library ofi_library;

static struct {
    pthread_mutex_t lock;
    bool is_loaded;
    char version[16], file[PATH_MAX];
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Providers such as PSM take over the signals of faults when libfabric starts them: they stay the program's. */
static void signals_keep(struct sigaction before[N_SIGNALS])
{
    for (int s = 1; s < N_SIGNALS; s++)
        if (sigaction(s, NULL, &before[s]) != 0) before[s].sa_handler = SIG_ERR;
}

static void signals_restore(const struct sigaction before[N_SIGNALS])
{
    for (int s = 1; s < N_SIGNALS; s++) {
        struct sigaction now;
        if (before[s].sa_handler == SIG_ERR || sigaction(s, NULL, &now) != 0) continue;
        if (now.sa_handler != before[s].sa_handler) (void)sigaction(s, &before[s], NULL);
    }
}

/* Returns the name of a function that is missing, or NULL. */
static const char *fill_in(void *library)
{
#define OFI(name)                                                \
    *(void **)(void *)&ofi_library.name = dlsym(library, #name); \
    if (ofi_library.name == NULL) return #name;
#include "ofi_library.def"
    return NULL;
}

static isthmus_status load_locked(const struct isthmus_services *s)
{
    struct sigaction before[N_SIGNALS];
    const char *name = s->config(s->core, "LIBRARY");
    if (name == NULL || name[0] == '\0') name = "libfabric.so.1";
    signals_keep(before);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    signals_restore(before);
    if (library == NULL)
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                       "libfabric cannot be loaded: %s; install it, or name its file by ISTHMUS_OFI_LIBRARY",
                       dlerror());
    const char *missing = fill_in(library);
    if (missing != NULL)
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "%s is not libfabric: it lacks %s", name, missing);
    uint32_t version = ofi_library.fi_version();
    snprintf(loaded.version, sizeof loaded.version, "%u.%u", FI_MAJOR(version), FI_MINOR(version));
    if (FI_VERSION_LT(version, FI_VERSION(OLDEST_MAJOR, OLDEST_MINOR)))
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "%s is libfabric %s; at least %d.%d is needed", name,
                       loaded.version, OLDEST_MAJOR, OLDEST_MINOR);
    Dl_info where;
    bool is_found = dladdr(*(void **)(void *)&ofi_library.fi_version, &where) != 0;
    snprintf(loaded.file, sizeof loaded.file, "%s", is_found ? where.dli_fname : name);
    loaded.is_loaded = true;
    return ISTHMUS_OK;
}

isthmus_status ofi_library_load(const struct isthmus_services *services)
{
    pthread_mutex_lock(&loaded.lock);
    isthmus_status status = loaded.is_loaded ? ISTHMUS_OK : load_locked(services);
    pthread_mutex_unlock(&loaded.lock);
    return status;
}

int ofi_library_list(const struct fi_info *hints, struct fi_info **out)
{
    struct sigaction before[N_SIGNALS];
    uint32_t ours = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), theirs = ofi_library.fi_version();
    signals_keep(before);
    int error = ofi_library.fi_getinfo(FI_VERSION_LT(theirs, ours) ? theirs : ours, NULL, NULL, 0, hints, out);
    signals_restore(before);
    return error;
}

const char *ofi_library_version(void) { return loaded.version; }

const char *ofi_library_file(void) { return loaded.file; }

const char *ofi_library_error(ssize_t error) { return ofi_library.fi_strerror((int)-error); }
