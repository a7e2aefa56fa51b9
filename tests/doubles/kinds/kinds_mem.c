/* tests/doubles/kinds/kinds_mem.c: the memory of the double's device, as its own PE has it. */
#include "tests/doubles/kinds/kinds.h"

#include <isthmus/amo_cpu.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct kinds_range ranges[KINDS_MAX_RANGES];
static uint64_t used_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- ranges: under the lock ---- */

static struct kinds_range *range_at(const void *addr)
{
    for (int i = 0; i < KINDS_MAX_RANGES; i++)
        if (ranges[i].addr != NULL && (uintptr_t)addr - (uintptr_t)ranges[i].addr < ranges[i].length_bytes)
            return &ranges[i];
    return NULL;
}

static void *map_nothing(uint64_t length_bytes)
{
    void *addr = mmap(NULL, length_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return addr != MAP_FAILED ? addr : NULL;
}

static struct kinds_range *range_make(uint64_t length_bytes)
{
    struct kinds_range *range = ranges;
    while (range < ranges + KINDS_MAX_RANGES && range->addr != NULL) range++;
    if (range == ranges + KINDS_MAX_RANGES) return NULL;
    char *addr = map_nothing(length_bytes), *hidden = map_nothing(length_bytes);
    if (addr == NULL || hidden == NULL) return NULL;
    *range = (struct kinds_range){
        .addr = addr, .length_bytes = length_bytes, .hidden_offset = (uint64_t)(hidden - addr), .fd = -1};
    return range;
}

static void range_drop(struct kinds_range *range)
{
    munmap(range->addr, range->length_bytes);
    munmap(range->addr + range->hidden_offset, range->length_bytes);
    used_bytes -= range->used_bytes;
    if (range->fd >= 0) close(range->fd);
    memset(range, 0, sizeof *range);
}

/* A piece of memory under both addresses; returns its descriptor, -1: there is none left. */
static int range_fill(struct kinds_range *range, char *addr, uint64_t length_bytes, uint64_t memory_bytes, int is_open)
{
    const off_t file_bytes = (off_t)kinds_held_file_bytes(
        length_bytes); /* untouched pages take no memory: see kinds_held.c */
    if (length_bytes > memory_bytes || used_bytes > memory_bytes - length_bytes) return -1;
    int fd = memfd_create("kinds", MFD_CLOEXEC), both = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
    if (fd < 0 || ftruncate(fd, file_bytes) != 0 ||
        mmap(addr, length_bytes, is_open ? both : PROT_NONE, flags, fd, 0) == MAP_FAILED ||
        mmap(addr + range->hidden_offset, length_bytes, both, flags, fd, 0) == MAP_FAILED) {
        if (fd >= 0) close(fd);
        return -1;
    }
    range->used_bytes += length_bytes;
    used_bytes += length_bytes;
    return fd;
}

const void *kinds_hidden(const void *addr)
{
    pthread_mutex_lock(&lock);
    const struct kinds_range *range = range_at(addr);
    const void *hidden = range != NULL ? (const char *)addr + range->hidden_offset : addr;
    pthread_mutex_unlock(&lock);
    return hidden;
}

/* ---- growing.1 and mem_alloc ---- */

static isthmus_status reserve(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes, void **addr)
{
    const struct isthmus_services *s = tr->services;
    if (kind != ISTHMUS_MEM_CUDA || device != 0)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "no memory of kind %u", kind);
    pthread_mutex_lock(&lock);
    struct kinds_range *range = range_make(length_bytes);
    pthread_mutex_unlock(&lock);
    if (range == NULL)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no %llu bytes of addresses", (unsigned long long)length_bytes);
    *addr = range->addr;
    return ISTHMUS_OK;
}

static isthmus_status commit(isthmus_tr *tr, void *addr, uint64_t length_bytes, struct isthmus_mem *out)
{
    const struct isthmus_services *s = tr->services;
    pthread_mutex_lock(&lock);
    struct kinds_range *range = range_at(addr);
    int fd = range != NULL ? range_fill(range, addr, length_bytes, tr->memory_bytes, (int)tr->is_open) : -1;
    pthread_mutex_unlock(&lock);
    if (fd < 0)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "the device has no %llu bytes left of %llu",
                       (unsigned long long)length_bytes, (unsigned long long)tr->memory_bytes);
    *out = (struct isthmus_mem){.struct_size = out->struct_size,
                                .kind = ISTHMUS_MEM_CUDA,
                                .fd = fd,
                                .addr = addr,
                                .length_bytes = length_bytes};
    return ISTHMUS_OK;
}

static void unreserve(isthmus_tr *tr, void *addr, uint64_t length_bytes)
{
    (void)tr, (void)length_bytes;
    pthread_mutex_lock(&lock);
    range_drop(range_at(addr));
    pthread_mutex_unlock(&lock);
}

static uint64_t granule(isthmus_tr *tr, uint32_t kind, int32_t device)
{
    (void)device;
    return kind == ISTHMUS_MEM_CUDA ? tr->granule_bytes : 0;
}

const struct isthmus_growing kinds_growing = {
    .struct_size = sizeof kinds_growing,
    .reserve = reserve,
    .commit = commit,
    .unreserve = unreserve,
    .granule = granule,
};

isthmus_status kinds_mem_alloc(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes,
                               struct isthmus_mem *out)
{
    void *addr = NULL;
    isthmus_status status = reserve(tr, kind, device, length_bytes, &addr);
    if (status != ISTHMUS_OK) return status;
    status = commit(tr, addr, length_bytes, out);
    if (status != ISTHMUS_OK) unreserve(tr, addr, length_bytes);
    return status;
}

/* A piece of a larger range leaves its addresses taken; one that is the whole range was made by mem_alloc. */
void kinds_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem)
{
    (void)tr;
    close(mem->fd);
    pthread_mutex_lock(&lock);
    struct kinds_range *range = range_at(mem->addr);
    if (range->addr == mem->addr && range->length_bytes == mem->length_bytes) {
        range_drop(range);
    } else {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
        (void)mmap(mem->addr, mem->length_bytes, PROT_NONE, flags, -1, 0);
        (void)mmap((char *)mem->addr + range->hidden_offset, mem->length_bytes, PROT_NONE, flags, -1, 0);
        range->used_bytes -= mem->length_bytes;
        used_bytes -= mem->length_bytes;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- memory.1 ---- */

static isthmus_status kind_of(isthmus_tr *tr, const void *addr, struct isthmus_mem *out)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status status = ISTHMUS_OK;
    *out = (struct isthmus_mem){.struct_size = out->struct_size, .kind = ISTHMUS_MEM_HOST, .device = -1, .fd = -1};
    pthread_mutex_lock(&lock);
    const struct kinds_range *range = range_at(addr);
    if (range != NULL && range->is_managed)
        status = s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "%p is managed memory", addr);
    else if (range != NULL)
        *out = (struct isthmus_mem){.struct_size = out->struct_size,
                                    .kind = ISTHMUS_MEM_CUDA,
                                    .fd = -1,
                                    .addr = range->addr,
                                    .length_bytes = range->length_bytes};
    pthread_mutex_unlock(&lock);
    return status;
}

static int32_t device_of(isthmus_tr *tr, uint32_t kind)
{
    (void)tr;
    return kind == ISTHMUS_MEM_CUDA ? 0 : -1;
}

static isthmus_status device_view(const isthmus_rmem *rmem, void **addr)
{
    *addr = rmem->hidden;
    return ISTHMUS_OK;
}

static isthmus_status copy(isthmus_tr *tr, void *dest, const void *source, size_t length_bytes)
{
    (void)tr;
    kinds_held_arrive(source, length_bytes);
    kinds_copy(dest, source, length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status amo(isthmus_tr *tr, void *addr, uint32_t op, uint32_t bits, uint64_t operand, uint64_t compare,
                          void *fetched)
{
    (void)tr;
    size_t size_bytes = (size_t)1 << bits;
    kinds_held_arrive(addr, size_bytes);
    uint64_t old = isthmus_amo_cpu(op, (void *)(uintptr_t)kinds_hidden(addr), operand, compare, size_bytes);
    if (fetched != NULL) memcpy(fetched, &old, size_bytes);
    return ISTHMUS_OK;
}

const struct isthmus_memory kinds_memory = {
    .struct_size = sizeof kinds_memory,
    .kind_of = kind_of,
    .device = device_of,
    .device_view = device_view,
    .copy = copy,
    .amo = amo,
    .flush_writes = kinds_flush_writes,
};

/* ---- own memory, for peers and as operand ---- */

static isthmus_lmem *lmem_of(isthmus_tr *tr, const struct isthmus_mem *mem)
{
    isthmus_lmem *lmem = calloc(1, sizeof *lmem);
    if (lmem == NULL) return NULL;
    *lmem = (isthmus_lmem){.tr = tr, .addr = mem->addr, .length_bytes = mem->length_bytes};
    lmem->hidden_offset = (uintptr_t)kinds_hidden(mem->addr) - (uintptr_t)mem->addr;
    return lmem;
}

/* A piece has its descriptor; the program's memory is known by its address. -1: only the beginning of that can be
 * exposed here. */
static int fd_of(const struct isthmus_mem *mem)
{
    pthread_mutex_lock(&lock);
    const struct kinds_range *range = mem->fd < 0 ? range_at(mem->addr) : NULL;
    int fd = range != NULL && range->addr == mem->addr ? range->fd : mem->fd;
    pthread_mutex_unlock(&lock);
    return fd;
}

isthmus_status kinds_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key_out, size_t *key_bytes,
                            isthmus_lmem **out)
{
    const struct isthmus_services *s = tr->services;
    struct kinds_key key = {.length_bytes = mem->length_bytes};
    uint32_t id;
    int fd = fd_of(mem);
    if (mem->kind != ISTHMUS_MEM_CUDA || fd < 0)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "memory of kind %u has no descriptor here", mem->kind);
    isthmus_lmem *lmem = lmem_of(tr, mem);
    if (lmem == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a registration");
    isthmus_status status = fd_pass_offer(tr->server, fd, &id);
    if (status != ISTHMUS_OK) {
        free(lmem);
        return status;
    }
    key.id = lmem->id = id;
    key.hidden = lmem->addr + lmem->hidden_offset;
    key.is_held = (uint64_t)kinds_held_expose(tr, lmem, fd);
    memcpy(key_out, &key, sizeof key);
    *key_bytes = sizeof key;
    *out = lmem;
    return ISTHMUS_OK;
}

isthmus_status kinds_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    *out = mem->kind == ISTHMUS_MEM_CUDA ? lmem_of(tr, mem) : NULL;
    return ISTHMUS_OK;
}

void kinds_unregister(isthmus_lmem *lmem)
{
    if (lmem == NULL) return;
    kinds_held_hide(lmem);
    if (lmem->id != 0) fd_pass_withdraw(lmem->tr->server, lmem->id);
    free(lmem);
}

/* ---- for programs ---- */

void *kinds_malloc(uint64_t length_bytes, int is_managed)
{
    pthread_mutex_lock(&lock);
    struct kinds_range *range = range_make(length_bytes);
    int fd = range != NULL ? range_fill(range, range->addr, length_bytes, UINT64_MAX, is_managed) : -1;
    if (fd >= 0) {
        range->fd = fd;
        range->is_managed = (uint32_t)is_managed;
    }
    pthread_mutex_unlock(&lock);
    return fd >= 0 ? range->addr : NULL;
}

void kinds_free(void *addr)
{
    pthread_mutex_lock(&lock);
    range_drop(range_at(addr));
    pthread_mutex_unlock(&lock);
}

void kinds_copy(void *dest, const void *source, uint64_t length_bytes)
{
    memcpy((void *)(uintptr_t)kinds_hidden(dest), kinds_hidden(source), length_bytes);
}
