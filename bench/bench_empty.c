/* init and finalize, and nothing between: startup.py measures its time.
 * With the argument "memory" each PE reads its private memory after init, and PE 0 prints the largest.
 * Read on: startup.py; bare_pmix.c is its reference. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { PES_MAX = 1024 };

static long private_kib_of[PES_MAX];

/* Returns the pages that no other process maps: those count for this PE alone. Returns -1 if the system does not report
 * them. */
static long private_kib(void)
{
    char line[256];
    long total_kib = 0, kib;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    if (!rollup) return -1;
    while (fgets(line, sizeof line, rollup))
        if (sscanf(line, "Private_Clean: %ld", &kib) == 1 || sscanf(line, "Private_Dirty: %ld", &kib) == 1)
            total_kib += kib;
    fclose(rollup);
    return total_kib;
}

static void report_memory(void)
{
    int n_pes = shmem_n_pes();
    long mine_kib = private_kib(), largest_kib = 0;
    if (n_pes > PES_MAX || mine_kib < 0) return;
    shmem_long_p(&private_kib_of[shmem_my_pe()], mine_kib, 0);
    shmem_barrier_all();
    for (int pe = 0; pe < n_pes; pe++)
        if (private_kib_of[pe] > largest_kib) largest_kib = private_kib_of[pe];
    if (shmem_my_pe() == 0)
        printf("row\tprivate memory per PE, %d PEs\t%.4g\t-\t-\t4\tMiB\n", n_pes, (double)largest_kib / 1024);
}

int main(int argc, char **argv)
{
    shmem_init();
    if (argc > 1 && strcmp(argv[1], "memory") == 0) report_memory();
    shmem_finalize();
    return 0;
}
