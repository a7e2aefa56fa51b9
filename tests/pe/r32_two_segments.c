/* R32: one call may combine objects of different segments: data in the heap and signal in static data, and the
 * reverse. */
#include "check.h"

enum { WORDS = 3000 };

static uint64_t static_data[WORDS], static_signal;

static void send(uint64_t *data, uint64_t *signal, uint64_t value)
{
    static uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++) words[i] = value * 1000000 + (uint64_t)pe.me * 10000 + (uint64_t)i;
    shmem_uint64_put_signal(data, words, WORDS, signal, value, SHMEM_SIGNAL_SET, pe.right);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, value);
    for (int i = 0; i < WORDS; i++) CHECK_EQ(data[i], value * 1000000 + (uint64_t)pe.left * 10000 + (uint64_t)i);
    shmem_barrier_all();
}

int main(void)
{
    pe_begin();
    uint64_t *heap_data = shmem_calloc(WORDS, sizeof *heap_data), *heap_signal = shmem_calloc(1, sizeof *heap_signal);
    CHECK(heap_data != NULL && heap_signal != NULL);
    for (uint64_t round = 1; round <= 40; round += 4) {
        send(heap_data, &static_signal, round);
        send(static_data, heap_signal, round + 1);
        send(static_data, &static_signal, round + 2);
        send(heap_data, heap_signal, round + 3);
    }
    /* Symmetric memory of one segment as the local side of the other. */
    shmem_uint64_put(heap_data, static_data, WORDS, pe.right);
    shmem_barrier_all();
    shmem_uint64_get(static_data, heap_data, WORDS, pe.me);
    CHECK_BYTES(static_data, heap_data, sizeof static_data);
    return pe_end();
}
