/* plugins/ib/ib_hca.h: the adapters of this host, their ports, and which of them a PE uses.
 * What libibverbs and the system report is in plain structs; the rules that choose are functions of those alone, so
 * that every PE of a host computes the same result for all of them. Not about UCX, which gets the outcome as its
 * configuration (ib_net.c). */
#ifndef ISTHMUS_IB_HCA_H
#define ISTHMUS_IB_HCA_H

#include <isthmus/adapters.h>
#include <isthmus/transport.h>

#include <stdbool.h>

enum {
    IB_MAX_PORTS = ISTHMUS_ADAPTERS_MOST,
    IB_MAX_GIDS = 256,
    IB_ADAPTER_BYTES = 64,
    IB_PORT_NAME_BYTES = IB_ADAPTER_BYTES + 8,
};

enum ib_link { IB_LINK_OTHER, IB_LINK_INFINIBAND, IB_LINK_ETHERNET };
enum ib_gid_type { IB_GID_INFINIBAND, IB_GID_ROCE_1, IB_GID_ROCE_2 };
enum ib_atomics { IB_ATOMICS_NONE, IB_ATOMICS_ADAPTER, IB_ATOMICS_SYSTEM }; /* system: together with the processors */

struct ib_gid {
    uint8_t raw[16];
    uint32_t index;
    enum ib_gid_type type;
    bool is_ipv4; /* the last four bytes are an address of IPv4 */
};

struct ib_port {
    char name[IB_PORT_NAME_BYTES]; /* "mlx5_0:1", as UCX calls it */
    char adapter[IB_ADAPTER_BYTES];
    uint32_t number; /* from 1 */
    enum ib_link link;
    enum ib_atomics atomics;
    bool is_active, is_software; /* software: Soft-RoCE */
    bool is_ordered;             /* it is known to place the writes of a connection in the order of their requests */
    uint32_t rate_mbit_per_s;    /* lanes times speed */
    struct isthmus_place place;
    uint32_t n_gids;
    struct ib_gid gids[IB_MAX_GIDS]; /* the first ones that are set */
};

struct ib_ports {
    bool is_unknown; /* this build cannot list them */
    uint32_t n;
    struct ib_port list[IB_MAX_PORTS]; /* by name, digits as numbers: the same order on every PE */
};

/* --- ib_verbs.c --- */

/* Lists the ports that libibverbs finds. Without the library, or without adapters: none. Adapters that cannot be opened
 * are left out. Their places are read below `sysfs`; NULL: at the paths that libibverbs returns. */
void ib_ports_read(const char *sysfs, struct ib_ports *out);

/* --- ib_distance.c; `sysfs` is "/sys", or a copy elsewhere --- */

/* The memory that a PE moves: on its device, or else near the processors that it is bound to. */
struct ib_origin {
    struct isthmus_place place;
    const char *device;     /* its PCI address; NULL: none */
    bool is_node_of_device; /* place.numa_node; else the PE's */
};
void ib_origin_find(const char *sysfs, int32_t numa_node, const char *pci_address, struct ib_origin *out);

uint32_t ib_distance(const char *sysfs, const struct ib_origin *origin, const struct ib_port *port);

struct ib_text;
void ib_distance_describe(struct ib_text *out, uint32_t distance, const struct ib_origin *origin); /* for people */

/* --- ib_gid.c --- */

/* The first address of a RoCE port that ISTHMUS_IB_ADDR_FAMILY, _ADDR_RANGE and _ROCE_VERSION_NUM allow, as an index of
 * its GIDs. -1: none of them is set, or the port (NULL: there is none) is not RoCE. INVALID: a wrong text. NO_DEVICE:
 * no address fits. */
isthmus_status ib_gid_choose(const struct isthmus_services *services, const struct ib_port *port, int32_t *index);

/* The usual address of a RoCE port, if nothing is set: of the newest version, with an IPv4 address. NULL: it has
 * none. */
const struct ib_gid *ib_gid_best(const struct ib_port *port);

/* --- ib_select.c --- */

/* Which ports are dealt out to the PEs of a host, and how. */
struct ib_selection {
    bool is_dealt; /* in this order, to `counts` PEs each, and again; else shared by distance */
    uint32_t n, ports[IB_MAX_PORTS], counts[IB_MAX_PORTS];
};

/* Selects the ports that ISTHMUS_HCA names; NULL or "": all active ports of the link that has the fastest, but for
 * those slower than half of that. INVALID: the text is wrong, or names what is not there or is down. */
isthmus_status ib_select(const struct isthmus_services *services, const struct ib_ports *ports, const char *text,
                         struct ib_selection *out);

/* The first active port that a comma list of names such as mlx5_0:1 has, in UCX's manner: "all" has each one, and a
 * list behind ^ those that it does not name. NULL: there is none. */
const struct ib_port *ib_port_in_list(const struct ib_ports *ports, const char *list);

/* The port for each of n_pes PEs, as an index of the selection's list: dealt out, or shared
 * (isthmus_adapters_share()). distances: [pe * selection->n + port]. */
void ib_share(const struct ib_selection *selection, const uint32_t *distances, uint32_t n_pes, uint32_t *out);

/* Ports that ib_share() gave to no PE go to PEs that have fewer than `most_rails` ports and are as near to them as to
 * their own one, round by round. owners: by port, the PE in whose share it is, or IB_NONE. Ports that the user
 * deals out have no rails. */
enum { IB_NONE = UINT32_MAX };
void ib_share_rails(const struct ib_selection *selection, const uint32_t *distances, uint32_t n_pes,
                    uint32_t most_rails, const uint32_t *shares, uint32_t *owners);

#endif
