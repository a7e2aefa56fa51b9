/* core/topo/topo.h: the few facts about the machine that start-up needs, without the cost of a full topology: its
 * processors and memory, PCI addresses, its identity.
 * Not a topology: isthmus-info and the plugins use hwloc when they need one. */
#ifndef IST_TOPO_TOPO_H
#define IST_TOPO_TOPO_H

#include "core/base/status.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

int ist_topo_cpus(void); /* processors that are on line on this host, at least 1 */

/* The processors that this process may use; false if the system does not report them. */
bool ist_topo_bound_cpus(cpu_set_t *out);
int ist_topo_capped_cpus(int n_cpus); /* those, but no more than the quota of its cgroups grants; at least 1 */

int ist_topo_numa_node(void);  /* of this thread, now; 0 if unknown */
int ist_topo_bound_node(void); /* the node whose processors this process is bound to; -1: none, or several */
uint64_t ist_topo_memory_bytes(
    void); /* what this process may use: the machine's memory or the least limit of its cgroups */

/* ---- limits of this process's control groups, versions 1 and 2, and of all groups above these (cgroup.c) ----
 * UINT64_MAX: there is none. `root` stands before all paths: "", and in tests a folder. */

uint64_t ist_cgroup_memory_bytes(const char *root);
uint64_t ist_cgroup_cpu_percent(const char *root); /* 100: one processor */

/* ---- PCI addresses as the system writes them ----
 * Drivers write them with capitals, or with more digits. */

enum { IST_PCI_BYTES = 24 }; /* with the terminating zero */

/* Converts "00000000:3B:00.0" to "0000:3b:00.0", the name in /sys/bus/pci/devices. Returns false if the text is NULL or
 * no PCI address. */
bool ist_pci_normalise(const char *text, char out[IST_PCI_BYTES]);

/* ---- the identity of this host: boot id and network namespace (host_id.c) ----
 * Not the host name: two containers with one name are two hosts if they do not share a network, and namespaces that
 * stand for hosts in a test bed are hosts. */

isthmus_status ist_host_id_read(struct isthmus_host_id *out);
bool ist_host_id_equal(const struct isthmus_host_id *a, const struct isthmus_host_id *b);

/* For tests: returns the pretended host of PE `pe`, the character at index `pe` of the pattern, which repeats. Two PEs
 * on one real host are on one pretended host if they have the same character. "": nothing is pretended. */
char ist_pretended_host(const char *pattern, int pe);
void ist_host_id_pretend(struct isthmus_host_id *id, const char *pattern, int pe);

/* This host's name, for messages. Never NULL. */
const char *ist_host_name(void);

#endif
