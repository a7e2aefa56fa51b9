/* plugins/hook/hook_base.c: finds and loads the transport that does the work. See hook.h. */
#include "plugins/hook/hook.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ISTHMUS_HOOK_BASE is a file when it has a slash, else the name of a plugin that lies beside this one. */
static void find_file(const char *base, char *out, size_t out_bytes)
{
    Dl_info here;
    const char *slash = NULL;
    if (strchr(base, '/') == NULL && dladdr(&isthmus_transport_v1, &here) != 0) slash = strrchr(here.dli_fname, '/');
    if (slash == NULL)
        snprintf(out, out_bytes, "%s", base);
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
    find_file(base, file, sizeof file);
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
