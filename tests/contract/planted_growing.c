/* tests/contract/planted_growing.c: see planted.h. Bugs of growing.1. Loopback lacks that group: it exists with these
 * only, for memory of the host. */
#include "planted.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULE = 1 << 16, EXTENTS = 64 };

/* ---- memory that grows ---- */

static isthmus_status reserve(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes, void **addr)
{
    (void)tr, (void)kind, (void)device;
    *addr = mmap(NULL, length_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return *addr != MAP_FAILED ? ISTHMUS_OK
                               : planted_services->fail(planted_services->core, ISTHMUS_ERR_NO_MEMORY, "no addresses");
}

static void unreserve(isthmus_tr *tr, void *addr, uint64_t length_bytes)
{
    (void)tr;
    munmap(addr, length_bytes);
}

static uint64_t granule(isthmus_tr *tr, uint32_t kind, int32_t device)
{
    (void)tr, (void)device;
    return kind == ISTHMUS_MEM_HOST ? GRANULE : 0;
}

static isthmus_status commit(isthmus_tr *tr, void *addr, uint64_t length_bytes, struct isthmus_mem *out)
{
    struct isthmus_mem mem = {
        .kind = ISTHMUS_MEM_HOST, .device = -1, .addr = addr, .length_bytes = length_bytes, .fd_offset_bytes = 0};
    (void)tr;
    mem.fd = memfd_create("piece", MFD_CLOEXEC);
    void *at = mem.fd >= 0 && ftruncate(mem.fd, (off_t)length_bytes) == 0
                   ? mmap(addr, length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, mem.fd, 0)
                   : MAP_FAILED;
    if (at == MAP_FAILED) return planted_services->fail(planted_services->core, ISTHMUS_ERR_NO_MEMORY, "no piece");
    isthmus_write_out(out, &mem, sizeof mem);
    return ISTHMUS_OK;
}

void planted_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem)
{
    (void)tr;
    (void)mmap(mem->addr, mem->length_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    close(mem->fd);
}

/* ---- and that of peers, which loopback maps anywhere ---- */

static struct {
    const isthmus_rmem *rmem;
    void *alias;
} attached[EXTENTS];
static int n_attached;

static isthmus_status attach_at(isthmus_path *path, const void *key, size_t key_bytes, void *addr, isthmus_rmem **out)
{
    void *alias = NULL;
    (void)addr;
    isthmus_status status = planted_base->attach(path, key, key_bytes, out, &alias);
    if (status != ISTHMUS_OK || n_attached == EXTENTS) return status;
    attached[n_attached].rmem = *out;
    attached[n_attached++].alias = alias;
    return ISTHMUS_OK;
}

/* Refuses whatever it gets first: the case begins with memory of its own. */
static isthmus_status attach_peers_at(isthmus_path *path, const void *key, size_t key_bytes, void *addr,
                                      isthmus_rmem **out)
{
    static int calls;
    if (calls++ > 0) return attach_at(path, key, key_bytes, addr, out);
    return planted_services->fail(planted_services->core, ISTHMUS_ERR_UNSUPPORTED, "the own memory has its place");
}

static isthmus_status device_view(const isthmus_rmem *rmem, void **addr)
{
    for (int i = 0; i < n_attached; i++)
        if (attached[i].rmem == rmem) *addr = attached[i].alias;
    return ISTHMUS_OK;
}

const void *planted_growing_extension(const char *name)
{
    static const struct isthmus_memory memory = {.struct_size = sizeof memory, .device_view = device_view};
    static struct isthmus_growing growing = {.struct_size = sizeof growing,
                                             .reserve = reserve,
                                             .commit = commit,
                                             .unreserve = unreserve,
                                             .granule = granule,
                                             .attach_at = attach_at};
    if (!planted_has("place_elsewhere") && !planted_has("place_of_own")) return NULL;
    if (planted_has("place_elsewhere")) growing.attach_at = attach_peers_at;
    if (strcmp(name, "memory.1") == 0) return &memory;
    return strcmp(name, "growing.1") == 0 ? &growing : NULL;
}
