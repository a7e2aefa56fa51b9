/* tests/doubles/memory/memory.c: private memory, mappings, descriptors and threads that run out: preloaded, it makes
 * calls of Isthmus and its plugins fail as the system does then. Calls of other libraries and of the program are passed
 * on. It also knows what the library holds, so that a leak is seen. A program finds memory_arm and its like by
 * dlsym. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

enum { EVERY = -1 };
static atomic_long left;    /* attempts up to the first one that fails; 0: none fails; EVERY: all do */
static atomic_bool goes_on; /* every later one fails too */
static atomic_long n_failed;
static _Thread_local bool is_inside __attribute__((tls_model("initial-exec"))); /* dladdr and dlsym may allocate */

void memory_arm(long attempt, int stays_away);
long memory_disarm(void);
long memory_held(long *n_so_far);
void memory_print_held(long since);

void memory_arm(long attempt, int stays_away)
{
    atomic_store(&goes_on, stays_away != 0);
    atomic_store(&left, attempt);
}

/* How many have failed since the last call. */
long memory_disarm(void)
{
    atomic_store(&left, 0);
    return atomic_exchange(&n_failed, 0);
}

/* ---- whose call is it ---- */

static bool begins(const char *text, const char *with)
{
    while (*with != '\0' && *text == *with) text++, with++;
    return *with == '\0';
}

/* Without libc's strings, and below dladdr1 for dladdr: a sanitizer allocates before its own are ready. */
static bool is_in_library(const char *file)
{
    static const char folder[] = "/lib/isthmus/"; /* of the plugins */
    const size_t length = sizeof folder - 1;
    const char *name = file;
    for (const char *at = file; *at != '\0'; at++)
        if (*at == '/') name = at + 1;
    return begins(name, "libisthmus") || ((size_t)(name - file) >= length && begins(name - length, folder));
}

static bool is_of_library(const void *caller)
{
    Dl_info info;
    if (is_inside) return false;
    is_inside = true;
    bool is = dladdr1(caller, &info, NULL, 0) != 0 && info.dli_fname != NULL && is_in_library(info.dli_fname);
    is_inside = false;
    return is;
}

static bool fails(const void *caller, int error)
{
    if (atomic_load(&left) == 0 || !is_of_library(caller)) return false;
    long before = atomic_load(&left), after;
    do { /* threads of the library meet here */
        if (before == 0) return false;
        after = before > 1 ? before - 1 : before == 1 && !atomic_load(&goes_on) ? 0 : EVERY;
    } while (!atomic_compare_exchange_weak(&left, &before, after));
    if (before > 1) return false;
    atomic_fetch_add(&n_failed, 1);
    errno = error;
    return true;
}

#define FAILS(error) fails(__builtin_return_address(0), error)

/* ---- what the library holds ---- */

/* Blocks and mappings: address and caller, by open addressing; a removed entry keeps its place. */
enum { HELD_MOST = 1 << 17 };
#define GONE 1
static struct {
    uintptr_t at;
    const void *caller;
    long number;
} held[HELD_MOST];
static long n_held, n_entered;
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t slot_of(uintptr_t at) { return (uint32_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 47); }

static void hold(void *block, const void *caller)
{
    if (block == NULL || !is_of_library(caller)) return;
    pthread_mutex_lock(&held_lock);
    uint32_t slot = slot_of((uintptr_t)block) % HELD_MOST;
    while (held[slot].at > GONE) slot = (slot + 1) % HELD_MOST;
    held[slot].at = (uintptr_t)block;
    held[slot].caller = caller;
    held[slot].number = ++n_entered;
    if (++n_held > HELD_MOST / 2) abort();
    pthread_mutex_unlock(&held_lock);
}

static void release(const void *block)
{
    if (block == NULL || n_held == 0) return;
    pthread_mutex_lock(&held_lock);
    uint32_t slot = slot_of((uintptr_t)block) % HELD_MOST;
    while (held[slot].at != 0 && held[slot].at != (uintptr_t)block) slot = (slot + 1) % HELD_MOST;
    if (held[slot].at != 0) {
        held[slot].at = GONE;
        n_held--;
    }
    pthread_mutex_unlock(&held_lock);
}

/* Out: how many were taken so far, those that are gone included. */
long memory_held(long *n_so_far)
{
    pthread_mutex_lock(&held_lock);
    long n = n_held;
    *n_so_far = n_entered;
    pthread_mutex_unlock(&held_lock);
    return n;
}

/* What is held and was taken after so many others, by the library's file and the place in it. */
void memory_print_held(long since)
{
    for (uint32_t slot = 0; slot < HELD_MOST; slot++) {
        Dl_info info;
        if (held[slot].at <= GONE || held[slot].number <= since || dladdr(held[slot].caller, &info) == 0) continue;
        fprintf(stderr, "held: %s+0x%lx\n", info.dli_fname,
                (unsigned long)((uintptr_t)held[slot].caller - (uintptr_t)info.dli_fbase));
    }
}

static void *kept(void *block, const void *caller)
{
    hold(block, caller);
    return block;
}

#define KEPT(block) kept(block, __builtin_return_address(0))

/* ---- blocks ---- */

/* Of glibc: dlsym itself allocates, so that the allocator cannot be found by it. */
#ifdef MEMORY_OF_ASAN
#define __libc_malloc __interceptor_malloc
#define __libc_calloc __interceptor_calloc
#define __libc_realloc __interceptor_realloc
#define __libc_memalign __interceptor_memalign
#define __libc_free __interceptor_free
#endif
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

void *malloc(size_t bytes) { return FAILS(ENOMEM) ? NULL : KEPT(__libc_malloc(bytes)); }
void *calloc(size_t n, size_t bytes) { return FAILS(ENOMEM) ? NULL : KEPT(__libc_calloc(n, bytes)); }

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return FAILS(ENOMEM) ? NULL : KEPT(__libc_memalign(alignment, bytes));
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (FAILS(ENOMEM)) return ENOMEM;
    *out = KEPT(__libc_memalign(alignment, bytes));
    return *out != NULL ? 0 : ENOMEM;
}

void *realloc(void *block, size_t bytes)
{
    if (FAILS(ENOMEM)) return NULL;
    release(block);
    return KEPT(__libc_realloc(block, bytes));
}

void free(void *block)
{
    release(block);
    __libc_free(block);
}

/* next = the routine of this name that would be called without the double. */
#define NEXT(name)                                         \
    static __typeof__(name) *_Atomic next_##name;          \
    __typeof__(name) *next = atomic_load(&next_##name);    \
    if (next == NULL) {                                    \
        *(void **)(void *)&next = dlsym(RTLD_NEXT, #name); \
        atomic_store(&next_##name, next);                  \
    }

/* libc's routines that allocate for their caller. */
char *strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = FAILS(ENOMEM) ? NULL : KEPT(__libc_malloc(bytes));
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

char *strndup(const char *text, size_t most)
{
    size_t bytes = strnlen(text, most);
    char *copy = FAILS(ENOMEM) ? NULL : KEPT(__libc_malloc(bytes + 1));
    if (copy == NULL) return NULL;
    copy[bytes] = '\0';
    return memcpy(copy, text, bytes);
}

int asprintf(char **out, const char *format, ...)
{
    va_list args;
    if (FAILS(ENOMEM)) return -1;
    va_start(args, format);
    int length = vasprintf(out, format, args);
    va_end(args);
    if (length >= 0) hold(*out, __builtin_return_address(0));
    return length;
}

char *realpath(const char *path, char *room)
{
    NEXT(realpath)
    if (room == NULL && FAILS(ENOMEM)) return NULL;
    char *found = next(path, room);
    return room == NULL ? KEPT(found) : found;
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen)
    return FAILS(EMFILE) ? NULL : next(path, mode);
}

FILE *open_memstream(char **text, size_t *length)
{
    NEXT(open_memstream)
    return FAILS(ENOMEM) ? NULL : next(text, length);
}

DIR *opendir(const char *path)
{
    NEXT(opendir)
    return FAILS(EMFILE) ? NULL : next(path);
}

int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    NEXT(scandir)
    return FAILS(ENOMEM) ? -1 : next(path, list, filter, compare);
}

ssize_t __getdelim(char **line, size_t *room, int end, FILE *file);
ssize_t __getdelim(char **line, size_t *room, int end, FILE *file)
{
    NEXT(__getdelim)
    return *line == NULL && FAILS(ENOMEM) ? -1 : next(line, room, end, file); /* else it seldom allocates */
}

int getifaddrs(struct ifaddrs **out)
{
    NEXT(getifaddrs)
    return FAILS(ENOMEM) ? -1 : next(out);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    NEXT(getaddrinfo)
    return FAILS(ENOMEM) ? EAI_MEMORY : next(host, service, hints, out);
}

int pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    NEXT(pthread_create)
    return FAILS(EAGAIN) ? EAGAIN : next(out, attributes, run, argument);
}

/* ---- mappings ---- */

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap)
    if (FAILS(ENOMEM)) return MAP_FAILED;
    void *at = next(address, bytes, protection, flags, fd, offset);
    if (at != MAP_FAILED && (flags & MAP_FIXED) == 0) hold(at, __builtin_return_address(0));
    return at;
}

int munmap(void *at, size_t bytes)
{
    NEXT(munmap)
    release(at);
    return next(at, bytes);
}

/* The library's own system calls: mappings that hooks of other libraries are not to see, and descriptors. */
long syscall(long number, ...)
{
    NEXT(syscall)
    va_list args;
    long a[6];
    va_start(args, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
    va_end(args);
    bool maps = number == SYS_mmap || number == SYS_mremap;
    bool opens = number == SYS_openat || number == SYS_pidfd_open || number == SYS_pidfd_getfd;
    if ((maps || opens) && FAILS(maps ? ENOMEM : EMFILE)) return -1;
    if (number == SYS_munmap) release((void *)a[0]);
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- descriptors ---- */

int memfd_create(const char *name, unsigned flags)
{
    NEXT(memfd_create)
    return FAILS(EMFILE) ? -1 : next(name, flags);
}

int ftruncate(int fd, off_t bytes)
{
    NEXT(ftruncate)
    return FAILS(ENOSPC) ? -1 : next(fd, bytes);
}

int posix_fallocate(int fd, off_t from, off_t bytes)
{
    NEXT(posix_fallocate)
    return FAILS(ENOSPC) ? ENOSPC : next(fd, from, bytes);
}

int open(const char *path, int flags, ...)
{
    NEXT(open)
    va_list args;
    va_start(args, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return FAILS(EMFILE) ? -1 : next(path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
    NEXT(fcntl)
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    bool makes_one = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    return makes_one && FAILS(EMFILE) ? -1 : next(fd, command, argument);
}

int dup(int fd)
{
    NEXT(dup)
    return FAILS(EMFILE) ? -1 : next(fd);
}

int socket(int domain, int type, int protocol)
{
    NEXT(socket)
    return FAILS(EMFILE) ? -1 : next(domain, type, protocol);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    NEXT(accept4)
    return FAILS(EMFILE) ? -1 : next(fd, address, length, flags);
}

int epoll_create1(int flags)
{
    NEXT(epoll_create1)
    return FAILS(EMFILE) ? -1 : next(flags);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    NEXT(epoll_ctl)
    return operation == EPOLL_CTL_ADD && FAILS(ENOMEM) ? -1 : next(epoll, operation, fd, event);
}

int eventfd(unsigned value, int flags)
{
    NEXT(eventfd)
    return FAILS(EMFILE) ? -1 : next(value, flags);
}

int timerfd_create(int clock, int flags)
{
    NEXT(timerfd_create)
    return FAILS(EMFILE) ? -1 : next(clock, flags);
}

/* Descriptors in a message that find no room are dropped, and the message says so. */
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    NEXT(recvmsg)
    size_t room_bytes = message->msg_controllen;
    ssize_t got = next(fd, message, flags);
    if (got < 0 || room_bytes == 0 || message->msg_controllen == 0 || !FAILS(EMFILE)) return got;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        int *fds = (int *)(void *)CMSG_DATA(part);
        size_t n = part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS
                       ? (part->cmsg_len - CMSG_LEN(0)) / sizeof *fds
                       : 0;
        for (size_t i = 0; i < n; i++) close(fds[i]);
    }
    message->msg_controllen = 0;
    message->msg_flags |= MSG_CTRUNC;
    return got;
}
