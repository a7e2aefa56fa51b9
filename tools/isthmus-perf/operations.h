/* tools/isthmus-perf/operations.h: what is measured: each operation, by the library and as the machine does it alone.
 * A batch repeats an operation; the clock is read around it, never inside. */
#ifndef ISTHMUS_PERF_OPERATIONS_H
#define ISTHMUS_PERF_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The PEs and buffers of one measurement. */
struct place {
    int my_pe, n_pes;
    int from, to; /* PE `from` accesses the memory of PE `to`; collectives: of all PEs, from is 0 */
    size_t size_bytes;
    char *source;       /* of this PE: private memory, or symmetric memory on a device */
    char *whole_source; /* symmetric: what collectives send */
    char *dest;         /* symmetric; of collectives as long as n_pes blocks */
    uint64_t *flags;    /* symmetric host memory for bare synchronization, FLAG_WORDS words; zero at the start */
    char *alias;        /* dest of `to`, for loads and stores; collectives: whole_source of the next PE, if all
                         * PEs have aliases of all others. NULL: there is none */
    char *private_dest; /* private memory of size_bytes, to which bare copies go where there is no alias */
};

/* Bare synchronization has one round for each bit of the number of PEs; after it the word of signals. */
enum { FLAG_STRIDE = 8, FLAG_ROUNDS = 32, FLAG_SIGNAL = FLAG_STRIDE * FLAG_ROUNDS, FLAG_WORDS = FLAG_SIGNAL + 1 };

typedef void perf_batch(const struct place *place, long reps);

/* What a bare operation has to do that is not the processor's: over a network (limit_ucp.c), or between memories of
 * devices (limit_cuda.c). */
enum transfer { TRANSFER_NONE, TRANSFER_PUT, TRANSFER_GET, TRANSFER_PUT_NBI, TRANSFER_GET_NBI, TRANSFER_FETCH_ADD };

struct operation {
    const char *name, *summary;
    bool is_together;  /* all PEs call it */
    bool is_sized;     /* measured at each size; else of one word, or without data */
    bool is_on_stream; /* in the order of a GPU's stream */
    bool has_blocks;   /* dest has a block for each PE */
    perf_batch *call;
    const char *bare_name;  /* of the bare operation of a processor */
    perf_batch *bare;       /* uses alias, or private_dest */
    bool needs_alias;       /* the bare operation has no meaning in private memory */
    const char *more;       /* the step that the bare operation lacks; NULL: none */
    enum transfer transfer; /* TRANSFER_NONE: there is no bare one */
};

/* operations_stream.c */
perf_batch call_put_on_stream, call_get_on_stream;

extern const struct operation operations[];
extern const int n_operations;

/* Returns -1 if there is no such operation. */
int operation_find(const char *name, size_t length);

#endif
