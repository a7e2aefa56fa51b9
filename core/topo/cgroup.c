/* core/topo/cgroup.c: see topo.h: the limits of this process's control groups. A limit of a group holds for all groups
 * below it, so each is the least from the process's own group up to the root of the mount. In a container the path of
 * the group may not exist under the mount: then the root is the container's own. */
#include "core/base/process.h"
#include "core/topo/topo.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4352 /* a path, the root and the name of a file */, GROUPS_BYTES = 8192 };

/* Returns the limit of one group; UINT64_MAX: it has none, or does not exist. */
typedef uint64_t limit_reader(const char *folder);

/* Returns how many numbers a file begins with, two at most. */
static int read_numbers(const char *folder, const char *name, uint64_t *first, uint64_t *second)
{
    char path[PATH_BYTES + 64], text[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return ist_read_text(path, text, sizeof text) > 0 ? sscanf(text, "%" SCNu64 " %" SCNu64, first, second) : 0;
}

static uint64_t memory_v2(const char *folder)
{
    uint64_t bytes, unused;
    return read_numbers(folder, "memory.max", &bytes, &unused) > 0 ? bytes : UINT64_MAX;
}

static uint64_t memory_v1(const char *folder)
{
    uint64_t bytes, unused;
    return read_numbers(folder, "memory.limit_in_bytes", &bytes, &unused) > 0 ? bytes : UINT64_MAX;
}

static uint64_t percent_of(uint64_t quota_us, uint64_t period_us)
{
    return period_us > 0 && quota_us <= INT64_MAX / 100 ? 100 * quota_us / period_us : UINT64_MAX;
}

static uint64_t cpu_v2(const char *folder)
{
    uint64_t quota_us, period_us;
    return read_numbers(folder, "cpu.max", &quota_us, &period_us) == 2 ? percent_of(quota_us, period_us) : UINT64_MAX;
}

/* A quota of -1 is none; as an unsigned number it is a large one. */
static uint64_t cpu_v1(const char *folder)
{
    uint64_t quota_us, period_us, unused;
    if (read_numbers(folder, "cpu.cfs_quota_us", &quota_us, &unused) < 1 || quota_us > INT64_MAX) return UINT64_MAX;
    if (read_numbers(folder, "cpu.cfs_period_us", &period_us, &unused) < 1) return UINT64_MAX;
    return percent_of(quota_us, period_us);
}

static uint64_t least_up_to_root(const char *mount, const char *group, limit_reader *read)
{
    char folder[PATH_BYTES];
    size_t mount_length = strlen(mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder) return read(mount);
    for (uint64_t least = UINT64_MAX;;) {
        uint64_t limit = read(folder);
        if (limit < least) least = limit;
        if (strlen(folder) <= mount_length) return least;
        *strrchr(folder, '/') = '\0';
    }
}

/* Returns true if a list of controllers, "cpu,cpuacct", has that one. Version 2 has the empty list. */
static bool has_controller(const char *list, const char *controller)
{
    size_t length = strlen(controller);
    if (*list == '\0' || length == 0) return *list == '\0' && length == 0;
    for (; list != NULL; list = strchr(list, ',') != NULL ? strchr(list, ',') + 1 : NULL)
        if (strncmp(list, controller, length) == 0 && (list[length] == ',' || list[length] == '\0')) return true;
    return false;
}

struct hierarchy {
    const char *controller, *mount;
    limit_reader *read;
};

/* The kernel has a controller in one hierarchy, and lists that of version 2 last. */
static uint64_t least_of(const char *root, const struct hierarchy *rows, size_t n_rows)
{
    char path[PATH_BYTES], groups[GROUPS_BYTES], *rest = groups;
    uint64_t least = UINT64_MAX;
    bool is_v1 = false;
    snprintf(path, sizeof path, "%s/proc/thread-self/cgroup", root);
    (void)ist_read_text(path, groups, sizeof groups);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) { /* NUMBER:CONTROLLERS:GROUP */
        char *list = strchr(line, ':'), *group = list != NULL ? strchr(list + 1, ':') : NULL;
        if (group == NULL) continue;
        *group++ = '\0';
        for (size_t i = 0; i < n_rows; i++) {
            if (!has_controller(list + 1, rows[i].controller) || (is_v1 && list[1] == '\0')) continue;
            is_v1 = list[1] != '\0';
            snprintf(path, sizeof path, "%s%s", root, rows[i].mount);
            uint64_t limit = least_up_to_root(path, strcmp(group, "/") == 0 ? "" : group, rows[i].read);
            if (limit < least) least = limit;
        }
    }
    return least;
}

uint64_t ist_cgroup_memory_bytes(const char *root)
{
    static const struct hierarchy rows[] = {{"", "/sys/fs/cgroup", memory_v2},
                                            {"", "/sys/fs/cgroup/unified", memory_v2},
                                            {"memory", "/sys/fs/cgroup/memory", memory_v1}};
    return least_of(root, rows, sizeof rows / sizeof *rows);
}

uint64_t ist_cgroup_cpu_percent(const char *root)
{
    static const struct hierarchy rows[] = {
        {"", "/sys/fs/cgroup", cpu_v2}, {"", "/sys/fs/cgroup/unified", cpu_v2}, {"cpu", "/sys/fs/cgroup/cpu", cpu_v1}};
    return least_of(root, rows, sizeof rows / sizeof *rows);
}
