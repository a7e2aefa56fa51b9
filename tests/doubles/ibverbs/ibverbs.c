/* tests/doubles/ibverbs/ibverbs.c: a libibverbs.so.1 whose adapters are lines of the file that IBVERBS_DOUBLE names:
 *   ADAPTER PORTS VENDOR ATOMICS NODE, then for each of its ports, indented: STATE LINK WIDTH SPEED
 * with the library's own numbers; NODE -1: the system knows none. A port of Ethernet has a GID of RoCE 2,
 * 10.0.0.<port>, at index 3, and one of RoCE 1 before it. "broken" for PORTS: such an adapter cannot be opened.
 * Functions that take memory regions or queues are not there: code that needs them rejects the library. */
#include <infiniband/verbs.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#undef ibv_query_port

enum { MAX_ADAPTERS = 32, MAX_PORTS = 4 };

struct adapter {
    struct ibv_device device; /* first: what the caller has is this */
    unsigned n_ports, vendor, atomics;
    int node;
    struct {
        unsigned state, link, width, speed;
    } ports[MAX_PORTS];
};

static struct adapter adapters[MAX_ADAPTERS];

/* The folder of that name, made when it is not there; malloc'ed. */
static char *make_folder(const char *below, const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s", below, name) < 0) abort();
    (void)mkdir(path, 0700);
    return path;
}

/* Where the system publishes the NUMA node. Several processes may write it at a time: the file is complete or
 * absent. */
static void write_node(struct adapter *adapter)
{
    char *folder = make_folder(getenv("IBVERBS_DOUBLE"), ".d/"), *own = make_folder(folder, adapter->device.name);
    char *device = make_folder(own, "/device"), *path, *made;
    if (asprintf(&path, "%s/numa_node", device) < 0 || asprintf(&made, "%s.%d", path, (int)getpid()) < 0) abort();
    FILE *file = fopen(made, "w");
    if (file == NULL) abort();
    fprintf(file, "%d\n", adapter->node);
    fclose(file);
    (void)rename(made, path);
    strncpy(adapter->device.ibdev_path, own, sizeof adapter->device.ibdev_path - 1);
    free(folder);
    free(own);
    free(device);
    free(path);
    free(made);
}

static int read_adapter(FILE *file, struct adapter *out)
{
    char ports[16];
    memset(out, 0, sizeof *out);
    if (fscanf(file, "%63s %15s %x %u %d", out->device.name, ports, &out->vendor, &out->atomics, &out->node) != 5)
        return 0;
    out->n_ports = (unsigned)atoi(ports); /* of "broken": 0 */
    for (unsigned i = 0; i < out->n_ports && i < MAX_PORTS; i++)
        if (fscanf(file, "%u %u %u %u", &out->ports[i].state, &out->ports[i].link, &out->ports[i].width,
                   &out->ports[i].speed) != 4)
            return 0;
    write_node(out);
    return 1;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    const char *name = getenv("IBVERBS_DOUBLE");
    FILE *file = name != NULL ? fopen(name, "r") : NULL;
    struct ibv_device **list = calloc(MAX_ADAPTERS + 1, sizeof(struct ibv_device *));
    int n = 0;
    while (file != NULL && list != NULL && n < MAX_ADAPTERS && read_adapter(file, &adapters[n])) {
        list[n] = &adapters[n].device;
        n++;
    }
    if (file != NULL) fclose(file);
    if (num_devices != NULL) *num_devices = n;
    return list;
}

void ibv_free_device_list(struct ibv_device **list) { free(list); }

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct adapter *adapter = (struct adapter *)(void *)device;
    if (adapter->n_ports == 0) return NULL;
    struct ibv_context *context = calloc(1, sizeof *context);
    if (context != NULL) context->device = device;
    return context;
}

int ibv_close_device(struct ibv_context *context)
{
    free(context);
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *out)
{
    const struct adapter *adapter = (const struct adapter *)(void *)context->device;
    memset(out, 0, sizeof *out);
    out->phys_port_cnt = (uint8_t)adapter->n_ports;
    out->vendor_id = adapter->vendor;
    out->atomic_cap = (enum ibv_atomic_cap)adapter->atomics;
    return 0;
}

/* As the real one: the struct of that symbol ends before the fields that were added later. */
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *out)
{
    const struct adapter *adapter = (const struct adapter *)(void *)context->device;
    if (port == 0 || port > adapter->n_ports || port > MAX_PORTS) return EINVAL;
    struct ibv_port_attr attr = {
        .state = (enum ibv_port_state)adapter->ports[port - 1].state,
        .link_layer = (uint8_t)adapter->ports[port - 1].link,
        .active_width = (uint8_t)adapter->ports[port - 1].width,
        .active_speed = (uint8_t)adapter->ports[port - 1].speed,
    };
    memcpy(out, &attr, offsetof(struct ibv_port_attr, port_cap_flags2));
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
                             uint32_t flags, size_t entry_size)
{
    const struct adapter *adapter = (const struct adapter *)(void *)context->device;
    size_t n = 0;
    (void)flags, (void)entry_size;
    for (uint32_t port = 1; port <= adapter->n_ports; port++) {
        if (adapter->ports[port - 1].link != IBV_LINK_LAYER_ETHERNET) continue;
        for (uint32_t type = IBV_GID_TYPE_ROCE_V1; type <= IBV_GID_TYPE_ROCE_V2 && n < max_entries; type++) {
            entries[n] = (struct ibv_gid_entry){.gid_index = 1 + type, .port_num = port, .gid_type = type};
            memcpy(entries[n++].gid.raw, (const uint8_t[16]){[10] = 0xff, [11] = 0xff, [12] = 10, [15] = (uint8_t)port},
                   16);
        }
    }
    return (ssize_t)n;
}
