/* tools/isthmus-perf/start.c: see start.h. */
#include "tools/isthmus-perf/start.h"

#include <errno.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0';
}

/* The variables of the launchers that the library starts under, and of those that it refuses with a remedy. The names
 * RANK and WORLD_SIZE are set elsewhere too: a job of torchrun has an address as well. */
int start_launcher_pe(void)
{
    enum { OTHERS = 3 };
    static const struct {
        const char *pe, *others[OTHERS];
    } launchers[] = {
        {"PMIX_RANK", {"PMIX_NAMESPACE"}},
        {"PMI_RANK", {NULL}},
        {"PMI_ID", {NULL}},
        {"SLURM_PROCID", {"SLURM_STEP_NUM_TASKS"}},
        {"RANK", {"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}},
        {"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}},
    };
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        bool has_all = is_set(launchers[i].pe);
        for (int other = 0; other < OTHERS && launchers[i].others[other] != NULL; other++)
            has_all = has_all && is_set(launchers[i].others[other]);
        if (has_all) return atoi(getenv(launchers[i].pe));
    }
    return -1;
}

void start_under_launcher(char **argv)
{
    char self[4096], launcher[sizeof self + 16], n_option[] = "-n", two[] = "2";
    char progress_option[] = "--progress", place[] = "place";
    int argc = 0;
    while (argv[argc] != NULL) argc++;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char **args = calloc((size_t)argc + 6, sizeof *args);
    if (length < 0 || args == NULL) {
        fprintf(stderr, "isthmus-perf: readlink(/proc/self/exe): %s\n", strerror(errno));
        free(args);
        return;
    }
    self[length] = '\0';
    snprintf(launcher, sizeof launcher, "%.*s/isthmus-run", (int)(strrchr(self, '/') - self), self);
    args[0] = launcher;
    args[1] = n_option;
    args[2] = two;
    args[3] = self;
    int n_args = 4;
    if (isatty(STDERR_FILENO)) { /* the PEs have a pipe, which the launcher forwards */
        args[n_args++] = progress_option;
        args[n_args++] = place; /* before the user's own --progress, as the last one holds */
    }
    memcpy(args + n_args, argv + 1, (size_t)(argc - 1) * sizeof *args);
    execv(launcher, args);
    fprintf(stderr, "isthmus-perf: %s: %s; start isthmus-perf by a launcher, with 2 or more PEs\n", launcher,
            strerror(errno));
    free(args);
}

/* A kind of device that the environment names is more exact than "device". */
void start_choose_memory(const struct options *options)
{
    const char *kind = getenv("ISTHMUS_HEAP_KIND");
    bool is_device = kind != NULL && strcmp(kind, "host") != 0 && strcmp(kind, "auto") != 0;
    if (options->memory == MEMORY_HOST)
        setenv("ISTHMUS_HEAP_KIND", "host", 1);
    else if (!is_device)
        setenv("ISTHMUS_HEAP_KIND", "device", 1);
}

static unsigned long hash_of(int argc, char **argv)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 1; i < argc; i++)
        for (const char *at = argv[i];; at++) {
            hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
            if (*at == '\0') break;
        }
    return hash;
}

/* Returns the first PE whose command line is not PE 0's, or the number of PEs. */
static int find_other(int argc, char **argv)
{
    static unsigned long mine, first;
    static int other, lowest;
    mine = hash_of(argc, argv);
    shmem_ulong_broadcast(SHMEM_TEAM_WORLD, &first, &mine, 1, 0);
    other = mine == first ? shmem_n_pes() : shmem_my_pe();
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &lowest, &other, 1);
    return lowest;
}

bool start_on_all(bool value)
{
    static int mine, all;
    mine = value;
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    value = all != 0;
    shmem_sync_all(); /* before the next call writes it */
    return value;
}

long start_share(long value, int lead)
{
    static long mine, all;
    mine = value;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &all, &mine, 1, lead);
    value = all;
    shmem_sync_all(); /* before the next call writes it */
    return value;
}

void start_check_job(int argc, char **argv, struct options *options)
{
    int n_pes = shmem_n_pes(), other = find_other(argc, argv);
    if (other < n_pes) {
        options->refusal[0] = '\0'; /* that of this PE's own arguments */
        options_refuse(options, "PE %d has other arguments than PE 0; pass the same to all PEs", other);
    } else if (n_pes < 2) {
        options_refuse(options, "the job has one PE; start two or more, as isthmus-run -n 2 isthmus-perf");
    } else if (!options->is_all_pairs && (options->from >= n_pes || options->to >= n_pes)) {
        options_refuse(options, "--pes is %d,%d in a job of %d PEs; accepted: 0 to %d", options->from, options->to,
                       n_pes, n_pes - 1);
    }
}
