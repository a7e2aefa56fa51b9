/* core/heap/heap.c: see heap.h. */
#include "core/heap/heap.h"

#include "core/base/log.h"
#include "core/topo/topo.h"
#include "core/transport/memory.h"
#include "core/transport/route.h"
#include "core/transport/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOOK_FROM_BYTES = 1 << 20,
    STEP_BYTES = 64 << 20,
    LEAST_BYTES = 16 << 20,
    PART_BYTES = 2 << 20,
    ZEROES_BYTES = 64 << 10
};

struct ist_heap ist_heap = {.fd = -1};

static uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

static uint64_t page_bytes_of(int pages)
{
    switch (pages) {
    case IST_PAGES_HUGE:
    case IST_PAGES_2M: return (uint64_t)2 << 20;
    case IST_PAGES_1G: return (uint64_t)1 << 30;
    default: return (uint64_t)sysconf(_SC_PAGESIZE);
    }
}

static uint64_t lower_limit(int resource, uint64_t than)
{
    struct rlimit limit;
    return getrlimit((unsigned)resource, &limit) == 0 && limit.rlim_cur < than ? limit.rlim_cur : than;
}

/* Three quarters of the memory, shared among the PEs of the host: the heap is sparse, so that this is a limit and not a
 * use. Each PE of the host maps the heaps of all of them. No more than a file may have, with the internal area;
 * if not even that fits, the least, which the message then names. */
static uint64_t default_size(uint64_t internal_bytes, int n_local)
{
    uint64_t share = lower_limit(RLIMIT_AS, ist_topo_memory_bytes()) / 4 * 3 / (uint64_t)n_local;
    uint64_t file = lower_limit(RLIMIT_FSIZE, UINT64_MAX);
    uint64_t size = share > LEAST_BYTES ? share : LEAST_BYTES;
    uint64_t in_file = file > internal_bytes ? (file - internal_bytes) / ist_heap.page_bytes * ist_heap.page_bytes : 0;
    if (size > in_file) size = in_file > 0 ? in_file : LEAST_BYTES;
    return size / IST_ALLOC_GRANULE_BYTES * IST_ALLOC_GRANULE_BYTES;
}

static isthmus_status fail_to_create(bool huge_pages)
{
    return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot create the symmetric heap: memfd_create%s",
                          huge_pages ? " with huge pages (ISTHMUS_HEAP_PAGES; see /sys/kernel/mm/hugepages)"
                          : errno == ENOSYS || errno == EPERM ? ", which the kernel and its sandbox have to permit"
                                                              : "");
}

static isthmus_status make_memfd(const struct ist_config *config, uint64_t bytes)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    if (config->heap_pages != IST_PAGES_DEFAULT) flags |= MFD_HUGETLB;
    if (config->heap_pages == IST_PAGES_2M) flags |= MFD_HUGE_2MB;
    if (config->heap_pages == IST_PAGES_1G) flags |= MFD_HUGE_1GB;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        return ist_fail(ISTHMUS_ERR_NO_MEMORY,
                        "the symmetric heap of %" PRIu64 " bytes is larger than the file size limit of %" PRIu64
                        " bytes; raise 'ulimit -f' or lower ISTHMUS_HEAP_SIZE",
                        bytes, (uint64_t)limit.rlim_cur);
    ist_heap.fd = memfd_create("isthmus-heap", flags);
    if (ist_heap.fd < 0) return fail_to_create(config->heap_pages != IST_PAGES_DEFAULT);
    if (ftruncate(ist_heap.fd, (off_t)bytes) != 0)
        return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY,
                              "cannot create a symmetric heap of %" PRIu64 " bytes (ISTHMUS_HEAP_SIZE): ftruncate",
                              bytes);
    /* A peer that maps the heap must not be killed because it became shorter. */
    (void)fcntl(ist_heap.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return ISTHMUS_OK;
}

/* Maps it over the addresses reserved for it. */
static isthmus_status map_at(const struct ist_config *config, char *base, uint64_t bytes)
{
    /* Huge pages are reserved now: when they ran out later, a store would kill the process. */
    bool huge_pages = config->heap_pages != IST_PAGES_DEFAULT;
    int flags = MAP_SHARED | MAP_FIXED | (huge_pages ? 0 : MAP_NORESERVE);
    if (mmap(base, bytes, PROT_READ | PROT_WRITE, flags, ist_heap.fd, 0) == MAP_FAILED)
        return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot map %" PRIu64 " bytes of the symmetric heap%s: mmap",
                              bytes,
                              huge_pages ? " with huge pages (ISTHMUS_HEAP_PAGES; see /proc/sys/vm/nr_hugepages)" : "");
    return ISTHMUS_OK;
}

/* The internal area and, behind it, *user_bytes for the program, which begin at a multiple of the largest alignment;
 * fewer, which it writes there, if that is only a wish and there are no addresses for as many. Peers address both from
 * the beginning of the internal area, so that its length has to be the same on all PEs: with usual pages of any size,
 * and with huge ones of 2 MiB. */
static isthmus_status init_mapping(const struct ist_config *config, uint64_t internal_bytes, uint64_t *user_bytes,
                                   bool is_wish)
{
    uint64_t wanted = *user_bytes;
    isthmus_status status;
    for (;;) {
        ist_heap.mapped_bytes = internal_bytes + round_up(*user_bytes, ist_heap.page_bytes);
        status = ist_heap_reserve(config, internal_bytes, ist_heap.mapped_bytes, &ist_heap.base);
        uint64_t less = *user_bytes / 2 / ist_heap.page_bytes * ist_heap.page_bytes;
        if (status != ISTHMUS_ERR_NO_MEMORY || errno != ENOMEM || !is_wish || less < LEAST_BYTES) break;
        *user_bytes = less;
    }
    if (status == ISTHMUS_OK && *user_bytes < wanted)
        ist_info("the symmetric heap may grow to %" PRIu64 " bytes on this PE, and not to %" PRIu64
                 ", for which there are no addresses (ulimit -v)",
                 *user_bytes, wanted);
    if (status == ISTHMUS_OK) status = make_memfd(config, ist_heap.mapped_bytes);
    if (status == ISTHMUS_OK) status = map_at(config, ist_heap.base, ist_heap.mapped_bytes);
    if (status == ISTHMUS_OK) ist_heap.user_base = ist_heap.base + internal_bytes;
    return status;
}

static isthmus_status init_on_host(const struct ist_config *config, uint64_t internal_bytes, int n_local)
{
    bool is_given = config->heap_size_bytes != 0;
    uint64_t size = is_given ? config->heap_size_bytes : default_size(internal_bytes, n_local);
    size = round_up(size, IST_ALLOC_GRANULE_BYTES);
    isthmus_status status = init_mapping(config, internal_bytes, &size, !is_given);
    if (status != ISTHMUS_OK) return status;
    ist_heap.segment = IST_SEGMENT_HEAP;
    ist_heap.segment_offset_bytes = (uint64_t)(ist_heap.user_base - ist_heap.base);
    ist_heap.max_align_bytes = IST_HEAP_MAX_ALIGN_BYTES;
    ist_heap.reserved_bytes = round_up(size, ist_heap.page_bytes);
    ist_heap.limit_bytes = size;
    return ISTHMUS_OK;
}

static isthmus_status init_on_device(const struct ist_config *config, uint64_t internal_bytes, uint32_t kind)
{
    uint64_t none = 0;
    isthmus_status status = init_mapping(config, internal_bytes, &none, false);
    if (status == ISTHMUS_OK) status = ist_device_heap_open(kind, config);
    if (status != ISTHMUS_OK) return status;
    ist_heap.segment = IST_SEGMENT_DEVICE;
    ist_heap.user_base = ist_device_heap.base;
    ist_heap.max_align_bytes = ist_device_heap.align_bytes;
    ist_heap.reserved_bytes = ist_heap.limit_bytes = ist_device_heap.length_bytes;
    return ISTHMUS_OK;
}

isthmus_status ist_heap_init(const struct ist_config *config, uint64_t internal_bytes, int n_local, uint32_t kind)
{
    ist_heap.page_bytes = page_bytes_of(config->heap_pages);
    internal_bytes = round_up(internal_bytes, ist_heap.page_bytes > PART_BYTES ? ist_heap.page_bytes : PART_BYTES);
    isthmus_status status = kind == ISTHMUS_MEM_HOST ? init_on_host(config, internal_bytes, n_local)
                                                     : init_on_device(config, internal_bytes, kind);
    if (status == ISTHMUS_OK) status = ist_alloc_create(0, &ist_heap.alloc);
    if (status == ISTHMUS_OK) status = ist_alloc_reserve(ist_heap.alloc);
    if (status != ISTHMUS_OK) ist_heap_fini();
    return status;
}

/* How much of the program's part is usable at the start. */
static uint64_t first_bytes(void)
{
    uint64_t first = ist_heap.segment == IST_SEGMENT_DEVICE ? ist_device_heap.filled_bytes
                     : ist_heap_grows()                     ? STEP_BYTES
                                                            : ist_heap.limit_bytes;
    return first < ist_heap.limit_bytes ? first : ist_heap.limit_bytes;
}

static isthmus_status expose_on_device(void)
{
    struct isthmus_mem all = {
        .struct_size = sizeof all,
        .kind = ist_device_heap.kind,
        .device = ist_device_heap.device,
        .fd = -1,
        .addr = ist_device_heap.base,
        .length_bytes = ist_device_heap.length_bytes,
    };
    ist_expect_device_memory();
    isthmus_status status = ist_segment_expose(IST_SEGMENT_DEVICE, "the symmetric heap", &all, 0);
    if (status != ISTHMUS_OK || ist_device_heap_first() == NULL) return status;
    return ist_segment_add(IST_SEGMENT_DEVICE, ist_device_heap_first());
}

isthmus_status ist_heap_expose(void)
{
    bool is_on_device = ist_heap.segment == IST_SEGMENT_DEVICE;
    struct isthmus_mem mem = {
        .struct_size = sizeof mem,
        .kind = ISTHMUS_MEM_HOST,
        .device = -1,
        .fd = ist_heap.fd,
        .addr = ist_heap.base,
        .length_bytes = ist_heap.mapped_bytes,
    };
    ist_window_set_heap(mem.addr, mem.length_bytes);
    uint64_t first = is_on_device ? ist_heap.mapped_bytes : ist_heap.segment_offset_bytes + first_bytes();
    isthmus_status status = ist_segment_expose(
        IST_SEGMENT_HEAP, is_on_device ? "memory of the library" : "the symmetric heap", &mem, first);
    return status == ISTHMUS_OK && is_on_device ? expose_on_device() : status;
}

void ist_heap_set_limit(uint64_t limit_bytes)
{
    ist_heap.limit_bytes = limit_bytes;
    (void)ist_alloc_grow(ist_heap.alloc, first_bytes()); /* ist_heap_init() has reserved its record */
}

void ist_heap_fini(void)
{
    ist_device_heap_close();
    ist_alloc_destroy(ist_heap.alloc);
    if (ist_heap.base != NULL) munmap(ist_heap.base, ist_heap.mapped_bytes);
    if (ist_heap.fd >= 0) close(ist_heap.fd);
    ist_heap = (struct ist_heap){.fd = -1};
}

/* ---- growth ---- */

bool ist_heap_grows(void)
{
    return ist_heap.segment == IST_SEGMENT_DEVICE ? ist_device_heap.granule_bytes > 0 : ist_segments_have_extents();
}

/* On the host at least doubled, so that even a heap of terabytes has few extents; memory of a device is taken for
 * good. */
uint64_t ist_heap_grown_for(uint64_t size_bytes, uint64_t align_bytes, bool with_more)
{
    struct ist_alloc_stats stats;
    uint64_t needed = ist_alloc_needed(ist_heap.alloc, size_bytes, align_bytes);
    ist_alloc_stats(ist_heap.alloc, &stats);
    if (align_bytes > ist_heap.max_align_bytes || needed > ist_heap.limit_bytes) return 0;
    bool is_on_device = ist_heap.segment == IST_SEGMENT_DEVICE;
    uint64_t usual = is_on_device ? stats.managed_bytes / 4 * 5 : 2 * stats.managed_bytes;
    uint64_t step = !is_on_device ? STEP_BYTES : with_more ? ist_device_heap.step_bytes : ist_device_heap.granule_bytes;
    uint64_t grown = round_up(with_more && usual > needed ? usual : needed, step);
    return grown < ist_heap.limit_bytes ? grown : ist_heap.limit_bytes;
}

isthmus_status ist_heap_extend(ist_boot *boot, const char *card_key, uint64_t managed_bytes, uint32_t number)
{
    if (ist_heap.segment == IST_SEGMENT_HEAP)
        return ist_segment_grow(boot, card_key, IST_SEGMENT_HEAP, ist_heap.segment_offset_bytes + managed_bytes,
                                number);
    struct isthmus_mem piece;
    isthmus_status status = ist_device_heap_fill(managed_bytes - ist_device_heap.filled_bytes, &piece);
    if (status != ISTHMUS_OK) return status;
    status = ist_segment_append(boot, card_key, IST_SEGMENT_DEVICE, &piece, number);
    if (status != ISTHMUS_OK) ist_device_heap_unfill();
    return status;
}

void ist_heap_shrink(ist_boot *boot, const char *card_key)
{
    ist_segment_shrink(boot, card_key, ist_heap.segment);
    if (ist_heap.segment == IST_SEGMENT_DEVICE) ist_device_heap_unfill();
}

isthmus_status ist_heap_grow(uint64_t managed_bytes) { return ist_alloc_grow(ist_heap.alloc, managed_bytes); }

/* ---- blocks ---- */

/* On a device the size is no limit, where the heap grows: the addresses are, or the memory that there is. */
static const char *what_to_do(uint64_t size_bytes)
{
    if (ist_heap.segment != IST_SEGMENT_DEVICE || !ist_heap_grows()) return "raise ISTHMUS_HEAP_SIZE";
    return size_bytes > ist_heap.limit_bytes ? "raise ISTHMUS_HEAP_RESERVE"
                                             : "this device, or that of another PE, has no more memory";
}

void ist_heap_explain_no_room(const char *routine, uint64_t size_bytes, uint64_t align_bytes)
{
    struct ist_alloc_stats stats;
    ist_alloc_stats(ist_heap.alloc, &stats);
    ist_info("%s: the symmetric heap has no room for %" PRIu64 " bytes aligned to %" PRIu64 ": %" PRIu64 " of %" PRIu64
             " bytes are used, the largest free piece has %" PRIu64 " bytes; %s",
             routine, size_bytes, align_bytes, stats.used_bytes, ist_heap.limit_bytes, stats.largest_free_bytes,
             what_to_do(size_bytes));
}

isthmus_status ist_heap_reserve_records(void) { return ist_alloc_reserve(ist_heap.alloc); }

void *ist_heap_room(uint64_t size_bytes, uint64_t align_bytes)
{
    uint64_t offset = align_bytes <= ist_heap.max_align_bytes ? ist_alloc_room(ist_heap.alloc, size_bytes, align_bytes)
                                                              : IST_ALLOC_NONE;
    return offset != IST_ALLOC_NONE ? ist_heap.user_base + offset : NULL;
}

void *ist_heap_take(uint64_t size_bytes, uint64_t align_bytes)
{
    uint64_t offset = align_bytes <= ist_heap.max_align_bytes ? ist_alloc_take(ist_heap.alloc, size_bytes, align_bytes)
                                                              : IST_ALLOC_NONE;
    if (offset == IST_ALLOC_NONE) return NULL;
    return ist_heap.user_base + offset;
}

static uint64_t offset_of(const void *block) { return (uint64_t)((uintptr_t)block - (uintptr_t)ist_heap.user_base); }

bool ist_heap_give(void *block) { return ist_alloc_give(ist_heap.alloc, offset_of(block)); }

bool ist_heap_resize(void *block, uint64_t size_bytes)
{
    return ist_alloc_resize(ist_heap.alloc, offset_of(block), size_bytes);
}

bool ist_heap_can_resize(const void *block, uint64_t size_bytes)
{
    return ist_alloc_can_resize(ist_heap.alloc, offset_of(block), size_bytes);
}

uint64_t ist_heap_size_of(const void *block) { return ist_alloc_size(ist_heap.alloc, offset_of(block)); }

static isthmus_status zero_on_device(char *block, uint64_t size_bytes)
{
    static const char zeroes[ZEROES_BYTES];
    isthmus_status status = ISTHMUS_OK;
    for (uint64_t done = 0; done < size_bytes && status == ISTHMUS_OK; done += ZEROES_BYTES)
        status = ist_memory_copy(ist_device_heap.kind, block + done, zeroes,
                                 size_bytes - done < ZEROES_BYTES ? size_bytes - done : ZEROES_BYTES);
    return status;
}

/* Clears the pages that exist and leaves the others to the system, which fills them with zeroes on the first touch: a
 * large block that was never written costs nothing. No page is given back: a transport may have registered it, or MPI,
 * and would keep the old page while the processor gets a new one. */
static void zero_existing_pages(char *block, uint64_t size_bytes)
{
    off_t at = block - ist_heap.base, end = at + (off_t)size_bytes;
    while (at < end) {
        off_t data = lseek(ist_heap.fd, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO) return; /* no page exists from here to the end of the heap */
        off_t hole = data >= 0 ? lseek(ist_heap.fd, data, SEEK_HOLE) : -1;
        if (hole < 0) { /* the system cannot report pages: clear everything */
            data = at;
            hole = end;
        }
        if (hole > end) hole = end;
        if (data < hole) memset(ist_heap.base + data, 0, (size_t)(hole - data));
        at = hole;
    }
}

isthmus_status ist_heap_zero(void *block, uint64_t size_bytes)
{
    if (ist_heap.segment == IST_SEGMENT_DEVICE) return zero_on_device(block, size_bytes);
    if (size_bytes < LOOK_FROM_BYTES)
        memset(block, 0, size_bytes);
    else
        zero_existing_pages(block, size_bytes);
    return ISTHMUS_OK;
}

void ist_heap_make_private(void)
{
    if (ist_heap.base == NULL) return;
    /* The system call: hooks of MPI and UCX on mmap() take locks that another thread of the parent may have held. */
    (void)syscall(SYS_mmap, ist_heap.base, ist_heap.mapped_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, ist_heap.fd, 0L);
}
