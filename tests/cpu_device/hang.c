/* tests/cpu_device/hang.c: PE 0's kernel requests what PE 1, which is stopped, does not reply to: for a report of the
 * reason.
 *     hang CASE: fetch, quiet, or connect: a nonblocking put, which has to connect first */
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

static void put_nbi(void *unused)
{
    (void)unused;
    nvshmem_putmem_nbi(word, word + 1, sizeof *word, 1);
    nvshmem_quiet();
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
    word = nvshmem_calloc(2, sizeof *word);
    const char *which = argc > 1 ? argv[1] : "quiet";
    isthmus_cpu_kernel kernel = strcmp(which, "fetch") == 0     ? fetch
                                : strcmp(which, "connect") == 0 ? put_nbi
                                                                : put_and_quiet;
    if (kernel != put_nbi && isthmus_cpu_launch(1, 1, connect_all, NULL) != 0) return 1;
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 1) raise(SIGSTOP);
    return isthmus_cpu_launch(1, 1, kernel, NULL);
}
