/* Puts of 4 KiB and 8 MiB and gets of 8 MiB against memcpy to and from the same memory.
 * Not about the network: the peer is on this host.
 * Read on: bench.h. */
#include "bench.h"

#include <string.h>

enum {
    SMALL_BYTES = 4096,
    SMALL_SLOTS = 4,
    LARGE_BYTES = 8 << 20,
    LARGE_SLOTS = 2,
    HUGE_BYTES = 32 << 20,
    HUGE_SLOTS = 1
};

/* The remote side rotates through a few slots, in the same way for call and bare; a batch does whole rounds. */
static size_t slot_offset_bytes(long i, size_t slot_bytes, long n_slots) { return (size_t)(i % n_slots) * slot_bytes; }

/* The lengths are kept from the compiler, which would put its own copy loop in the place of memcpy. */
static size_t hidden_length_bytes(int length_bytes) { return (size_t)bench_hide_int(length_bytes); }

static void call_put(const struct bench_target *target, long reps, int slot_bytes, long n_slots)
{
    size_t length_bytes = hidden_length_bytes(slot_bytes);
    for (long i = 0; i < reps; i++)
        shmem_putmem((char *)target->dest + slot_offset_bytes(i, length_bytes, n_slots), target->local, length_bytes,
                     target->peer);
}

static void bare_put(const struct bench_target *target, long reps, int slot_bytes, long n_slots)
{
    size_t length_bytes = hidden_length_bytes(slot_bytes);
    for (long i = 0; i < reps; i++)
        memcpy((char *)target->alias + slot_offset_bytes(i, length_bytes, n_slots), target->local, length_bytes);
}

static void call_small_put(const struct bench_target *target, long reps)
{
    call_put(target, reps, SMALL_BYTES, SMALL_SLOTS);
}

static void bare_small_put(const struct bench_target *target, long reps)
{
    bare_put(target, reps, SMALL_BYTES, SMALL_SLOTS);
}

static void call_large_put(const struct bench_target *target, long reps)
{
    call_put(target, reps, LARGE_BYTES, LARGE_SLOTS);
}

static void bare_large_put(const struct bench_target *target, long reps)
{
    bare_put(target, reps, LARGE_BYTES, LARGE_SLOTS);
}

static void call_huge_put(const struct bench_target *target, long reps)
{
    call_put(target, reps, HUGE_BYTES, HUGE_SLOTS);
}

static void bare_huge_put(const struct bench_target *target, long reps)
{
    bare_put(target, reps, HUGE_BYTES, HUGE_SLOTS);
}

static void call_large_get(const struct bench_target *target, long reps)
{
    size_t length_bytes = hidden_length_bytes(LARGE_BYTES);
    for (long i = 0; i < reps; i++)
        shmem_getmem(target->local, (char *)target->dest + slot_offset_bytes(i, length_bytes, LARGE_SLOTS),
                     length_bytes, target->peer);
}

static void bare_large_get(const struct bench_target *target, long reps)
{
    size_t length_bytes = hidden_length_bytes(LARGE_BYTES);
    for (long i = 0; i < reps; i++)
        memcpy(target->local, (char *)target->alias + slot_offset_bytes(i, length_bytes, LARGE_SLOTS), length_bytes);
}

int main(int argc, char **argv)
{
    static const struct bench_row rows[] = {
        {.name = "putmem of 4 KiB",
         .call = call_small_put,
         .bare = bare_small_put,
         .reps = 500 * SMALL_SLOTS,
         .budget = 1.25,
         .unit = "x"},
        {.name = "putmem of 8 MiB",
         .call = call_large_put,
         .bare = bare_large_put,
         .reps = LARGE_SLOTS,
         .budget = 1.06,
         .unit = "x"},
        {.name = "getmem of 8 MiB",
         .call = call_large_get,
         .bare = bare_large_get,
         .reps = LARGE_SLOTS,
         .budget = 1.06,
         .unit = "x"},
        {.name = "putmem of 32 MiB",
         .call = call_huge_put,
         .bare = bare_huge_put,
         .reps = HUGE_SLOTS,
         .budget = 1.06,
         .unit = "x"},
    };
    struct bench_target target = bench_open(argc, argv, (size_t)HUGE_BYTES * HUGE_SLOTS);
    memset(target.local, 1, target.length_bytes);
    bench_compare_all(&target, rows, sizeof rows / sizeof *rows);
    return bench_close(&target);
}
