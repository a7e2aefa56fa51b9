/* core/api/interposed.c: detects a tool that defines routines of shmem.h instead of this library. Programs then must
 * not take their inlined paths, which would bypass the tool. Looked up once, at load, when every object that can
 * precede the library is loaded too. */
#include "core/api/public.h"
#include "core/transport/route.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

/* Routines with an inlined path, and our own code of each. */
static const struct routine {
    const char *name;
    void (*ours)(void);
} inlined[] = {
#define IST_INLINED(name) {#name, (void (*)(void))p##name},
#include "core/api/inlined_names.def"
#undef IST_INLINED
};
enum { N_INLINED = sizeof inlined / sizeof inlined[0] };

/* Returns true if the object that holds addr defines a function there, false for a stand-in of the linker, made because
 * a program takes the function's address. */
static bool is_definition(const void *addr)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (dladdr1(addr, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL) return true;
    return symbol->st_shndx != SHN_UNDEF;
}

/* An object that defines the routine, other than this library. */
static bool is_defined_elsewhere(const struct routine *routine)
{
    for (struct link_map *object = _r_debug.r_map; object != NULL; object = object->l_next) {
        void *handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (handle == NULL) continue;
        const void *found = dlsym(handle, routine->name);
        dlclose(handle);
        if (found != NULL && found != (const void *)(uintptr_t)routine->ours && is_definition(found)) return true;
    }
    return false;
}

static bool is_replaced(const struct routine *routine)
{
    const void *found = dlsym(RTLD_DEFAULT, routine->name);
    if (found == NULL || found == (const void *)(uintptr_t)routine->ours) return false;
    return is_definition(found) || is_defined_elsewhere(routine);
}

__attribute__((constructor)) static void look_for_tools(void)
{
    bool found = false;
    for (int i = 0; i < N_INLINED && !found; i++) found = is_replaced(&inlined[i]);
    if (found) ist_fast_paths_forbid();
}
