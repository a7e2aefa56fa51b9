/* plugins/ib/ib_verbs.c: what libibverbs and the system report of the adapters of this host. See ib_hca.h.
 * The library is loaded when it is there and unloaded again: UCX has its own hold on it. */
#include "plugins/ib/ib_hca.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef IB_HAVE_VERBS
#include "plugins/ib/ib_library.h"

#include <infiniband/verbs.h>

enum { SOFTWARE_VENDOR = 0xffffff };
enum { GID_ENTRIES = 4 * IB_MAX_GIDS }; /* of all ports of an adapter: the system reports none where they are more */

static struct {
    __typeof__(ibv_get_device_list) *get_device_list;
    __typeof__(ibv_free_device_list) *free_device_list;
    __typeof__(ibv_open_device) *open_device;
    __typeof__(ibv_close_device) *close_device;
    __typeof__(ibv_query_device) *query_device;
    __typeof__(ibv_query_port) *query_port;
    __typeof__(_ibv_query_gid_table) *query_gid_table;
} verbs;

static void *load_verbs(void)
{
    void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return NULL;
    bool all = ib_library_find(library, "ibv_get_device_list", &verbs.get_device_list) &&
               ib_library_find(library, "ibv_free_device_list", &verbs.free_device_list) &&
               ib_library_find(library, "ibv_open_device", &verbs.open_device) &&
               ib_library_find(library, "ibv_close_device", &verbs.close_device) &&
               ib_library_find(library, "ibv_query_device", &verbs.query_device) &&
               ib_library_find(library, "ibv_query_port", &verbs.query_port) &&
               ib_library_find(library, "_ibv_query_gid_table", &verbs.query_gid_table);
    if (all) return library;
    dlclose(library);
    return NULL;
}

/* ---- one port ---- */

static uint32_t lanes_of(uint8_t width)
{
    switch (width) {
    case 1: return 1;
    case 2: return 4;
    case 4: return 8;
    case 8: return 12;
    case 16: return 2;
    default: return 0;
    }
}

/* Of a lane, in the round numbers of data sheets. */
static uint32_t lane_mbit_per_s(uint8_t speed)
{
    switch (speed) {
    case 1: return 2500;     /* SDR */
    case 2: return 5000;     /* DDR */
    case 4:                  /* QDR */
    case 8: return 10000;    /* FDR10 */
    case 16: return 14000;   /* FDR */
    case 32: return 25000;   /* EDR */
    case 64: return 50000;   /* HDR */
    case 128: return 100000; /* NDR */
    default: return 0;
    }
}

static enum ib_link link_of(uint8_t link_layer)
{
    if (link_layer == IBV_LINK_LAYER_ETHERNET) return IB_LINK_ETHERNET;
    return link_layer == IBV_LINK_LAYER_INFINIBAND ? IB_LINK_INFINIBAND : IB_LINK_OTHER;
}

static enum ib_atomics atomics_of(enum ibv_atomic_cap cap)
{
    if (cap == IBV_ATOMIC_GLOB) return IB_ATOMICS_SYSTEM;
    return cap == IBV_ATOMIC_HCA ? IB_ATOMICS_ADAPTER : IB_ATOMICS_NONE;
}

static void add_gid(struct ib_port *port, const struct ibv_gid_entry *entry)
{
    static const uint8_t ipv4_prefix[12] = {[10] = 0xff, [11] = 0xff};
    if (port->n_gids == IB_MAX_GIDS) return;
    struct ib_gid *gid = &port->gids[port->n_gids++];
    memcpy(gid->raw, entry->gid.raw, sizeof gid->raw);
    gid->index = entry->gid_index;
    gid->type = entry->gid_type == IBV_GID_TYPE_ROCE_V2   ? IB_GID_ROCE_2
                : entry->gid_type == IBV_GID_TYPE_ROCE_V1 ? IB_GID_ROCE_1
                                                          : IB_GID_INFINIBAND;
    gid->is_ipv4 = memcmp(gid->raw, ipv4_prefix, sizeof ipv4_prefix) == 0;
}

/* Those whose adapters place the writes of a connection in order. mlx5 (ConnectX from 4 on) places them as they arrive
 * where the firmware or UCX enables that, and adaptive routing has them arrive in any order. Adapters that spread the
 * packets of a connection (EFA, Pollara), and unknown ones, are not among them. */
static bool places_in_order(const struct ibv_device_attr *attr)
{
    static const uint32_t vendors[] = {
        0x8086, /* Intel */
        0x14e4, /* Broadcom */
        0x1425, /* Chelsio */
        0x1077, /* Marvell */
        0x1175, /* Omni-Path, as libibverbs has it */
        0x19e5, /* Huawei */
        SOFTWARE_VENDOR,
    };
    enum { MELLANOX = 0x02c9, FIRST_MLX5 = 0x1011 };
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
        if (vendors[i] == attr->vendor_id) return true;
    return attr->vendor_id == MELLANOX && attr->vendor_part_id < FIRST_MLX5;
}

/* ---- one adapter ---- */

struct opened_adapter {
    struct ibv_context *context;
    struct ibv_device_attr attr;
    struct isthmus_place place;
    ssize_t n_gids;
    struct ibv_gid_entry gids[GID_ENTRIES];
};

/* A path in the system's folder of the adapter. */
static void path_below(const char *sysfs, const struct ibv_device *device, const char *below,
                       char out[ISTHMUS_SYSFS_PATH_BYTES])
{
    if (sysfs != NULL)
        snprintf(out, ISTHMUS_SYSFS_PATH_BYTES, "%s/class/infiniband/%s/%s", sysfs, device->name, below);
    else
        snprintf(out, ISTHMUS_SYSFS_PATH_BYTES, "%s/%s", device->ibdev_path, below);
}

static void find_place(const char *sysfs, const struct ibv_device *device, struct opened_adapter *out)
{
    char path[ISTHMUS_SYSFS_PATH_BYTES], file[ISTHMUS_SYSFS_PATH_BYTES + 16];
    path_below(sysfs, device, "device", path); /* of PCI */
    snprintf(file, sizeof file, "%s/numa_node", path);
    isthmus_chain_read(path, out->place.chain);
    out->place.numa_node = isthmus_node_read(file);
}

/* As the kernel prints it: "800 Gb/sec (4X XDR)". The field active_speed ends at NDR, and active_speed_ex is in newer
 * headers only. Returns 0 if the kernel prints none. */
static uint32_t printed_rate(const char *sysfs, const struct ibv_device *device, uint32_t number)
{
    char below[32], path[ISTHMUS_SYSFS_PATH_BYTES];
    double gbit_per_s = 0;
    snprintf(below, sizeof below, "ports/%u/rate", number);
    path_below(sysfs, device, below, path);
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    bool is_read = fscanf(file, "%lf", &gbit_per_s) == 1 && gbit_per_s > 0 && gbit_per_s < 1e6;
    fclose(file);
    return is_read ? (uint32_t)(gbit_per_s * 1000) : 0;
}

static void add_port(struct ib_ports *out, const char *sysfs, const struct opened_adapter *adapter, uint32_t number)
{
    const struct ibv_device *device = adapter->context->device;
    struct ibv_port_attr attr = {.state = IBV_PORT_NOP};
    if (out->n == IB_MAX_PORTS) return;
    /* The exported function fills the older, smaller struct, which has every field that is read here. */
    if (verbs.query_port(adapter->context, (uint8_t)number, (struct _compat_ibv_port_attr *)&attr) != 0) return;
    uint32_t reported = lanes_of(attr.active_width) * lane_mbit_per_s(attr.active_speed);
    uint32_t printed = printed_rate(sysfs, device, number);
    struct ib_port *port = &out->list[out->n++];
    *port = (struct ib_port){
        .number = number,
        .link = link_of(attr.link_layer),
        .atomics = atomics_of(adapter->attr.atomic_cap),
        .is_active = attr.state == IBV_PORT_ACTIVE,
        .is_software = adapter->attr.vendor_id == SOFTWARE_VENDOR,
        .is_ordered = places_in_order(&adapter->attr),
        .rate_mbit_per_s = printed > reported ? printed : reported,
        .place = adapter->place,
    };
    snprintf(port->adapter, sizeof port->adapter, "%s", device->name);
    snprintf(port->name, sizeof port->name, "%.63s:%u", device->name, number);
    for (ssize_t i = 0; i < adapter->n_gids; i++)
        if (adapter->gids[i].port_num == number) add_gid(port, &adapter->gids[i]);
}

static void add_adapter(struct ib_ports *out, const char *sysfs, struct ibv_device *device, struct opened_adapter *room)
{
    room->context = verbs.open_device(device);
    if (room->context == NULL) return;
    room->n_gids = verbs.query_gid_table(room->context, room->gids, GID_ENTRIES, 0, sizeof room->gids[0]);
    find_place(sysfs, device, room);
    if (verbs.query_device(room->context, &room->attr) == 0)
        for (uint32_t i = 1; i <= room->attr.phys_port_cnt; i++) add_port(out, sysfs, room, i);
    verbs.close_device(room->context);
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct ib_port *)a)->name, ((const struct ib_port *)b)->name);
}

static void add_all(const char *sysfs, struct ib_ports *out)
{
    int n = 0;
    struct opened_adapter *room = malloc(sizeof *room);
    struct ibv_device **devices = room != NULL ? verbs.get_device_list(&n) : NULL;
    for (int i = 0; devices != NULL && i < n; i++) add_adapter(out, sysfs, devices[i], room);
    if (devices != NULL) verbs.free_device_list(devices);
    free(room);
}

void ib_ports_read(const char *sysfs, struct ib_ports *out)
{
    out->n = 0;
    void *library = load_verbs();
    if (library == NULL) return;
    add_all(sysfs, out);
    dlclose(library);
    qsort(out->list, out->n, sizeof out->list[0], by_name);
}

#else /* built where the headers are missing */

void ib_ports_read(const char *sysfs, struct ib_ports *out)
{
    (void)sysfs;
    *out = (struct ib_ports){.is_unknown = true};
}

#endif
