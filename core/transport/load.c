/* core/transport/load.c: from plugin folders to entries of the registry.
 * A file that is no plugin of ours, or of another major version, is refused; the reason names its path, its version and
 * ours. */
#include "core/transport/registry.h"

#include "core/base/log.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST_MAJOR_TRIED = 9, IST_NAME_ROOM = sizeof((struct ist_transport *)0)->name };

/* Adds an entry and takes ownership of `file`. Returns NULL if the list is full. */
static struct ist_transport *add_entry(char *file, const char *name)
{
    if (ist_registry.n == IST_MAX_TRANSPORTS) {
        ist_warn("there are more than %d transport plugins; %s is not loaded; remove plugins, or name fewer folders in "
                 "ISTHMUS_PLUGIN_PATH",
                 IST_MAX_TRANSPORTS, file);
        free(file);
        return NULL;
    }
    struct ist_transport *t = &ist_registry.list[ist_registry.n++];
    memset(t, 0, sizeof *t);
    snprintf(t->name, sizeof t->name, "%s", name);
    t->file = file;
    t->rank = UINT32_MAX;
    t->state = IST_TRANSPORT_UNNEEDED;
    return t;
}

static void refuse(struct ist_transport *t, const char *why)
{
    snprintf(t->why, sizeof t->why, "%s", why);
    t->state = IST_TRANSPORT_REFUSED;
    t->has_failed = true;
}

/* Returns the major version of the plugin's symbol if it is not ours; 0 if there is no such symbol. */
static int other_major(void *library)
{
    for (int major = 0; major <= NEWEST_MAJOR_TRIED; major++) {
        char symbol[40];
        snprintf(symbol, sizeof symbol, "isthmus_transport_v%d", major);
        if (major != ISTHMUS_ABI_MAJOR && dlsym(library, symbol) != NULL) return major;
    }
    return 0;
}

static bool good_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
    return length > 0 && length < IST_NAME_ROOM && name[length] == '\0';
}

/* Checks the table and copies it; the failure text is the reason for the refusal. */
static isthmus_status check_table(struct ist_transport *t)
{
    const struct isthmus_transport *theirs = dlsym(t->library, "isthmus_transport_v1");
    if (theirs == NULL) {
        int major = other_major(t->library);
        if (major != 0)
            return ist_fail(ISTHMUS_ERR_VERSION, "it has version %d of the transport ABI, this library version %d; %s",
                            major, ISTHMUS_ABI_MAJOR,
                            major > ISTHMUS_ABI_MAJOR ? "use a newer Isthmus, or a build of the plugin for this one"
                                                      : "build the plugin against this Isthmus");
        return ist_fail(ISTHMUS_ERR_VERSION, "it does not export isthmus_transport_v%d, so it is no transport plugin",
                        ISTHMUS_ABI_MAJOR);
    }
    isthmus_status status = ist_abi_complete_transport(theirs, &t->ops);
    if (status != ISTHMUS_OK) return status;
    if (!good_name(t->ops.name))
        return ist_fail(ISTHMUS_ERR_INVALID, "its name is '%s'; valid: 1 to %d lower case letters and digits",
                        t->ops.name, IST_NAME_ROOM - 1);
    const struct ist_transport *twin = ist_registry_find(t->ops.name);
    if (twin != NULL && twin != t && twin->state != IST_TRANSPORT_REFUSED)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "a transport of the name '%s' was loaded before, from %s; remove one of them", t->ops.name,
                        twin->file);
    snprintf(t->name, sizeof t->name, "%s", t->ops.name);
    return ISTHMUS_OK;
}

static void load_plugin(const char *folder, const char *file_name)
{
    size_t stem = strlen(file_name) - 3;
    char name[16], *file;
    snprintf(name, sizeof name, "%.*s", (int)stem, file_name);
    if (asprintf(&file, "%s/%s", folder, file_name) < 0) return;
    struct ist_transport *t = add_entry(file, name);
    if (t == NULL) return;
    t->library = dlopen(t->file, RTLD_NOW | RTLD_LOCAL);
    if (t->library == NULL) {
        refuse(t, dlerror());
        return;
    }
    if (check_table(t) != ISTHMUS_OK) refuse(t, ist_fail_text());
}

static int is_plugin_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0;
}

/* Sorted by name, so that every PE and every run sees the plugins in one order. */
static void load_folder(const char *folder)
{
    size_t used = strlen(ist_registry.searched);
    snprintf(ist_registry.searched + used, sizeof ist_registry.searched - used, "%s%s", used > 0 ? ":" : "", folder);
    struct dirent **entries;
    int n = scandir(folder, &entries, is_plugin_file, alphasort);
    for (int i = 0; i < n; i++) {
        load_plugin(folder, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* Returns the file that holds this library. For a program with the library's objects linked in, the kernel supplies the
 * path: the linker has only argv[0], which the program's caller controls. */
static char *own_file(void)
{
    Dl_info self;
    struct link_map *map = NULL;
    if (dladdr1(&ist_registry, &self, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return NULL;
    return realpath(map->l_name[0] != '\0' ? map->l_name : "/proc/thread-self/exe", NULL);
}

/* The folder "isthmus" beside the shared library, both in the build tree and where it is installed. */
static void load_own_folder(void)
{
    char *path = own_file();
    if (path == NULL) return;
    char *slash = strrchr(path, '/');
    if (slash != NULL) *slash = '\0';
    char folder[4096];
    /* A program with the library's objects linked in (isthmus-info, unit tests) lies in bin/, beside lib/. */
    static const char *const places[] = {"isthmus", "../lib/isthmus", "../" ISTHMUS_LIBDIR "/isthmus"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(folder, sizeof folder, "%s/%s", path, places[i]);
        char *found = realpath(folder, NULL);
        if (found == NULL) continue;
        load_folder(found);
        free(found);
        break;
    }
    free(path);
}

void ist_plugins_load(const struct ist_config *config)
{
    /* config.c has read it with secure_getenv: a setuid program searches no folder of its caller's choice */
    char *list = config->plugin_path == NULL ? NULL : strdup(config->plugin_path);
    char *rest = list;
    for (char *folder; rest != NULL && (folder = strsep(&rest, ":")) != NULL;)
        if (folder[0] != '\0') load_folder(folder);
    free(list);
    load_own_folder();
}
