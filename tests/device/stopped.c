/* tests/device/stopped.c: a kernel on a GPU stops for a wrong call, on the double of CUDA's driver: the library reports
 * the call, whatever the host does next. The kernel runs on the processor with the state of the GPU's module.
 *     stopped CASE [code]: finalize, exit, wait (for the other PE), fails (a call of the driver), idle (the thread that
 *     serves kernels, or the progress thread); with a code the kernel ends the job with 7 instead */
#define ISTHMUS_DEVICE_CPU
#define ISTHMUS_NO_CUDA_HEADERS /* plugins/nvlink/cuda_api.h has the types of the driver */
#include "tests/cpu_device/on_double.h"

#include <isthmus/device.h>
#include <nvshmem.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static jmp_buf stopped;

static void stop(void) { longjmp(stopped, 1); }

static void meet(int scope) { (void)scope; }

static void pause_it(void) {}

/* Thread 5 of block 7. A GPU has more threads that call so: their report is the first one's. */
static void call_wrongly(long *word, bool ends_job)
{
    static const uint32_t is_over;
    struct isthmus_cpu_thread thread = {5, 32, 7, 8, meet, pause_it, stop, &is_over};
    const int beyond = nvshmem_n_pes() + 39; /* a call of the host, which would see what kernels have reported */
    isthmus_cpu_thread_v1 = &thread;
    if (ends_job && setjmp(stopped) == 0) isthmus_dev_global_exit(7); /* nvshmem_global_exit is the host's here */
    if (setjmp(stopped) == 0) nvshmem_long_p(word, 1, beyond);
    if (setjmp(stopped) == 0) (void)nvshmem_long_g(word, -1);
    isthmus_cpu_thread_v1 = NULL;
}

int main(int argc, char **argv)
{
    const char *next = argc > 1 ? argv[1] : "finalize";
    on_double_init();
    long *word = nvshmem_calloc(2, sizeof *word);
    bool is_wrong = nvshmem_my_pe() == 0;
    nvshmem_barrier_all();
    if (is_wrong) call_wrongly(word, argc > 2);
    if (strcmp(next, "fails") == 0 && is_wrong) {
        setenv("GPU_DOUBLE_FAIL", "cuMemcpyAsync:1+:719,cuMemcpyDtoDAsync_v2:1+:719,cuCtxPushCurrent_v2:1+:719", 1);
        nvshmem_long_put(word, word + 1, 1, nvshmem_my_pe());
    }
    if (strcmp(next, "idle") == 0 || (strcmp(next, "wait") == 0 && !is_wrong)) pause();
    if (strcmp(next, "exit") == 0) return 0;
    nvshmem_finalize();
    printf("PE %d has finalised\n", is_wrong ? 0 : 1);
}
