/* What nothing.c exports to the program: the object bench_nothing, found by dlsym. */
#ifndef ISTHMUS_BENCH_NOTHING_H
#define ISTHMUS_BENCH_NOTHING_H

#include <stdint.h>

struct bench_nothing {
    uint32_t is_on;  /* puts of 8 bytes are counted and dropped */
    uint64_t n_puts; /* so many so far; by the one thread that serves the kernels of this PE */
};

#endif
