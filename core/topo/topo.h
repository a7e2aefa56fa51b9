/* core/topo/topo.h: the few facts about the machine that start-up needs, without the cost of a full topology.
 * Not a topology: isthmus-info and the plugins use hwloc when they need one. */
#ifndef IST_TOPO_TOPO_H
#define IST_TOPO_TOPO_H

#include <stdint.h>

int ist_topo_cpus(void);              /* processors that are on line on this host, at least 1 */
int ist_topo_numa_node(void);         /* of this thread, now; 0 if unknown */
int ist_topo_bound_node(void);        /* the node whose processors this process is bound to; -1: none, or several */
uint64_t ist_topo_memory_bytes(void); /* what this process may use: the machine's memory or its cgroup's limit */

#endif
