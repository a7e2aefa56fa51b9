/* tests/doubles/host/pages.c: huge pages of the machine; libc's callers get usual ones. As with the kernel's, a file of
 * huge pages can be made where it has that size, and mapped as long as pages are free. */
#include "tests/doubles/host/host.h"

#include <errno.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { N_FDS = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t shift_of[N_FDS]; /* by descriptor: the binary logarithm of its page, 0: no huge pages */
static uint64_t mapped[64];     /* by that logarithm */

/* Pages of 2^shift bytes that are free at the start; -1: the kernel has none of that size. */
static long free_pages(unsigned shift)
{
    const struct host_knob *knob = host_knob_next(shift == 21 ? "huge_2m" : "huge_1g", NULL);
    return knob != NULL ? atol(knob->value) : -1;
}

int memfd_create(const char *name, unsigned flags)
{
    HOST_NEXT(memfd_create);
    if (host_call("memfd_create", name, 0) != 0) return -1;
    if (!host_now()->is_shown || (flags & MFD_HUGETLB) == 0) return next(name, flags);
    unsigned shift = flags >> MFD_HUGE_SHIFT & MFD_HUGE_MASK;
    if (shift == 0) shift = 21;
    if (free_pages(shift) < 0) {
        errno = ENODEV;
        return -1;
    }
    int fd = next(name, flags & (MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd >= 0 && fd < N_FDS) shift_of[fd] = (uint8_t)shift;
    return fd;
}

int host_huge_map(int fd, uint64_t bytes, int *flags)
{
    if (!host_now()->is_shown) return 0;
    unsigned shift = fd >= 0 && fd < N_FDS ? shift_of[fd] : 0;
    if ((*flags & MAP_ANONYMOUS) != 0 && (*flags & MAP_HUGETLB) != 0) {
        shift = (unsigned)*flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
        if (shift == 0) shift = 21;
        *flags &= ~(MAP_HUGETLB | MAP_HUGE_MASK << MAP_HUGE_SHIFT);
    }
    if (shift == 0) return 0;
    pthread_mutex_lock(&lock);
    uint64_t n = mapped[shift] + (bytes >> shift);
    bool fits = (*flags & MAP_NORESERVE) != 0 || (long)n <= free_pages(shift);
    if (fits) mapped[shift] = n;
    pthread_mutex_unlock(&lock);
    return fits ? 0 : (errno = ENOMEM);
}
