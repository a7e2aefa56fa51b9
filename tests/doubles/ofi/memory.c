/* tests/doubles/ofi/memory.c: registrations, which local and remote operands are checked against. */
#include "ofi_double.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_in(const struct region *region, const char *at, size_t length)
{
    return at >= region->addr && length <= region->length && (size_t)(at - region->addr) <= region->length - length;
}

static bool is_ready(const struct region *region)
{
    return (region->domain->mode->mr_mode & FI_MR_ENDPOINT) == 0 || region->is_enabled;
}

/* ---- one registration ---- */

static int close_region(struct fid *fid)
{
    struct region *region = container_of(fid, struct region, fid.fid);
    struct double_domain *domain = region->domain;
    double_enter(domain);
    for (size_t i = 0; i < REGIONS_MOST; i++)
        if (domain->regions[i] == region) domain->regions[i] = NULL;
    domain->n_open--;
    double_leave(domain);
    free(region);
    return 0;
}

static int bind_region(struct fid *fid, struct fid *to, uint64_t flags)
{
    struct region *region = container_of(fid, struct region, fid.fid);
    (void)flags;
    RULE((region->domain->mode->mr_mode & FI_MR_ENDPOINT) != 0, "fi_mr_bind without FI_MR_ENDPOINT");
    RULE(to->fclass == FI_CLASS_EP, "a registration is bound to an endpoint");
    region->is_bound = true;
    return 0;
}

static int write_raw_key(const struct region *region, struct fi_mr_raw_attr *attr)
{
    if (*attr->key_size < RAW_KEY_BYTES) {
        *attr->key_size = RAW_KEY_BYTES;
        return -FI_ETOOSMALL;
    }
    *attr->key_size = RAW_KEY_BYTES;
    memcpy(attr->raw_key, region->key, RAW_KEY_BYTES);
    *attr->base_addr = (region->domain->mode->mr_mode & FI_MR_VIRT_ADDR) != 0 ? (uintptr_t)region->addr : 0;
    return 0;
}

static int control_region(struct fid *fid, int command, void *arg)
{
    struct region *region = container_of(fid, struct region, fid.fid);
    if (command == FI_ENABLE) {
        RULE(region->is_bound, "fi_mr_enable before fi_mr_bind");
        region->is_enabled = true;
        return 0;
    }
    RULE(command == FI_GET_RAW_MR, "control %d of a registration", command);
    RULE((region->domain->mode->mr_mode & FI_MR_RAW) != 0, "fi_mr_raw_attr without FI_MR_RAW");
    return write_raw_key(region, arg);
}

static bool is_key_taken(const struct double_domain *domain, uint64_t key)
{
    for (size_t i = 0; i < REGIONS_MOST; i++)
        if (domain->regions[i] != NULL && memcmp(domain->regions[i]->key, &key, sizeof key) == 0) return true;
    return false;
}

/* Keys are random where the provider chooses them; those of RAW differ in their last 8 bytes alone. */
static int set_key(struct region *region, uint64_t requested)
{
    struct double_domain *domain = region->domain;
    uint64_t key = requested, part = 0x6b657920u;
    if ((domain->mode->mr_mode & FI_MR_PROV_KEY) != 0) key = ++domain->newest_key * 0x9e3779b97f4a7c15u;
    if ((domain->mode->mr_mode & FI_MR_RAW) != 0) {
        memcpy(region->key, &part, sizeof part);
        memcpy(region->key + 16, &key, sizeof key);
        region->fid.key = FI_KEY_NOTAVAIL;
        return 0;
    }
    if (is_key_taken(domain, key)) return -FI_ENOKEY;
    memcpy(region->key, &key, sizeof key);
    region->fid.key = key;
    return 0;
}

static int add(struct region *region, uint64_t requested_key)
{
    struct double_domain *domain = region->domain;
    double_enter(domain);
    int error = set_key(region, requested_key);
    size_t i = 0;
    while (i < REGIONS_MOST && domain->regions[i] != NULL) i++;
    RULE(i < REGIONS_MOST, "more than %d registrations at once", REGIONS_MOST);
    if (error == 0) {
        domain->regions[i] = region;
        domain->n_open++;
    }
    double_leave(domain);
    return error;
}

/* OFI_DOUBLE_HMEM=refuses: libfabric was built without that device's library; =full: the adapter has no room for it. */
static int check_device(const struct double_domain *domain, const struct fi_mr_attr *attr)
{
    const char *hmem = getenv("OFI_DOUBLE_HMEM");
    if (attr->iface == FI_HMEM_SYSTEM) return 0;
    RULE(domain->has_hmem, "memory of a device in a domain that was opened without FI_HMEM");
    RULE(attr->iface == FI_HMEM_CUDA || attr->iface == FI_HMEM_ROCR || attr->iface == FI_HMEM_ZE, "interface %d",
         (int)attr->iface);
    RULE(attr->iface == FI_HMEM_ROCR || (attr->device.cuda >= 0 && attr->device.cuda < DEVICES_MOST),
         "a registration of memory of device %d", attr->device.cuda);
    if (hmem == NULL) return 0;
    return strcmp(hmem, "refuses") == 0 ? -FI_ENOSYS : strcmp(hmem, "full") == 0 ? -FI_ENOMEM : 0;
}

/* An adapter pins pages for writing: those of constants that hold addresses, which are read-only, it cannot. */
static bool is_writable(const struct fi_mr_attr *attr)
{
    uintptr_t first = (uintptr_t)attr->mr_iov->iov_base, end = first + attr->mr_iov->iov_len, from, to;
    char line[512], access[5];
    bool is_writable = true;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, access) == 3 && from < end && to > first)
            is_writable = is_writable && access[1] == 'w';
    if (maps != NULL) fclose(maps);
    return is_writable;
}

/* OFI_DOUBLE_LOCKED=full: nothing more may be locked when the endpoint is there: operands cannot be registered. */
static bool may_lock(const struct fi_mr_attr *attr)
{
    const char *locked = getenv("OFI_DOUBLE_LOCKED");
    bool is_operand = attr->access == FI_READ || attr->access == FI_WRITE;
    return locked == NULL || strcmp(locked, "full") != 0 || !is_operand;
}

static int reg(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **out)
{
    static struct fi_ops ops = {
        .size = sizeof ops, .close = close_region, .bind = bind_region, .control = control_region};
    struct double_domain *domain = container_of(fid, struct double_domain, fid.fid);
    RULE(attr->offset == 0 && flags == 0, "offset and flags of fi_mr_regattr are reserved");
    RULE(attr->iov_count == 1, "the double registers one range at a time");
    int refused = check_device(domain, attr);
    if (refused != 0) return refused;
    bool is_pinned = (domain->mode->mr_mode & FI_MR_ALLOCATED) != 0 && attr->iface == FI_HMEM_SYSTEM;
    if (is_pinned && (attr->access & (FI_REMOTE_WRITE | FI_READ)) != 0 && !is_writable(attr)) return -FI_EFAULT;
    struct region *region = may_lock(attr) ? calloc(1, sizeof *region) : NULL;
    if (region == NULL) return -FI_ENOMEM;
    region->domain = domain;
    region->addr = attr->mr_iov->iov_base;
    region->length = attr->mr_iov->iov_len;
    region->access = attr->access;
    region->is_device = attr->iface != FI_HMEM_SYSTEM;
    region->fid.fid = (struct fid){.fclass = FI_CLASS_MR, .context = attr->context, .ops = &ops};
    region->fid.mem_desc = region;
    int error = add(region, attr->requested_key);
    if (error != 0)
        free(region);
    else
        *out = &region->fid;
    return error;
}

struct fi_ops_mr double_mr_ops = {.size = sizeof double_mr_ops, .regattr = reg};

/* ---- operands ---- */

void double_check_local(struct double_domain *domain, const void *at, size_t length, void *desc)
{
    const struct region *region = NULL;
    bool is_device = false;
    if (length == 0) return;
    for (size_t i = 0; i < REGIONS_MOST; i++) {
        if (domain->regions[i] == NULL) continue;
        if (domain->regions[i] == desc) region = desc;
        is_device = is_device || (domain->regions[i]->is_device && is_in(domain->regions[i], at, length));
    }
    domain->n_device_accesses += is_device;
    RULE(region != NULL || !is_device,
         "an operand in memory of a device without a descriptor, which FI_MR_HMEM demands");
    if ((domain->mode->mr_mode & FI_MR_LOCAL) == 0) return;
    RULE(region != NULL, "a local operand of %zu bytes without a descriptor, which FI_MR_LOCAL demands", length);
    RULE(is_in(region, at, length), "a local operand of %zu bytes is outside of its registration", length);
    RULE(is_ready(region), "a local operand's registration is not enabled");
}

struct region *double_region_of(struct double_domain *domain, const struct packet_head *head, size_t length,
                                uint64_t access, char **at)
{
    for (size_t i = 0; i < REGIONS_MOST; i++) {
        struct region *region = domain->regions[i];
        if (region == NULL || memcmp(region->key, head->key, sizeof region->key) != 0) continue;
        bool is_virtual = (domain->mode->mr_mode & FI_MR_VIRT_ADDR) != 0;
        uint64_t offset = head->address + head->offset - (is_virtual ? (uintptr_t)region->addr : 0);
        if (offset > region->length || length > region->length - offset) return NULL;
        if ((region->access & access) == 0 || !is_ready(region)) return NULL;
        *at = region->addr + offset;
        domain->n_device_accesses += region->is_device;
        return region;
    }
    return NULL;
}

/* ---- keys longer than 8 bytes ---- */

enum { MAPPED_FROM = 7000 }; /* a mapped key is no index by accident */

static int map_raw(struct double_domain *domain, const struct fi_mr_map_raw *map)
{
    RULE(map->key_size == RAW_KEY_BYTES, "a raw key of %zu bytes", map->key_size);
    size_t i = 0;
    while (i < REGIONS_MOST && domain->is_mapped[i]) i++;
    RULE(i < REGIONS_MOST, "more than %d mapped keys", REGIONS_MOST);
    memcpy(domain->mapped[i], map->raw_key, RAW_KEY_BYTES);
    domain->is_mapped[i] = true;
    domain->n_open++;
    *map->key = MAPPED_FROM + i;
    return 0;
}

static int unmap(struct double_domain *domain, uint64_t key)
{
    RULE(key >= MAPPED_FROM && key < MAPPED_FROM + REGIONS_MOST && domain->is_mapped[key - MAPPED_FROM],
         "fi_mr_unmap_key of a key that is not mapped");
    domain->is_mapped[key - MAPPED_FROM] = false;
    domain->n_open--;
    return 0;
}

int double_domain_control(struct fid *fid, int command, void *arg)
{
    struct double_domain *domain = container_of(fid, struct double_domain, fid.fid);
    RULE((domain->mode->mr_mode & FI_MR_RAW) != 0, "raw keys without FI_MR_RAW");
    RULE(command == FI_MAP_RAW_MR || command == FI_UNMAP_KEY, "control %d of a domain", command);
    double_enter(domain);
    int error = command == FI_MAP_RAW_MR ? map_raw(domain, arg) : unmap(domain, *(uint64_t *)arg);
    double_leave(domain);
    return error;
}

void double_key_of(struct double_domain *domain, uint64_t key, struct double_op *op)
{
    op->key_bytes = domain->mode->key_bytes;
    if ((domain->mode->mr_mode & FI_MR_RAW) == 0) {
        memcpy(op->key, &key, sizeof key);
        return;
    }
    RULE(key >= MAPPED_FROM && key < MAPPED_FROM + REGIONS_MOST && domain->is_mapped[key - MAPPED_FROM],
         "a key that fi_mr_map_raw has not returned");
    memcpy(op->key, domain->mapped[key - MAPPED_FROM], RAW_KEY_BYTES);
}
