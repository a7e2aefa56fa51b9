/* tests/sycl/memory.h: what the kernels of kernels.cpp and the program that runs them (host.cpp) share: the symmetric
 * memory of a test, and where a kernel writes what it finds wrong. */
#ifndef TESTS_SYCL_MEMORY_H
#define TESTS_SYCL_MEMORY_H

#include <cstddef>
#include <cstdint>

/* A work-group; SLICE longs of memory for each of its work-items. */
enum { ITEMS = 32, SLICE = 64, NELEMS = 29 };

struct memory {
    int me, n, right, left;
    int team, team_me, team_n;  /* the PEs with even numbers; team_me -1: not in it */
    long *source, *dest, *back; /* [ITEMS][SLICE], all symmetric */
    uint64_t *signals;          /* [ITEMS] */
    long *words;                /* [8], 0 before each kernel */
    long *in, *out;             /* [NELEMS * n] */
    unsigned long *clock;
    uint32_t n_faults;
    int line; /* of the first fault */
    long seen, expected;
};

#endif
