/* plugins/ofi/ofi_region.c: registers and exposes memory of this PE, and attaches memory of peers.
 * Modes of registration: LOCAL, operands need a descriptor; VIRT_ADDR, the peer counts from the address, else from 0;
 * PROV_KEY, the provider chooses the key; RAW, a key may be longer than 8 bytes; ENDPOINT, a registration is bound to
 * the endpoint; ALLOCATED, memory has pages when it is registered. Nothing has to be done for two more: MMU_NOTIFY, the
 * provider learns of changes of pages, which registered memory keeps; RMA_EVENT, of registrations with counters. */
#include "ofi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- own memory ---- */

/* libfabric's name of a kind of memory, and of its device. */
static void set_device(struct fi_mr_attr *attr, const struct isthmus_mem *mem)
{
    switch (mem->kind) {
    case ISTHMUS_MEM_CUDA:
        attr->iface = FI_HMEM_CUDA;
        attr->device.cuda = mem->device;
        break;
    case ISTHMUS_MEM_ZE:
        attr->iface = FI_HMEM_ZE;
        attr->device.ze = mem->device; /* of the first driver: the index of a driver stands in the upper half */
        break;
    case ISTHMUS_MEM_HIP: attr->iface = FI_HMEM_ROCR; break; /* which finds the device by the address */
    default: attr->iface = FI_HMEM_SYSTEM;
    }
}

isthmus_status ofi_mr_open(isthmus_tr *tr, const struct isthmus_mem *mem, uint64_t access, struct fid_mr **out)
{
    struct fid_mr *mr = NULL;
    const struct iovec range = {mem->addr, mem->length_bytes};
    struct fi_mr_attr attr = {.mr_iov = &range, .iov_count = 1, .access = access};
    if ((tr->info->domain_attr->mr_mode & FI_MR_PROV_KEY) == 0) attr.requested_key = ++tr->newest_key;
    if (tr->has_hmem) set_device(&attr, mem);
    int error = fi_mr_regattr(tr->domain, &attr, 0, &mr);
    if (error != 0) return ofi_fail(tr, "fi_mr_regattr", error);
    const char *call = "fi_mr_bind";
    if ((tr->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        error = fi_mr_bind(mr, &tr->ep->fid, 0);
        if (error == 0) {
            call = "fi_mr_enable";
            error = fi_mr_enable(mr);
        }
    }
    if (error != 0) {
        (void)fi_close(&mr->fid);
        return ofi_fail(tr, call, error);
    }
    *out = mr;
    return ISTHMUS_OK;
}

static isthmus_lmem *lmem_create(isthmus_tr *tr, const struct isthmus_mem *mem)
{
    isthmus_lmem *lmem = calloc(1, sizeof *lmem);
    if (lmem == NULL) {
        (void)tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a registration");
        return NULL;
    }
    *lmem = (isthmus_lmem){.tr = tr, .addr = mem->addr, .length_bytes = mem->length_bytes, .kind = mem->kind};
    return lmem;
}

static isthmus_status check_kind(const isthmus_tr *tr, const struct isthmus_mem *mem)
{
    const struct isthmus_services *s = tr->services;
    bool is_device = mem->kind == ISTHMUS_MEM_CUDA || mem->kind == ISTHMUS_MEM_ZE || mem->kind == ISTHMUS_MEM_HIP;
    if (mem->kind == ISTHMUS_MEM_HOST || (is_device && ISTHMUS_HAS(s, memory_copy))) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "memory of kind %u cannot be reached from other PEs", mem->kind);
}

static bool is_staged(const isthmus_tr *tr, uint32_t kind)
{
    return kind != ISTHMUS_MEM_HOST && (!tr->has_hmem || (tr->kinds_staged >> kind & 1) != 0);
}

/* An adapter registers no pages that this process may not write, and static data has such: constants that hold
 * addresses. The memory of the descriptor can be written, so a second mapping of it is registered then, which peers
 * access. */
static isthmus_status register_again(isthmus_lmem *lmem, const struct isthmus_mem *mem, uint64_t access)
{
    struct isthmus_mem second = *mem;
    second.addr = mmap(NULL, mem->length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mem->fd,
                       (off_t)mem->fd_offset_bytes);
    if (second.addr == MAP_FAILED)
        return lmem->tr->services->fail(lmem->tr->services->core, ISTHMUS_ERR_NO_MEMORY,
                                        "no second mapping of %llu bytes of memory that cannot be registered: %s",
                                        (unsigned long long)mem->length_bytes, strerror(errno));
    isthmus_status status = ofi_mr_open(lmem->tr, &second, access, &lmem->mr);
    if (status == ISTHMUS_OK)
        lmem->second = second.addr;
    else
        (void)munmap(second.addr, mem->length_bytes);
    return status;
}

/* Registers memory. A device's is copied by this PE instead where the adapter does not reach it. Adapters write it
 * past the device's driver: the core has this PE's waits flush such writes. */
static isthmus_status register_memory(isthmus_lmem *lmem, const struct isthmus_mem *mem, uint64_t access)
{
    isthmus_tr *tr = lmem->tr;
    const struct isthmus_services *s = tr->services;
    bool is_device = mem->kind != ISTHMUS_MEM_HOST;
    if (is_staged(tr, mem->kind) || (is_device && mem->addr == NULL)) return ISTHMUS_OK; /* NULL: all of its kind */
    isthmus_status status = ofi_mr_open(tr, mem, access, &lmem->mr);
    bool has_object = !is_device && mem->fd >= 0;
    if (status != ISTHMUS_OK && has_object && (access & FI_REMOTE_WRITE) != 0) return register_again(lmem, mem, access);
    if (!is_device) return status;
    if (status == ISTHMUS_OK) {
        if (ISTHMUS_HAS(s, memory_is_direct)) s->memory_is_direct(s->core, mem->kind);
        return ISTHMUS_OK;
    }
    tr->kinds_staged |= 1u << mem->kind;
    s->log(s->core, ISTHMUS_LOG_INFO, "memory of devices goes through host memory: %s",
           ISTHMUS_HAS(s, fail_text) ? s->fail_text(s->core) : "it cannot be registered");
    return ISTHMUS_OK;
}

static isthmus_status write_raw_key(const isthmus_lmem *lmem, struct ofi_key *key)
{
    size_t n_bytes = sizeof key->raw;
    int error = fi_mr_raw_attr(lmem->mr, &key->base, key->raw, &n_bytes, 0);
    if (error != 0) return ofi_fail(lmem->tr, "fi_mr_raw_attr", error);
    key->raw_bytes = (uint32_t)n_bytes;
    return ISTHMUS_OK;
}

static uint64_t address_of(const isthmus_lmem *lmem)
{
    return (uint64_t)(uintptr_t)(lmem->second != NULL ? lmem->second : lmem->addr);
}

static isthmus_status write_key(const isthmus_lmem *lmem, void *out, size_t *out_bytes)
{
    const struct isthmus_services *s = lmem->tr->services;
    const struct fi_domain_attr *domain = lmem->tr->info->domain_attr;
    size_t room = *out_bytes;
    struct ofi_key key = {.magic = OFI_MAGIC_KEY,
                          .version = OFI_VERSION_WIRE,
                          .extent = lmem->extent,
                          .length_bytes = lmem->length_bytes,
                          .kind = lmem->kind,
                          .has_rma = lmem->mr != NULL};
    *out_bytes = sizeof key;
    if (room < sizeof key)
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "a key takes %zu bytes, there is room for %zu", sizeof key, room);
    if (lmem->mr != NULL) {
        bool is_raw = (domain->mr_mode & FI_MR_RAW) != 0;
        isthmus_status status = is_raw ? write_raw_key(lmem, &key) : ISTHMUS_OK;
        if (status != ISTHMUS_OK) return status;
        if (!is_raw) key.rkey = fi_mr_key(lmem->mr);
        if (!is_raw && (domain->mr_mode & FI_MR_VIRT_ADDR) != 0) key.base = address_of(lmem);
    }
    key.checksum = ofi_checksum(&key, offsetof(struct ofi_key, checksum));
    memcpy(out, &key, sizeof key);
    return ISTHMUS_OK;
}

/* Memory without a registration is reached by messages: this PE's progress copies it. */
isthmus_status ofi_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                          isthmus_lmem **out)
{
    isthmus_status status = check_kind(tr, mem);
    isthmus_lmem *lmem = status == ISTHMUS_OK ? lmem_create(tr, mem) : NULL;
    if (lmem == NULL) return status == ISTHMUS_OK ? ISTHMUS_ERR_NO_MEMORY : status;
    ofi_lock(tr);
    if (tr->has_rma)
        status = register_memory(lmem, mem, FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE | FI_SEND | FI_RECV);
    lmem->extent = ++tr->newest_extent;
    if (status == ISTHMUS_OK) status = write_key(lmem, key, key_bytes);
    lmem->next = tr->extents;
    tr->extents = lmem;
    ofi_unlock(tr);
    if (status == ISTHMUS_OK)
        *out = lmem;
    else
        ofi_unregister(lmem);
    return status;
}

/* A registration makes accesses cheaper. Without one they work too: each piece is registered for the access alone, or
 * copied. */
static void use_unregistered(const isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    s->log(s->core, ISTHMUS_LOG_INFO, "a buffer is used without a registration: %s",
           ISTHMUS_HAS(s, fail_text) ? s->fail_text(s->core) : "it cannot be registered");
}

/* Host memory only where the provider needs it: elsewhere operands may lie anywhere. */
isthmus_status ofi_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    isthmus_status status = check_kind(tr, mem);
    isthmus_lmem *lmem = status == ISTHMUS_OK ? lmem_create(tr, mem) : NULL;
    if (lmem == NULL) return status == ISTHMUS_OK ? ISTHMUS_ERR_NO_MEMORY : status;
    ofi_lock(tr);
    if (tr->has_rma && (tr->needs_local_mr || mem->kind != ISTHMUS_MEM_HOST))
        status = register_memory(lmem, mem, FI_READ | FI_WRITE | FI_SEND | FI_RECV);
    ofi_unlock(tr);
    if (status != ISTHMUS_OK && mem->kind == ISTHMUS_MEM_HOST) {
        use_unregistered(tr);
        status = ISTHMUS_OK;
    }
    if (status == ISTHMUS_OK)
        *out = lmem;
    else
        free(lmem);
    return status;
}

void ofi_unregister(isthmus_lmem *lmem)
{
    if (lmem == NULL) return;
    isthmus_tr *tr = lmem->tr;
    ofi_lock(tr);
    isthmus_lmem **at = &tr->extents;
    while (*at != NULL && *at != lmem) at = &(*at)->next;
    if (*at == lmem) *at = lmem->next;
    if (lmem->mr != NULL) (void)fi_close(&lmem->mr->fid);
    ofi_unlock(tr);
    if (lmem->second != NULL) (void)munmap(lmem->second, lmem->length_bytes);
    free(lmem);
}

isthmus_lmem *ofi_extent_find(isthmus_tr *tr, const struct ofi_place *place, uint64_t length_bytes)
{
    for (isthmus_lmem *e = tr->extents; e != NULL; e = e->next)
        if (e->extent == place->extent && place->offset_bytes <= e->length_bytes &&
            length_bytes <= e->length_bytes - place->offset_bytes)
            return e;
    return NULL;
}

/* ---- a peer's ---- */

static isthmus_status read_key(const isthmus_path *path, const void *in, size_t in_bytes, struct ofi_key *key)
{
    const struct isthmus_services *s = path->tr->services;
    if (in_bytes != sizeof *key)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "a key of PE %d has %zu bytes instead of %zu", path->pe, in_bytes,
                       sizeof *key);
    memcpy(key, in, sizeof *key);
    if (key->magic != OFI_MAGIC_KEY || key->version != OFI_VERSION_WIRE || key->raw_bytes > sizeof key->raw ||
        key->checksum != ofi_checksum(key, offsetof(struct ofi_key, checksum)))
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "a key of PE %d is damaged, or of another version than %d",
                       path->pe, OFI_VERSION_WIRE);
    return ISTHMUS_OK;
}

/* The peer confirms that it exposes the extent. */
static isthmus_status check_extent(isthmus_path *path, const struct ofi_key *key, isthmus_rmem *rmem)
{
    const struct isthmus_services *s = path->tr->services;
    const struct ofi_get_body body = {.place.extent = key->extent, .length_bytes = key->length_bytes};
    bool is_refused = false;
    isthmus_status status = ISTHMUS_OK;
    if (path->is_self) {
        const isthmus_lmem *lmem = ofi_extent_find(path->tr, &body.place, body.length_bytes);
        is_refused = lmem == NULL;
        if (lmem != NULL) rmem->own = lmem->addr;
    } else {
        struct ofi_message check = {.head.kind = OFI_CHECK, .body = &body, .body_bytes = sizeof body};
        status = ofi_call_peer(path, &check, &(struct ofi_call){.is_refused = &is_refused});
    }
    if (status != ISTHMUS_OK || !is_refused) return status;
    return s->fail(s->core, ISTHMUS_ERR_INVALID, "PE %d exposes no extent %llu of %llu bytes", path->pe,
                   (unsigned long long)key->extent, (unsigned long long)key->length_bytes);
}

static isthmus_status map_key(isthmus_rmem *rmem, struct ofi_key *key)
{
    isthmus_tr *tr = rmem->path->tr;
    bool is_copied = rmem->own != NULL && !tr->has_atomics;
    if (key->raw_bytes == 0 || is_copied) return ISTHMUS_OK;
    int error = fi_mr_map_raw(tr->domain, key->base, key->raw, key->raw_bytes, &rmem->rkey, 0);
    if (error != 0) return ofi_fail(tr, "fi_mr_map_raw", error);
    rmem->has_mapped_key = true;
    return ISTHMUS_OK;
}

isthmus_status ofi_attach(isthmus_path *path, const void *key_in, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    isthmus_tr *tr = path->tr;
    struct ofi_key key;
    isthmus_status status = read_key(path, key_in, key_bytes, &key);
    if (status != ISTHMUS_OK) return status;
    isthmus_rmem *rmem = calloc(1, sizeof *rmem);
    if (rmem == NULL)
        return tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an extent of PE %d",
                                  path->pe);
    *rmem = (isthmus_rmem){.path = path,
                           .extent = key.extent,
                           .length_bytes = key.length_bytes,
                           .base = key.base,
                           .rkey = key.rkey,
                           .kind = key.kind,
                           .has_rma = key.has_rma != 0 && tr->has_rma};
    ofi_lock(tr);
    status = check_extent(path, &key, rmem);
    if (status == ISTHMUS_OK) status = map_key(rmem, &key);
    ofi_unlock(tr);
    if (status != ISTHMUS_OK) {
        free(rmem);
        return status;
    }
    *out = rmem;
    *alias = rmem->kind == ISTHMUS_MEM_HOST ? rmem->own : NULL;
    return ISTHMUS_OK;
}

void ofi_detach(isthmus_rmem *rmem)
{
    if (rmem == NULL) return;
    isthmus_tr *tr = rmem->path->tr;
    ofi_lock(tr);
    (void)ofi_flush(rmem->path); /* it reads there, and so may one that has begun */
    if (rmem->has_mapped_key) (void)fi_mr_unmap_key(tr->domain, rmem->rkey);
    ofi_unlock(tr);
    free(rmem);
}
