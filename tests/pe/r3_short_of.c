/* R3: a start that fails on one PE, because it may have few descriptors or little address space, fails on all PEs, and
 * init returns that to each of them, or the job ends. In jobs that start, a barrier. Arguments: the limit (nofile or
 * as), its value (as: MiB more than the process has before init), and the PE. */
#include "check.h"

#include <sys/resource.h>

static int my_number(void)
{
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK", "RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
    return 0;
}

static rlim_t address_space_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

int main(int n_args, char **args)
{
    CHECK_EQ(n_args, 4);
    int provided, resource = strcmp(args[1], "as") == 0 ? RLIMIT_AS : RLIMIT_NOFILE;
    rlim_t value = strtoul(args[2], NULL, 0);
    if (resource == RLIMIT_AS) value = address_space_bytes() + (value << 20);
    pe_deadline(PE_DEADLINE_S);
    if (my_number() == atoi(args[3])) CHECK_EQ(setrlimit(resource, &(struct rlimit){value, value}), 0);
    if (shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0) return 3;
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
