/* The cost of a PE that has nothing to do for five seconds: the processor time of all its threads, with connections
 * open. It sleeps, so that only the runtime's own threads could run; or it waits for another PE, in wait_until or in a
 * barrier.
 * Not about how soon it wakes up.
 * Read on: hosts.py. */
#include "bench.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { IDLE_S = 5 };

static long flag;

static double cpu_now_ms(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1e3 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* PE 0 idles; PE 1 ends that, where PE 0 waits. */
static void idle(const struct bench_target *target, const char *how)
{
    if (target->my_pe == 1 || strcmp(how, "sleep") == 0) sleep(IDLE_S);
    if (strcmp(how, "wait_until") == 0 && target->my_pe == 1) shmem_long_p(&flag, 1, 0);
    if (strcmp(how, "wait_until") == 0 && target->my_pe == 0) shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    if (strcmp(how, "barrier_all") == 0) shmem_barrier_all();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "sleep";
    struct bench_target target = bench_open_anywhere(1, argv, sizeof(long));
    shmem_putmem(target.dest, target.local, sizeof(long), target.peer);
    shmem_barrier_all();
    double start_ms = cpu_now_ms();
    idle(&target, how);
    double cpu_ms = cpu_now_ms() - start_ms;
    if (target.my_pe == 0) printf("row\tCPU time of 5 s in %s\t%.4g\t-\t-\t25\tms\n", how, cpu_ms);
    return bench_close(&target);
}
