/* tools/isthmus-perf/doubles.c: see doubles.h. */
#include "tools/isthmus-perf/doubles.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { FILES_MOST = 256, FILE_BYTES = 512 };

static struct {
    char names[FILES_MOST][FILE_BYTES];
    int n;
} loaded;

/* Names only: the loader's lock is held here, and dlopen needs another one first. */
static int keep_name(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (info->dlpi_name != NULL && strchr(info->dlpi_name, '/') != NULL && loaded.n < FILES_MOST)
        snprintf(loaded.names[loaded.n++], FILE_BYTES, "%s", info->dlpi_name);
    return 0;
}

static bool is_double(const char *file)
{
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    bool is_one = library != NULL && dlsym(library, "isthmus_double") != NULL;
    if (library != NULL) dlclose(library);
    return is_one;
}

void doubles_find(char *out, size_t room)
{
    loaded.n = 0;
    out[0] = '\0';
    (void)dl_iterate_phdr(keep_name, NULL);
    for (int i = 0; i < loaded.n && out[0] == '\0'; i++)
        if (is_double(loaded.names[i])) snprintf(out, room, "%s", strrchr(loaded.names[i], '/') + 1);
}
