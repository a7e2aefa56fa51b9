/* isthmus/device_state.h: what kernels read: the state of this PE for one module of device code, and the ring that
 * takes their requests to the host. Read by the library and by every device compiler; the operations are in device.h.
 *
 * The structs are ABI: a program's kernels were compiled with one version of them, the library with perhaps another
 * one. Fields are added in reserved space only. Addresses are those by which the device reaches the memory. */
#ifndef ISTHMUS_DEVICE_STATE_H
#define ISTHMUS_DEVICE_STATE_H

#include <isthmus/amo_op.h>
#include <isthmus/integers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the ring: requests of kernels for a thread of the host ---- */

/* The operation of a request. 0 is no request. */
enum isthmus_request_op {
    ISTHMUS_REQUEST_PUT = 1, /* length bytes from local to remote */
    ISTHMUS_REQUEST_GET,     /* length bytes from remote to local */
    ISTHMUS_REQUEST_P,       /* the low `bits` bits of value to remote */
    ISTHMUS_REQUEST_G,       /* `bits` bits at remote are the reply's value */
    ISTHMUS_REQUEST_IPUT,    /* length elements of `bits` bits; value, extra: strides of dest and source in elements */
    ISTHMUS_REQUEST_IGET,    /* likewise */
    ISTHMUS_REQUEST_AMO,     /* amo on the `bits` bits at remote, with operand value and compare extra */
    ISTHMUS_REQUEST_PUT_SIGNAL, /* a put; then amo (SET or ADD) of value on the 8 bytes at signal */
    ISTHMUS_REQUEST_FENCE,      /* to each PE, earlier requests arrive before later ones */
    ISTHMUS_REQUEST_QUIET,      /* `quieted` becomes this ticket + 1 when all earlier requests are complete */
    ISTHMUS_REQUEST_EXIT,       /* the job ends with the exit code value */
    ISTHMUS_REQUEST_CLOCK,      /* the reply's value is the host's clock in nanoseconds */
    ISTHMUS_REQUEST_FLUSH,      /* what adapters have written into this PE's memory is visible to kernels */
    ISTHMUS_REQUEST_LOCATE      /* the job ends unless length bytes at remote are symmetric; value: ISTHMUS_CALL_ */
};

/* Atomic operations. */
enum isthmus_dev_amo_op {
    ISTHMUS_DEV_AMO_FETCH = ISTHMUS_AMO_FETCH,
    ISTHMUS_DEV_AMO_SET = ISTHMUS_AMO_SET,
    ISTHMUS_DEV_AMO_SWAP = ISTHMUS_AMO_SWAP,
    ISTHMUS_DEV_AMO_COMPARE_SWAP = ISTHMUS_AMO_COMPARE_SWAP,
    ISTHMUS_DEV_AMO_ADD = ISTHMUS_AMO_ADD,
    ISTHMUS_DEV_AMO_AND = ISTHMUS_AMO_AND,
    ISTHMUS_DEV_AMO_OR = ISTHMUS_AMO_OR,
    ISTHMUS_DEV_AMO_XOR = ISTHMUS_AMO_XOR
};

/* In flags: the request's thread waits for a reply. A put is replied to when its source may be reused, any other
 * request when it is complete. */
enum { ISTHMUS_REQUEST_REPLY = 1 };

/* 56 bytes. remote, signal: symmetric addresses of the calling PE. */
struct isthmus_request {
    uint32_t pe;
    uint8_t op, amo, bits, flags; /* amo: ISTHMUS_DEV_AMO_ */
    uint64_t remote, local, length, signal, value, extra;
};

enum { ISTHMUS_REQUEST_WORDS = 7, ISTHMUS_WIRE_WORDS = 8, ISTHMUS_REPLY_WORDS = 2 };

/* n slots, a power of two. A request's ticket counts the requests of the ring; it uses slot ticket % n for the turn
 * ticket / n of that slot. Which memory each part lies in follows from its readers: a word is polled where it lies. */
struct isthmus_ring {
    uint64_t *slots;    /* host memory: [n][8], written by kernels */
    uint64_t *replies;  /* host memory: [n][2]: a value; then ticket + 1, which publishes it */
    uint64_t *consumed; /* host memory: requests below this ticket have been read */
    uint64_t *quieted;  /* host memory: requests below this ticket are complete */
    uint64_t *tail;     /* device memory: the next ticket */
    uint64_t *seen;     /* device memory: a value of consumed that some thread has loaded */
    uint64_t *quiet;    /* device memory: [0] the ticket of a quiet request under way + 1, [1] a value of quieted */
    uint32_t *turns;    /* device memory: [n]: the turn of the slot whose request may be written next */
    uint32_t log2_n;
    uint32_t reserved[15];
};

/* ---- wrong calls ---- */

/* The call, as a report numbers it, and its name there: X(ISTHMUS_CALL_ without its prefix, name). From 1; new ones
 * come at the end. ATOMIC is also signal_op. BARRIER is a barrier of a warpgroup within a call, SYNC one of a team. */
#define ISTHMUS_DEVICE_CALLS(X)         \
    X(PUT, "put")                       \
    X(GET, "get")                       \
    X(P, "p")                           \
    X(G, "g")                           \
    X(IPUT, "iput")                     \
    X(IGET, "iget")                     \
    X(IBPUT, "ibput")                   \
    X(IBGET, "ibget")                   \
    X(ATOMIC, "atomic")                 \
    X(PUT_SIGNAL, "put_signal")         \
    X(PTR, "ptr")                       \
    X(SIGNAL, "signal")                 \
    X(WAIT, "wait or test")             \
    X(BROADCAST, "broadcast")           \
    X(TILE_PUT, "tile_put")             \
    X(TILE_GET, "tile_get")             \
    X(TILE_REDUCE, "tile reduction")    \
    X(TILE_ALLGATHER, "tile_allgather") \
    X(BARRIER, "call of a group")       \
    X(QUIET, "quiet")                   \
    X(FENCE, "fence")                   \
    X(TEAM, "call of a team")           \
    X(SYNC, "barrier or sync")          \
    X(FCOLLECT, "fcollect")             \
    X(ALLTOALL, "alltoall")             \
    X(COLLECT, "collect")               \
    X(SCAN, "scan")                     \
    X(REDUCE, "reduce")                 \
    X(REDUCESCATTER, "reducescatter")   \
    X(MY_PE, "my_pe")                   \
    X(N_PES, "n_pes")                   \
    X(CLOCK, "timestamp or nop")        \
    X(GLOBAL_EXIT, "global_exit")

enum isthmus_device_call {
    ISTHMUS_CALL_NONE = 0,
#define ISTHMUS_DEVICE_CALL_(id, name) ISTHMUS_CALL_##id,
    ISTHMUS_DEVICE_CALLS(ISTHMUS_DEVICE_CALL_)
#undef ISTHMUS_DEVICE_CALL_
};

/* What is wrong with it. */
enum isthmus_device_mistake {
    ISTHMUS_MISTAKE_PE = 1,     /* the value is no PE */
    ISTHMUS_MISTAKE_ADDRESS,    /* the address, for the PE that is the value, is not symmetric */
    ISTHMUS_MISTAKE_COMPARISON, /* the value is no comparison */
    ISTHMUS_MISTAKE_SIGNAL_OP,  /* the value is no operation on a signal */
    ISTHMUS_MISTAKE_ROOT,       /* the value is no member of the team */
    ISTHMUS_MISTAKE_TILE,       /* dst has in no dimension room for the tiles of all members */
    ISTHMUS_MISTAKE_STATE,      /* the module has no state */
    ISTHMUS_MISTAKE_WARPGROUP,  /* the block has the value's number of threads: more than a warpgroup */
    ISTHMUS_MISTAKE_EXIT        /* none: the job is to end with the value */
};

/* Words of a report: the first thread that calls wrongly writes it, and a thread of the host reads it. */
enum {
    ISTHMUS_REPORT_VALID = 0,   /* 1; written last */
    ISTHMUS_REPORT_CALL = 1,    /* ISTHMUS_CALL_ + (ISTHMUS_MISTAKE_ << 32) */
    ISTHMUS_REPORT_ADDRESS = 2, /* the call's symmetric address */
    ISTHMUS_REPORT_VALUE = 3,   /* signed: what the mistake is about */
    ISTHMUS_REPORT_THREAD = 4,  /* thread of the block + (block << 32) */
    ISTHMUS_REPORT_SOURCE = 5,  /* on processors: the name of the source file, a string; else 0 */
    ISTHMUS_REPORT_WORDS = 16
};

/* ---- waits that last ---- */

/* The routine that waits. New ones come at the end. The library has the names. */
enum isthmus_device_wait {
    ISTHMUS_WAIT_UNTIL = 1,
    ISTHMUS_WAIT_SIGNAL,
    ISTHMUS_WAIT_ALL, /* of several variables: for one of them after the other */
    ISTHMUS_WAIT_ANY,
    ISTHMUS_WAIT_SOME,
    ISTHMUS_WAIT_MEMBER /* of a collective: for the flag of a member */
};

/* A thread that has polled for a while describes its wait in host memory, for reports of a job that hangs. Words of
 * that memory; the slots follow them. */
enum {
    ISTHMUS_WAITS_HEAP = 0, /* the host's: the kernels' address of this PE's symmetric heap, and its length */
    ISTHMUS_WAITS_HEAP_BYTES = 1,
    ISTHMUS_WAITS_OTHERS = 2, /* how many threads wait that have found no free slot */
    ISTHMUS_WAITS_SLOTS = 8,  /* where the slots begin */
    ISTHMUS_WAIT_SLOTS = 32
};

/* Words of a slot. */
enum {
    ISTHMUS_WAIT_VALID = 0,   /* 1 while the thread waits; written last */
    ISTHMUS_WAIT_WHAT = 1,    /* ISTHMUS_WAIT_ + (the relations that end the wait << 8: 1 less, 2 equal, 4 greater)
                               * + (bytes of the variable << 16) + (1 << 24 if it is signed)
                               * + (how many variables, or the team's number << 32) */
    ISTHMUS_WAIT_ADDRESS = 2, /* the variable's */
    ISTHMUS_WAIT_VALUE = 3,   /* what it is compared with; of a collective its number on the team */
    ISTHMUS_WAIT_SEEN = 4,    /* what it was at the latest look */
    ISTHMUS_WAIT_THREAD = 5,  /* thread of the block + (block << 32) */
    ISTHMUS_WAIT_POLLS = 6,   /* how often the thread has looked, 32 bits */
    ISTHMUS_WAIT_PE = 7,      /* of a collective: the PE whose flag it is */
    ISTHMUS_WAIT_WORDS = 8
};

/* ---- the state ---- */

/* A range of symmetric memory outside the heap. The last one of a list has the length 0. */
struct isthmus_device_range {
    uint64_t base, length_bytes;
    const int64_t *delta; /* as struct isthmus_device_state has it for the heap */
};

/* Flags of one team, in symmetric memory: one word for each of the first members, which write them all at once; one for
 * each round of a dissemination, for larger teams, each of two halves, for even and odd synchronisations; and two of
 * collect, a place and its flag. */
enum {
    ISTHMUS_DEVICE_MEMBERS = 64,
    ISTHMUS_DEVICE_ROUNDS = 20,
    ISTHMUS_DEVICE_OFFSET = ISTHMUS_DEVICE_MEMBERS + ISTHMUS_DEVICE_ROUNDS,
    ISTHMUS_DEVICE_FLAGS = ISTHMUS_DEVICE_OFFSET + 2
};

/* 64 bytes. Member i is PE start + i * stride of the world, or list[i]. */
struct isthmus_device_team {
    int32_t n, me; /* n 0: there is no such team, or this PE is not in it */
    int32_t start, stride;
    const int32_t *list; /* NULL: strided */
    uint64_t *flags;     /* symmetric: ISTHMUS_DEVICE_FLAGS words */
    uint64_t sequence;   /* synchronisations so far; written by kernels */
    uint64_t reserved[3];
};

/* flags */
enum {
    ISTHMUS_DEVICE_CHECK = 1,  /* ISTHMUS_CHECK is on: the host checks first what is in no range */
    ISTHMUS_DEVICE_MIXED = 2,  /* some PE is reached both directly and through the ring: a fence completes requests */
    ISTHMUS_DEVICE_FLUSHES = 4 /* this device does not order what adapters write: a wait that ends requests a flush */
};

/* 128 bytes. Zero before init, and after finalize except for `stop`: n is 0, so that every PE is out of range. */
struct isthmus_device_state {
    uint32_t struct_size, flags;
    int32_t me, n;
    uint64_t heap, heap_bytes;                 /* this PE's symmetric heap, as far as it may grow */
    const int64_t *delta;                      /* [n]: what to add to an address of this heap for that PE's; odd: the
                                                * device does not reach that memory. 0 for this PE */
    const struct isthmus_device_range *ranges; /* NULL: none */
    struct isthmus_device_team *teams;         /* [n_teams], by the handles of nvshmem.h */
    const struct isthmus_ring *ring;           /* NULL: the device reaches the memory of every PE */
    const uint64_t *stop;                      /* not 0: the job ends, and kernels stop instead of waiting. NULL
                                                * without a ring: nothing stops them */
    uint32_t n_teams, n_ring_pes;              /* n_ring_pes: how many PEs are reached through the ring */
    uint64_t *report;    /* host memory: ISTHMUS_REPORT_WORDS words. NULL: the module was not initialised */
    uint64_t *reporters; /* device memory: how many threads have called wrongly; the first one writes the report */
    uint64_t *waits;     /* host memory: descriptions of waits that last. NULL: the library reads none */
    uint64_t *waiters;   /* device memory: [1 + ISTHMUS_WAIT_SLOTS]: how many threads wait without a slot; then for each
                          * slot whether a thread has it */
    uint64_t reserved[2];
};

#ifndef ISTHMUS_GPU_RTC
/* Announces a module of device code, from its constructor. The library calls fill with the state whenever it changes:
 * at once if it is initialised, else at init, and at finalize with zeros, of processors except for `stop`; fill copies
 * it to where the kernels of the module read it, for a GPU by the program's own runtime. kind: ISTHMUS_MEM_ of
 * isthmus/transport.h, of the memory in which these kernels run. Returns 0, or a negative ISTHMUS_ERR_ code:
 * UNSUPPORTED if the library is initialised, and has no state for kernels there. */
int isthmus_device_register_v1(uint32_t kind, int (*fill)(const struct isthmus_device_state *state));
void isthmus_device_unregister_v1(
    int (*fill)(const struct isthmus_device_state *state)); /* before the module is unloaded */

/* The same of a module that runs where the program decides before init: the library calls kind_of once, at init or, if
 * it is initialised, at once. */
int isthmus_device_register_later_v1(uint32_t (*kind_of)(void), int (*fill)(const struct isthmus_device_state *state));

/* The same for kernels of a GPU: find returns the address of the module's state on the current device, which is then
 * the PE's, or NULL as long as the state is not there. The library calls it at init or, if it is initialised,
 * at once, and at each collective launch until it has the address; it writes the state there itself. Returns 0, or a
 * negative ISTHMUS_ERR_ code. */
int isthmus_device_register_gpu_v1(uint32_t kind, void *(*find)(void));
void isthmus_device_unregister_gpu_v1(void *(*find)(void)); /* before the module is unloaded */

/* Kernels that make calls are about to be launched: wakes the thread that serves their requests. Returns nonzero if
 * there is one: then operations of other PEs on this device's memory may need room for a kernel of one thread beside
 * those of the program. */
int isthmus_device_launch_v1(void);

/* Prints a line about a wrong call of a kernel on processors: about these words, or with NULL, when the kernel has
 * stopped, about the report, if there is one. Returns 1 if it printed a line, else 0. */
int isthmus_device_report_v1(const uint64_t *words);
#endif

#ifdef __cplusplus
}
#endif

#endif
