/* tests/device/device.h: for programs whose heap lies in memory that the processor must not touch: the program puts
 * data to this PE itself and gets it back. A load or a store, by the program or by the library, is a fault. */
#ifndef TESTS_DEVICE_DEVICE_H
#define TESTS_DEVICE_DEVICE_H

#include "tests/pe/check.h"

#include <stdbool.h>

/* Visible when it returns, for all that reads this PE's heap by other ways than a get. */
static inline void to_heap(void *dest, const void *source, size_t n_bytes)
{
    shmem_putmem(dest, source, n_bytes, pe.me);
    shmem_quiet();
}

static inline void from_heap(void *dest, const void *source, size_t n_bytes)
{
    shmem_getmem(dest, source, n_bytes, pe.me);
}

static inline void fill_heap(void *dest, int byte, size_t n_bytes)
{
    char *bytes = malloc(n_bytes);
    CHECK(bytes != NULL);
    memset(bytes, byte, n_bytes);
    to_heap(dest, bytes, n_bytes);
    free(bytes);
}

static inline void expect_in_heap(const void *source, const void *expected, size_t n_bytes)
{
    char *seen = malloc(n_bytes);
    CHECK(seen != NULL);
    from_heap(seen, source, n_bytes);
    CHECK_BYTES(seen, expected, n_bytes);
    free(seen);
}

/* Bytes that differ from PE to PE, call to call and place to place. */
static inline void make_pattern(char *out, size_t n_bytes, int number)
{
    uint32_t state = 2654435761u * (uint32_t)(number + 1);
    for (size_t i = 0; i < n_bytes; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (char)(state >> 24);
    }
}

#endif
