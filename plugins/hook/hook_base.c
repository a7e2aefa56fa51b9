/* plugins/hook/hook_base.c: finds and loads the transport that does the work. See hook.h. */
#include "plugins/hook/hook.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_in_path(const char *path, const char *base, char *out, size_t out_bytes)
{
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        snprintf(out, out_bytes, "%.*s/%s.so", (int)length, path, base);
        if (length > 0 && access(out, R_OK) == 0) return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* ISTHMUS_HOOK_BASE is a file when it has a slash, else the name of a plugin, which is found as the core finds those
 * of ISTHMUS_TRANSPORTS: in a folder of ISTHMUS_PLUGIN_PATH, or beside this one. */
static void find_file(const struct isthmus_services *services, const char *base, char *out, size_t out_bytes)
{
    Dl_info here;
    const char *slash = NULL;
    if (strchr(base, '/') != NULL) {
        snprintf(out, out_bytes, "%s", base);
        return;
    }
    if (is_in_path(services->config(services->core, "PLUGIN_PATH"), base, out, out_bytes)) return;
    if (dladdr(&isthmus_transport_v1, &here) != 0) slash = strrchr(here.dli_fname, '/');
    if (slash == NULL)
        snprintf(out, out_bytes, "%s.so", base);
    else
        snprintf(out, out_bytes, "%.*s/%s.so", (int)(slash - here.dli_fname), here.dli_fname, base);
}

isthmus_status hook_base_load(const struct isthmus_services *services, const struct isthmus_transport **out)
{
    static struct isthmus_transport table;
    char file[1024];
    const char *base = services->config(services->core, "BASE");
    if (base == NULL || base[0] == '\0')
        return services->fail(
            services->core, ISTHMUS_ERR_NO_DEVICE,
            "ISTHMUS_HOOK_BASE is not set; valid: the transport to which this plugin passes operations, such as "
            "loopback or ib");
    find_file(services, base, file, sizeof file);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct isthmus_transport *theirs = library != NULL ? dlsym(library, "isthmus_transport_v1") : NULL;
    if (theirs == NULL)
        return services->fail(services->core, ISTHMUS_ERR_NO_DEVICE,
                              "ISTHMUS_HOOK_BASE is '%s', which cannot be loaded: %s", base, dlerror());
    if (theirs == &isthmus_transport_v1)
        return services->fail(
            services->core, ISTHMUS_ERR_INVALID,
            "ISTHMUS_HOOK_BASE is '%s', which is this plugin; valid: another transport, such as loopback or ib", base);
    isthmus_read_in(&table, sizeof table, theirs);
    *out = &table;
    return ISTHMUS_OK;
}
