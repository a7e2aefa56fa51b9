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
    int from, to; /* PE `from` accesses the memory of PE `to`; collectives: of all PEs, from is 0, `to` the next PE */
    size_t size_bytes;
    char *source;           /* of this PE: private memory, or symmetric memory on a device */
    char *whole_source;     /* symmetric: what collectives send; as long as dest */
    char *dest;             /* symmetric; of collectives as long as n_pes blocks */
    uint64_t *flags;        /* symmetric host memory for bare synchronization, FLAG_WORDS words; zero at the start */
    uint64_t *stream_flags; /* the same where the heap is, for streams; NULL: there are none */
    char *alias;            /* dest of `to`, for loads and stores; collectives: its whole_source, if all PEs have
                             * aliases of all others. NULL: there is none */
    char *private_dest;     /* private memory of size_bytes, to which bare copies go where there is no alias */
    bool is_stand_in;       /* of a limit: source, whole_source and dest are host memory, and the heap is on devices */
};

/* Bare synchronization has one round for each bit of the number of PEs, a line each. Behind them the word of signals,
 * and what a network sends to flags of other PEs: two words a round, used in turn. */
enum {
    FLAG_STRIDE = 8,
    FLAG_ROUNDS = 32,
    FLAG_SIGNAL = FLAG_STRIDE * FLAG_ROUNDS,
    FLAG_SOURCES = FLAG_SIGNAL + FLAG_STRIDE,
    FLAG_WORDS = FLAG_SOURCES + 2 * FLAG_ROUNDS
};

typedef void perf_batch(const struct place *place, long reps);

/* What a bare operation has to do that is not the processor's: over a network (limit_net.c), or between memories of
 * devices (limit_gpu.c). BLOCK: each PE gets one block from another one, after they have synchronized; ALONE: without;
 * BLOCKS: from each other one. */
enum transfer {
    TRANSFER_NONE,
    TRANSFER_PUT,
    TRANSFER_GET,
    TRANSFER_PUT_NBI,
    TRANSFER_GET_NBI,
    TRANSFER_PUT_SIGNAL,
    TRANSFER_FETCH_ADD,
    TRANSFER_ADD,
    TRANSFER_COMPARE_SWAP,
    TRANSFER_FLAGS,
    TRANSFER_BLOCK_ALONE,
    TRANSFER_BLOCK,
    TRANSFER_BLOCKS,
    TRANSFER_STREAM_SIGNAL,
    TRANSFER_STREAM_FLAGS,
    TRANSFER_STREAM_BLOCK,
    TRANSFER_STREAM_BLOCKS,
    N_TRANSFERS
};

enum limit_kind { LIMIT_NONE, LIMIT_PROCESSOR, LIMIT_DEVICE, LIMIT_NETWORK, N_LIMIT_KINDS };

struct operation {
    const char *name, *summary;
    bool is_together;  /* all PEs call it */
    bool is_sized;     /* measured at each size; else of one word, or without data */
    bool is_on_stream; /* in the order of a GPU's stream */
    bool has_blocks;   /* dest has a block for each PE, or the source */
    perf_batch *call;
    const char *bare_name;           /* of the bare operation of a processor */
    perf_batch *bare;                /* uses alias, or private_dest */
    bool needs_alias;                /* the bare operation has no meaning in private memory */
    enum transfer transfer;          /* TRANSFER_NONE: there is no bare one */
    const char *more[N_LIMIT_KINDS]; /* the step that the limit lacks; NULL: none */
    bool is_no_copy;                 /* between devices the limit is a part of it: `more` may take any time */
};

/* operations_team.c */
perf_batch call_barrier, call_sync, call_broadcast, call_collect, call_fcollect, call_alltoall, call_alltoalls,
    call_sum_reduce, call_sum_inscan, call_sum_exscan, call_sum_reducescatter;

/* operations_stream.c */
perf_batch call_put_on_stream, call_get_on_stream, call_put_signal_on_stream, call_barrier_on_stream,
    call_sync_on_stream, call_broadcast_on_stream, call_fcollect_on_stream, call_alltoall_on_stream,
    call_sum_reduce_on_stream, call_sum_reducescatter_on_stream;

extern const struct operation operations[];
extern const int n_operations; /* at most 64 */

/* Returns -1 if there is no such operation. */
int operation_find(const char *name, size_t length);

#endif
