/* tests/doubles/host/seen.c: prints what libc shows of the machine, a line for each side of it. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/memfd.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void print_file(const char *path)
{
    char text[4096] = "";
    FILE *file = fopen(path, "re");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = '\0';
    for (char *c = text; (c = strchr(c, '\n')) != NULL;) *c = c[1] == '\0' ? '\0' : ';';
    printf("%s %s\n", path, file != NULL ? text : "none");
    if (file != NULL) fclose(file);
}

static void print_limits(void)
{
    static const struct {
        const char *name;
        int resource;
    } limits[] = {{"nofile", RLIMIT_NOFILE},
                  {"memlock", RLIMIT_MEMLOCK},
                  {"as", RLIMIT_AS},
                  {"fsize", RLIMIT_FSIZE},
                  {"stack", RLIMIT_STACK}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit;
        getrlimit((unsigned)limits[i].resource, &limit);
        printf("%s %llu %llu\n", limits[i].name, (unsigned long long)limit.rlim_cur,
               (unsigned long long)limit.rlim_max);
    }
}

/* The names of those that are up, in their order. */
static void print_interfaces(void)
{
    struct ifaddrs *all;
    printf("interfaces");
    if (getifaddrs(&all) != 0) {
        puts(" none");
        return;
    }
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next)
        if ((at->ifa_flags & IFF_UP) != 0 && at->ifa_addr != NULL && at->ifa_addr->sa_family == AF_INET)
            printf(" %s", at->ifa_name);
    puts("");
    freeifaddrs(all);
}

/* How far the clock of the day that libc shows is ahead of the kernel's. */
static void print_clock(void)
{
    struct timespec shown, real;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_REALTIME, &shown);
    printf("clock_ahead_s %ld\n", (long)(shown.tv_sec - real.tv_sec) / 10 * 10);
}

static void print_call(const char *name, long result) { printf("%s %d\n", name, result < 0 ? errno : 0); }

static void print_calls(void)
{
    char byte = 0, copy;
    struct iovec from = {&byte, 1}, to = {&copy, 1};
    struct ucred peer;
    socklen_t length = sizeof peer;
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    print_call("memfd_create", memfd_create("seen", MFD_CLOEXEC));
    print_call("huge_2m", memfd_create("seen", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB));
    print_call("socket(inet6)", socket(AF_INET6, SOCK_DGRAM, 0));
    print_call("process_vm_readv", process_vm_readv(getpid(), &to, 1, &from, 1, 0));
    print_call("pidfd_open", syscall(SYS_pidfd_open, getpid(), 0));
    print_call("peercred", getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &peer, &length));
    print_call("shm_open", shm_open("/isthmus-of-no-name", O_RDONLY, 0));
    print_call("mmap>1G",
               mmap(NULL, (size_t)2 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED
                   ? -1
                   : 0);
}

int main(int argc, char **argv)
{
    cpu_set_t allowed;
    char name[64];
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    gethostname(name, sizeof name);
    printf("name %s\n", name);
    printf("memory %llu\n", (unsigned long long)sysconf(_SC_PHYS_PAGES) * (unsigned long long)sysconf(_SC_PAGESIZE));
    printf("online %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
    printf("allowed %d\n", CPU_COUNT(&allowed));
    printf("pid %d\n", (int)getpid());
    for (int i = 1; i < argc; i++) print_file(argv[i]);
    print_limits();
    print_interfaces();
    print_clock();
    print_calls();
    return 0;
}
