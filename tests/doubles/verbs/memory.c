/* tests/doubles/verbs/memory.c: protection domains, memory regions and their keys. */
#include "tests/doubles/verbs/verbs_double.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_REGIONS = 1 << 20 };

static struct region **regions; /* by number; a key is the number, and above it how often the number was given */
static uint32_t n_numbers = 1;
static int n_regions;
static uint64_t n_pinned_bytes;

struct ibv_pd *ibv_alloc_pd(struct ibv_context *verbs)
{
    struct ibv_pd *pd = calloc(1, sizeof *pd);
    pd->context = verbs;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}

/* ---- what the system permits ---- */

struct text {
    char *bytes;
    size_t used, room;
};

static bool read_maps(struct text *text)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (fd >= 0 && n > 0) {
        if (text->room - text->used < 65536) text->bytes = realloc(text->bytes, text->room += 1 << 20);
        n = read(fd, text->bytes + text->used, 65535);
        if (n > 0) text->used += (size_t)n;
    }
    if (fd >= 0) close(fd);
    if (text->bytes != NULL) text->bytes[text->used] = '\0';
    return n == 0;
}

/* Pages that the process may read, and write where the adapter writes. */
static bool has_pages(uintptr_t from, uintptr_t to, bool is_written)
{
    struct text text = {0};
    bool has = read_maps(&text);
    char *rest = text.bytes;
    for (char *line; has && from < to && (line = strsep(&rest, "\n")) != NULL;) {
        unsigned long first, end;
        char access[5];
        if (sscanf(line, "%lx-%lx %4s", &first, &end, access) != 3 || end <= from) continue;
        has = first <= from && access[0] == 'r' && (!is_written || access[1] == 'w');
        from = end;
    }
    free(text.bytes);
    return has && from >= to;
}

static bool has_room(size_t n_bytes)
{
    struct rlimit limit;
    if (n_regions >= settings.max_mr) return false;
    if (settings.most_locked > 0) return n_pinned_bytes + n_bytes <= settings.most_locked;
    return !settings.counts_memlock || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
           n_pinned_bytes + n_bytes <= limit.rlim_cur;
}

/* ---- regions ---- */

static size_t pinned_bytes(const void *address, size_t n_bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)address & ~(page - 1);
    return (((uintptr_t)address + n_bytes + page - 1) & ~(page - 1)) - from;
}

static uint32_t new_number(void)
{
    if (regions == NULL) regions = calloc(MOST_REGIONS, sizeof *regions);
    for (uint32_t tried = 0; tried < MOST_REGIONS; tried++) {
        uint32_t number = n_numbers++;
        if (regions[number % MOST_REGIONS] == NULL) return number;
    }
    break_rule("memory regions", "more than %d", MOST_REGIONS);
}

/* Keys are those of one time only, and no two begin alike. */
static uint32_t key_of(uint32_t number) { return number * 2654435761u; }
static uint32_t number_of(uint32_t key) { return key * 244002641u; }

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t n_bytes, uint64_t iova, int access)
{
    enum { WRITES = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC };
    struct region *region = NULL;
    int error = 0;
    settings_read();
    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0)
        break_rule("remote write needs local write", "ibv_reg_mr with access %#x", (unsigned)access);
    if (n_bytes == 0) break_rule("a region has a length", "ibv_reg_mr of 0 bytes");
    pthread_mutex_lock(&verbs_lock);
    bool is_on_demand = (access & IBV_ACCESS_ON_DEMAND) != 0;
    size_t pinned = is_on_demand ? 0 : pinned_bytes(address, n_bytes);
    if (is_on_demand && !settings.has_odp) error = EOPNOTSUPP;
    if (error == 0 && !has_room(pinned)) error = ENOMEM;
    if (error == 0 && !is_on_demand &&
        !has_pages((uintptr_t)address, (uintptr_t)address + n_bytes, (access & WRITES) != 0))
        error = EFAULT;
    if (error == 0) {
        uint32_t number = new_number();
        region = calloc(1, sizeof *region);
        region->verbs = (struct ibv_mr){.context = pd->context,
                                        .pd = pd,
                                        .addr = address,
                                        .length = n_bytes,
                                        .handle = number,
                                        .lkey = key_of(number),
                                        .rkey = key_of(number)};
        region->access = access;
        region->iova = iova;
        regions[number % MOST_REGIONS] = region;
        n_regions++;
        n_pinned_bytes += pinned;
    }
    pthread_mutex_unlock(&verbs_lock);
    if (error != 0) errno = error;
    return region != NULL ? &region->verbs : NULL;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t n_bytes, int access)
{
    return register_memory(pd, address, n_bytes, (uintptr_t)address, access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t n_bytes, uint64_t iova, int access)
{
    return register_memory(pd, address, n_bytes, iova, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t n_bytes, uint64_t iova, unsigned access)
{
    return register_memory(pd, address, n_bytes, iova, (int)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t n_bytes, uint64_t iova, int fd, int access)
{
    (void)pd, (void)offset, (void)n_bytes, (void)iova, (void)fd, (void)access;
    errno = EOPNOTSUPP;
    return NULL;
}

static bool is_of(const struct region *region, const struct ibv_sge *sge) { return sge->lkey == region->verbs.lkey; }

static void check_unused(const struct region *region)
{
    for (int i = 0; i < QPS_OF_A_PROCESS; i++)
        for (const struct work *work = queue_pairs[i] != NULL ? queue_pairs[i]->first : NULL; work != NULL;
             work = work->next)
            for (int k = 0; k < work->n_sge && !work->is_done && work->inline_bytes == NULL; k++)
                if (is_of(region, &work->sge[k]) && queue_pairs[i]->verbs.state != IBV_QPS_ERR)
                    break_rule("memory stays registered until its requests are complete",
                               "ibv_dereg_mr of %p, %zu bytes, under a request on it", region->verbs.addr,
                               region->verbs.length);
}

int ibv_dereg_mr(struct ibv_mr *verbs)
{
    struct region *region = (struct region *)verbs;
    pthread_mutex_lock(&verbs_lock);
    if (regions == NULL || regions[verbs->handle % MOST_REGIONS] != region)
        break_rule("a region is deregistered once", "ibv_dereg_mr of %p", (void *)verbs);
    check_unused(region);
    land_all();
    regions[verbs->handle % MOST_REGIONS] = NULL;
    n_regions--;
    if ((region->access & IBV_ACCESS_ON_DEMAND) == 0) n_pinned_bytes -= pinned_bytes(verbs->addr, verbs->length);
    pthread_mutex_unlock(&verbs_lock);
    free(region);
    return 0;
}

static struct region *find(uint32_t key)
{
    uint32_t number = number_of(key);
    struct region *region = regions != NULL ? regions[number % MOST_REGIONS] : NULL;
    return region != NULL && region->verbs.lkey == key ? region : NULL;
}

void *local_memory(const struct ibv_sge *sge, bool is_written)
{
    const struct region *region = find(sge->lkey);
    if (region == NULL)
        break_rule("operands are registered", "no region has the lkey %#x, %u bytes at %#llx", (unsigned)sge->lkey,
                   (unsigned)sge->length, (unsigned long long)sge->addr);
    uintptr_t first = (uintptr_t)region->verbs.addr; /* of operands the address is the region's own */
    uint64_t offset = sge->addr - region->iova;
    if (sge->addr < region->iova || offset + sge->length > region->verbs.length)
        break_rule("operands lie in their region", "%u bytes at %#llx, in a region of %zu bytes at %#lx",
                   (unsigned)sge->length, (unsigned long long)sge->addr, region->verbs.length, (unsigned long)first);
    if (is_written && (region->access & IBV_ACCESS_LOCAL_WRITE) == 0)
        break_rule("results need local write access", "%u bytes at %#llx", (unsigned)sge->length,
                   (unsigned long long)sge->addr);
    return (char *)region->verbs.addr + offset;
}

bool is_relaxed_region(uint32_t rkey)
{
    const struct region *region = find(rkey);
    return region != NULL && (region->access & IBV_ACCESS_RELAXED_ORDERING) != 0;
}

void *remote_memory(uint32_t rkey, uint64_t address, uint32_t length, int access, const char **why)
{
    const struct region *region = find(rkey);
    *why = "keys of peers are valid";
    if (region == NULL) return NULL;
    *why = "accesses of peers lie in their region";
    if (address < region->iova || address - region->iova + length > region->verbs.length) return NULL;
    *why = "the device has no atomics on memory registered on demand";
    if (access == IBV_ACCESS_REMOTE_ATOMIC && (region->access & IBV_ACCESS_ON_DEMAND) != 0 && !settings.has_odp_atomics)
        return NULL;
    *why = "accesses of peers need the region's access flag";
    return (region->access & access) == access ? (char *)region->verbs.addr + (address - region->iova) : NULL;
}
