/* tests/doubles/host/calls.c: calls that fail or take long on the machine, as its row says. host_call() serves the
 * other files too. */
#include "tests/doubles/host/host.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Reads the knob's value, "CALL NUMBER BYTES TEXT", and returns NUMBER if it means that call; otherwise -1. */
static double number_for(const struct host_knob *knob, const char *call, const char *text, uint64_t bytes)
{
    char name[24], pattern[96];
    double number;
    unsigned long long least_bytes;
    if (sscanf(knob->value, "%23s %lf %llu %95s", name, &number, &least_bytes, pattern) != 4) abort();
    bool is_meant = strcmp(name, call) == 0 && bytes >= least_bytes &&
                    (strcmp(pattern, "-") == 0 || (text != NULL && strstr(text, pattern) != NULL));
    return is_meant ? number : -1;
}

int host_call(const char *call, const char *text, uint64_t bytes)
{
    if (!host_now()->is_shown) return 0;
    int error = errno;
    for (const struct host_knob *knob = NULL; (knob = host_knob_next("slow", knob)) != NULL;) {
        double seconds = number_for(knob, call, text, bytes);
        if (seconds > 0) (void)poll(NULL, 0, (int)(seconds * 1000));
    }
    errno = error;
    for (const struct host_knob *knob = NULL; (knob = host_knob_next("fails", knob)) != NULL;) {
        double number = number_for(knob, call, text, bytes);
        if (number > 0) return errno = (int)number;
    }
    return 0;
}

/* ---- libraries ---- */

void *dlopen(const char *file, int mode)
{
    HOST_NEXT(dlopen);
    if (file != NULL && host_call("dlopen", file, 0) != 0) return next("/nowhere/library-of-this-machine.so", mode);
    return next(file, mode); /* a jump, so that libc sees the caller and its RUNPATH */
}

/* ---- memory ---- */

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    HOST_NEXT(mmap);
    if (host_call("mmap", NULL, bytes) != 0 || host_huge_map(fd, bytes, &flags) != 0) return MAP_FAILED;
    return next(address, bytes, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

int shm_open(const char *name, int flags, mode_t mode)
{
    HOST_NEXT(shm_open);
    return host_call("shm_open", name, 0) != 0 ? -1 : next(name, flags, mode);
}

/* ---- other processes ---- */

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local, const struct iovec *remote,
                         unsigned long n_remote, unsigned long flags)
{
    HOST_NEXT(process_vm_readv);
    if (host_call("process_vm_readv", NULL, 0) != 0) return -1;
    return next(pid, local, n_local, remote, n_remote, flags);
}

/* Calls that libc has no function for, or had none for when it was built. */
long syscall(long number, ...)
{
    HOST_NEXT(syscall);
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
    va_end(args);
    const char *call = number == SYS_pidfd_open ? "pidfd_open" : number == SYS_pidfd_getfd ? "pidfd_getfd" : NULL;
    if (call != NULL && host_call(call, NULL, 0) != 0) return -1;
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- sockets ---- */

int socket(int family, int type, int protocol)
{
    HOST_NEXT(socket);
    const char *name = family == AF_INET6 ? "inet6" : family == AF_INET ? "inet" : family == AF_UNIX ? "unix" : "other";
    return host_call("socket", name, 0) != 0 ? -1 : next(family, type, protocol);
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *length)
{
    HOST_NEXT(getsockopt);
    if (level == SOL_SOCKET && option == SO_PEERCRED && host_call("peercred", NULL, 0) != 0) return -1;
    return next(fd, level, option, value, length);
}
