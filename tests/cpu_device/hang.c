/* tests/cpu_device/hang.c: PE 0's kernel requests what PE 1, which is stopped, does not reply to: for a report of the
 * reason.
 *     hang CASE: fetch or quiet */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <signal.h>
#include <string.h>

static long *word;

static void fetch(void *unused)
{
    (void)unused;
    for (;;) (void)nvshmem_long_g(word, 1);
}

static void put_and_quiet(void *unused)
{
    (void)unused;
    for (;;) {
        nvshmem_long_atomic_add(word, 1, 1);
        nvshmem_quiet();
    }
}

/* The contexts that serve kernels connect: a call that connects is no wait for a completion. */
static void connect_all(void *unused)
{
    (void)unused;
    (void)nvshmem_long_g(word, 1 - nvshmem_my_pe());
    nvshmem_long_atomic_add(word, 1, 1 - nvshmem_my_pe());
    nvshmem_quiet();
}

int main(int argc, char **argv)
{
    nvshmem_init();
    word = nvshmem_calloc(1, sizeof *word);
    if (isthmus_cpu_launch(1, 1, connect_all, NULL) != 0) return 1;
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 1) raise(SIGSTOP);
    return isthmus_cpu_launch(1, 1, argc > 1 && strcmp(argv[1], "fetch") == 0 ? fetch : put_and_quiet, NULL);
}
