/* Groups the allowed CPUs into cores (hardware threads of one core belong together) and gives PE i the i-th core.
 * Not hwloc: the two facts needed are the affinity mask and one small file per CPU.
 * Read on in spawn.c, which applies the set between fork and exec. */
#include "binding.h"
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_CPUS = 8192 }; /* the kernel's own limit */

static struct {
    cpu_set_t *cores[LAUNCH_MAX_PES];
    int n_cores;
} binding;

size_t binding_set_bytes(void) { return CPU_ALLOC_SIZE(MAX_CPUS); }

/* The lowest CPU of the same core, which names the core; the CPU itself if the kernel does not report it. */
static int core_of(int cpu)
{
    char path[128];
    int first = cpu;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *list = fopen(path, "re");
    if (!list) return cpu;
    if (fscanf(list, "%d", &first) != 1) first = cpu;
    fclose(list);
    return first;
}

static void add_cpu(int cpu, int *core_names)
{
    int name = core_of(cpu), i = 0;
    while (i < binding.n_cores && core_names[i] != name) i++;
    if (i == binding.n_cores) {
        if (i == LAUNCH_MAX_PES) return;
        core_names[binding.n_cores++] = name;
        binding.cores[i] = zeroed_memory(1, binding_set_bytes());
    }
    CPU_SET_S((size_t)cpu, binding_set_bytes(), binding.cores[i]);
}

void binding_plan(int n_pes)
{
    static int core_names[LAUNCH_MAX_PES];
    cpu_set_t *allowed = zeroed_memory(1, binding_set_bytes());
    if (sched_getaffinity(0, binding_set_bytes(), allowed) == 0)
        for (int cpu = 0; cpu < MAX_CPUS; cpu++)
            if (CPU_ISSET_S((size_t)cpu, binding_set_bytes(), allowed)) add_cpu(cpu, core_names);
    free(allowed);
    if (binding.n_cores >= n_pes) return;
    report("warning: --bind core has no effect: %d PEs need as many cores, and there are %d; start fewer PEs", n_pes,
           binding.n_cores);
    binding.n_cores = 0;
}

const cpu_set_t *binding_of(int pe) { return pe < binding.n_cores ? binding.cores[pe] : NULL; }
