/* tests/abi/plugins/base.h: for plugins of these tests that carry data: they hand everything on to a real one, which
 * they load themselves (BASE_PLUGIN), and change what the test is about. */
#ifndef ABI_PLUGINS_BASE_H
#define ABI_PLUGINS_BASE_H

#include <dlfcn.h>
#include <stdlib.h>

/* The real plugin's table. A test fails if it cannot find it. */
static inline const struct isthmus_transport *base_load(void)
{
    void *library = dlopen(BASE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    const struct isthmus_transport *table = library != NULL ? dlsym(library, "isthmus_transport_v1") : NULL;
    if (table == NULL) abort();
    return table;
}

#endif
