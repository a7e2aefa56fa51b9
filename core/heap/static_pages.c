/* core/heap/static_pages.c: moves pages of static data between private memory and a memfd. System calls only, see
 * static_data_priv.h: libc's mmap() runs hooks of MPI, UCX and sanitizers, which write to static data between copy and
 * move, clear the sanitizer's guards, and take locks in a child of fork(). UCX 1.13 moreover passes no fifth argument
 * of mremap() on. ist_static_announce() notifies the hooks afterwards. Which pages, and when, static_data.c decides. */
#include "core/heap/static_data_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

/* Entries of /proc/thread-self/pagemap: Documentation/admin-guide/mm/pagemap.rst. */
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED (UINT64_C(1) << 62)

enum { WINDOW_PAGES = 2048 }; /* entries read at a time: 16 KiB of stack */

_Static_assert(sizeof(void *) == 8, "system calls below pass 64-bit offsets in one register");

static size_t system_page_bytes; /* set before pages are copied: in between, nothing may be called that is bound late */

/* --- the descriptor --- */

static isthmus_status size_and_seal(int fd, uint64_t length_bytes)
{
    if (ftruncate(fd, (off_t)length_bytes) < 0)
        return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot make %llu bytes of static data symmetric: ftruncate",
                              (unsigned long long)length_bytes);
    /* A peer that has the descriptor could otherwise cut it short, and our next load would be a SIGBUS. */
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return ist_fail_errno(ISTHMUS_ERR_UNSUPPORTED, "cannot make static data symmetric: F_ADD_SEALS");
    return ISTHMUS_OK;
}

isthmus_status ist_static_memfd_create(uint64_t length_bytes, int *out)
{
    system_page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit; /* past it the kernel does not fail, it sends SIGXFSZ */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < length_bytes)
        return ist_fail(ISTHMUS_ERR_NO_MEMORY,
                        "the static data of %llu bytes exceeds the file size limit of %llu bytes; raise 'ulimit -f'",
                        (unsigned long long)length_bytes, (unsigned long long)limit.rlim_cur);
    int fd = memfd_create("isthmus-static", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) fd = memfd_create("isthmus-static", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot make static data symmetric: memfd_create%s",
                              errno == ENOSYS || errno == EPERM ? ", which the kernel and its sandbox have to permit"
                                                                : "");
    const isthmus_status status = size_and_seal(fd, length_bytes);
    if (status) {
        close(fd);
        return status;
    }
    *out = fd;
    return ISTHMUS_OK;
}

/* --- private memory to descriptor --- */

struct copy { /* the data for the descriptor: address - origin is the offset */
    const char *origin;
    int fd;
    size_t page_bytes;
};

__attribute__((no_sanitize("address", "thread", "undefined"))) static bool is_zero(const char *page, size_t page_bytes)
{
    const uint64_t *word = (const uint64_t *)(const void *)page, *end = word + page_bytes / sizeof *word;
    while (word < end && *word == 0) word++;
    return word == end;
}

static isthmus_status write_all(const struct copy *copy, const char *start, const char *end)
{
    while (start < end) {
        const long n = syscall(SYS_pwrite64, copy->fd, start, end - start, start - copy->origin);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot make %llu bytes of static data symmetric: copying",
                                  (unsigned long long)(end - start));
        start += n;
    }
    return ISTHMUS_OK;
}

static isthmus_status write_nonzero(const struct copy *copy, const char *start, const char *end)
{
    const char *run = start; /* [run, at) is not zero and not written yet */
    for (const char *at = start; at < end; at += copy->page_bytes) {
        if (!is_zero(at, copy->page_bytes)) continue;
        const isthmus_status status = write_all(copy, run, at);
        if (status) return status;
        run = at + copy->page_bytes;
    }
    return write_all(copy, run, end);
}

/* Pages that began as zero pages: only those that are in memory or swapped out can hold data. */
static isthmus_status write_populated(const struct copy *copy, int pagemap_fd, const char *start, const char *end)
{
    uint64_t entries[WINDOW_PAGES];
    while (start < end) {
        const size_t n_left = (size_t)(end - start) / copy->page_bytes;
        const size_t n_wanted = n_left < WINDOW_PAGES ? n_left : WINDOW_PAGES;
        const uint64_t entry_offset = (uintptr_t)start / copy->page_bytes * sizeof entries[0];
        const long n_bytes = syscall(SYS_pread64, pagemap_fd, entries, n_wanted * sizeof entries[0], entry_offset);
        if (n_bytes < (long)sizeof entries[0]) return write_nonzero(copy, start, end); /* then check all of them */
        const size_t n = (size_t)n_bytes / sizeof entries[0];
        for (size_t i = 0; i < n;) {
            const size_t first = i;
            while (i < n && entries[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) i++;
            const isthmus_status status = write_nonzero(copy, start + first * copy->page_bytes,
                                                        start + i * copy->page_bytes);
            if (status) return status;
            while (i < n && !(entries[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED))) i++;
        }
        start += n * copy->page_bytes;
    }
    return ISTHMUS_OK;
}

isthmus_status ist_static_copy_out(const struct ist_static_part *part, int fd, uint64_t fd_offset)
{
    const struct copy copy = {part->start - fd_offset, fd, system_page_bytes};
    const char *const file_end = part->start + part->file_bytes, *const end = part->start + part->length_bytes;
    isthmus_status status = write_nonzero(&copy, part->start, file_end);
    if (status || file_end == end) return status;
    const int pagemap_fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap_fd < 0) return write_nonzero(&copy, file_end, end); /* no /proc: slower, the same result */
    status = write_populated(&copy, pagemap_fd, file_end, end);
    syscall(SYS_close, pagemap_fd);
    return status;
}

isthmus_status ist_static_map_shared(const struct ist_static_part *part, int fd, uint64_t fd_offset)
{
    const long at = syscall(SYS_mmap, part->start, part->length_bytes, part->prot, MAP_SHARED | MAP_FIXED, fd,
                            fd_offset);
    if (at == (long)part->start) return ISTHMUS_OK;
    return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot make %llu bytes of static data symmetric: mmap",
                          (unsigned long long)part->length_bytes);
}

/* --- descriptor to private memory --- */

static void unmap(char *start, uint64_t length_bytes)
{
    if (length_bytes > 0) syscall(SYS_munmap, start, length_bytes);
}

/* [start, end) of the descriptor, which holds the part's content. */
static bool read_range(const struct ist_static_part *part, char *snapshot, int fd, uint64_t fd_offset, long start,
                       long end)
{
    const long part_end = (long)(fd_offset + part->length_bytes);
    if (end > part_end) end = part_end;
    while (start < end) {
        const long n = syscall(SYS_pread64, fd, snapshot + (start - (long)fd_offset), end - start, start);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        start += n;
    }
    return true;
}

static long min_of(long a, uint64_t b) { return (uint64_t)a < b ? a : (long)b; }

/* Pages that the descriptor has; for the others private memory is as empty as they are. Returns where it ended: at the
 * part's end, or where the budget did; -1 on failure. */
static long read_populated(const struct ist_static_part *part, char *snapshot, int fd, uint64_t fd_offset,
                           uint64_t *budget_bytes)
{
    const long part_end = (long)(fd_offset + part->length_bytes);
    long end = (long)fd_offset;
    while (end < part_end) {
        const long start = syscall(SYS_lseek, fd, end, SEEK_DATA);
        if (start < 0) return errno == ENXIO ? part_end : -1; /* none after it */
        if (start >= part_end) return part_end;
        end = syscall(SYS_lseek, fd, start, SEEK_HOLE);
        if (end < 0) return -1;
        end = min_of(end, (uint64_t)part_end);
        const long n = min_of(end - start, *budget_bytes);
        if (!read_range(part, snapshot, fd, fd_offset, start, start + n)) return -1;
        *budget_bytes -= (uint64_t)n;
        if (start + n < end) return start + n;
    }
    return part_end;
}

struct ist_static_snapshot ist_static_snapshot(const struct ist_static_part *part, int fd, uint64_t fd_offset,
                                               uint64_t *budget_bytes)
{
    const struct ist_static_snapshot none = {.pages = NULL};
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint64_t endless = UINT64_MAX;
    const int prot = part->prot | PROT_READ | PROT_WRITE; /* until it is filled */
    const long at = syscall(SYS_mmap, NULL, part->length_bytes, prot, flags, -1, 0);
    if (at == -1) return none;
    long end = read_populated(part, (char *)at, fd, fd_offset, budget_bytes ? budget_bytes : &endless);
    if (part->prot != prot && syscall(SYS_mprotect, at, part->length_bytes, part->prot) != 0) end = -1;
    const int read_errno = errno;
    const uint64_t length_bytes = end < 0 ? 0 : (uint64_t)end - fd_offset;
    unmap((char *)at + length_bytes, part->length_bytes - length_bytes);
    errno = read_errno;
    return end < 0 ? none : (struct ist_static_snapshot){(char *)at, length_bytes};
}

void ist_static_snapshot_drop(const struct ist_static_snapshot *snapshot)
{
    if (snapshot->pages) unmap(snapshot->pages, snapshot->length_bytes);
}

bool ist_static_snapshot_place(const struct ist_static_part *part, int fd, uint64_t fd_offset,
                               const struct ist_static_snapshot *snapshot)
{
    const uint64_t here = snapshot->length_bytes, rest = part->length_bytes - here;
    if (rest > 0 && syscall(SYS_mmap, part->start + here, rest, part->prot, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd,
                            fd_offset + here) == -1)
        return false;
    return here == 0 || syscall(SYS_mremap, snapshot->pages, here, here, MREMAP_MAYMOVE | MREMAP_FIXED, part->start) ==
                            (long)part->start;
}

/* --- the hooks of others --- */

/* A madvise() that would drop pages counts as unmapping them for every hook there is. This one drops none: the system
 * refuses addresses that are not aligned. Libraries that watch for themselves (userfaultfd) have seen the move. */
void ist_static_announce(const struct ist_static_part *part)
{
    const int before = errno;
    (void)madvise(part->start + 1, part->length_bytes - 1, MADV_REMOVE);
    errno = before;
}
