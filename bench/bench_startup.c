/* The cost of a PE's start and end, in things that grow with the number of hosts: values requested from the launcher,
 * cards of other PEs among them, and connections. It counts them by replacing the functions of those names. One line
 * for each PE: processor time in us, gets, cards, connections made and taken.
 * Read on: hosts.py, which runs this on more and more hosts. */
#include <dlfcn.h>
#include <pmix.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define COUNTED __attribute__((visibility("default")))

static struct {
    int gets, cards, connects, accepts;
} n;

/* POSIX: dlsym's objects and functions have one kind of address. */
static void find(void *function, const char *name) { *(void **)function = dlsym(RTLD_NEXT, name); }

static void count(int *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

COUNTED pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[], size_t n_info,
                               pmix_value_t **value)
{
    pmix_status_t (*next)(const pmix_proc_t *, const char[], const pmix_info_t[], size_t, pmix_value_t **);
    find(&next, "PMIx_Get");
    count(&n.gets);
    if (strncmp(key, "isthmus.card", 12) == 0) count(&n.cards);
    return next(proc, key, info, n_info, value);
}

COUNTED int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t);
    find(&next, "connect");
    if (address->sa_family != AF_UNIX) count(&n.connects);
    return next(fd, address, length);
}

COUNTED int accept(int fd, struct sockaddr *address, socklen_t *length)
{
    int (*next)(int, struct sockaddr *, socklen_t *);
    find(&next, "accept");
    int connection = next(fd, address, length);
    if (connection >= 0) count(&n.accepts);
    return connection;
}

int main(void)
{
    struct rusage usage;
    shmem_init();
    int pe = shmem_my_pe();
    shmem_finalize();
    getrusage(RUSAGE_SELF, &usage);
    long cpu_us = 1000000 * (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + usage.ru_utime.tv_usec +
                  usage.ru_stime.tv_usec;
    printf("cost\t%d\t%ld\t%d\t%d\t%d\t%d\n", pe, cpu_us, n.gets, n.cards, n.connects, n.accepts);
    return 0;
}
