/* plugins/ib/ib_load.c: which UCX. The one that this process has already, with MPI for example: two in one process
 * would both take over the memory hooks. Otherwise the one that ISTHMUS_IB_UCX names, otherwise the system's.
 * libucp needs libuct, libucs and libucm of its own install. The loader takes whatever has their names and is loaded,
 * or is found first: those beside a libucp that is named are loaded before it, and a UCX made of two installs is
 * refused. */
#include "plugins/ib/ib_ucp.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { N_SIGNALS = 65, FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

/* ---- files ---- */

static const char *base_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? slash + 1 : file;
}

/* libucp.so.0, libucp.so.0.0.0, and libucp-1a2b3c4d.so.0 as packages of other languages rename it; not libucp_x.so. */
static bool is_library(const char *file, const char *stem)
{
    const char *base = base_of(file);
    size_t length = strlen(stem);
    return strncmp(base, stem, length) == 0 && (base[length] == '.' || base[length] == '-') &&
           strstr(base, ".so") != NULL;
}

/* Writes the folder in which the file really lies. Returns false if there is no such file. */
static bool folder_of(const char *file, char out[PATH_MAX])
{
    if (realpath(file, out) == NULL) return false;
    char *slash = strrchr(out, '/');
    if (slash != NULL) *slash = '\0';
    return slash != NULL;
}

/* ---- libraries of the process ---- */

struct library_search {
    const char *stem;
    char file[PATH_MAX]; /* the first; "": none */
};

static int find_by_name(struct dl_phdr_info *info, size_t info_bytes, void *arg)
{
    struct library_search *search = arg;
    (void)info_bytes;
    if (info->dlpi_name == NULL || !is_library(info->dlpi_name, search->stem)) return 0;
    snprintf(search->file, sizeof search->file, "%s", info->dlpi_name);
    return 1;
}

/* Finds a library of that name among those that are loaded. */
static bool find_loaded(const char *stem, char out[PATH_MAX])
{
    struct library_search search = {.stem = stem};
    (void)dl_iterate_phdr(find_by_name, &search);
    memcpy(out, search.file, PATH_MAX);
    return out[0] != '\0';
}

/* ---- the library that ISTHMUS_IB_UCX names ---- */

static const char *const parts[] = {"libucm", "libucs", "libuct"}; /* each needs those before it */
enum { N_PARTS = sizeof parts / sizeof *parts };

/* A folder that holds libucp.so.0, or a file. */
static isthmus_status find_named(const struct isthmus_services *s, const char *name, char out[PATH_MAX])
{
    struct stat what;
    bool is_there = stat(name, &what) == 0;
    int length = snprintf(out, PATH_MAX, "%s%s", name, is_there && S_ISDIR(what.st_mode) ? "/libucp.so.0" : "");
    if (is_there && length < PATH_MAX && stat(out, &what) == 0 && S_ISREG(what.st_mode)) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_INVALID,
                   "ISTHMUS_IB_UCX is '%s', which is neither a library nor a folder with libucp.so.0 in it", name);
}

/* Returns true if the libucp of the process is the one that is named, by its file or its folder. */
static bool is_of(const char *file, const char *name)
{
    char real_file[PATH_MAX], real_folder[PATH_MAX], real_name[PATH_MAX];
    if (realpath(name, real_name) == NULL || realpath(file, real_file) == NULL || !folder_of(file, real_folder))
        return false;
    return strcmp(real_name, real_file) == 0 || strcmp(real_name, real_folder) == 0;
}

/* Without libucp, the process may have parts of another UCX: libucp would take them. */
static isthmus_status check_alone(const struct isthmus_services *s, const char *file)
{
    char ours[PATH_MAX], part[PATH_MAX], theirs[PATH_MAX];
    if (!folder_of(file, ours)) return ISTHMUS_OK; /* dlopen() reports that */
    for (size_t i = 0; i < N_PARTS; i++)
        if (find_loaded(parts[i], part) && folder_of(part, theirs) && strcmp(ours, theirs) != 0)
            return s->fail(
                s->core, ISTHMUS_ERR_INVALID,
                "ISTHMUS_IB_UCX names %s, but this process has %s of another UCX already; name the one in %s", file,
                part, theirs);
    return ISTHMUS_OK;
}

static void load_parts(const char *file)
{
    char folder[PATH_MAX], part[PATH_MAX];
    if (!folder_of(file, folder)) return;
    for (size_t i = 0; i < N_PARTS; i++)
        if (snprintf(part, sizeof part, "%s/%s.so.0", folder, parts[i]) < (int)sizeof part)
            (void)dlopen(part, FLAGS); /* where it has another name, libucp finds it itself */
}

/* ---- loading ---- */

static void *load_file(const char *file, bool is_named)
{
    if (is_named) load_parts(file);
    return dlopen(file, FLAGS);
}

/* UCX's constructor takes the signals of faults for itself, unless UCX_HANDLE_ERRORS is set. They are the
 * program's. */
static void *load_without_signals(const char *file, bool is_named)
{
    struct sigaction before[N_SIGNALS];
    for (int s = 1; s < N_SIGNALS; s++) sigaction(s, NULL, &before[s]);
    void *library = load_file(file, is_named);
    if (getenv("UCX_HANDLE_ERRORS") != NULL) return library;
    for (int s = 1; s < N_SIGNALS; s++) {
        struct sigaction now;
        if (sigaction(s, NULL, &now) == 0 && now.sa_handler != before[s].sa_handler) sigaction(s, &before[s], NULL);
    }
    return library;
}

/* The file that defines a function, found as the library itself finds it. */
static const char *file_of(void *library, const char *function)
{
    Dl_info info;
    void *address = dlsym(library, function);
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}

/* Each part is from the folder that libucp is from. */
static isthmus_status check_whole(const struct isthmus_services *s, void *library, char out[PATH_MAX])
{
    static const char *const functions[] = {"uct_query_components", "ucs_status_string"};
    const char *ucp = file_of(library, "ucp_get_version_string");
    char ours[PATH_MAX], theirs[PATH_MAX];
    if (ucp == NULL || !folder_of(ucp, ours))
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "%s is not UCX's libucp: it lacks ucp_get_version_string",
                       ucp != NULL ? ucp : "the loaded library");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *part = file_of(library, functions[i]);
        if (part != NULL && folder_of(part, theirs) && strcmp(ours, theirs) != 0)
            return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                           "%s would run with %s, which is of another UCX; correct LD_LIBRARY_PATH, or name one UCX by "
                           "ISTHMUS_IB_UCX",
                           ucp, part);
    }
    snprintf(out, PATH_MAX, "%s", ucp);
    return ISTHMUS_OK;
}

isthmus_status ib_load(const struct isthmus_services *services, void **library, char file[PATH_MAX])
{
    const struct isthmus_services *s = services;
    const char *name = s->config(s->core, "UCX");
    bool is_named = name != NULL && name[0] != '\0', is_here = find_loaded("libucp", file);
    isthmus_status status = ISTHMUS_OK;
    if (is_here && is_named && !is_of(file, name))
        s->log(s->core, ISTHMUS_LOG_WARN, "ISTHMUS_IB_UCX is '%s', but this process has %s already, which is used",
               name, file);
    if (!is_here && is_named) {
        status = find_named(s, name, file);
        if (status == ISTHMUS_OK) status = check_alone(s, file);
    } else if (!is_here) {
        snprintf(file, PATH_MAX, "libucp.so.0");
    }
    if (status != ISTHMUS_OK) return status;
    *library = load_without_signals(file, is_named && !is_here);
    if (*library == NULL)
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "UCX cannot be loaded: %s%s", dlerror(),
                       is_named ? "" : "; install UCX, or name its folder by ISTHMUS_IB_UCX");
    return check_whole(s, *library, file);
}
