/* tests/profile/known_device.c: calls on streams and from kernels whose numbers and bytes profile.py knows, by each PE
 * alike. "streams": on the default stream, whose platform executes some and a thread of the library the others;
 * "kernel": from a kernel of the CPU device. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <string.h>

enum { WORDS = 100, N_PUTS = 5, N_P = 3, N_SIGNALS = 4 };

static uint64_t *words, *source, *signal_word; /* symmetric */
static int next;

static void put_into_stream(void)
{
    static uint64_t private_words[8];
    for (int i = 0; i < N_PUTS; i++) nvshmemx_uint64_put_on_stream(words, source, WORDS, next, 0);
    for (int i = 0; i < N_P; i++) nvshmemx_uint64_p_on_stream(words, 1, next, 0);
    for (int i = 0; i < N_SIGNALS; i++) nvshmemx_signal_op_on_stream(signal_word, 1, NVSHMEM_SIGNAL_ADD, next, 0);
    nvshmemx_signal_wait_until_on_stream(signal_word, NVSHMEM_CMP_GE, N_SIGNALS, 0);
    nvshmemx_uint64_iget_on_stream(private_words, words, 1, 2, 8, next, 0); /* by a thread */
    nvshmemx_quiet_on_stream(0);
}

static void kernel(void *argument)
{
    static uint64_t private_words[WORDS];
    (void)argument;
    for (int i = 0; i < N_PUTS; i++) nvshmem_uint64_put(words, private_words, WORDS, next);
    for (int i = 0; i < N_P; i++) nvshmem_uint64_p(words, 1, next);
    for (int i = 0; i < N_SIGNALS; i++) (void)nvshmem_uint64_atomic_fetch_add(signal_word, 1, next);
    nvshmem_quiet();
}

int main(int argc, char **argv)
{
    int status = 0;
    nvshmem_init();
    next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    words = nvshmem_calloc(WORDS, sizeof *words);
    source = nvshmem_calloc(WORDS, sizeof *source);
    signal_word = nvshmem_calloc(1, sizeof *signal_word);
    if (argc > 1 && strcmp(argv[1], "kernel") == 0)
        status = isthmus_cpu_launch(1, 1, kernel, NULL);
    else
        put_into_stream();
    nvshmem_barrier_all();
    nvshmem_finalize();
    return status == 0 ? 0 : 1;
}
