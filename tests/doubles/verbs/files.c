/* tests/doubles/verbs/files.c: what the system publishes of the adapters under /sys/class/infiniband, and dlopen of
 * libibverbs and libmlx5, which finds the double's. */
#include "tests/doubles/verbs/verbs_double.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char root[] = "/sys/class/infiniband/";

/* A descriptor with the file's contents, or -1: there is none. */
static int open_made(const char *path)
{
    char adapter[64], text[64] = "";
    int index, fd;
    settings_read();
    if (sscanf(path + sizeof root - 1, "%63[^/]/ports/1/gid_attrs/types/%d", adapter, &index) == 2 && index < n_gids())
        snprintf(text, sizeof text, "%s\n", !settings.is_ethernet || index % 2 == 0 ? "IB/RoCE v1" : "RoCE v2");
    if (text[0] == '\0' || (fd = memfd_create("verbs-double", MFD_CLOEXEC)) < 0) return -1;
    (void)!pwrite(fd, text, strlen(text), 0);
    return fd;
}

static bool is_made(const char *path) { return path != NULL && strncmp(path, root, sizeof root - 1) == 0; }

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
    va_end(args);
    int fd = is_made(path) ? open_made(path) : -1;
    return fd >= 0 ? fd : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

static const char *double_file(void)
{
    Dl_info here;
    (void)dladdr((void *)(uintptr_t)&root, &here);
    return here.dli_fname;
}

/* A library of its own, and so none that UCX is linked to: UCX takes no adapter of the double for an mlx5. */
static const char *mlx5_file(void)
{
    static char path[PATH_MAX];
    const char *own = double_file(), *name = strrchr(own, '/');
    snprintf(path, sizeof path, "%.*smlx5.so", name != NULL ? (int)(name + 1 - own) : 0, own);
    return path;
}

/* A jump, so that the system's dlopen sees the caller and its search path. */
void *dlopen(const char *file, int flags)
{
    static void *(*real)(const char *, int);
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "dlopen");
        memcpy(&real, &found, sizeof real);
    }
    if (file != NULL && strcmp(file, "libibverbs.so.1") == 0) file = double_file();
    if (file != NULL && strcmp(file, "libmlx5.so.1") == 0) {
        settings_read();
        if (settings.masked != NO_ADAPTER) file = mlx5_file();
    }
    return real(file, flags);
}

/* ---- the adapters' devices, which UCX looks for ---- */

static bool is_device(const char *path)
{
    static const char devices[] = "/dev/infiniband/uverbs";
    if (strncmp(path, devices, sizeof devices - 1) != 0) return false;
    settings_read();
    return atoi(path + sizeof devices - 1) < settings.n_adapters;
}

int access(const char *path, int mode)
{
    return is_device(path) ? 0 : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int stat(const char *path, struct stat *out)
{
    if (!is_device(path)) return fstatat(AT_FDCWD, path, out, 0);
    *out = (struct stat){.st_mode = S_IFCHR | 0666};
    return 0;
}

/* What stat() is to programs that were built with glibc 2.32 and older. */
int __xstat(int version, const char *path, struct stat *out);
int __xstat(int version, const char *path, struct stat *out)
{
    (void)version;
    return stat(path, out);
}
