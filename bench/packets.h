/* How many packets an operation takes, of all hosts together: counted by Soft-RoCE's devices, which belong to the one
 * machine whose namespaces are the hosts. Prints nothing where no device counts them.
 * Read on: bench.h; roce.py makes a table of it. */
#ifndef ISTHMUS_BENCH_PACKETS_H
#define ISTHMUS_BENCH_PACKETS_H

#include "bench.h"

#include <glob.h>

/* Returns how many packets all devices have sent, or -1. */
static inline long bench_packets(void)
{
    glob_t files;
    long sum = -1;
    if (glob("/sys/class/infiniband/*/ports/*/hw_counters/sent_pkts", 0, NULL, &files) != 0) return -1;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *file = fopen(files.gl_pathv[i], "r");
        long n = 0;
        if (file == NULL || fscanf(file, "%ld", &n) != 1) n = 0;
        if (file != NULL) fclose(file);
        sum = (sum < 0 ? 0 : sum) + n;
    }
    globfree(&files);
    return sum;
}

/* One batch of each side. `together` as in bench_compare(). */
static inline void bench_count_packets(const struct bench_target *target, const struct bench_row *row, bool together)
{
    double per_operation[2];
    for (int half = 0; half < 2; half++) {
        bench_batch *batch = half == 0 ? row->call : row->bare;
        if (together) shmem_barrier_all();
        long before = bench_packets();
        if (batch != NULL) batch(target, row->reps);
        per_operation[half] = (double)(bench_packets() - before) / (double)row->reps;
    }
    if (target->my_pe == 0 && bench_packets() >= 0)
        printf("packets\t%s\t%.3f\t%.3f\n", row->name, per_operation[0], per_operation[1]);
    fflush(stdout);
}

#endif
