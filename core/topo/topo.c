/* core/topo/topo.c: see topo.h.
 * Reads a handful of files under /proc and /sys; a full hwloc topology would cost more than the rest of start-up. */
#include "core/topo/topo.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ist_topo_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int ist_topo_numa_node(void)
{
    unsigned cpu, node;
    return getcpu(&cpu, &node) == 0 ? (int)node : 0;
}

/* Returns true if the list of a node, "0-3,8-11", has one of those processors. */
static bool has_any(FILE *list, const cpu_set_t *wanted)
{
    unsigned first, last;
    for (int n; (n = fscanf(list, "%u-%u", &first, &last)) > 0; (void)fgetc(list)) {
        if (n == 1) last = first;
        for (unsigned cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, wanted)) return true;
    }
    return false;
}

int ist_topo_bound_node(void)
{
    enum { MAX_NODES = 1024 };
    cpu_set_t mine;
    int bound = -1;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) return -1;
    for (int node = 0; node < MAX_NODES; node++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
        FILE *list = fopen(path, "re");
        if (list == NULL) break; /* node numbers have no holes, except for nodes that were removed */
        bool is_mine = has_any(list, &mine);
        fclose(list);
        if (is_mine && bound >= 0) return -1;
        if (is_mine) bound = node;
    }
    return bound;
}

/* Returns the first number in a file; UINT64_MAX if there is none ("max" in a cgroup without limit, or no such
 * file). */
static uint64_t read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) return UINT64_MAX;
    uint64_t value;
    int got = fscanf(file, "%" SCNu64, &value);
    fclose(file);
    return got == 1 ? value : UINT64_MAX;
}

/* Returns the limit of the cgroup that this process is in: version 2, then version 1. A container has its own cgroup at
 * the root, so the path from /proc/thread-self/cgroup may not exist there: then the root's limit is read. */
static uint64_t cgroup_limit(void)
{
    char line[512], path[640];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen("/proc/thread-self/cgroup", "re");
    if (file == NULL) return limit;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::", 3) != 0) continue;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
        limit = read_number(path);
    }
    fclose(file);
    if (limit == UINT64_MAX) limit = read_number("/sys/fs/cgroup/memory.max");
    if (limit == UINT64_MAX) limit = read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    return limit;
}

uint64_t ist_topo_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : (uint64_t)1 << 30;
    uint64_t limit = cgroup_limit();
    return limit < machine ? limit : machine;
}

/* ---- PCI addresses ---- */

bool ist_pci_normalise(const char *text, char out[IST_PCI_BYTES])
{
    unsigned domain, bus, device, function;
    int length = 0;
    if (text == NULL) return false;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &length) != 4) return false;
    if (text[length] != '\0' || strspn(text, "0123456789abcdefABCDEF:.") != (size_t)length) return false;
    snprintf(out, IST_PCI_BYTES, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}
