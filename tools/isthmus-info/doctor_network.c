/* tools/isthmus-info/doctor_network.c: what transports to other hosts need: a library, links, adapters, locked
 * memory. The adapters are those that the transports describe, and why they use them or not is theirs. */
#include "tools/isthmus-info/doctor.h"
#include "tools/isthmus-info/info.h"

#include "core/transport/registry.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* ---- the library under a transport ---- */

/* Versions of UCX that are slower here, or that other programs report as defective. */
static const struct {
    const char *prefix, *what, *remedy;
} ucx_defects[] = {
    {"1.13", "it has no list of an endpoint's lanes, so ib reads its printed text, and one adapter serves each PE",
     "install UCX 1.14 or newer, or name one in ISTHMUS_IB_UCX"},
};

static void check_library(const struct ist_transport *t)
{
    static const char name[] = "library";
    struct isthmus_library_info library = {.struct_size = sizeof library};
    t->extensions.library.describe(t->handle, &library);
    if (library.name == NULL) return;
    for (size_t i = 0; i < sizeof ucx_defects / sizeof *ucx_defects; i++) {
        if (strcmp(library.name, "UCX") != 0 || strncmp(library.version, ucx_defects[i].prefix, 4) != 0) continue;
        doctor_fault(VERDICT_DEGRADED, t->name, name, ucx_defects[i].remedy, "%s %s, %s: %s", library.name,
                     library.version, library.file, ucx_defects[i].what);
        return;
    }
    doctor_pass(t->name, name, "%s %s, %s", library.name, library.version, library.file);
}

/* ---- links ---- */

static void check_links(const char *area)
{
    static const char name[] = "links";
    char up[200] = "";
    struct ifaddrs *list, *i;
    if (getifaddrs(&list) != 0) return;
    for (i = list; i != NULL; i = i->ifa_next) {
        bool is_inet = i->ifa_addr != NULL && (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6);
        size_t used = strlen(up);
        bool is_listed = i->ifa_name[0] == '\0' || strstr(up, i->ifa_name) != NULL;
        if (is_inet && (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_LOOPBACK) == 0 && !is_listed)
            snprintf(up + used, sizeof up - used, "%s%s", used > 0 ? ", " : "", i->ifa_name);
    }
    freeifaddrs(list);
    if (up[0] != '\0')
        doctor_pass(area, name, "up, with an address: %s", up);
    else
        doctor_fault(VERDICT_DEGRADED, area, name, "ip link set INTERFACE up, and give it an address",
                     "no interface but loopback is up: other hosts cannot be reached");
}

/* ---- adapters ---- */

/* Returns how many are used. */
static unsigned check_adapters(const struct ist_transport *t)
{
    const struct isthmus_devices *devices = transport_devices(t);
    unsigned n_used = 0;
    for (uint32_t i = 0; devices != NULL && i < devices->count(t->handle); i++) {
        struct isthmus_device device = {.struct_size = sizeof device};
        devices->describe(t->handle, i, &device);
        n_used += device.is_used != 0;
        if (device.is_used || strstr(device.why, "down") == NULL)
            doctor_pass(t->name, "adapter", "%s: %s; %s: %s", device.name, device.what,
                        device.is_used ? "used" : "not used", device.why);
        else
            doctor_fault(VERDICT_DEGRADED, t->name, "adapter",
                         "connect the cable, or start the subnet manager (opensm)", "%s: %s; not used: %s", device.name,
                         device.what, device.why);
    }
    return n_used;
}

/* An entry that is set by its number has to be in the table of each RoCE port that is used. */
static void check_gid(const struct ist_transport *t, const struct isthmus_device *adapter, const char *index)
{
    static const char empty[] = "0000:0000:0000:0000:0000:0000:0000:0000";
    char path[320], gid[64];
    int length = (int)strcspn(adapter->name, ":");
    snprintf(path, sizeof path, "/sys/class/infiniband/%.*s/ports/%.10s/gids/%.10s", length, adapter->name,
             adapter->name + length + (adapter->name[length] == ':'), index);
    bool is_there = doctor_read_line(path, gid, sizeof gid);
    if (is_there && strcmp(gid, empty) != 0)
        doctor_pass(t->name, "GID", "%s has entry %.10s: %s", adapter->name, index, gid);
    else
        doctor_fault(VERDICT_FAIL, t->name, "GID",
                     "set ISTHMUS_IB_GID_INDEX to an entry that show_gids prints for the port, or unset it",
                     "the setting is entry %.10s, which %s in the table of %s: %s", index,
                     is_there ? "is empty" : "is not", adapter->name, path);
}

static void check_gids(const struct ist_transport *t)
{
    const struct isthmus_devices *devices = transport_devices(t);
    const char *index = ist_config_plugin_value("ISTHMUS_IB_GID_INDEX");
    if (index == NULL) index = getenv("UCX_IB_GID_INDEX");
    for (uint32_t i = 0; index != NULL && devices != NULL && i < devices->count(t->handle); i++) {
        struct isthmus_device device = {.struct_size = sizeof device};
        devices->describe(t->handle, i, &device);
        if (device.is_used && strstr(device.what, "RoCE") != NULL) check_gid(t, &device, index);
    }
}

/* Registering memory with an adapter pins it, up to this limit. */
static void check_locked_memory(const struct ist_transport *t, unsigned n_adapters)
{
    enum { LEAST_BYTES = 64 << 20 };
    static const char name[] = "memlock";
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
    if (n_adapters == 0)
        doctor_pass(t->name, name, "not needed: no RDMA adapter is used");
    else if (limit.rlim_cur == RLIM_INFINITY)
        doctor_pass(t->name, name, "no limit of locked memory");
    else
        doctor_fault(
            limit.rlim_cur < LEAST_BYTES ? VERDICT_FAIL : VERDICT_DEGRADED, t->name, name,
            "ulimit -l unlimited, for the launcher's service too (LimitMEMLOCK=infinity); docker --ulimit memlock=-1",
            "the limit of locked memory is %s, and each heap is registered with the adapter",
            human_bytes(limit.rlim_cur));
}

/* A transport that the core could not load or open; those of devices are doctor_devices.c. */
static void check_unusable(const struct ist_transport *t)
{
    if (t->state == IST_TRANSPORT_REFUSED)
        doctor_fault(VERDICT_FAIL, t->name, "plugin", "rebuild or remove the file", "%s: %s", t->file, t->why);
    else if (t->state == IST_TRANSPORT_UNFIT && (t->ops.scopes & ISTHMUS_SCOPE_NETWORK) != 0)
        doctor_fault(VERDICT_DEGRADED, t->name, "transport", "docs/messages.md has a row for each reason",
                     "PEs on other hosts are out of reach: %s", t->why);
    else if (t->state == IST_TRANSPORT_UNFIT && (t->ops.scopes & ISTHMUS_SCOPE_HOST) != 0 &&
             (t->ops.scopes & ISTHMUS_SCOPE_DEVICE) == 0)
        doctor_fault(VERDICT_FAIL, t->name, "transport", "docs/messages.md has a row for each reason",
                     "other PEs of this host are out of reach: %s", t->why);
}

void doctor_network(void)
{
    if (ist_registry.n == 0)
        doctor_fault(VERDICT_FAIL, "host", "plugins", "set ISTHMUS_PLUGIN_PATH to the folder of the transports",
                     "no plugin in %s", ist_registry.searched);
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        check_unusable(t);
        if ((t->ops.scopes & ISTHMUS_SCOPE_NETWORK) == 0 || t->state != IST_TRANSPORT_OPEN) continue;
        check_library(t);
        check_links(t->name);
        check_locked_memory(t, check_adapters(t));
        check_gids(t);
    }
}
