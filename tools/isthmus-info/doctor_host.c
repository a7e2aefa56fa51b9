/* tools/isthmus-info/doctor_host.c: what every job needs of a host: processors, clock, memory, limits, and ways for
 * its PEs to share memory with each other. */
#include "tools/isthmus-info/doctor.h"
#include "tools/isthmus-info/info.h"

#include "core/boot/launcher.h"
#include "core/topo/topo.h"

#include <errno.h>
#include <inttypes.h>
#include <pmix.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char host[] = "host";

/* ---- processors and time ---- */

static void check_processors(void)
{
    static const char name[] = "processors";
    cpu_set_t allowed;
    int n_online = ist_topo_cpus();
    int n_allowed = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : n_online;
    uint64_t percent = ist_cgroup_cpu_percent("");
    if (percent < 100 * (uint64_t)n_allowed)
        doctor_fault(VERDICT_DEGRADED, host, name, "start the container with as many processors as PEs (--cpus)",
                     "the cgroup's cpu.max grants %.2f of %d processors: PEs that poll use that time up",
                     (double)percent / 100, n_allowed);
    else if (n_allowed == 1)
        doctor_fault(VERDICT_DEGRADED, host, name,
                     "give the job more processors (mpirun --bind-to none, taskset, --cpus)",
                     "this process may use 1 of %d: PEs wait for each other's turns", n_online);
    else
        doctor_pass(host, name, "%d of %d may be used", n_allowed, n_online);
}

static void check_clock(void)
{
    static const char name[] = "clock";
    static const char file[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char source[64];
    if (!doctor_read_line(file, source, sizeof source))
        doctor_pass(host, name, "%s cannot be read: %s", file, strerror(errno));
    else if (strcmp(source, "hpet") == 0 || strcmp(source, "acpi_pm") == 0 || strcmp(source, "jiffies") == 0)
        doctor_fault(VERDICT_DEGRADED, host, name, "boot with tsc=reliable where the processor's counter is stable",
                     "the kernel's clock is %s, whose reading takes a microsecond and a system call", source);
    else
        doctor_pass(host, name, "the kernel's clock is %s, read without a system call", source);
}

/* ---- memory ---- */

static void check_memory(const struct ist_config *config)
{
    static const char name[] = "memory";
    uint64_t usable = ist_topo_memory_bytes(), used = 0, heap = config->heap_size_bytes;
    doctor_read_number("/sys/fs/cgroup/memory.current", &used);
    long pages = sysconf(_SC_PHYS_PAGES);
    bool is_limited = pages > 0 && usable < (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    const char *of = is_limited ? "the limit of the cgroup" : "the memory of this host";
    if (heap > usable)
        doctor_fault(VERDICT_FAIL, host, name, "lower ISTHMUS_HEAP_SIZE, or raise the container's limit",
                     "%s is %s, and ISTHMUS_HEAP_SIZE asks for %s in each PE", of, human_bytes(usable),
                     human_bytes(heap));
    else if (is_limited && usable - (used < usable ? used : usable) < usable / 8)
        doctor_fault(VERDICT_DEGRADED, host, name, "raise the container's limit, or end what uses its memory",
                     "%s is %s, of which %s are used: a heap that grows is ended by the kernel", of,
                     human_bytes(usable), human_bytes(used));
    else
        doctor_pass(host, name, "%s is %s", of, human_bytes(usable));
}

static void check_huge_pages(const struct ist_config *config)
{
    static const char name[] = "huge pages";
    char shmem[96];
    uint64_t n_free = 0;
    bool is_1g = config->heap_pages == IST_PAGES_1G;
    const char *size = is_1g ? "1 GiB" : "2 MiB";
    doctor_read_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled", shmem, sizeof shmem);
    doctor_read_number(is_1g ? "/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages"
                             : "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
                       &n_free);
    if (config->heap_pages != 0 && n_free == 0)
        doctor_fault(VERDICT_FAIL, host, name,
                     is_1g ? "boot with hugepagesz=1G hugepages=N, or unset ISTHMUS_HEAP_PAGES"
                           : "sysctl vm.nr_hugepages=N, or unset ISTHMUS_HEAP_PAGES",
                     "ISTHMUS_HEAP_PAGES is set, and no huge page of %s is free", size);
    else
        doctor_pass(host, name,
                    "%" PRIu64 " of %s are free; ISTHMUS_HEAP_PAGES %s; transparent ones for shared memory: %s", n_free,
                    size, config->heap_pages != 0 ? "requests them" : "does not request them",
                    shmem[0] != '\0' ? shmem : "unknown");
}

/* ---- limits of the process ---- */

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    return getrlimit((unsigned)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

static void check_files(void)
{
    enum { FEW = 256 };
    static const char name[] = "open files";
    uint64_t limit = limit_of(RLIMIT_NOFILE);
    if (limit < FEW)
        doctor_fault(VERDICT_DEGRADED, host, name, "ulimit -n 65536",
                     "the limit is %" PRIu64 ": a PE has some descriptors for each PE of its host that it uses", limit);
    else
        doctor_pass(host, name, "the limit is %" PRIu64, limit);
}

static void check_file_size(const struct ist_config *config)
{
    static const char name[] = "file size";
    uint64_t limit = limit_of(RLIMIT_FSIZE), heap = config->heap_size_bytes;
    if (limit == UINT64_MAX)
        doctor_pass(host, name, "no limit; the heap is a file in memory");
    else
        doctor_fault(heap > limit || limit < (1 << 20) ? VERDICT_FAIL : VERDICT_DEGRADED, host, name,
                     "ulimit -f unlimited", "the limit is %s, and the heap is a file in memory that grows",
                     human_bytes(limit));
}

static void check_threads(void)
{
    enum { FEW = 64 };
    static const char name[] = "threads";
    uint64_t limit = limit_of(RLIMIT_NPROC), most = UINT64_MAX, now = 0;
    bool is_limited = doctor_read_number("/sys/fs/cgroup/pids.max", &most) && most != UINT64_MAX &&
                      doctor_read_number("/sys/fs/cgroup/pids.current", &now);
    if (is_limited && most < now + FEW)
        doctor_fault(VERDICT_DEGRADED, host, name, "raise the container's limit (--pids-limit)",
                     "the cgroup has %" PRIu64 " of at most %" PRIu64 " processes and threads", now, most);
    else if (limit < FEW && geteuid() != 0)
        doctor_fault(VERDICT_DEGRADED, host, name, "ulimit -u 4096",
                     "the user may have %" PRIu64 " processes and threads, and each PE has one or two threads more",
                     limit);
    else
        doctor_pass(host, name, "no low limit of processes and threads");
}

/* ---- PEs of one host share memory: by sockets, or by taking descriptors from each other ---- */

static bool can_make_shared_memory(void)
{
    int fd = memfd_create("isthmus-doctor", MFD_CLOEXEC);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static bool can_use_sockets(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* From the process itself, which every tracer may do: whether kernel and sandbox have the call at all. */
static bool has_pidfd_getfd(void)
{
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int fd = pidfd >= 0 ? (int)syscall(SYS_pidfd_getfd, pidfd, pidfd, 0) : -1;
    if (fd >= 0) close(fd);
    if (pidfd >= 0) close(pidfd);
    return fd >= 0;
}

static void check_sharing(void)
{
    static const char name[] = "sharing";
    uint64_t ptrace_scope = 0;
    bool sockets = can_use_sockets(), pidfd = has_pidfd_getfd();
    doctor_read_number("/proc/sys/kernel/yama/ptrace_scope", &ptrace_scope);
    bool takes = pidfd && (ptrace_scope == 0 || geteuid() == 0);
    char how[96];
    snprintf(how, sizeof how, "pidfd_getfd %s, kernel.yama.ptrace_scope is %" PRIu64, pidfd ? "works" : "is refused",
             ptrace_scope);
    if (!can_make_shared_memory())
        doctor_fault(VERDICT_FAIL, host, name, "allow memfd_create in the sandbox's filter of system calls",
                     "memfd_create: %s: PEs of one host cannot share their heaps", strerror(errno));
    else if (!sockets && !takes)
        doctor_fault(VERDICT_FAIL, host, name, "allow Unix sockets, or sysctl kernel.yama.ptrace_scope=0",
                     "Unix sockets are refused, and %s: a PE cannot pass its heap to another one", how);
    else if (!sockets)
        doctor_fault(VERDICT_DEGRADED, host, name, "allow Unix sockets in the sandbox's filter of system calls",
                     "Unix sockets are refused; %s", how);
    else
        doctor_pass(host, name, "memfd_create and Unix sockets work; %s", how);
}

/* The inode of the machine's first PID namespace is fixed. */
static void check_namespaces(void)
{
    enum { FIRST_PID_NAMESPACE = 0xEFFFFFFC };
    struct stat pid = {.st_ino = 0}, net = {.st_ino = 0};
    bool is_known = stat("/proc/self/ns/pid", &pid) == 0 && stat("/proc/self/ns/net", &net) == 0;
    if (!is_known)
        doctor_fault(VERDICT_DEGRADED, host, "namespaces", "mount -t proc proc /proc",
                     "/proc/self/ns cannot be read: %s", strerror(errno));
    else
        doctor_pass(host, "namespaces",
                    "network %" PRIu64 ", PIDs %" PRIu64 " (%s); PEs in one network namespace are on one host",
                    (uint64_t)net.st_ino, (uint64_t)pid.st_ino,
                    pid.st_ino == FIRST_PID_NAMESPACE ? "the machine's" : "a container's");
}

/* ---- the launcher ---- */

static void check_launcher(const struct ist_config *config)
{
    static const char name[] = "launcher";
    const char *version = PMIx_Get_version();
    int length = (int)strcspn(version, ",(");
    struct ist_launcher launcher;
    while (length > 0 && version[length - 1] == ' ') length--;
    ist_launcher_find(config->bootstrap, &launcher);
    if (config->bootstrap == IST_BOOTSTRAP_ALONE)
        doctor_pass(host, name, "%.*s; ISTHMUS_BOOTSTRAP=alone makes a job of one PE", length, version);
    else if (launcher.kind == IST_LAUNCHER_INCOMPLETE)
        doctor_fault(VERDICT_FAIL, host, name, "start the program by the launcher itself, or unset these variables",
                     "the launcher's variables name no way into its job: %s", launcher.evidence);
    else if (launcher.kind == IST_LAUNCHER_SEVERAL && !launcher.has_library)
        doctor_fault(VERDICT_FAIL, host, name, launcher.advice,
                     "%s: %s has started several processes, and names no way into its job by PMIx or PMI",
                     launcher.evidence, launcher.name);
    else if (launcher.kind != IST_LAUNCHER_NONE)
        doctor_pass(host, name, "%.*s; started by a launcher, %s: %s", length, version, launcher.name,
                    launcher.evidence);
    else
        doctor_pass(host, name, "%.*s; started without a launcher, isthmus-run needs none", length, version);
}

void doctor_host(const struct ist_config *config)
{
    check_processors();
    check_clock();
    check_memory(config);
    check_huge_pages(config);
    check_files();
    check_file_size(config);
    check_threads();
    check_sharing();
    check_namespaces();
    check_launcher(config);
}
