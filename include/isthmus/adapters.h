/* isthmus/adapters.h: which adapter of a host each of its PEs uses. For transports: the distance of an adapter from the
 * memory that a PE moves, by the PCI bridges between them, else by NUMA nodes; and how the PEs of a host share its
 * adapters. All results depend on the arguments and on sysfs alone, so that every PE of a host computes the same
 * (local_places in isthmus/transport.h).
 *
 * The place of a PCI device is its chain of bridges in sysfs, from the host bridge on:
 *   /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:00.0/0000:3d:00.0
 *                host bridge root port    switch: its upstream and a downstream port, and the device
 * The parts before it (VMBUS, a platform's controller) or behind it (functions of a network driver) are left out.
 *
 *     isthmus_place_of_device(sysfs, address_of_gpu, numa_node_of_pe, &pe);
 *     isthmus_place_of_device(sysfs, address_of_adapter, -1, &adapter);
 *     distances[pe * n_adapters + adapter] = isthmus_place_distance(sysfs, &pe, &adapter);
 *     ...
 *     isthmus_adapters_share(distances, n_adapters, n_pes, adapter_of_pe);
 */
#ifndef ISTHMUS_ADAPTERS_H
#define ISTHMUS_ADAPTERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions that read places call realpath(), which libc's headers do not declare in strict ISO C. */
#if !defined(__STRICT_ANSI__) || defined(_GNU_SOURCE) || defined(_DEFAULT_SOURCE) || \
    (defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200809L)
#define ISTHMUS_HAS_REALPATH_
#endif

enum {
    ISTHMUS_CHAIN_BYTES = 192,
    ISTHMUS_ADAPTERS_MOST = 64, /* that PEs share */
    ISTHMUS_SYSFS_PATH_BYTES = 512,
};

/* Distances. From 10 on they are the system's own, between NUMA nodes. */
enum {
    ISTHMUS_SAME_SWITCH = 1,
    ISTHMUS_SAME_ROOT_PORT = 2, /* with several switches in between */
    ISTHMUS_SAME_HOST_BRIDGE = 3,
    ISTHMUS_FAR = 255, /* not known, or between nodes without one */
};

struct isthmus_place {
    char chain[ISTHMUS_CHAIN_BYTES]; /* "": not known, or no PCI device */
    int32_t numa_node;               /* -1: not known, or several */
};

/* ---- chains ---- */

static inline size_t isthmus_hex_digits_(const char *text) { return strspn(text, "0123456789abcdef"); }

/* "0000:3b", of a domain with four digits or more. Returns its length, or 0 if the text is none. */
static inline size_t isthmus_bus_length_(const char *text)
{
    size_t domain = isthmus_hex_digits_(text);
    return domain >= 4 && text[domain] == ':' && isthmus_hex_digits_(text + domain + 1) == 2 ? domain + 3 : 0;
}

/* Names end at a slash or at the end of the text: "pci0000:3a", a host bridge. */
static inline int isthmus_is_host_bridge_(const char *name, size_t length)
{
    size_t bus = strncmp(name, "pci", 3) == 0 ? isthmus_bus_length_(name + 3) : 0;
    return bus > 0 && 3 + bus == length;
}

/* "0000:3b:00.0" */
static inline int isthmus_is_device_(const char *name, size_t length)
{
    size_t bus = isthmus_bus_length_(name);
    const char *rest = name + bus;
    return bus > 0 && rest[0] == ':' && isthmus_hex_digits_(rest + 1) == 2 && rest[3] == '.' &&
           isthmus_hex_digits_(rest + 4) == 1 && bus + 5 == length;
}

/* The chain out of a path that has no links any more. One that does not fit counts as unknown: a part of it would equal
 * another one. */
static inline void isthmus_chain_of(const char *real_path, char out[ISTHMUS_CHAIN_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *name = real_path; *name != '\0';) {
        size_t length = strcspn(name, "/"), separator = used > 0;
        int is_part = isthmus_is_host_bridge_(name, length) || (used > 0 && isthmus_is_device_(name, length));
        if (is_part && used + separator + length >= ISTHMUS_CHAIN_BYTES) {
            out[0] = '\0';
            return;
        }
        if (is_part) {
            if (separator) out[used] = '/';
            memcpy(out + used + separator, name, length);
            used += separator + length;
            out[used] = '\0';
        }
        name += length + (name[length] == '/');
    }
}

#ifdef ISTHMUS_HAS_REALPATH_
/* The chain of the PCI device at a path; "" if there is none. */
static inline void isthmus_chain_read(const char *path, char out[ISTHMUS_CHAIN_BYTES])
{
    char *real = realpath(path, NULL);
    out[0] = '\0';
    if (real != NULL) isthmus_chain_of(real, out);
    free(real);
}
#endif

static inline uint32_t isthmus_chain_links_(const char *chain)
{
    uint32_t n = chain[0] != '\0';
    for (; *chain != '\0'; chain++) n += *chain == '/';
    return n;
}

static inline uint32_t isthmus_chain_common_(const char *a, const char *b)
{
    uint32_t n = 0;
    for (;; a++, b++) {
        int ends_a = *a == '/' || *a == '\0', ends_b = *b == '/' || *b == '\0';
        if (ends_a && ends_b) n++;
        if (ends_a != ends_b || (!ends_a && *a != *b)) return n;
        if (*a == '\0' || *b == '\0') return n;
    }
}

/* Behind one switch there are at most a downstream port and the device itself on either side. */
static inline uint32_t isthmus_chain_distance(const char *a, const char *b)
{
    enum { HOST_BRIDGE = 1, BEHIND_A_SWITCH = 2 };
    if (a[0] == '\0' || b[0] == '\0') return ISTHMUS_FAR;
    uint32_t n = isthmus_chain_common_(a, b);
    if (n == 0) return ISTHMUS_FAR;
    if (n == HOST_BRIDGE) return ISTHMUS_SAME_HOST_BRIDGE;
    int is_near = isthmus_chain_links_(a) - n <= BEHIND_A_SWITCH && isthmus_chain_links_(b) - n <= BEHIND_A_SWITCH;
    return is_near ? ISTHMUS_SAME_SWITCH : ISTHMUS_SAME_ROOT_PORT;
}

/* ---- NUMA nodes ---- */

/* The number in a file; -1: none. */
static inline int32_t isthmus_node_read(const char *path)
{
    int node = -1;
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    if (fscanf(file, "%d", &node) != 1) node = -1;
    fclose(file);
    return node;
}

/* Returns the system's distance between two NUMA nodes, or FAR if one is -1 or unknown. `sysfs` is "/sys", or a copy
 * elsewhere. */
static inline uint32_t isthmus_numa_distance(const char *sysfs, int32_t from, int32_t to)
{
    char path[ISTHMUS_SYSFS_PATH_BYTES];
    unsigned distance = ISTHMUS_FAR;
    if (from < 0 || to < 0) return ISTHMUS_FAR;
    snprintf(path, sizeof path, "%s/devices/system/node/node%d/distance", sysfs, (int)from);
    FILE *file = fopen(path, "re");
    if (file == NULL) return ISTHMUS_FAR;
    for (int32_t node = 0; node <= to; node++) /* a line with one number for each node */
        if (fscanf(file, "%u", &distance) != 1) distance = ISTHMUS_FAR;
    fclose(file);
    return distance < ISTHMUS_FAR ? distance : (uint32_t)ISTHMUS_FAR;
}

/* ---- places ---- */

#ifdef ISTHMUS_HAS_REALPATH_
/* The place of the PCI device with that address ("0000:3b:00.0"; NULL: there is none). Its NUMA node is `numa_node` if
 * the system does not know it. Returns 1 if the node is the device's, else 0. */
static inline int isthmus_place_of_device(const char *sysfs, const char *pci_address, int32_t numa_node,
                                          struct isthmus_place *out)
{
    char path[ISTHMUS_SYSFS_PATH_BYTES];
    out->chain[0] = '\0';
    out->numa_node = numa_node;
    if (pci_address == NULL) return 0;
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s", sysfs, pci_address);
    isthmus_chain_read(path, out->chain);
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/numa_node", sysfs, pci_address);
    int32_t node = isthmus_node_read(path);
    if (node >= 0) out->numa_node = node;
    return node >= 0;
}
#endif

static inline uint32_t isthmus_place_distance(const char *sysfs, const struct isthmus_place *a,
                                              const struct isthmus_place *b)
{
    uint32_t distance = isthmus_chain_distance(a->chain, b->chain);
    return distance < ISTHMUS_FAR ? distance : isthmus_numa_distance(sysfs, a->numa_node, b->numa_node);
}

/* ---- sharing ---- */

struct isthmus_sharing_ {
    const uint32_t *distances;
    uint32_t n_adapters, n_pes;
    uint32_t floor, n_above, n_above_max; /* each adapter gets `floor` PEs, and so many of them one more */
    uint32_t loads[ISTHMUS_ADAPTERS_MOST];
    uint32_t *out;
};

static inline int isthmus_sharing_has_room_(const struct isthmus_sharing_ *s, uint32_t adapter)
{
    if (s->loads[adapter] < s->floor) return 1;
    return s->loads[adapter] == s->floor && s->n_above < s->n_above_max;
}

/* Returns 1 if the adapter is nearer to its PE than the best pair so far, or as near and it has fewer PEs. Of equals
 * the earlier one stays. */
static inline int isthmus_sharing_is_better_(const struct isthmus_sharing_ *s, uint32_t pe, uint32_t adapter,
                                             uint32_t best_pe, uint32_t best_adapter)
{
    if (best_pe == UINT32_MAX) return 1;
    uint32_t distance = s->distances[(size_t)pe * s->n_adapters + adapter];
    uint32_t best = s->distances[(size_t)best_pe * s->n_adapters + best_adapter];
    return distance < best || (distance == best && s->loads[adapter] < s->loads[best_adapter]);
}

static inline void isthmus_sharing_place_one_(struct isthmus_sharing_ *s)
{
    uint32_t best_pe = UINT32_MAX, best_adapter = 0;
    for (uint32_t pe = 0; pe < s->n_pes; pe++) {
        if (s->out[pe] != UINT32_MAX) continue;
        for (uint32_t adapter = 0; adapter < s->n_adapters; adapter++) {
            if (!isthmus_sharing_has_room_(s, adapter)) continue;
            if (!isthmus_sharing_is_better_(s, pe, adapter, best_pe, best_adapter)) continue;
            best_pe = pe;
            best_adapter = adapter;
        }
    }
    s->n_above += s->loads[best_adapter] == s->floor;
    s->loads[best_adapter]++;
    s->out[best_pe] = best_adapter;
}

/* The adapter of each of n_pes PEs. distances: [pe * n_adapters + adapter]; 1 to ISTHMUS_ADAPTERS_MOST adapters. No
 * adapter gets more than one PE more than any other, and within that the sum of distances is kept small: nearest pairs
 * first. */
static inline void isthmus_adapters_share(const uint32_t *distances, uint32_t n_adapters, uint32_t n_pes, uint32_t *out)
{
    struct isthmus_sharing_ s;
    memset(&s, 0, sizeof s);
    s.distances = distances;
    s.n_adapters = n_adapters;
    s.n_pes = n_pes;
    s.floor = n_pes / n_adapters;
    s.n_above_max = n_pes % n_adapters;
    s.out = out;
    for (uint32_t pe = 0; pe < n_pes; pe++) out[pe] = UINT32_MAX;
    for (uint32_t i = 0; i < n_pes; i++) isthmus_sharing_place_one_(&s);
}

#endif
