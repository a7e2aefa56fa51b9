/* core/base/process.c: see process.h. */
#include "core/base/process.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int ist_read_text(const char *path, char *text, size_t room)
{
    size_t n = 0;
    ssize_t more = -1;
    text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    while (n < room - 1 && (more = read(fd, text + n, room - 1 - n)) > 0) n += (size_t)more;
    close(fd);
    text[n] = '\0';
    return more < 0 ? -1 : (int)n;
}

int ist_process_file(int32_t pid, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return ist_read_text(path, text, room);
}

bool ist_process_read(int32_t pid, struct ist_process *out)
{
    enum { EXITING = 4 }; /* PF_EXITING, in the flags that proc(5) lists as the ninth field */
    char line[1024];
    int parent, n_threads;
    unsigned flags;
    unsigned long long started; /* the 22nd field */
    if (ist_process_file(pid, "stat", line, sizeof line) < 0) return false;
    const char *behind_name = strrchr(line, ')'); /* the name may have spaces and brackets itself */
    if (behind_name == NULL ||
        sscanf(behind_name, ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
               &out->state, &parent, &flags, &n_threads, &started) != 5)
        return false;
    /* State and flags are those of the main thread, which may end before the others. */
    bool has_others = out->state == 'Z' && n_threads > 1;
    if (has_others) out->state = 'S';
    out->parent = parent;
    out->is_exiting = !has_others && (flags & EXITING) != 0;
    out->has_lost_main_thread = has_others;
    out->started = (uint32_t)started;
    return true;
}

void ist_executable_name(char *out, size_t room)
{
    char path[4096];
    const ssize_t length = readlink("/proc/thread-self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(path, '/');
    snprintf(out, room, "%s", slash != NULL ? slash + 1 : "?");
}

/* The table keeps the length that the highest descriptor once needed. */
void ist_descriptors_make_room(void)
{
    enum { ENOUGH = 4096 }; /* 32 KiB in the kernel */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == 0) return;
    int last = limit.rlim_cur < ENOUGH ? (int)limit.rlim_cur - 1 : ENOUGH - 1;
    int any = eventfd(0, EFD_CLOEXEC);
    if (any < 0) return;
    int high = fcntl(any, F_DUPFD_CLOEXEC, last);
    if (high >= 0) close(high);
    close(any);
}

static bool has_descriptors(int n)
{
    enum { PLENTY = 256, MOST = 32 };
    struct rlimit limit;
    int opened[MOST], n_opened = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > PLENTY) return true;
    while (n_opened < n && n_opened < MOST && (opened[n_opened] = eventfd(0, EFD_CLOEXEC)) >= 0) n_opened++;
    for (int i = 0; i < n_opened; i++) close(opened[i]);
    return n_opened == n || n_opened == MOST;
}

static bool has_addresses(size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    void *space = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return space != MAP_FAILED && munmap(space, bytes) == 0;
}

bool ist_process_has_room(int descriptors, size_t bytes)
{
    return has_descriptors(descriptors) && has_addresses(bytes);
}

/* ---- programs with more rights than their caller ---- */

/* PMIX_MCA_mca_base_component_path, UCX_MODULE_DIR, HWLOC_PLUGINS_PATH and the like name folders of shared objects;
 * others name files that are read or written. The variables that describe the job (PMIX_RANK, PMIX_SERVER_URI) stay. */
static const char *const prefixes[] = {"PMIX_MCA_", "OMPI_MCA_", "PRTE_MCA_", "UCX_",
                                       "UCM_",      "HWLOC_",    "IBV_",      "RDMAV_"};

static bool is_dangerous(const char *entry)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

void ist_privileged_clean_environment(void)
{
    if (getauxval(AT_SECURE) == 0) return;
    for (char **at = environ; at != NULL && *at != NULL;) {
        size_t length = strcspn(*at, "=");
        char *name = is_dangerous(*at) ? strndup(*at, length) : NULL;
        if (name == NULL || unsetenv(name) != 0) at++; /* otherwise the next entry has moved here */
        free(name);
    }
}
