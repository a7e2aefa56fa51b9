/* tests/doubles/host/machine.c: memory and processors of the machine, as libc shows them. Binding to a processor that
 * the machine has is accepted and remembered; the thread still runs where the real machine lets it. */
#include "tests/doubles/host/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- memory ---- */

/* The size of a page as the machine shows it to Isthmus alone: UCX changes the protection of real pages. */
static long page_bytes_for(const void *caller, long real_bytes)
{
    Dl_info library;
    const struct host_knob *page = host_knob_next("page_bytes", NULL);
    if (page == NULL || dladdr(caller, &library) == 0) return real_bytes;
    const char *file = strrchr(library.dli_fname, '/'), *folder = strstr(library.dli_fname, "/isthmus/");
    bool is_isthmus = folder != NULL || (file != NULL && (strncmp(file, "/libisthmus", 11) == 0 ||
                                                          strncmp(file, "/isthmus-info", 13) == 0));
    return is_isthmus ? atol(page->value) : real_bytes;
}

long sysconf(int name)
{
    HOST_NEXT(sysconf);
    const struct host *host = host_now();
    if (!host->is_shown) return next(name);
    long page_bytes = page_bytes_for(__builtin_return_address(0), next(_SC_PAGESIZE));
    switch (name) {
    case _SC_PAGESIZE: return page_bytes;
    case _SC_PHYS_PAGES: return (long)(host->memory_bytes / (uint64_t)page_bytes);
    case _SC_AVPHYS_PAGES: return (long)(host->memory_bytes / (uint64_t)page_bytes / 2);
    case _SC_NPROCESSORS_CONF: return host->n_present;
    case _SC_NPROCESSORS_ONLN: return host->n_online;
    default: return next(name);
    }
}

long get_phys_pages(void) { return sysconf(_SC_PHYS_PAGES); }
long get_avphys_pages(void) { return sysconf(_SC_AVPHYS_PAGES); }
int get_nprocs(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
int get_nprocs_conf(void) { return (int)sysconf(_SC_NPROCESSORS_CONF); }

int sysinfo(struct sysinfo *out)
{
    HOST_NEXT(sysinfo);
    const struct host *host = host_now();
    int result = next(out);
    if (result != 0 || !host->is_shown) return result;
    out->totalram = host->memory_bytes / out->mem_unit;
    out->freeram = out->totalram / 2;
    return result;
}

/* ---- processors ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cpu_set_t bound; /* what the process has asked for; none: the machine's */

static void read_affinity(cpu_set_t *out)
{
    pthread_mutex_lock(&lock);
    *out = CPU_COUNT(&bound) > 0 ? bound : host_now()->allowed;
    pthread_mutex_unlock(&lock);
}

/* Returns 0 or an error number. As the kernel: a set without any processor that is allowed is refused. */
static int write_affinity(size_t bytes, const cpu_set_t *in)
{
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    memcpy(&wanted, in, bytes < sizeof wanted ? bytes : sizeof wanted);
    CPU_AND(&wanted, &wanted, &host_now()->allowed);
    if (CPU_COUNT(&wanted) == 0) return EINVAL;
    pthread_mutex_lock(&lock);
    bound = wanted;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int show_affinity(size_t bytes, cpu_set_t *out)
{
    cpu_set_t mine;
    read_affinity(&mine);
    if (bytes < sizeof mine && host_now()->n_present > (int)(8 * bytes)) return EINVAL;
    memset(out, 0, bytes);
    memcpy(out, &mine, bytes < sizeof mine ? bytes : sizeof mine);
    return 0;
}

static int fail(int error)
{
    if (error != 0) errno = error;
    return error == 0 ? 0 : -1;
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *out)
{
    HOST_NEXT(sched_getaffinity);
    return host_now()->is_shown ? fail(show_affinity(bytes, out)) : next(pid, bytes, out);
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *in)
{
    HOST_NEXT(sched_setaffinity);
    return host_now()->is_shown ? fail(write_affinity(bytes, in)) : next(pid, bytes, in);
}

int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *out)
{
    HOST_NEXT(pthread_getaffinity_np);
    return host_now()->is_shown ? show_affinity(bytes, out) : next(thread, bytes, out);
}

int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *in)
{
    HOST_NEXT(pthread_setaffinity_np);
    return host_now()->is_shown ? write_affinity(bytes, in) : next(thread, bytes, in);
}

/* The processor on which the thread runs: the first one that it may use. */
int sched_getcpu(void)
{
    HOST_NEXT(sched_getcpu);
    if (!host_now()->is_shown) return next();
    cpu_set_t mine;
    read_affinity(&mine);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &mine)) cpu++;
    return (int)cpu;
}

int getcpu(unsigned *cpu, unsigned *node)
{
    HOST_NEXT(getcpu);
    if (!host_now()->is_shown) return next(cpu, node);
    unsigned mine = (unsigned)sched_getcpu(), n = 0;
    const struct host_knob *knob = NULL;
    cpu_set_t of_node;
    for (; (knob = host_knob_next("node", knob)) != NULL; n++) {
        host_read_list(knob->value, &of_node);
        if (CPU_ISSET(mine, &of_node)) break;
    }
    if (cpu != NULL) *cpu = mine;
    if (node != NULL) *node = n;
    return 0;
}

/* ---- its name ---- */

int gethostname(char *out, size_t room)
{
    HOST_NEXT(gethostname);
    if (!host_now()->is_shown) return next(out, room);
    strncpy(out, host_now()->name, room);
    return strlen(host_now()->name) < room ? 0 : fail(ENAMETOOLONG);
}

int uname(struct utsname *out)
{
    HOST_NEXT(uname);
    int result = next(out);
    if (result == 0 && host_now()->is_shown) strncpy(out->nodename, host_now()->name, sizeof out->nodename - 1);
    return result;
}
