/* tests/cpu_device/misuse.c: kernels that call wrongly, or wait for what does not come: how the launch and the job end.
 *     misuse CASE; the cases are the names below */
#define ISTHMUS_DEVICE_CPU
#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* The engine's blocks: as many of them as n_blocks_left can be created. */
static int n_blocks_left = 100;

static int create_block(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    return n_blocks_left-- > 0 ? pthread_create(id, attributes, run, argument) : EAGAIN;
}

#define pthread_create create_block
#include <isthmus/device_cpu_launch.h>
#undef pthread_create
#include <nvshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long *word, other_memory[4];

static void put_to_no_pe(void *unused)
{
    (void)unused;
    nvshmem_long_p(word, 1, nvshmem_n_pes());
}

static long *on_the_heap; /* of libc */

static void put_elsewhere(void *unused)
{
    (void)unused;
    nvshmem_long_p(on_the_heap, 1, 1 - nvshmem_my_pe());
    nvshmem_quiet();
}

static void wrong_comparison(void *unused)
{
    (void)unused;
    nvshmem_long_wait_until(word, 17, 0);
}

static void bad_signal(void *unused)
{
    (void)unused;
    nvshmemx_signal_op((uint64_t *)(void *)word, 1, 3, 0);
}

static void wait_for_ever(void *unused)
{
    (void)unused;
    nvshmem_long_wait_until(word, NVSHMEM_CMP_EQ, 99);
}

/* One wrong call after the other, each in a launch of its own, which it stops. */
enum { PUT, PUT_BLOCK, GET, P, G, IPUT, IGET, ATOMIC, PUT_SIGNAL, SIGNAL, NO_BYTES, N_CALLS };

static struct {
    int call, pe;
    long *addr;
} wrong;

static void call_wrongly(void *unused)
{
    long one = 1;
    (void)unused;
    switch (wrong.call) {
    case PUT: nvshmem_long_put(wrong.addr, &one, 1, wrong.pe); break;
    case PUT_BLOCK: nvshmemx_long_put_nbi_block(wrong.addr, &one, 1, wrong.pe); break;
    case GET: nvshmem_long_get(&one, wrong.addr, 1, wrong.pe); break;
    case P: nvshmem_long_p(wrong.addr, 1, wrong.pe); break;
    case G: (void)nvshmem_long_g(wrong.addr, wrong.pe); break;
    case IPUT: nvshmem_long_iput(wrong.addr, &one, 1, 1, 1, wrong.pe); break;
    case IGET: nvshmem_long_iget(&one, wrong.addr, 1, 1, 1, wrong.pe); break;
    case ATOMIC: (void)nvshmem_long_atomic_fetch_add(wrong.addr, 1, wrong.pe); break;
    case PUT_SIGNAL:
        nvshmem_long_put_signal(wrong.addr, &one, 1, (uint64_t *)(void *)word, 1, NVSHMEM_SIGNAL_SET, wrong.pe);
        break;
    case SIGNAL: nvshmemx_signal_op((uint64_t *)(void *)wrong.addr, 1, NVSHMEM_SIGNAL_SET, wrong.pe); break;
    default: nvshmem_putmem(NULL, NULL, 0, wrong.pe); break;
    }
}

/* Returns 0 if each of them stopped its launch, and stored nothing. */
static int call_all_wrongly(void)
{
    int n_faults = 0, me = nvshmem_my_pe();
    for (wrong.call = 0; wrong.call < N_CALLS; wrong.call++) {
        wrong.addr = word, wrong.pe = nvshmem_n_pes();
        n_faults += isthmus_cpu_launch(1, 2, call_wrongly, NULL) != -1;
        wrong.pe = -1;
        n_faults += isthmus_cpu_launch(1, 2, call_wrongly, NULL) != -1;
        /* Through the ring the host checks the address, and ends the job. Without bytes there is none. */
        if (isthmus_device_v1.n_ring_pes > 0 || wrong.call == NO_BYTES) continue;
        wrong.addr = on_the_heap, wrong.pe = me == 0;
        n_faults += isthmus_cpu_launch(1, 2, call_wrongly, NULL) != -1;
    }
    nvshmem_barrier_all();
    n_faults += *word != 0;
    nvshmem_finalize();
    return n_faults;
}

/* PE 1 is killed while the kernels of PE 0 update its memory, and its own wait. */
static void kill_while_fetching(void *unused)
{
    (void)unused;
    while (nvshmem_my_pe() == 0) (void)nvshmem_long_atomic_fetch_add(word, 1, 1);
    nvshmem_long_wait_until(word, NVSHMEM_CMP_GE, 1000);
    kill(getpid(), SIGKILL);
}

/* The others wait for what the thread would have done: all of them for a value, and on PE 1 one for PE 0's part of a
 * sync. */
static void one_is_wrong(void *unused)
{
    (void)unused;
    if (isthmus_dev_thread_rank() == 0 && isthmus_dev_block_rank() == (uint32_t)nvshmem_my_pe()) put_to_no_pe(NULL);
    if (isthmus_dev_thread_rank() == 0 && isthmus_dev_block_rank() == 0) nvshmem_sync_all();
    wait_for_ever(NULL);
}

/* Every block of the launch waits for all of them. */
static void meet_blocks(void *unused)
{
    (void)unused;
    nvshmem_long_atomic_inc(word, nvshmem_my_pe());
    nvshmem_long_wait_until(word, NVSHMEM_CMP_EQ, 4);
}

/* No address is looked at. */
static void move_nothing(void *unused)
{
    int pe = 1 - nvshmem_my_pe();
    (void)unused;
    nvshmem_putmem(NULL, NULL, 0, pe);
    nvshmem_getmem_nbi(NULL, NULL, 0, pe);
    nvshmemx_putmem_block(NULL, NULL, 0, pe);
    nvshmem_long_iput(NULL, NULL, 1, 1, 0, pe);
    nvshmem_long_iget(NULL, NULL, 2, 2, 0, pe);
    nvshmemx_putmem_signal_block(NULL, NULL, 0, (uint64_t *)(void *)word, 1, NVSHMEM_SIGNAL_ADD, pe);
    nvshmem_long_wait_until(word, NVSHMEM_CMP_EQ, 2); /* one from each block */
}

static void end_the_job(void *unused)
{
    (void)unused;
    if (nvshmem_my_pe() == 1) nvshmem_global_exit(7);
    wait_for_ever(NULL);
}

/* Static data is symmetric, too. */
static void put_to_static(void *unused)
{
    (void)unused;
    nvshmem_long_p(&other_memory[1], 41 + nvshmem_my_pe(), 1 - nvshmem_my_pe());
    nvshmem_quiet();
}

/* So is a buffer that the program has made symmetric, until it is private again. Kernels reach it as directly as the
 * heap, and a fence orders the two. The list of ranges that a kernel of another thread reads meanwhile stays as it was.
 */
static long *buffer, *flag;
static size_t buffer_bytes;

static void make_buffer(void)
{
    bool had_ring = isthmus_device_v1.ring != NULL;
    const struct isthmus_device_range *held = isthmus_device_v1.ranges, before = *held;
    buffer_bytes = (size_t)sysconf(_SC_PAGESIZE);
    buffer = mmap(NULL, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nvshmemx_buffer_register_symmetric(buffer, buffer_bytes, 0) != buffer) exit(4);
    if (!had_ring && isthmus_device_v1.ring != NULL) exit(5);
    if (held->base != before.base || held->length_bytes != before.length_bytes || held->delta != before.delta) exit(7);
}

static void put_to_buffer(void *unused)
{
    int pe = 1 - nvshmem_my_pe();
    (void)unused;
    if (isthmus_dev_thread_rank() != 0 || isthmus_dev_block_rank() != 0) return;
    for (long round = 1; round <= 50; round++) {
        nvshmem_long_p(&buffer[1], round, pe);
        nvshmem_fence();
        nvshmem_long_p(flag, round, pe);
        nvshmem_long_wait_until(flag, NVSHMEM_CMP_EQ, round);
        if (((volatile long *)buffer)[1] != round) nvshmem_global_exit(6);
        nvshmem_barrier_all();
    }
    nvshmem_long_p(&buffer[1], 41 + nvshmem_my_pe(), pe);
    nvshmem_quiet();
}

static void put_to_private(void *unused)
{
    (void)unused;
    nvshmem_long_p(&buffer[1], 1, 1 - nvshmem_my_pe());
}

static const struct {
    const char *name;
    isthmus_cpu_kernel kernel;
} cases[] = {{"no_pe", put_to_no_pe},      {"elsewhere", put_elsewhere},         {"comparison", wrong_comparison},
             {"signal", bad_signal},       {"peer_dies", wait_for_ever},         {"global_exit", end_the_job},
             {"buffer", put_to_buffer},    {"static_data", put_to_static},       {"nothing", move_nothing},
             {"every_call", call_wrongly}, {"peer_killed", kill_while_fetching}, {"one_is_wrong", one_is_wrong},
             {"no_block", meet_blocks},    {"private", put_to_private}};

static isthmus_cpu_kernel kernel_of(const char *name)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, name) == 0) return cases[i].kernel;
    exit(3);
}

int main(int argc, char **argv)
{
    isthmus_cpu_kernel kernel = kernel_of(argc > 1 ? argv[1] : "");
    nvshmem_init();
    word = nvshmem_calloc(1, sizeof *word);
    flag = nvshmem_calloc(1, sizeof *flag);
    on_the_heap = malloc(sizeof *on_the_heap);
    if (strcmp(argv[1], "peer_dies") == 0 && nvshmem_my_pe() == 1) _exit(5);
    if (kernel == call_wrongly) return call_all_wrongly();
    if (kernel == put_to_buffer || kernel == put_to_private) make_buffer();
    if (kernel == put_to_private && nvshmemx_buffer_unregister_symmetric(buffer, buffer_bytes) != 0) exit(6);
    if (kernel == meet_blocks) n_blocks_left = 1;
    int status = isthmus_cpu_launch(2, 2, kernel, NULL);
    if (kernel == meet_blocks && (status != -1 || *word != 0)) return 2; /* no thread has run it */
    free(on_the_heap);
    printf("PE %d: the launch returned %d\n", nvshmem_my_pe(), status);
    nvshmem_barrier_all();
    if (kernel == put_to_static && other_memory[1] != 42 - nvshmem_my_pe()) return 1;
    if (kernel == put_to_buffer && buffer[1] != 42 - nvshmem_my_pe()) return 1;
    nvshmem_finalize();
    return status == 0 ? 0 : 1;
}
