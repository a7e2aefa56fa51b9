/* core/topo/topo.c: see topo.h.
 * Reads a handful of files under /proc and /sys; a full hwloc topology would cost more than the rest of start-up. */
#include "core/topo/topo.h"

#include "core/base/process.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ist_topo_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

bool ist_topo_bound_cpus(cpu_set_t *out) { return sched_getaffinity(0, sizeof *out, out) == 0; }

int ist_topo_capped_cpus(int n_cpus)
{
    uint64_t granted = ist_cgroup_cpu_percent("") / 100;
    if (granted >= (uint64_t)n_cpus) return n_cpus;
    return granted > 0 ? (int)granted : 1;
}

int ist_topo_numa_node(void)
{
    unsigned cpu, node;
    return getcpu(&cpu, &node) == 0 ? (int)node : 0;
}

/* Returns true if the list of a node, "0-3,8-11", has one of those processors. */
static bool has_any(const char *list, const cpu_set_t *wanted)
{
    for (char *end; *list >= '0' && *list <= '9'; list = end + (*end == ',')) {
        unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, wanted)) return true;
    }
    return false;
}

int ist_topo_bound_node(void)
{
    enum { MAX_NODES = 1024, LIST_BYTES = 4096 };
    cpu_set_t mine;
    int bound = -1;
    if (!ist_topo_bound_cpus(&mine)) return -1;
    for (int node = 0; node < MAX_NODES; node++) {
        char path[64], list[LIST_BYTES];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
        if (ist_read_text(path, list, sizeof list) < 0)
            break; /* node numbers have no holes, except for nodes that were removed */
        bool is_mine = has_any(list, &mine);
        if (is_mine && bound >= 0) return -1;
        if (is_mine) bound = node;
    }
    return bound;
}

uint64_t ist_topo_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : (uint64_t)1 << 30;
    uint64_t limit = ist_cgroup_memory_bytes("");
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
