/* tests/doubles/gpu/memory.c: see gpu.h. Addresses of devices, and what is behind them. */
#include "gpu.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isthmus/copy_cpu.h>

struct gpu_memory {
    int fd, device, references;
    uint64_t length_bytes;
    char *engine; /* where the double itself reaches it */
    unsigned types;
};

/* Ranges of addresses in three lists: reserved, mapped, known host memory. */
struct range {
    uint64_t addr, length_bytes;
    struct gpu_memory *memory; /* mapped ones only */
    bool is_allowed;           /* mapped ones: devices may access it */
    bool is_own;               /* reserved: by gpu_alloc; host: allocated here */
    struct range *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *reserved, *mapped, *pinned;

static const char file_name[] = "gpu-double-device-";
enum { NO_DEVICE = INT_MIN };

/* ---- lists ---- */

static struct range *find(struct range *list, uint64_t addr)
{
    while (list != NULL && (addr < list->addr || addr - list->addr >= list->length_bytes)) list = list->next;
    return list;
}

static bool overlaps(struct range *list, uint64_t addr, uint64_t length_bytes)
{
    for (; list != NULL; list = list->next)
        if (addr < list->addr + list->length_bytes && list->addr < addr + length_bytes) return true;
    return false;
}

static struct range *add(struct range **list, enum gpu_thing thing, uint64_t addr, uint64_t length_bytes)
{
    struct range *range = calloc(1, sizeof *range);
    if (range == NULL) abort();
    *range = (struct range){.addr = addr, .length_bytes = length_bytes, .next = *list};
    *list = range;
    gpu_count(thing, 1);
    return range;
}

static void drop(struct range **list, enum gpu_thing thing, struct range *range)
{
    while (*list != range) list = &(*list)->next;
    *list = range->next;
    free(range);
    gpu_count(thing, -1);
}

/* ---- memory ---- */

static struct gpu_memory *memory_of(int fd, int device, uint64_t length_bytes)
{
    struct gpu_memory *memory = calloc(1, sizeof *memory);
    void *engine = mmap(NULL, length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == NULL || engine == MAP_FAILED) {
        free(memory);
        close(fd);
        return NULL;
    }
    *memory = (struct gpu_memory){
        .fd = fd, .device = device, .references = 1, .length_bytes = length_bytes, .engine = engine};
    gpu_count(GPU_MEMORY, 1);
    return memory;
}

struct gpu_memory *gpu_memory_create(int device, uint64_t length_bytes)
{
    char name[40];
    snprintf(name, sizeof name, "%s%d", file_name, device);
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) return NULL;
    if (ftruncate(fd, (off_t)length_bytes) != 0) {
        close(fd);
        return NULL;
    }
    return memory_of(fd, device, length_bytes);
}

/* Which device, or node of the host, a descriptor belongs to, by the name of its file. */
static int device_of(int fd)
{
    char link[64], name[80] = "";
    int device = NO_DEVICE;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, name, sizeof name - 1) <= 0) return NO_DEVICE;
    const char *at = strstr(name, file_name);
    if (at != NULL) device = atoi(at + sizeof file_name - 1);
    return device < gpu_knobs()->devices ? device : NO_DEVICE;
}

struct gpu_memory *gpu_memory_import(int fd)
{
    struct stat about;
    int device = device_of(fd);
    if (device == NO_DEVICE || fstat(fd, &about) != 0) return NULL;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return own < 0 ? NULL : memory_of(own, device, (uint64_t)about.st_size);
}

struct gpu_memory *gpu_memory_retain(struct gpu_memory *memory)
{
    __atomic_add_fetch(&memory->references, 1, __ATOMIC_RELAXED);
    return memory;
}

void gpu_memory_release(struct gpu_memory *memory)
{
    if (__atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    munmap(memory->engine, memory->length_bytes);
    close(memory->fd);
    free(memory);
    gpu_count(GPU_MEMORY, -1);
}

void gpu_memory_set_types(struct gpu_memory *memory, unsigned types) { memory->types = types; }
unsigned gpu_memory_types(const struct gpu_memory *memory) { return memory->types; }
int gpu_memory_export(struct gpu_memory *memory) { return fcntl(memory->fd, F_DUPFD_CLOEXEC, 0); }
int gpu_memory_fd(const struct gpu_memory *memory) { return memory->fd; }
uint64_t gpu_memory_bytes(const struct gpu_memory *memory) { return memory->length_bytes; }
int gpu_memory_device(const struct gpu_memory *memory) { return memory->device; }

struct ticket {
    uint32_t magic;
    int32_t pid, fd;
};
_Static_assert(sizeof(struct ticket) == GPU_TICKET_BYTES, "as gpu.h has it");
enum { TICKET_MAGIC = 0x47505431 };

void gpu_ticket_write(const struct gpu_memory *memory, void *out)
{
    const struct ticket ticket = {TICKET_MAGIC, getpid(), memory->fd};
    memcpy(out, &ticket, sizeof ticket);
}

struct gpu_memory *gpu_ticket_open(const void *opaque)
{
    char path[64];
    struct ticket ticket;
    memcpy(&ticket, opaque, sizeof ticket);
    if (ticket.magic != TICKET_MAGIC) return NULL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ticket.pid, (int)ticket.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL;
    struct gpu_memory *memory = gpu_memory_import(fd);
    close(fd);
    return memory;
}

/* ---- addresses ---- */

static void *reserve(uint64_t length_bytes, uint64_t alignment)
{
    if (alignment < GPU_GRANULE_BYTES) alignment = GPU_GRANULE_BYTES;
    char *got = mmap(NULL, length_bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return NULL;
    size_t head = (size_t)(-(uintptr_t)got & (alignment - 1));
    if (head > 0) munmap(got, head);
    munmap(got + head + length_bytes, alignment - head);
    return got + head;
}

void *gpu_reserve(uint64_t length_bytes, uint64_t alignment)
{
    void *addr = reserve(length_bytes, alignment);
    if (addr == NULL) return NULL;
    pthread_mutex_lock(&lock);
    (void)add(&reserved, GPU_RESERVATION, (uint64_t)(uintptr_t)addr, length_bytes);
    pthread_mutex_unlock(&lock);
    return addr;
}

static bool unreserve(uint64_t addr, uint64_t length_bytes)
{
    struct range *range = find(reserved, addr);
    if (range == NULL || range->addr != addr || range->length_bytes != length_bytes) return false;
    if (overlaps(mapped, addr, length_bytes)) return false;
    munmap((void *)(uintptr_t)addr, length_bytes);
    drop(&reserved, GPU_RESERVATION, range);
    return true;
}

bool gpu_unreserve(uint64_t addr, uint64_t length_bytes)
{
    pthread_mutex_lock(&lock);
    bool ok = unreserve(addr, length_bytes);
    pthread_mutex_unlock(&lock);
    return ok;
}

static bool map(uint64_t addr, uint64_t length_bytes, struct gpu_memory *memory)
{
    struct range *inside = find(reserved, addr);
    if (inside == NULL || addr + length_bytes > inside->addr + inside->length_bytes) return false;
    if (length_bytes == 0 || length_bytes > memory->length_bytes || overlaps(mapped, addr, length_bytes)) return false;
    struct range *range = add(&mapped, GPU_MAPPING, addr, length_bytes);
    range->memory = gpu_memory_retain(memory);
    return true;
}

bool gpu_map(uint64_t addr, uint64_t length_bytes, struct gpu_memory *memory)
{
    pthread_mutex_lock(&lock);
    bool ok = map(addr, length_bytes, memory);
    pthread_mutex_unlock(&lock);
    return ok;
}

/* Whole mappings from addr on, to the very end of length_bytes: each through `step`. */
static bool over_mappings(uint64_t addr, uint64_t length_bytes, void (*step)(struct range *))
{
    uint64_t at = addr, end = addr + length_bytes;
    for (struct range *range; at < end; at += range->length_bytes) {
        range = find(mapped, at);
        if (range == NULL || range->addr != at || range->length_bytes > end - at) return false;
    }
    for (at = addr; at < end;) {
        struct range *range = find(mapped, at);
        at += range->length_bytes;
        step(range);
    }
    return true;
}

static void open_to_host(struct range *range)
{
    (void)mmap((void *)(uintptr_t)range->addr, range->length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
               range->memory->fd, 0);
}

static void allow(struct range *range)
{
    range->is_allowed = true;
    if (gpu_knobs()->host_access) open_to_host(range);
}

static void unmap(struct range *range)
{
    (void)mmap((void *)(uintptr_t)range->addr, range->length_bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    gpu_memory_release(range->memory);
    drop(&mapped, GPU_MAPPING, range);
}

bool gpu_allow(uint64_t addr, uint64_t length_bytes)
{
    pthread_mutex_lock(&lock);
    bool ok = over_mappings(addr, length_bytes, allow);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool gpu_allow_host(uint64_t addr, uint64_t length_bytes)
{
    pthread_mutex_lock(&lock);
    const struct range *range = find(mapped, addr);
    bool ok = range != NULL && range->memory->device < 0 && over_mappings(addr, length_bytes, open_to_host);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool gpu_unmap(uint64_t addr, uint64_t length_bytes)
{
    pthread_mutex_lock(&lock);
    bool ok = over_mappings(addr, length_bytes, unmap);
    pthread_mutex_unlock(&lock);
    return ok;
}

void *gpu_alloc(struct gpu_memory *memory)
{
    void *addr = gpu_reserve(memory->length_bytes, 0);
    if (addr == NULL) return NULL;
    uint64_t at = (uint64_t)(uintptr_t)addr;
    if (!gpu_map(at, memory->length_bytes, memory) || !gpu_allow(at, memory->length_bytes)) abort();
    pthread_mutex_lock(&lock);
    find(reserved, at)->is_own = true;
    pthread_mutex_unlock(&lock);
    return addr;
}

bool gpu_free(uint64_t addr)
{
    pthread_mutex_lock(&lock);
    struct range *range = find(reserved, addr);
    bool ok = range != NULL && range->is_own && range->addr == addr;
    if (ok) ok = over_mappings(addr, range->length_bytes, unmap) && unreserve(addr, range->length_bytes);
    pthread_mutex_unlock(&lock);
    return ok;
}

/* ---- host memory ---- */

bool gpu_pin(void *addr, uint64_t length_bytes)
{
    pthread_mutex_lock(&lock);
    bool ok = !overlaps(pinned, (uint64_t)(uintptr_t)addr, length_bytes);
    if (ok) (void)add(&pinned, GPU_PINNED, (uint64_t)(uintptr_t)addr, length_bytes);
    pthread_mutex_unlock(&lock);
    return ok;
}

static bool forget(void *addr, bool is_own)
{
    pthread_mutex_lock(&lock);
    struct range *range = find(pinned, (uint64_t)(uintptr_t)addr);
    bool ok = range != NULL && range->addr == (uint64_t)(uintptr_t)addr && range->is_own == is_own;
    if (ok && is_own) munmap(addr, range->length_bytes);
    if (ok) drop(&pinned, GPU_PINNED, range);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool gpu_unpin(void *addr) { return forget(addr, false); }

void *gpu_host_alloc(uint64_t length_bytes)
{
    length_bytes = (length_bytes + 4095) & ~(uint64_t)4095;
    void *addr = mmap(NULL, length_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (addr == MAP_FAILED) return NULL;
    pthread_mutex_lock(&lock);
    add(&pinned, GPU_PINNED, (uint64_t)(uintptr_t)addr, length_bytes)->is_own = true;
    pthread_mutex_unlock(&lock);
    return addr;
}

bool gpu_host_free(void *addr) { return forget(addr, true); }

/* ---- what the engines see ---- */

static struct gpu_place place_of_mapping(const struct range *range)
{
    const struct range *inside = find(reserved, range->addr);
    return (struct gpu_place){.kind = GPU_DEVICE,
                              .device = range->memory->device,
                              .base = range->addr,
                              .length_bytes = range->length_bytes,
                              .memory = range->memory,
                              .reserved_base = inside->addr,
                              .reserved_bytes = inside->length_bytes,
                              .is_piece = !inside->is_own};
}

struct gpu_place gpu_find(uint64_t addr)
{
    struct gpu_place place = {.kind = GPU_UNKNOWN, .device = -1};
    pthread_mutex_lock(&lock);
    const struct range *range = find(mapped, addr);
    if (range != NULL)
        place = place_of_mapping(range);
    else if ((range = find(pinned, addr)) != NULL)
        place = (struct gpu_place){
            .kind = GPU_HOST, .device = -1, .base = range->addr, .length_bytes = range->length_bytes};
    pthread_mutex_unlock(&lock);
    return place;
}

/* Where the double touches what is at addr, and how many of the bytes lie there. Returns NULL if the address is
 * illegal. */
static char *translate(uint64_t addr, uint64_t *length_bytes)
{
    struct range *range = find(mapped, addr);
    if (range == NULL) return find(reserved, addr) != NULL ? NULL : (char *)(uintptr_t)addr;
    if (!range->is_allowed) return NULL;
    uint64_t left = range->length_bytes - (addr - range->addr);
    if (*length_bytes > left) *length_bytes = left;
    return range->memory->engine + (addr - range->addr);
}

bool gpu_is_valid(uint64_t addr, uint64_t length_bytes)
{
    bool ok = true;
    pthread_mutex_lock(&lock);
    for (uint64_t n; ok && length_bytes > 0; addr += n, length_bytes -= n) {
        n = length_bytes;
        ok = translate(addr, &n) != NULL;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

static bool shadow_open(uint64_t addr, struct gpu_shadow *out)
{
    const struct range *inside = find(reserved, addr);
    if (inside == NULL) return false;
    char *at = mmap(NULL, inside->length_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    *out = (struct gpu_shadow){.base = inside->addr, .length_bytes = inside->length_bytes, .at = at};
    for (const struct range *piece = mapped; piece != NULL; piece = piece->next)
        if (piece->is_allowed && piece->addr - inside->addr < inside->length_bytes)
            (void)mmap(at + (piece->addr - inside->addr), piece->length_bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED, piece->memory->fd, 0);
    return true;
}

bool gpu_shadow_open(uint64_t addr, struct gpu_shadow *out)
{
    pthread_mutex_lock(&lock);
    bool ok = shadow_open(addr, out);
    pthread_mutex_unlock(&lock);
    return ok;
}

void gpu_shadow_close(const struct gpu_shadow *shadow) { munmap(shadow->at, shadow->length_bytes); }

void *gpu_word(uint64_t addr, size_t length_bytes)
{
    uint64_t n = length_bytes;
    pthread_mutex_lock(&lock);
    char *at = translate(addr, &n);
    pthread_mutex_unlock(&lock);
    return n == length_bytes ? at : NULL;
}

/* An engine moves an aligned word at once: another one may be reading it. */
static void move(char *to, const char *from, uint64_t n)
{
    bool is_aligned = ((uintptr_t)to | (uintptr_t)from) % n == 0;
    if (is_aligned && n == sizeof(uint64_t))
        __atomic_store_n((uint64_t *)(void *)to,
                         __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    else if (is_aligned && n == sizeof(uint32_t))
        __atomic_store_n((uint32_t *)(void *)to,
                         __atomic_load_n((const uint32_t *)(const void *)from, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    else
        isthmus_copy_cpu(to, from, n);
}

/* The lock is held over the copy: nothing is unmapped below it. */
bool gpu_copy(uint64_t dest, uint64_t source, uint64_t length_bytes)
{
    bool ok = true;
    pthread_mutex_lock(&lock);
    for (uint64_t n; ok && length_bytes > 0; dest += n, source += n, length_bytes -= n) {
        n = length_bytes;
        char *to = translate(dest, &n), *from = translate(source, &n);
        ok = to != NULL && from != NULL;
        if (ok) move(to, from, n);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

/* Zeros of whole pages of a file in memory take none: a heap of full size from the start uses only the memory that was
 * written. */
static void fill(char *to, uint8_t value, uint64_t n)
{
    bool is_whole = ((uintptr_t)to | n) % (uint64_t)sysconf(_SC_PAGESIZE) == 0;
    if (value != 0 || !is_whole || madvise(to, n, MADV_REMOVE) != 0) memset(to, value, n);
}

bool gpu_fill(uint64_t dest, uint8_t value, uint64_t length_bytes)
{
    bool ok = true;
    pthread_mutex_lock(&lock);
    for (uint64_t n; ok && length_bytes > 0; dest += n, length_bytes -= n) {
        n = length_bytes;
        char *to = translate(dest, &n);
        ok = to != NULL;
        if (ok) fill(to, value, n);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}
