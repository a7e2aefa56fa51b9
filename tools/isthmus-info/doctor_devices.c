/* tools/isthmus-info/doctor_devices.c: GPUs: is there one, does its driver run, may this process use it, and which
 * transport has it. Found in /sys and /dev, so that a GPU without a driver is reported too. */
#include "tools/isthmus-info/doctor.h"
#include "tools/isthmus-info/info.h"

#include "core/transport/registry.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* A maker's GPUs: what has to be there for its transport. */
static const struct maker {
    const char *transport;
    uint64_t pci_vendor;
    const char *name, *driver_version, *node, *driver_remedy;
} makers[] = {
    {"nvlink", 0x10de, "NVIDIA", "/sys/module/nvidia/version", "/dev/nvidiactl",
     "install NVIDIA's driver (modprobe nvidia)"},
    {"xelink", 0x8086, "Intel", "/sys/module/xe/version", "/dev/dri", "install the driver xe or i915"},
    {"xgmi", 0x1002, "AMD", "/sys/module/amdgpu/version", "/dev/kfd", "install the driver amdgpu (modprobe amdgpu)"},
};

static bool is_gpu(const char *address, uint64_t vendor)
{
    char path[320], text[32];
    uint64_t value = 0;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", address);
    if (!doctor_read_line(path, text, sizeof text) || sscanf(text, "%" SCNx64, &value) != 1 || value != vendor)
        return false;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", address);
    if (!doctor_read_line(path, text, sizeof text) || sscanf(text, "%" SCNx64, &value) != 1) return false;
    return value >> 16 == 0x03 || value >> 16 == 0x12;
}

static unsigned count_gpus(uint64_t vendor)
{
    unsigned n = 0;
    DIR *folder = opendir("/sys/bus/pci/devices");
    if (folder == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        n += entry->d_name[0] != '.' && is_gpu(entry->d_name, vendor);
    closedir(folder);
    return n;
}

static const struct ist_transport *transport_of(const struct maker *maker)
{
    return ist_registry_find(maker->transport);
}

/* Returns false if a user cannot reach the driver. */
static bool check_driver(const struct maker *maker, unsigned n_gpus)
{
    char version[64];
    if (access(maker->node, F_OK) != 0) {
        doctor_fault(VERDICT_FAIL, maker->transport, "driver", maker->driver_remedy,
                     "%u GPU(s) of %s, but %s does not exist", n_gpus, maker->name, maker->node);
        return false;
    }
    if (access(maker->node, R_OK | W_OK) != 0 && errno == EACCES) {
        doctor_fault(VERDICT_FAIL, maker->transport, "driver", "add the user to the groups render and video",
                     "%s may not be opened by this user", maker->node);
        return false;
    }
    doctor_read_line(maker->driver_version, version, sizeof version);
    doctor_pass(maker->transport, "driver", "%u GPU(s) of %s, driver %s", n_gpus, maker->name,
                version[0] != '\0' ? version : "of unknown version");
    return true;
}

static void check_transport(const struct maker *maker, const struct ist_transport *t)
{
    if (t == NULL)
        doctor_fault(VERDICT_FAIL, maker->transport, "transport", "build or install the plugin of that name",
                     "no plugin %s among those in %s", maker->transport, ist_registry.searched);
    else if (t->state != IST_TRANSPORT_OPEN)
        doctor_fault(VERDICT_FAIL, maker->transport, "transport", "mend what that reason names", "%s is not usable: %s",
                     maker->transport, t->why);
    else
        doctor_pass(maker->transport, "transport", "%s %s is usable", t->name, t->ops.version);
}

/* NVIDIA's GPUs of other hosts are reached by memory handles that a service of the system passes on. */
static void check_imex(const struct maker *maker)
{
    static const char name[] = "IMEX", channels[] = "/dev/nvidia-caps-imex-channels";
    if (access("/proc/driver/nvidia/capabilities/fabric-imex-mgmt", F_OK) != 0) return;
    if (access(channels, F_OK) == 0)
        doctor_pass(maker->transport, name, "%s exists", channels);
    else
        doctor_fault(VERDICT_DEGRADED, maker->transport, name, "start nvidia-imex, and create a channel",
                     "the driver can share memory between hosts, but %s does not exist", channels);
}

/* An adapter reads and writes a GPU's memory through one of two ways. */
static void check_peer_memory(const struct maker *maker)
{
    char version[160];
    if (access("/sys/class/infiniband", F_OK) != 0) return;
    doctor_read_line("/proc/driver/nvidia/version", version, sizeof version);
    bool is_open = strstr(version, "Open Kernel Module") != NULL;
    if (access("/sys/module/nvidia_peermem", F_OK) == 0)
        doctor_pass(maker->transport, "GPUDirect", "nvidia_peermem is loaded");
    else if (is_open)
        doctor_pass(maker->transport, "GPUDirect", "the driver's open modules pass memory to adapters by dma-buf");
    else
        doctor_fault(
            VERDICT_DEGRADED, maker->transport, "GPUDirect", "modprobe nvidia_peermem",
            "nvidia_peermem is not loaded: adapters cannot reach the GPU's memory, which is staged by the processor");
}

/* Of the GPUs of this host, as the one that this process would use sees them. */
static void check_peer_access(const struct ist_transport *t)
{
    static const char name[] = "peer access";
    const struct isthmus_devices *devices = transport_devices(t);
    unsigned n_reached = 0, n_others = 0;
    for (uint32_t i = 0; devices != NULL && i < devices->count(t->handle); i++) {
        struct isthmus_device device = {.struct_size = sizeof device};
        devices->describe(t->handle, i, &device);
        n_others += device.access != ISTHMUS_DEVICE_ACCESS_UNKNOWN;
        n_reached += device.access == ISTHMUS_DEVICE_ACCESS_ALL;
        if (device.access == ISTHMUS_DEVICE_ACCESS_NONE)
            doctor_fault(
                VERDICT_DEGRADED, t->name, name,
                "disable ACS of the PCIe switches, or give the PEs GPUs that have a link (nvidia-smi topo -p2p r)",
                "the GPU in use does not access %s, %s: data between them takes another transport", device.name,
                device.what);
        else if (device.access == ISTHMUS_DEVICE_ACCESS_DATA)
            doctor_fault(VERDICT_DEGRADED, t->name, name, "give the PEs GPUs that NVLink or its like connects",
                         "the GPU in use accesses %s, %s, without atomics: these take another transport", device.name,
                         device.what);
    }
    if (n_others > 0 && n_reached == n_others)
        doctor_pass(t->name, name, "the GPU in use accesses %u other(s), with atomics", n_others);
}

void doctor_devices(void)
{
    unsigned n_all = 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        const struct maker *maker = &makers[i];
        const struct ist_transport *t = transport_of(maker);
        unsigned n = count_gpus(maker->pci_vendor);
        bool is_open = t != NULL && t->state == IST_TRANSPORT_OPEN;
        n_all += n;
        if (is_open) check_peer_access(t);
        if (is_open && n == 0) doctor_pass(maker->transport, "transport", "%s %s is usable", t->name, t->ops.version);
        if (n == 0 || !check_driver(maker, n)) continue;
        check_transport(maker, t);
        if (strcmp(maker->transport, "nvlink") != 0) continue;
        check_imex(maker);
        check_peer_memory(maker);
    }
    if (n_all == 0) doctor_pass("devices", "GPUs", "none on the PCI bus: heaps lie in host memory");
}
