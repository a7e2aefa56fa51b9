/* Finds the program in PATH and reports in one line why it is missing or cannot run.
 * Not the shell's rules for aliases or for files without an interpreter line: those are refused.
 * Read on in spawn.c, which executes it. */
#include "program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

static bool is_executable_file(const char *path) { return is_file(path) && access(path, X_OK) == 0; }

static char *joined(const char *directory, size_t length, const char *name)
{
    size_t size = length + strlen(name) + 3;
    char *path = zeroed_memory(1, size);
    if (length == 0)
        snprintf(path, size, "./%s", name); /* an empty entry of PATH is the working directory */
    else
        snprintf(path, size, "%.*s/%s", (int)length, directory, name);
    return path;
}

/* *path: the first executable file, or else the first file at all, or NULL. */
static void search_path(const char *name, char **path)
{
    const char *at = getenv("PATH");
    if (!at) at = "/usr/local/bin:/usr/bin:/bin";
    for (*path = NULL;; at++) {
        size_t length = strcspn(at, ":");
        char *candidate = joined(at, length, name);
        if (is_executable_file(candidate)) {
            free(*path);
            *path = candidate;
            return;
        }
        if (!*path && is_file(candidate))
            *path = candidate;
        else
            free(candidate);
        at += length;
        if (!*at) return;
    }
}

static enum launch_status report_not_found(const char *name)
{
    char here[4096];
    if (!strchr(name, '/'))
        report("cannot start '%s': no such file in PATH; a program of this folder is ./NAME", name);
    else if (name[0] == '/' || !getcwd(here, sizeof here))
        report("cannot start '%s': no such file", name);
    else
        report("cannot start '%s': no such file in %s", name, here);
    return LAUNCH_NOT_FOUND;
}

enum launch_status program_find(const char *name, char **path)
{
    if (strchr(name, '/'))
        *path = strdup(name);
    else
        search_path(name, path);

    struct stat about;
    if (!*path || (stat(*path, &about) != 0 && (errno == ENOENT || errno == ENOTDIR))) return report_not_found(name);
    if (is_executable_file(*path)) return LAUNCH_OK;
    return program_report_failure(name, *path, stat(*path, &about) == 0 && S_ISDIR(about.st_mode) ? EISDIR : EACCES);
}

enum launch_status program_report_failure(const char *name, const char *path, int error)
{
    switch (error) {
    case EISDIR:
        report("cannot start '%s': it is a directory; name a program in it", name);
        return LAUNCH_NOT_EXECUTABLE;
    case EACCES:
        report("cannot start '%s': %s is not executable; chmod +x makes it so", name, path);
        return LAUNCH_NOT_EXECUTABLE;
    case ENOEXEC:
        report("cannot start '%s': %s is neither a binary for this machine nor a script with #!", name, path);
        return LAUNCH_NOT_EXECUTABLE;
    case ENOENT: /* the file itself existed a moment ago */
        report("cannot start '%s': the interpreter that %s names does not exist; correct its first line or install the "
               "interpreter",
               name, path);
        return LAUNCH_NOT_FOUND;
    case E2BIG:
        report("cannot start '%s': its arguments and environment are too long for the system; shorten them", name);
        return LAUNCH_NOT_EXECUTABLE;
    default: report("cannot start '%s': %s: %s", name, path, strerror(error)); return LAUNCH_FAILED;
    }
}
