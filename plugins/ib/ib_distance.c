/* plugins/ib/ib_distance.c: the distance of a port from the memory that a PE moves: by the PCI bridges between them,
 * else by NUMA nodes. See ib_hca.h. The real path of a PCI device in sysfs is its chain of bridges, from the host
 * bridge on:
 *   /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:00.0/0000:3d:00.0
 *                host bridge root port    switch: its upstream and a downstream port, and the device
 * The parts before it (VMBUS, a platform's controller) or behind it (functions of a network driver) are left out. */
#include "plugins/ib/ib_hca.h"
#include "plugins/ib/ib_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- chains ---- */

static size_t count_digits(const char *text) { return strspn(text, "0123456789abcdef"); }

/* "0000:3b", of a domain with four digits or more. Returns its length, or 0 if the text is none. */
static size_t bus_length(const char *text)
{
    size_t domain = count_digits(text);
    return domain >= 4 && text[domain] == ':' && count_digits(text + domain + 1) == 2 ? domain + 3 : 0;
}

/* "pci0000:3a" */
static bool is_host_bridge(const char *name)
{
    size_t length = strncmp(name, "pci", 3) == 0 ? bus_length(name + 3) : 0;
    return length > 0 && name[3 + length] == '\0';
}

/* "0000:3b:00.0" */
static bool is_device(const char *name)
{
    size_t length = bus_length(name);
    const char *rest = name + length;
    return length > 0 && rest[0] == ':' && count_digits(rest + 1) == 2 && rest[3] == '.' &&
           count_digits(rest + 4) == 1 && rest[5] == '\0';
}

/* A chain that does not fit counts as unknown: a part of it would equal another one. */
void ib_chain_of(const char *real_path, char out[IB_CHAIN_BYTES])
{
    char *copy = strdup(real_path), *rest = copy;
    struct ib_text text = {.start = out, .room = IB_CHAIN_BYTES};
    out[0] = '\0';
    for (char *name; rest != NULL && (name = strsep(&rest, "/")) != NULL;)
        if (is_host_bridge(name) || (text.length > 0 && is_device(name)))
            ib_text_add(&text, "%s%s", text.length > 0 ? "/" : "", name);
    if (text.length >= text.room) out[0] = '\0';
    free(copy);
}

void ib_chain_read(const char *path, char out[IB_CHAIN_BYTES])
{
    char *real = realpath(path, NULL);
    out[0] = '\0';
    if (real != NULL) ib_chain_of(real, out);
    free(real);
}

static uint32_t count_links(const char *chain)
{
    uint32_t n = chain[0] != '\0';
    for (; *chain != '\0'; chain++) n += *chain == '/';
    return n;
}

static uint32_t count_common(const char *a, const char *b)
{
    uint32_t n = 0;
    for (;; a++, b++) {
        bool ends_a = *a == '/' || *a == '\0', ends_b = *b == '/' || *b == '\0';
        if (ends_a && ends_b) n++;
        if (ends_a != ends_b || (!ends_a && *a != *b)) return n;
        if (*a == '\0' || *b == '\0') return n;
    }
}

/* Behind one switch there are at most a downstream port and the device itself on either side. */
static uint32_t pci_distance(const char *a, const char *b)
{
    enum { HOST_BRIDGE = 1, BEHIND_A_SWITCH = 2 };
    if (a[0] == '\0' || b[0] == '\0') return IB_FAR;
    uint32_t n = count_common(a, b);
    if (n == 0) return IB_FAR;
    if (n == HOST_BRIDGE) return IB_SAME_HOST_BRIDGE;
    bool is_near = count_links(a) - n <= BEHIND_A_SWITCH && count_links(b) - n <= BEHIND_A_SWITCH;
    return is_near ? IB_SAME_SWITCH : IB_SAME_ROOT_PORT;
}

/* ---- NUMA nodes ---- */

int32_t ib_node_read(const char *path)
{
    int node = -1;
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    if (fscanf(file, "%d", &node) != 1) node = -1;
    fclose(file);
    return node;
}

uint32_t ib_numa_distance(const char *sysfs, int32_t from, int32_t to)
{
    char path[IB_PATH_BYTES];
    unsigned distance = IB_FAR;
    if (from < 0 || to < 0) return IB_FAR;
    snprintf(path, sizeof path, "%s/devices/system/node/node%d/distance", sysfs, from);
    FILE *file = fopen(path, "re");
    if (file == NULL) return IB_FAR;
    for (int32_t node = 0; node <= to; node++) /* a line with one number for each node */
        if (fscanf(file, "%u", &distance) != 1) distance = IB_FAR;
    fclose(file);
    return distance < IB_FAR ? distance : IB_FAR;
}

/* ---- a PE and a port ---- */

void ib_origin_find(const char *sysfs, int32_t numa_node, const char *pci_address, struct ib_origin *out)
{
    char path[IB_PATH_BYTES];
    *out = (struct ib_origin){.numa_node = numa_node, .device = pci_address};
    if (pci_address == NULL) return;
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s", sysfs, pci_address);
    ib_chain_read(path, out->chain);
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/numa_node", sysfs, pci_address);
    int32_t node = ib_node_read(path);
    out->is_node_of_device = node >= 0;
    if (node >= 0) out->numa_node = node;
}

uint32_t ib_distance(const char *sysfs, const struct ib_origin *origin, const struct ib_port *port)
{
    uint32_t distance = pci_distance(origin->chain, port->chain);
    return distance < IB_FAR ? distance : ib_numa_distance(sysfs, origin->numa_node, port->numa_node);
}

static void add_numa(struct ib_text *out, uint32_t distance, const struct ib_origin *origin)
{
    bool is_of_device = origin->is_node_of_device;
    if (distance < IB_FAR)
        ib_text_add(out, "at distance %u from", distance);
    else
        ib_text_add(out, "at an unknown distance from");
    if (origin->numa_node >= 0) ib_text_add(out, " NUMA node %d of", origin->numa_node);
    if (is_of_device || origin->numa_node < 0)
        ib_text_add(out, " GPU %s", origin->device);
    else
        ib_text_add(out, " this PE");
}

void ib_distance_describe(struct ib_text *out, uint32_t distance, const struct ib_origin *origin)
{
    static const char *const words[] = {
        [IB_SAME_SWITCH] = "behind the same PCIe switch as",
        [IB_SAME_ROOT_PORT] = "behind the same PCIe root port as",
        [IB_SAME_HOST_BRIDGE] = "behind the same PCIe host bridge as",
    };
    if (distance <= IB_SAME_HOST_BRIDGE)
        ib_text_add(out, "%s GPU %s", words[distance], origin->device);
    else if (origin->numa_node < 0 && origin->device == NULL)
        ib_text_add(out, "and this PE is bound to no NUMA node");
    else
        add_numa(out, distance, origin);
}
