/* tests/doubles/verbs/device.c: adapters, their ports, LIDs, GIDs and P_Keys, and the hosts that they are in. */
#include "tests/doubles/verbs/verbs_double.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#undef ibv_query_port

struct settings settings = {.n_adapters = 1,
                            .down = -1,
                            .masked = NO_ADAPTER,
                            .max_mr = 1 << 20,
                            .max_qp = QPS_OF_A_PROCESS,
                            .vendor = 0x8086,
                            .part = 0x1592,
                            .atomics = IBV_ATOMIC_HCA,
                            .name = "hca_",
                            .seed = 1};
pthread_mutex_t verbs_lock = PTHREAD_MUTEX_INITIALIZER;

static struct adapter adapters[MOST_ADAPTERS];

void break_rule(const char *rule, const char *detail, ...)
{
    va_list args;
    va_start(args, detail);
    fprintf(stderr, "verbs double: process %d broke the rule '%s': ", (int)getpid(), rule);
    vfprintf(stderr, detail, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

/* ---- settings ---- */

static void read_word(const char *word)
{
    const char *is = strchr(word, '=');
    size_t length = is != NULL ? (size_t)(is - word) : strlen(word);
    const char *value = is != NULL ? is + 1 : "";
    long number = strtol(value, NULL, 0);
#define IS(name) (length == sizeof name - 1 && memcmp(word, name, length) == 0)
    if (IS("unordered"))
        settings.unordered = true;
    else if (IS("relaxed"))
        settings.relaxed = true;
    else if (IS("late"))
        settings.late = true;
    else if (IS("ethernet"))
        settings.is_ethernet = true;
    else if (IS("unspecified"))
        settings.is_unspecified = true;
    else if (IS("vlans"))
        settings.has_vlans = true;
    else if (IS("subnets"))
        settings.has_subnets = true;
    else if (IS("partitions"))
        settings.has_partitions = true;
    else if (IS("odp"))
        settings.has_odp = true, settings.has_odp_atomics = value[0] == '\0';
    else if (IS("memlock"))
        settings.counts_memlock = true, settings.most_locked = (uint64_t)number << 10;
    else if (IS("adapters"))
        settings.n_adapters = (int)number;
    else if (IS("down"))
        settings.down = (int)number;
    else if (IS("masked"))
        settings.masked = is != NULL ? (int)number : ALL_ADAPTERS;
    else if (IS("no_devx"))
        settings.has_no_devx = true;
    else if (IS("max_mr"))
        settings.max_mr = (int)number;
    else if (IS("max_qp"))
        settings.max_qp = (int)number;
    else if (IS("vendor"))
        settings.vendor = (unsigned)number;
    else if (IS("part"))
        settings.part = (unsigned)number;
    else if (IS("seed"))
        settings.seed = (uint64_t)number;
    else if (IS("name"))
        snprintf(settings.name, sizeof settings.name, "%s", value);
    else if (IS("atomics"))
        settings.atomics = strcmp(value, "none") == 0     ? IBV_ATOMIC_NONE
                           : strcmp(value, "system") == 0 ? IBV_ATOMIC_GLOB
                                                          : IBV_ATOMIC_HCA;
    else if (length > 0)
        break_rule("VERBS_DOUBLE", "unknown word '%s'", word);
#undef IS
}

static void read_settings(void)
{
    const char *given = getenv("VERBS_DOUBLE");
    char *words = strdup(given != NULL ? given : ""), *rest = words;
    for (char *word; (word = strsep(&rest, ",")) != NULL;) read_word(word);
    if (settings.unordered && settings.relaxed) break_rule("VERBS_DOUBLE", "unordered and relaxed are two modes");
    free(words);
    if (settings.n_adapters < 0 || settings.n_adapters > MOST_ADAPTERS)
        break_rule("VERBS_DOUBLE", "adapters=%d; 0 to %d", settings.n_adapters, MOST_ADAPTERS);
    for (int i = 0; i < settings.n_adapters; i++) {
        struct ibv_device *device = &adapters[i].device;
        adapters[i].number = i;
        device->node_type = settings.is_unspecified ? IBV_NODE_UNSPECIFIED : IBV_NODE_CA;
        device->transport_type = settings.is_unspecified ? IBV_TRANSPORT_UNSPECIFIED : IBV_TRANSPORT_IB;
        snprintf(device->name, sizeof device->name, "%s%d", settings.name, i);
        snprintf(device->dev_name, sizeof device->dev_name, "uverbs%d", i);
        snprintf(device->dev_path, sizeof device->dev_path, "/sys/class/infiniband_verbs/uverbs%d", i);
        snprintf(device->ibdev_path, sizeof device->ibdev_path, "/sys/class/infiniband/%s%d", settings.name, i);
    }
}

void settings_read(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_settings);
}

/* ---- hosts ---- */

const char *folder_of_sockets(void)
{
    static char folder[80];
    const char *given = getenv("VERBS_DOUBLE_FOLDER"), *own = getenv("TMPDIR");
    if (folder[0] == '\0' && given != NULL) snprintf(folder, sizeof folder, "%s", given);
    if (folder[0] == '\0') snprintf(folder, sizeof folder, "%s/verbs", own != NULL ? own : "/tmp");
    (void)mkdir(folder, 0777);
    return folder;
}

int folder_lock(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/hosts", folder_of_sockets());
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) break_rule("VERBS_DOUBLE_FOLDER", "%s: %s", path, strerror(errno));
    return fd;
}

void folder_unlock(int fd) { close(fd); }

/* Hosts are numbered as they come, in the order of the lines of a file. */
int adapter_host(void)
{
    static int host = -1;
    struct utsname name;
    struct stat network;
    char mine[160], line[160];
    if (host >= 0) return host;
    if (uname(&name) != 0 || stat("/proc/self/ns/net", &network) != 0) memset(&network, 0, sizeof network);
    snprintf(mine, sizeof mine, "%s %llu\n", name.nodename, (unsigned long long)network.st_ino);
    int fd = folder_lock();
    FILE *file = fdopen(dup(fd), "r+");
    for (host = 0; fgets(line, sizeof line, file) != NULL && strcmp(line, mine) != 0;) host++;
    if (feof(file)) fputs(mine, file);
    fclose(file);
    folder_unlock(fd);
    return host;
}

int *queue_pairs_of(int adapter)
{
    static int *counts;
    char path[96];
    if (counts != NULL) return &counts[adapter];
    snprintf(path, sizeof path, "%s/queue_pairs.%d", folder_of_sockets(), adapter_host());
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    size_t n_bytes = MOST_ADAPTERS * sizeof *counts;
    void *mapped = fd < 0 || ftruncate(fd, (off_t)n_bytes) != 0
                       ? MAP_FAILED
                       : mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) break_rule("VERBS_DOUBLE_FOLDER", "%s: %s", path, strerror(errno));
    close(fd);
    counts = mapped;
    return &counts[adapter];
}

uint16_t lid_of(int host, int adapter) { return (uint16_t)(1 + host * MOST_ADAPTERS + adapter); }

/* ---- GIDs ---- */

int n_gids(void) { return !settings.is_ethernet ? 1 : settings.has_vlans ? MOST_GIDS : 4; }

/* Entries come in pairs, of RoCE 1 and 2. Pair: the kind of address and the VLAN. */
static const struct {
    char kind; /* l: link-local, 4: of IP version 4, 6: global */
    uint8_t vlan;
} pairs[MOST_GIDS / 2] = {{'l', 0}, {'4', 2}, {'6', 0}, {'l', 5}, {'4', 5}, {'4', 9}, {'l', 9}, {'6', 9}};

static uint8_t vlan_tag(uint8_t net) { return net == 2 ? 0 : net; } /* 10.80.2.x is untagged */

uint16_t vlan_of(int index) { return settings.is_ethernet ? vlan_tag(pairs[index / 2].vlan) : 0; }

union ibv_gid gid_of(int host, int adapter, int index)
{
    union ibv_gid gid = {.raw = {0}};
    char kind = settings.is_ethernet ? pairs[index / 2].kind : 'l';
    uint8_t vlan = settings.is_ethernet ? pairs[index / 2].vlan : 0;
    if (kind == '4') {
        const uint8_t bytes[6] = {0xff, 0xff, 10, 80, vlan, (uint8_t)(1 + host * MOST_ADAPTERS + adapter)};
        memcpy(gid.raw + 10, bytes, sizeof bytes);
        return gid;
    }
    gid.raw[0] = kind == 'l' ? 0xfe : 0xfd;
    gid.raw[1] = 0x80;
    gid.raw[7] = settings.has_subnets ? (uint8_t)adapter : 0;
    gid.raw[8] = 2;
    gid.raw[12] = vlan;
    gid.raw[13] = (uint8_t)host;
    gid.raw[14] = (uint8_t)adapter;
    gid.raw[15] = 1;
    return gid;
}

bool find_gid(const union ibv_gid *gid, struct place *out)
{
    static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
    if (memcmp(gid->raw, v4, sizeof v4) == 0) {
        int number = gid->raw[15] - 1;
        *out = (struct place){number / MOST_ADAPTERS, number % MOST_ADAPTERS, vlan_tag(gid->raw[14])};
        return gid->raw[12] == 10 && gid->raw[13] == 80 && number >= 0;
    }
    *out = (struct place){gid->raw[13], gid->raw[14], gid->raw[12]};
    return (gid->raw[0] == 0xfe || gid->raw[0] == 0xfd) && gid->raw[8] == 2;
}

uint16_t pkey_at(int index)
{
    if (!settings.has_partitions) return index == 0 ? 0xffff : 0;
    return index == 0 ? 0x7fff : index == 1 ? 0x8123 : 0;
}

bool has_masked(const struct adapter *adapter)
{
    return settings.masked == ALL_ADAPTERS || settings.masked == adapter->number;
}

/* ---- what callers ask ---- */

struct ibv_device **ibv_get_device_list(int *n)
{
    settings_read();
    struct ibv_device **list = calloc(MOST_ADAPTERS + 1, sizeof *list);
    for (int i = 0; i < settings.n_adapters; i++) list[i] = &adapters[i].device;
    if (n != NULL) *n = settings.n_adapters;
    return list;
}

void ibv_free_device_list(struct ibv_device **list) { free(list); }
const char *ibv_get_device_name(struct ibv_device *device) { return device->name; }
int ibv_get_device_index(struct ibv_device *device) { return ((struct adapter *)device)->number; }

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    union ibv_gid gid = gid_of(adapter_host(), ((struct adapter *)device)->number, 0);
    return gid.global.interface_id;
}

int ibv_fork_init(void) { return 0; }
enum ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *out)
{
    *out = (struct ibv_device_attr){.node_guid = ibv_get_device_guid(verbs->device),
                                    .sys_image_guid = ibv_get_device_guid(verbs->device),
                                    .max_mr_size = UINT64_MAX,
                                    .page_size_cap = 0xfffff000,
                                    .vendor_id = settings.vendor,
                                    .vendor_part_id = settings.part,
                                    .max_qp = settings.max_qp,
                                    .max_qp_wr = 8192,
                                    .max_sge = 16,
                                    .max_sge_rd = 16,
                                    .max_cq = 65536,
                                    .max_cqe = 1 << 20,
                                    .max_mr = settings.max_mr,
                                    .max_pd = 1 << 16,
                                    .max_qp_rd_atom = 16,
                                    .max_res_rd_atom = 1 << 16,
                                    .max_qp_init_rd_atom = 16,
                                    .atomic_cap = settings.atomics,
                                    .max_ah = 1 << 16,
                                    .max_srq = 1 << 16,
                                    .max_srq_wr = 1 << 15,
                                    .max_srq_sge = 16,
                                    .max_pkeys = settings.has_partitions ? 4 : 1,
                                    .local_ca_ack_delay = 4,
                                    .phys_port_cnt = 1};
    snprintf(out->fw_ver, sizeof out->fw_ver, "1.0");
    return 0;
}

static uint8_t link_layer(void)
{
    if (settings.is_unspecified) return IBV_LINK_LAYER_UNSPECIFIED;
    return settings.is_ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
}

int query_device_ex(struct ibv_context *verbs, const struct ibv_query_device_ex_input *input,
                    struct ibv_device_attr_ex *out, size_t out_bytes)
{
    enum { ALL = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ };
    struct ibv_device_attr_ex attr = {.comp_mask = 0};
    (void)input;
    (void)ibv_query_device(verbs, &attr.orig_attr);
    if (settings.has_odp) attr.odp_caps.general_caps = IBV_ODP_SUPPORT;
    if (settings.has_odp) attr.odp_caps.per_transport_caps.rc_odp_caps = ALL;
    if (settings.has_odp_atomics) attr.odp_caps.per_transport_caps.rc_odp_caps |= IBV_ODP_SUPPORT_ATOMIC;
    memcpy(out, &attr, out_bytes < sizeof attr ? out_bytes : sizeof attr);
    return 0;
}

int ibv_query_port(struct ibv_context *verbs, uint8_t port, struct _compat_ibv_port_attr *out)
{
    const struct adapter *adapter = ((struct context *)verbs)->adapter;
    bool is_up = adapter->number != settings.down;
    struct ibv_port_attr attr = {.state = is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
                                 .max_mtu = IBV_MTU_4096,
                                 .active_mtu = IBV_MTU_4096,
                                 .gid_tbl_len = n_gids(),
                                 .max_msg_sz = 1u << 31,
                                 .pkey_tbl_len = settings.has_partitions ? 4 : 1,
                                 .lid = settings.is_ethernet ? 0 : lid_of(adapter_host(), adapter->number),
                                 .sm_lid = 1,
                                 .max_vl_num = 1,
                                 .active_width = 2,
                                 .active_speed = 32,
                                 .phys_state = is_up ? 5 : 3,
                                 .link_layer = link_layer()};
    if (port != 1) return EINVAL;
    memcpy(out, &attr, offsetof(struct ibv_port_attr, port_cap_flags2)); /* older callers have no room for more */
    return 0;
}

int ibv_query_gid(struct ibv_context *verbs, uint8_t port, int index, union ibv_gid *out)
{
    const struct adapter *adapter = ((struct context *)verbs)->adapter;
    if (port != 1 || index < 0 || index >= n_gids()) {
        errno = EINVAL;
        return -1;
    }
    *out = gid_of(adapter_host(), adapter->number, index);
    return 0;
}

static void fill_entry(const struct adapter *adapter, int index, struct ibv_gid_entry *out)
{
    enum ibv_gid_type type = !settings.is_ethernet ? IBV_GID_TYPE_IB
                             : index % 2 == 1      ? IBV_GID_TYPE_ROCE_V2
                                                   : IBV_GID_TYPE_ROCE_V1;
    *out = (struct ibv_gid_entry){.gid = gid_of(adapter_host(), adapter->number, index),
                                  .gid_index = (uint32_t)index,
                                  .port_num = 1,
                                  .gid_type = type};
}

ssize_t _ibv_query_gid_table(struct ibv_context *verbs, struct ibv_gid_entry *out, size_t room, uint32_t flags,
                             size_t entry_bytes)
{
    ssize_t n = 0;
    if (flags != 0 || entry_bytes != sizeof *out) return -EOPNOTSUPP;
    for (int i = 0; i < n_gids() && (size_t)n < room; i++) fill_entry(((struct context *)verbs)->adapter, i, &out[n++]);
    return n;
}

int _ibv_query_gid_ex(struct ibv_context *verbs, uint32_t port, uint32_t index, struct ibv_gid_entry *out,
                      uint32_t flags, size_t entry_bytes)
{
    if (port != 1 || index >= (uint32_t)n_gids() || flags != 0 || entry_bytes != sizeof *out) return EINVAL;
    fill_entry(((struct context *)verbs)->adapter, (int)index, out);
    return 0;
}

int ibv_query_pkey(struct ibv_context *verbs, uint8_t port, int index, __be16 *out)
{
    (void)verbs;
    if (port != 1 || index < 0 || index >= (settings.has_partitions ? 4 : 1)) {
        errno = EINVAL;
        return -1;
    }
    *out = htons(pkey_at(index));
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *verbs, uint8_t port, __be16 pkey)
{
    (void)verbs, (void)port;
    for (int i = 0; i < 4; i++)
        if (pkey_at(i) != 0 && htons(pkey_at(i)) == pkey) return i;
    return -1;
}

/* ---- names ---- */

const char *ibv_node_type_str(enum ibv_node_type type)
{
    return type == IBV_NODE_CA ? "InfiniBand channel adapter" : "?";
}
const char *ibv_port_state_str(enum ibv_port_state state)
{
    return state == IBV_PORT_ACTIVE ? "PORT_ACTIVE" : "PORT_DOWN";
}
const char *ibv_event_type_str(enum ibv_event_type type) { return (void)type, "an event"; }

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    static const char *const names[] = {[IBV_WC_SUCCESS] = "success",
                                        [IBV_WC_LOC_PROT_ERR] = "local protection error",
                                        [IBV_WC_WR_FLUSH_ERR] = "Work Request Flushed Error",
                                        [IBV_WC_REM_ACCESS_ERR] = "remote access error",
                                        [IBV_WC_REM_OP_ERR] = "remote operation error",
                                        [IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
                                        [IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
                                        [IBV_WC_FATAL_ERR] = "fatal error"};
    return (unsigned)status < sizeof names / sizeof *names && names[status] != NULL ? names[status] : "an error";
}
