/* plugins/common/p2p_mem.c: see p2p.h. Memory of a device: made here, shown to peers, and that of peers.
 * A key names a descriptor on offer at the peer, or carries the platform's own handle, and a range in the memory behind
 * it. The platform's handle is opaque and goes to its driver unchanged; a checksum keeps damaged ones away from
 * there. */
#include "plugins/common/p2p_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_VERSION = 1 };

struct key {
    uint64_t checksum; /* of what follows */
    uint32_t version, serial, offer, n_bytes;
    uint64_t offset_bytes, length_bytes, memory_bytes;
    uint8_t bytes[P2P_HANDLE_BYTES];
};
_Static_assert(sizeof(struct key) <= 128, "describe() promises this");

static uint64_t checksum_of(const struct key *key) /* FNV-1a */
{
    const uint8_t *bytes = (const uint8_t *)key;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = sizeof key->checksum; i < sizeof *key; i++) sum = (sum ^ bytes[i]) * 0x100000001b3u;
    return sum;
}

/* ---- making it ---- */

isthmus_status p2p_check_kind(isthmus_tr *tr, uint32_t kind, int32_t device)
{
    const struct isthmus_services *s = tr->services;
    if (kind != tr->driver->kind)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "memory of kind %u is not memory of an %s", kind,
                       tr->driver->hardware);
    if (device >= 0 && device != tr->ordinal)
        return s->fail(
            s->core, ISTHMUS_ERR_UNSUPPORTED,
            "the memory is on device %d, but this PE uses device %d; ISTHMUS_*_DEVICE or the program's current device "
            "chooses it",
            device, tr->ordinal);
    return ISTHMUS_OK;
}

isthmus_status p2p_allocate(isthmus_tr *tr, void *addr, uint32_t kind, int32_t device, uint64_t length_bytes,
                            struct isthmus_mem *out)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status status = p2p_check_kind(tr, kind, device);
    if (status != ISTHMUS_OK) return status;
    uint64_t granule = tr->driver->granule(tr->gpu), rounded = (length_bytes + granule - 1) / granule * granule;
    if (length_bytes == 0 || rounded < length_bytes)
        return s->fail(
            s->core, ISTHMUS_ERR_INVALID,
            "%llu bytes of device memory cannot be allocated; valid: 1 and more, below the size of the address space",
            (unsigned long long)length_bytes);
    struct p2p_allocation *allocation = calloc(1, sizeof *allocation);
    if (allocation == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the record of an allocation");
    status = tr->driver->create(tr->gpu, addr, rounded, &allocation->memory);
    if (status != ISTHMUS_OK) {
        free(allocation);
        return status;
    }
    allocation->next = tr->allocations;
    tr->allocations = allocation;
    const struct isthmus_mem mem = {
        .kind = kind,
        .device = tr->ordinal,
        .fd = -1,
        .addr = allocation->memory.addr,
        .length_bytes = length_bytes,
    };
    isthmus_write_out(out, &mem, sizeof mem);
    return ISTHMUS_OK;
}

isthmus_status p2p_mem_alloc(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes,
                             struct isthmus_mem *out)
{
    return p2p_allocate(tr, NULL, kind, device, length_bytes, out);
}

void p2p_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem)
{
    struct p2p_allocation **at = &tr->allocations;
    while (*at != NULL && (*at)->memory.addr != mem->addr) at = &(*at)->next;
    struct p2p_allocation *allocation = *at;
    if (allocation == NULL) return;
    *at = allocation->next;
    tr->driver->destroy(tr->gpu, &allocation->memory);
    free(allocation);
}

/* ---- showing it ---- */

static const struct p2p_allocation *find_allocation(const isthmus_tr *tr, const struct isthmus_mem *mem)
{
    const struct p2p_allocation *a = tr->allocations;
    for (; a != NULL; a = a->next) {
        uint64_t offset = (uint64_t)((uintptr_t)mem->addr - (uintptr_t)a->memory.addr);
        if (offset < a->memory.length_bytes && mem->length_bytes <= a->memory.length_bytes - offset) break;
    }
    return a;
}

/* The descriptor goes on offer, the bytes into the key. */
static isthmus_status offer(isthmus_tr *tr, const struct p2p_memory *memory, struct key *key)
{
    struct p2p_share share = {.fd = -1};
    isthmus_status status = tr->driver->share(tr->gpu, memory, &share);
    if (status != ISTHMUS_OK) return status;
    if (share.fd >= 0) {
        status = fd_pass_offer(tr->server, share.fd, &key->offer);
        if (!share.is_lent) close(share.fd);
    }
    key->n_bytes = share.n_bytes;
    memcpy(key->bytes, share.bytes, sizeof key->bytes);
    return status;
}

/* Memory of this transport, or memory of the program's own if the platform can share that. */
static isthmus_status offer_memory(isthmus_tr *tr, const struct isthmus_mem *mem, struct key *key)
{
    const struct isthmus_services *s = tr->services;
    const struct p2p_allocation *allocation = find_allocation(tr, mem);
    struct p2p_memory memory = {.addr = NULL};
    if (allocation == NULL && tr->driver->adopt == NULL)
        return s->fail(
            s->core, ISTHMUS_ERR_UNSUPPORTED,
            "memory of an %s that this transport has not allocated cannot be shared with peers; allocate it with "
            "shmem_malloc",
            tr->driver->hardware);
    isthmus_status status = ISTHMUS_OK;
    if (allocation != NULL)
        memory = allocation->memory;
    else
        status = tr->driver->adopt(tr->gpu, mem->addr, mem->length_bytes, &memory);
    if (status != ISTHMUS_OK) return status;
    key->offset_bytes = (uint64_t)((char *)mem->addr - memory.addr);
    key->memory_bytes = memory.length_bytes;
    status = offer(tr, &memory, key);
    if (allocation == NULL) tr->driver->release(tr->gpu, &memory);
    return status;
}

static isthmus_lmem *lmem_create(isthmus_tr *tr, const struct isthmus_mem *mem)
{
    isthmus_lmem *lmem = calloc(1, sizeof *lmem);
    if (lmem == NULL) {
        (void)tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a registration");
        return NULL;
    }
    *lmem = (isthmus_lmem){.tr = tr, .kind = mem->kind, .addr = mem->addr, .length_bytes = mem->length_bytes};
    return lmem;
}

isthmus_status p2p_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key_out, size_t *key_bytes,
                          isthmus_lmem **out)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status status = p2p_check_kind(tr, mem->kind, mem->device);
    if (status != ISTHMUS_OK) return status;
    size_t room = *key_bytes;
    *key_bytes = sizeof(struct key);
    if (room < sizeof(struct key))
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "a key takes %zu bytes, but there is room for %zu", *key_bytes,
                       room);
    if (mem->length_bytes == 0)
        return s->fail(s->core, ISTHMUS_ERR_INVALID, "a range of 0 bytes cannot be shared with peers");
    isthmus_lmem *lmem = lmem_create(tr, mem);
    if (lmem == NULL) return ISTHMUS_ERR_NO_MEMORY;
    struct key key = {
        .version = KEY_VERSION,
        .serial = ++tr->next_serial,
        .length_bytes = mem->length_bytes,
    };
    status = offer_memory(tr, mem, &key);
    if (status != ISTHMUS_OK) {
        free(lmem);
        return status;
    }
    lmem->serial = key.serial;
    lmem->offer = key.offer;
    lmem->next = tr->exposed;
    tr->exposed = lmem;
    key.checksum = checksum_of(&key);
    memcpy(key_out, &key, sizeof key);
    *out = lmem;
    return ISTHMUS_OK;
}

/* ---- local operands ---- */

isthmus_status p2p_register_local(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    const struct isthmus_services *s = tr->services;
    if (mem->kind != ISTHMUS_MEM_HOST && mem->kind != tr->driver->kind)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "memory of kind %u is neither memory of an %s nor host memory",
                       mem->kind, tr->driver->hardware);
    isthmus_lmem *lmem = lmem_create(tr, mem);
    if (lmem == NULL) return ISTHMUS_ERR_NO_MEMORY;
    /* Pinning is for speed: memory that cannot be pinned is copied all the same. */
    if (mem->kind == ISTHMUS_MEM_HOST && tr->driver->pin != NULL)
        lmem->is_pinned = tr->driver->pin(tr->gpu, mem->addr, mem->length_bytes) == ISTHMUS_OK;
    *out = lmem;
    return ISTHMUS_OK;
}

void p2p_unregister_local(isthmus_lmem *lmem)
{
    if (lmem == NULL) return;
    isthmus_tr *tr = lmem->tr;
    if (lmem->is_pinned) tr->driver->unpin(tr->gpu, lmem->addr);
    if (lmem->offer != 0) fd_pass_withdraw(tr->server, lmem->offer);
    for (isthmus_lmem **at = &tr->exposed; *at != NULL; at = &(*at)->next) {
        if (*at != lmem) continue;
        *at = lmem->next;
        break;
    }
    free(lmem);
}

/* ---- a peer's memory ---- */

isthmus_status p2p_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    const struct isthmus_services *s = tr->services;
    isthmus_path *path = calloc(1, sizeof *path);
    if (path == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d", peer->pe);
    path->tr = tr;
    path->pe = peer->pe;
    path->is_self = peer->pe == s->my_pe;
    if (!path->is_self) {
        struct fd_pass_address address;
        p2p_card_address(peer, &address);
        isthmus_status status = fd_pass_client_open(s, peer, &address, tr->timeout_s, &path->client);
        if (status != ISTHMUS_OK) {
            free(path);
            return status;
        }
    }
    *out = path;
    return ISTHMUS_OK;
}

void p2p_path_close(isthmus_path *path)
{
    if (path == NULL) return;
    if (!path->is_self) fd_pass_client_close(&path->client);
    free(path);
}

static isthmus_status attach_own(isthmus_path *path, const struct key *key, void *addr, isthmus_rmem *rmem)
{
    const struct isthmus_services *s = path->tr->services;
    if (addr != NULL)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "this PE's own memory cannot be attached at another address (%p)", addr);
    const isthmus_lmem *lmem = path->tr->exposed;
    while (lmem != NULL && lmem->serial != key->serial) lmem = lmem->next;
    if (lmem == NULL)
        return s->fail(s->core, ISTHMUS_ERR_INVALID,
                       "this PE does not expose memory number %u; the memory was freed, or its key is damaged",
                       key->serial);
    rmem->addr = lmem->addr;
    rmem->is_own = true;
    return ISTHMUS_OK;
}

/* Memory is mapped from its beginning to its end: an extent that is a part of it has no place of its own. */
static isthmus_status check_place(isthmus_tr *tr, const struct key *key, const void *addr)
{
    const struct isthmus_services *s = tr->services;
    bool is_whole = key->offset_bytes == 0 && key->length_bytes == key->memory_bytes;
    if (addr == NULL || (is_whole && (uintptr_t)addr % tr->driver->granule(tr->gpu) == 0)) return ISTHMUS_OK;
    return s->fail(
        s->core, ISTHMUS_ERR_UNSUPPORTED,
        "%llu bytes of a piece of %llu bytes cannot be mapped at %p; valid: whole pieces, at multiples of %llu",
        (unsigned long long)key->length_bytes, (unsigned long long)key->memory_bytes, addr,
        (unsigned long long)tr->driver->granule(tr->gpu));
}

static isthmus_status attach_peer(isthmus_path *path, const struct key *key, void *addr, isthmus_rmem *rmem)
{
    isthmus_tr *tr = path->tr;
    isthmus_status status = check_place(tr, key, addr);
    if (status != ISTHMUS_OK) return status;
    struct p2p_share share = {.fd = -1, .n_bytes = key->n_bytes};
    memcpy(share.bytes, key->bytes, sizeof share.bytes);
    if (key->offer != 0) {
        status = fd_pass_client_take(&path->client, key->offer, &share.fd);
        if (status != ISTHMUS_OK) return status;
    }
    status = tr->driver->import(tr->gpu, &share, addr, key->memory_bytes, &rmem->memory);
    if (share.fd >= 0) close(share.fd);
    if (status != ISTHMUS_OK) return status;
    rmem->addr = rmem->memory.addr + key->offset_bytes;
    __atomic_add_fetch(&tr->bytes_attached, rmem->length_bytes, __ATOMIC_RELAXED);
    return ISTHMUS_OK;
}

static isthmus_status read_key(isthmus_path *path, const void *bytes, size_t key_bytes, struct key *key)
{
    const struct isthmus_services *s = path->tr->services;
    if (key_bytes != sizeof *key)
        return s->fail(s->core, ISTHMUS_ERR_VERSION,
                       "a key of PE %d has %zu bytes instead of %zu; use one version of this plugin on all PEs",
                       path->pe, key_bytes, sizeof *key);
    memcpy(key, bytes, sizeof *key);
    if (key->version != KEY_VERSION)
        return s->fail(
            s->core, ISTHMUS_ERR_VERSION,
            "a key of PE %d is of version %u, but this plugin reads version %d; use one version of it on all PEs",
            path->pe, key->version, KEY_VERSION);
    if (key->checksum != checksum_of(key) || key->length_bytes == 0 || key->n_bytes > sizeof key->bytes ||
        key->offset_bytes > key->memory_bytes || key->length_bytes > key->memory_bytes - key->offset_bytes)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "a key of PE %d is damaged: its checksum is wrong", path->pe);
    return ISTHMUS_OK;
}

isthmus_status p2p_attach_at(isthmus_path *path, const void *key_in, size_t key_bytes, void *addr, isthmus_rmem **out)
{
    const struct isthmus_services *s = path->tr->services;
    struct key key;
    isthmus_status status = read_key(path, key_in, key_bytes, &key);
    if (status != ISTHMUS_OK) return status;
    isthmus_rmem *rmem = calloc(1, sizeof *rmem);
    if (rmem == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an extent of PE %d", path->pe);
    rmem->tr = path->tr;
    rmem->length_bytes = key.length_bytes;
    status = path->is_self ? attach_own(path, &key, addr, rmem) : attach_peer(path, &key, addr, rmem);
    if (status != ISTHMUS_OK) {
        free(rmem);
        return status;
    }
    *out = rmem;
    return ISTHMUS_OK;
}

isthmus_status p2p_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    isthmus_status status = p2p_attach_at(path, key, key_bytes, NULL, out);
    if (status == ISTHMUS_OK) *alias = NULL; /* the CPU cannot access it, not even the own PE's */
    return status;
}

void p2p_detach(isthmus_rmem *rmem)
{
    if (rmem == NULL) return;
    if (!rmem->is_own) {
        rmem->tr->driver->drop(rmem->tr->gpu, &rmem->memory);
        __atomic_sub_fetch(&rmem->tr->bytes_attached, rmem->length_bytes, __ATOMIC_RELAXED);
    }
    free(rmem);
}
