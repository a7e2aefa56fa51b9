/* tools/isthmus-perf/facts.c: see facts.h. */
#include "tools/isthmus-perf/facts.h"

#include <dirent.h>
#include <sched.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files of /sys ---- */

static bool read_number(const char *path, double *out)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    bool is_read = fscanf(file, "%lf", out) == 1;
    fclose(file);
    return is_read;
}

/* The node of processor `cpu`: the link node<N> in its folder. */
static int node_of_cpu(int cpu)
{
    char path[64];
    int node = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d", cpu);
    DIR *folder = opendir(path);
    for (struct dirent *entry; node < 0 && folder != NULL && (entry = readdir(folder)) != NULL;)
        if (sscanf(entry->d_name, "node%d", &node) != 1) node = -1;
    if (folder != NULL) closedir(folder);
    return node;
}

/* A port that is up has state 4. Returns its rate, which is in Gb/s there; 0: it is not up. */
static double rate_of_port(const char *name, int port)
{
    char path[320];
    double state = 0, rate = 0;
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%d/state", name, port);
    if (!read_number(path, &state) || (int)state != 4) return 0;
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%d/rate", name, port);
    (void)read_number(path, &rate);
    return rate * 1e9 / 8;
}

static void add_adapter(struct pe_facts *out, const char *name)
{
    enum { MOST_PORTS = 2 };
    char path[320];
    double rate = 0, node = -1;
    for (int port = 1; port <= MOST_PORTS && rate <= 0; port++) rate = rate_of_port(name, port);
    if (rate <= 0) return;
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/device/numa_node", name);
    (void)read_number(path, &node);
    out->adapter_node = out->n_adapters == 0 || out->adapter_node == (int)node ? (int)node : -1;
    out->n_adapters++;
    if (rate > out->adapter_bytes_per_s) out->adapter_bytes_per_s = rate;
}

static void find_adapters(struct pe_facts *out)
{
    DIR *folder = opendir("/sys/class/infiniband");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') add_adapter(out, entry->d_name);
    if (folder != NULL) closedir(folder);
}

/* ---- the PEs of this host ---- */

/* Collective. The processors that any PE of this host may use. */
static int count_cpus_of_host(void)
{
    enum { WORDS = sizeof(cpu_set_t) / sizeof(unsigned long) };
    static unsigned long own[WORDS], all[WORDS]; /* symmetric */
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    memcpy(own, &set, sizeof own);
    shmem_ulong_or_reduce(SHMEMX_TEAM_NODE, all, own, WORDS);
    memcpy(&set, all, sizeof set);
    return CPU_COUNT(&set);
}

static int bound_node = -1; /* symmetric */

static int find_bound_node(void)
{
    cpu_set_t set;
    int found = -1;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &set)) continue;
        int node = node_of_cpu((int)cpu);
        if (node < 0 || (found >= 0 && node != found)) return -1;
        found = node;
    }
    return found;
}

int facts_bound_node_of(int pe) { return shmem_int_g(&bound_node, pe); }

void facts_gather(struct pe_facts *out)
{
    bound_node = find_bound_node(); /* other PEs read it once this one has counted with them */
    *out = (struct pe_facts){.adapter_node = -1};
    snprintf(out->host, sizeof out->host, "%s", shmemx_nodename());
    out->numa_node = node_of_cpu(sched_getcpu());
    out->first_pe_of_host = shmem_team_translate_pe(SHMEMX_TEAM_NODE, 0, SHMEM_TEAM_WORLD);
    out->n_pes_on_host = shmem_team_n_pes(SHMEMX_TEAM_NODE);
    out->n_cpus_of_host = count_cpus_of_host();
    out->n_cpus_online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&out->load, 1) != 1) out->load = 0;
    find_adapters(out);
}
