/* tools/isthmus-info/print_topology.c: processors, memory and devices, as hwloc sees them.
 * Devices are what a transport may care about: GPUs, accelerators, network and InfiniBand adapters. */
#include "tools/isthmus-info/info.h"

#include "core/topo/topo.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

static isthmus_status load(hwloc_topology_t *out)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return ist_fail_errno(ISTHMUS_ERR_IO, "cannot read this host's topology: hwloc_topology_init");
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return ist_fail_errno(ISTHMUS_ERR_IO, "cannot read this host's topology: hwloc_topology_load");
    }
    *out = topology;
    return ISTHMUS_OK;
}

static unsigned count(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(topology, type);
    return n > 0 ? (unsigned)n : 0;
}

/* "0-3,8"; malloc'ed; never NULL. */
static char *cpu_list(hwloc_const_bitmap_t set)
{
    char *text = NULL;
    if (set == NULL || hwloc_bitmap_list_asprintf(&text, set) < 0) text = strdup("?");
    return text;
}

/* Where this process may run now: its binding, or all that the system allows. */
static char *own_cpus(hwloc_topology_t topology)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    bool known = set != NULL && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0;
    char *text = cpu_list(known ? set : hwloc_topology_get_allowed_cpuset(topology));
    hwloc_bitmap_free(set);
    return text;
}

/* ---- devices ---- */

/* The kind of device of a PCI class, for transports; NULL: none. */
static const char *class_name(unsigned class_id)
{
    switch (class_id >> 8) {
    case 0x03: return "gpu";
    case 0x12: return "accelerator";
    case 0x0b: return class_id == 0x0b40 ? "accelerator" : NULL;
    case 0x02: return class_id == 0x0207 ? "infiniband" : "network";
    default: return NULL;
    }
}

/* A device without a PCI parent (virtual adapters) is classified by its own type. */
static const char *osdev_name(const struct hwloc_obj *device)
{
    switch (device->attr->osdev.type) {
    case HWLOC_OBJ_OSDEV_GPU: return "gpu";
    case HWLOC_OBJ_OSDEV_COPROC: return "accelerator";
    case HWLOC_OBJ_OSDEV_OPENFABRICS: return "infiniband";
    case HWLOC_OBJ_OSDEV_NETWORK: return "network";
    default: return NULL;
    }
}

struct device {
    const char *what;
    char pci[32];    /* "0000:3b:00.0"; "": not on PCI */
    char model[128]; /* vendor and model, as far as the system knows */
    char names[128]; /* what the operating system calls it: "mlx5_0 ib0" */
    int numa_node;   /* nearest; -1: not known */
};

static int nearest_numa_node(hwloc_topology_t topology, hwloc_obj_t device)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
    if (near == NULL || near->nodeset == NULL || hwloc_bitmap_weight(near->nodeset) != 1) return -1;
    return hwloc_bitmap_first(near->nodeset);
}

static void add_name(struct device *out, const char *name)
{
    size_t used = strlen(out->names);
    if (name != NULL) snprintf(out->names + used, sizeof out->names - used, "%s%s", used > 0 ? " " : "", name);
}

static bool read_pci(hwloc_topology_t topology, hwloc_obj_t obj, struct device *out)
{
    const struct hwloc_pcidev_attr_s *pci = &obj->attr->pcidev;
    const char *vendor = hwloc_obj_get_info_by_name(obj, "PCIVendor");
    const char *model = hwloc_obj_get_info_by_name(obj, "PCIDevice");
    *out = (struct device){.what = class_name(pci->class_id), .numa_node = nearest_numa_node(topology, obj)};
    snprintf(out->pci, sizeof out->pci, "%04x:%02x:%02x.%01x", pci->domain, pci->bus, pci->dev, pci->func);
    if (vendor != NULL || model != NULL)
        snprintf(out->model, sizeof out->model, "%s%s%s", vendor != NULL ? vendor : "", vendor != NULL ? " " : "",
                 model != NULL ? model : "");
    else
        snprintf(out->model, sizeof out->model, "%04x:%04x", pci->vendor_id, pci->device_id);
    for (hwloc_obj_t child = obj->io_first_child; child != NULL; child = child->next_sibling)
        add_name(out, child->name);
    return out->what != NULL;
}

static bool read_osdev(hwloc_topology_t topology, hwloc_obj_t obj, struct device *out)
{
    if (obj->parent != NULL && obj->parent->type == HWLOC_OBJ_PCI_DEVICE) return false; /* listed with it */
    *out = (struct device){.what = osdev_name(obj), .numa_node = nearest_numa_node(topology, obj)};
    add_name(out, obj->name);
    return out->what != NULL;
}

typedef void device_visitor(const struct device *device, void *arg);

static unsigned visit_devices(hwloc_topology_t topology, device_visitor *visit, void *arg)
{
    struct device device;
    unsigned n = 0;
    for (hwloc_obj_t obj = NULL; (obj = hwloc_get_next_pcidev(topology, obj)) != NULL;) {
        if (!read_pci(topology, obj, &device)) continue;
        visit(&device, arg);
        n++;
    }
    for (hwloc_obj_t obj = NULL; (obj = hwloc_get_next_osdev(topology, obj)) != NULL;) {
        if (!read_osdev(topology, obj, &device)) continue;
        visit(&device, arg);
        n++;
    }
    return n;
}

/* ---- text ---- */

static void print_device(const struct device *device, void *arg)
{
    (void)arg;
    char text[400];
    size_t used = (size_t)snprintf(text, sizeof text, "%s%s%s", device->pci, device->pci[0] != '\0' ? " " : "",
                                   device->model);
    if (device->names[0] != '\0')
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ": " : "", device->names);
    if (device->numa_node >= 0) snprintf(text + used, sizeof text - used, ", near NUMA node %d", device->numa_node);
    printf("  %-11s ", device->what);
    print_filled(14, 14, text);
}

static void print_numa_nodes(hwloc_topology_t topology)
{
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        char *cpus = cpu_list(node->cpuset);
        printf("  NUMA %-6u %s, cpus %s\n", node->os_index, human_bytes(node->attr->numanode.local_memory), cpus);
        free(cpus);
    }
}

static void print_packages(hwloc_topology_t topology)
{
    for (hwloc_obj_t package = NULL;
         (package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)) != NULL;) {
        const char *model = hwloc_obj_get_info_by_name(package, "CPUModel");
        int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, package->cpuset, HWLOC_OBJ_CORE);
        printf("  package %-3u %s; cores: %d, hardware threads: %d\n", package->logical_index,
               model != NULL ? model : "unknown model", cores, hwloc_bitmap_weight(package->cpuset));
    }
}

isthmus_status topology_text(void)
{
    hwloc_topology_t topology = NULL;
    isthmus_status status = load(&topology);
    if (status != ISTHMUS_OK) return status;
    char *allowed = cpu_list(hwloc_topology_get_allowed_cpuset(topology)), *own = own_cpus(topology);
    printf("Topology of %s\n", ist_host_name());
    printf("  total       packages: %u, NUMA nodes: %u, cores: %u, hardware threads: %u\n",
           count(topology, HWLOC_OBJ_PACKAGE), count(topology, HWLOC_OBJ_NUMANODE), count(topology, HWLOC_OBJ_CORE),
           count(topology, HWLOC_OBJ_PU));
    printf("  allowed     cpus %s; this process runs on %s\n", allowed, own);
    print_packages(topology);
    print_numa_nodes(topology);
    if (visit_devices(topology, print_device, NULL) == 0) printf("  devices     no GPU, accelerator or adapter\n");
    free(allowed);
    free(own);
    hwloc_topology_destroy(topology);
    return ISTHMUS_OK;
}

/* ---- JSON ---- */

static void json_device(const struct device *device, void *arg)
{
    struct ist_json *json = arg;
    ist_json_begin_object(json, NULL);
    ist_json_string(json, "type", device->what);
    ist_json_string(json, "pci", device->pci[0] != '\0' ? device->pci : NULL);
    ist_json_string(json, "model", device->model[0] != '\0' ? device->model : NULL);
    ist_json_string(json, "names", device->names);
    if (device->numa_node >= 0)
        ist_json_integer(json, "numa_node", device->numa_node);
    else
        ist_json_null(json, "numa_node");
    ist_json_end_object(json);
}

static void json_cpus(struct ist_json *json, const char *key, char *list)
{
    ist_json_string(json, key, list);
    free(list);
}

static void json_packages(struct ist_json *json, hwloc_topology_t topology)
{
    ist_json_begin_array(json, "packages");
    for (hwloc_obj_t package = NULL;
         (package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)) != NULL;) {
        ist_json_begin_object(json, NULL);
        ist_json_string(json, "model", hwloc_obj_get_info_by_name(package, "CPUModel"));
        json_cpus(json, "cpus", cpu_list(package->cpuset));
        ist_json_end_object(json);
    }
    ist_json_end_array(json);
}

static void json_numa_nodes(struct ist_json *json, hwloc_topology_t topology)
{
    ist_json_begin_array(json, "numa_nodes");
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        ist_json_begin_object(json, NULL);
        ist_json_number(json, "number", node->os_index);
        ist_json_number(json, "memory_bytes", node->attr->numanode.local_memory);
        json_cpus(json, "cpus", cpu_list(node->cpuset));
        ist_json_end_object(json);
    }
    ist_json_end_array(json);
}

isthmus_status topology_json(struct ist_json *json)
{
    hwloc_topology_t topology = NULL;
    isthmus_status status = load(&topology);
    if (status != ISTHMUS_OK) return status;
    ist_json_begin_object(json, "topology");
    ist_json_number(json, "cores", count(topology, HWLOC_OBJ_CORE));
    ist_json_number(json, "hardware_threads", count(topology, HWLOC_OBJ_PU));
    json_cpus(json, "allowed_cpus", cpu_list(hwloc_topology_get_allowed_cpuset(topology)));
    json_cpus(json, "own_cpus", own_cpus(topology));
    json_packages(json, topology);
    json_numa_nodes(json, topology);
    ist_json_begin_array(json, "devices");
    visit_devices(topology, json_device, json);
    ist_json_end_array(json);
    ist_json_end_object(json);
    hwloc_topology_destroy(topology);
    return ISTHMUS_OK;
}
