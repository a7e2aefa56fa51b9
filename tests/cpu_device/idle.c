/* tests/cpu_device/idle.c: idle THREADS [DRIVER loaded|absent]: a program of NVSHMEM with kernels on processors or,
 * with -DWITHOUT_KERNELS, one of OpenSHMEM, has so many threads for requests of kernels, and no driver of a GPU unless
 * its heap lies there. (One of NVSHMEM may pass memory of a GPU at any time, so that it has the driver.) */
#ifdef WITHOUT_KERNELS
#include <shmem.h>
#define API(name) shmem_##name
#else
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#define API(name) nvshmem_##name
#endif
#include "process.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 4) return 2;
    API(init)();
    int me = API(my_pe)(), right = (me + 1) % API(n_pes)();
    long *word = API(calloc)(1, sizeof *word);
    API(long_p)(word, me, right);
    API(barrier_all)();
    int n = count_threads("isthmus proxy"), n_closers = count_threads("isthmus closer");
    int has_driver = argc > 2 && is_loaded(argv[2]), is_expected = argc > 2 && strcmp(argv[3], "loaded") == 0;
    int n_faults = (n != atoi(argv[1])) + (n_closers != 0) + (has_driver != is_expected);
    if (n_faults > 0)
        fprintf(stderr, "PE %d: %d threads for kernels, expected %s; %d that complete; the driver is %s\n", me, n,
                argv[1], n_closers, has_driver ? "loaded" : "absent");
    API(barrier_all)();
    API(finalize)();
    return n_faults != 0;
}
