/* tests/device/state_kernels.h: kernels that have nothing but the state that the library has made for a GPU, for
 * hip_kernels.c and ze_kernels.c, on doubles. They run on the CPU device, for which the processor may touch the
 * double's memory. */
#ifndef TESTS_DEVICE_STATE_KERNELS_H
#define TESTS_DEVICE_STATE_KERNELS_H

#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 3, THREADS = 4 };

static int me, n_pes;

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (condition) break;                                                            \
        fprintf(stderr, "PE %d: line %d: %s does not hold\n", me, __LINE__, #condition); \
        exit(1);                                                                         \
    } while (0)

static void check_state(const struct isthmus_device_state *state, bool is_direct)
{
    char *block = nvshmem_malloc(64);
    CHECK(state != NULL && state->struct_size == sizeof *state && state->me == me && state->n == n_pes);
    CHECK((uintptr_t)block - state->heap < state->heap_bytes && state->delta[me] == 0);
    for (int pe = 0; pe < n_pes; pe++) CHECK(pe == me || ((state->delta[pe] & 1) == 0) == is_direct);
    CHECK((state->ring != NULL) != is_direct && state->n_ring_pes == (is_direct ? 0 : (uint32_t)n_pes - 1));
    nvshmem_free(block);
}

struct words {
    uint64_t *counter, *data, *signal;
};

static void exchange(void *argument)
{
    const struct words *w = argument;
    int right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    nvshmem_uint64_atomic_add(w->counter, 1, 0);
    if (isthmus_dev_block_rank() != 0) return;
    if (isthmus_dev_thread_rank() == 0) nvshmem_uint64_p(w->data + 1, 100 + (uint64_t)me, me);
    nvshmemx_putmem_signal_block(w->data, w->data + 1, 8, w->signal, 1, NVSHMEM_SIGNAL_SET, right);
    nvshmem_signal_wait_until(w->signal, NVSHMEM_CMP_EQ, 1);
    if (nvshmem_uint64_g(w->data, me) != 100 + (uint64_t)left) isthmus_dev_trap();
    nvshmemx_barrier_all_block();
    if (nvshmem_uint64_g(w->data, right) != 100 + (uint64_t)me) isthmus_dev_trap();
}

static void check_kernels(const struct isthmus_device_state *state)
{
    uint64_t *words = nvshmem_calloc(8, sizeof *words);
    struct words w = {words, words + 1, words + 3};
    isthmus_device_v1 = *state;
    CHECK(isthmus_cpu_launch(BLOCKS, THREADS, exchange, &w) == 0);
    nvshmem_barrier_all();
    CHECK(me != 0 || nvshmem_uint64_g(w.counter, 0) == BLOCKS * THREADS * (uint64_t)n_pes);
    memset(&isthmus_device_v1, 0, sizeof isthmus_device_v1);
    nvshmem_free(words);
}

static void wait_for_ever(void *signal) { nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 5); }

/* Does not return: a kernel of PE 0 waits, and PE 1 is stopped. */
static void hang(const struct isthmus_device_state *state)
{
    uint64_t *signal = nvshmem_calloc(1, sizeof *signal);
    isthmus_device_v1 = *state;
    nvshmem_barrier_all();
    if (me == 1) raise(SIGSTOP);
    (void)isthmus_cpu_launch(1, 1, wait_for_ever, signal);
}

#endif
