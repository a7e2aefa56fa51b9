/* tests/doubles/memory/memory.c: private memory, mappings and descriptors that run out: preloaded, it makes one
 * allocation of Isthmus or its plugins fail. Calls of other libraries and of the program are passed on.
 * A program finds memory_arm and memory_disarm by dlsym. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long left; /* attempts up to the one that fails; 0: none fails */
static atomic_long n_failed;
static _Thread_local bool is_inside; /* dladdr and dlsym may allocate */

void memory_arm(long attempt);
long memory_disarm(void);

void memory_arm(long attempt) { atomic_store(&left, attempt); }

/* How many have failed since the last call. */
long memory_disarm(void)
{
    atomic_store(&left, 0);
    return atomic_exchange(&n_failed, 0);
}

static bool is_of_library(const void *caller)
{
    Dl_info info;
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    const char *name = slash != NULL ? slash + 1 : info.dli_fname;
    return strstr(name, "isthmus") != NULL && strstr(name, ".so") != NULL;
}

static bool fails(const void *caller, int error)
{
    if (atomic_load(&left) == 0 || is_inside) return false;
    is_inside = true;
    bool fails = is_of_library(caller) && atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1;
    is_inside = false;
    if (!fails) return false;
    atomic_fetch_add(&n_failed, 1);
    errno = error;
    return true;
}

/* Of glibc: dlsym itself allocates, so that the allocator cannot be found by it. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);

void *malloc(size_t bytes) { return fails(__builtin_return_address(0), ENOMEM) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t n, size_t bytes)
{
    return fails(__builtin_return_address(0), ENOMEM) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return fails(__builtin_return_address(0), ENOMEM) ? NULL : __libc_realloc(block, bytes);
}

/* next = the routine of this name that would be called without the double. */
#define NEXT(name)                                         \
    static __typeof__(name) *_Atomic next_##name;          \
    __typeof__(name) *next = atomic_load(&next_##name);    \
    if (next == NULL) {                                    \
        *(void **)(void *)&next = dlsym(RTLD_NEXT, #name); \
        atomic_store(&next_##name, next);                  \
    }

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap)
    if (fails(__builtin_return_address(0), ENOMEM)) return MAP_FAILED;
    return next(address, bytes, protection, flags, fd, offset);
}

int memfd_create(const char *name, unsigned flags)
{
    NEXT(memfd_create)
    return fails(__builtin_return_address(0), EMFILE) ? -1 : next(name, flags);
}

int ftruncate(int fd, off_t bytes)
{
    NEXT(ftruncate)
    return fails(__builtin_return_address(0), ENOSPC) ? -1 : next(fd, bytes);
}

int dup(int fd)
{
    NEXT(dup)
    return fails(__builtin_return_address(0), EMFILE) ? -1 : next(fd);
}
