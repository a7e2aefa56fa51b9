/* tests/doubles/host/files.c: files of the machine under /proc and /sys, from its folder. Not those that libc reads
 * itself, whose results processors.c and memory.c replace, and not raw system calls. */
#include "tests/doubles/host/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns true if the machine decides whether the path exists, also where it has no such file. */
static bool is_hidden(const char *path)
{
    const struct host_knob *knob = NULL;
    while ((knob = host_knob_next("hides", knob)) != NULL) {
        size_t length = strlen(knob->value);
        if (strncmp(path, knob->value, length) == 0 && (path[length] == '\0' || path[length] == '/')) return true;
    }
    return false;
}

/* Returns true if the machine has that file. A folder of it does not replace the real one, unless it is hidden. */
static bool is_file(const char *path)
{
    char inside[PATH_MAX + 2];
    snprintf(inside, sizeof inside, "%s/.", path);
    return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0 && syscall(SYS_faccessat, AT_FDCWD, inside, F_OK) != 0;
}

const char *host_path(const char *path, char out[PATH_MAX])
{
    if (path == NULL || (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0)) return path;
    const struct host *host = host_now();
    if (!host->is_apart && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) return path;
    if (!host->is_shown) return path;
    static const char thread[] = "/proc/thread-self/"; /* the same files, of the calling thread */
    bool is_of_thread = strncmp(path, thread, sizeof thread - 1) == 0;
    const char *own = is_of_thread ? path + sizeof thread - 1 : path;
    if (snprintf(out, PATH_MAX, "%s%s%s", host->folder, is_of_thread ? "/proc/self/" : "", own) >= PATH_MAX)
        return path;
    int error = errno;
    bool is_own = is_hidden(out + strlen(host->folder)) || is_file(out);
    errno = error;
    return is_own ? out : path;
}

/* ---- open ---- */

/* The third argument of open() if these flags have one. */
static mode_t mode_of(int flags, va_list args)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

int openat(int folder, const char *path, int flags, ...)
{
    HOST_NEXT(openat);
    char own[PATH_MAX];
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return host_call("open", path, 0) != 0 ? -1 : next(folder, host_path(path, own), flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return openat(AT_FDCWD, path, flags, mode);
}

/* Names of the same functions for other compile options: offsets of 64 bits, and _FORTIFY_SOURCE. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) { return openat(AT_FDCWD, path, flags); }
int __open64_2(const char *path, int flags) __attribute__((alias("__open_2")));
int __openat_2(int folder, const char *path, int flags);
int __openat_2(int folder, const char *path, int flags) { return openat(folder, path, flags); }
int __openat64_2(int folder, const char *path, int flags) __attribute__((alias("__openat_2")));

FILE *fopen(const char *path, const char *mode)
{
    HOST_NEXT(fopen);
    char own[PATH_MAX];
    return host_call("open", path, 0) != 0 ? NULL : next(host_path(path, own), mode);
}

FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

DIR *opendir(const char *path)
{
    HOST_NEXT(opendir);
    char own[PATH_MAX];
    return host_call("open", path, 0) != 0 ? NULL : next(host_path(path, own));
}

/* ---- about a file ---- */

int fstatat(int folder, const char *path, struct stat *out, int flags)
{
    HOST_NEXT(fstatat);
    char own[PATH_MAX];
    return host_call("stat", path, 0) != 0 ? -1 : next(folder, host_path(path, own), out, flags);
}

int stat(const char *path, struct stat *out) { return fstatat(AT_FDCWD, path, out, 0); }
int lstat(const char *path, struct stat *out) { return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW); }

int fstatat64(int folder, const char *path, struct stat64 *out, int flags)
{
    HOST_NEXT(fstatat64);
    char own[PATH_MAX];
    return host_call("stat", path, 0) != 0 ? -1 : next(folder, host_path(path, own), out, flags);
}

int stat64(const char *path, struct stat64 *out) { return fstatat64(AT_FDCWD, path, out, 0); }
int lstat64(const char *path, struct stat64 *out) { return fstatat64(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW); }

int faccessat(int folder, const char *path, int mode, int flags)
{
    HOST_NEXT(faccessat);
    char own[PATH_MAX];
    return host_call("stat", path, 0) != 0 ? -1 : next(folder, host_path(path, own), mode, flags);
}

int access(const char *path, int mode) { return faccessat(AT_FDCWD, path, mode, 0); }

ssize_t readlink(const char *path, char *out, size_t room)
{
    HOST_NEXT(readlink);
    char own[PATH_MAX];
    return next(host_path(path, own), out, room);
}
