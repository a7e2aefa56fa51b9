/* tests/doubles/gpu/gpu.h: a device made of files in memory and of threads: what the doubles of CUDA, Level Zero and
 * HIP share. Not a simulator: it models neither the speed nor the memory model of a GPU. It verifies that host code
 * keeps the drivers' rules, and nothing that it shows is a result of hardware.
 *
 * Device memory is a memfd, so that a peer that imports the descriptor has the same memory. Device addresses fault when
 * the CPU touches them, as on a GPU; the copy engine uses a second, hidden mapping. A stream is a thread with a queue.
 *
 * The environment, read when the double is first called and at gpu_double_reset():
 *   GPU_DOUBLE_DEVICES=n          devices (1; at most 8)
 *   GPU_DOUBLE_TILES=n            of Level Zero: so many of them are tiles of one GPU (0: none are)
 *   GPU_DOUBLE_VERSION=n          of the driver, in its own numbering
 *   GPU_DOUBLE_DELAY_US=n         before each operation on a stream
 *   GPU_DOUBLE_BLOCKS=n           blocks of kernels that run at once in this process (0: any number). A launch waits
 *                                 until all of its blocks have room, those of streams of high priority before others
 *   GPU_DOUBLE_MULTIPROCESSORS=n  of CUDA: those blocks are spread over so many (1), which divides their number
 *   GPU_DOUBLE_FAIL=call:nth[+][:code],...   the nth use of that call fails; with +, all later ones too.
 *                                 The call "operation" is one on a stream, which then fails on the device
 *   GPU_DOUBLE_PEERS=0            no device reaches another; 2: each does, of CUDA without atomics
 *   GPU_DOUBLE_FABRIC=0           no handles of CUDA that go through a fabric
 *   GPU_DOUBLE_RDMA=0             no memory for network adapters (GPUDirect RDMA): CUDA refuses the flag
 *   GPU_DOUBLE_WRITES_ORDER=n     of CUDA: adapters' writes need no flush for 0 none, 100 the device (100), 200 all
 *   GPU_DOUBLE_FLUSH=0            of CUDA: a processor cannot have such writes flushed
 *   GPU_DOUBLE_HOST_ACCESS=1      the CPU may touch device addresses
 *   GPU_DOUBLE_TRACE=1            each call to stderr
 *   GPU_DOUBLE_LEAKS=1            at exit: what is still held, to stderr, and exit status 86 */
#ifndef ISTHMUS_GPU_DOUBLE_H
#define ISTHMUS_GPU_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GPU_DEVICES_MAX = 8, GPU_GRANULE_BYTES = 2 << 20, GPU_PARAMETERS_MAX = 8 };

/* ---- knobs.c ---- */

struct gpu_knobs {
    int devices, tiles, version, writes_order; /* version 0: the double's default */
    unsigned delay_us, blocks, multiprocessors;
    bool has_peers, has_peer_atomics, has_fabric, has_rdma, has_flush, host_access;
};
const struct gpu_knobs *gpu_knobs(void);

/* A call of the driver begins: 0, or the code to fail with; `code` where the knob names none. */
int gpu_enter(const char *call, int code);

/* For tests that load the double into their own process: read the environment again, count from the start. */
void gpu_double_reset(void);

/* Returns the name of the call of this number and how often it was made, or NULL after the last. */
const char *gpu_double_call(int number, int *uses);

/* For tests: launches a kernel of the program's own, so many blocks of it, on one of two streams of normal priority. */
void gpu_double_launch(int stream, unsigned blocks, void (*kernel)(void *argument), void *argument);

/* Returns the number of launches that wait for room now. */
int gpu_double_waiting(void);

/* How many things are held, and which: "1 mapping, 2 streams". The text may be NULL. */
int gpu_double_held(char *text, size_t text_bytes);

/* The kinds of objects that are counted. */
enum gpu_thing {
    GPU_MEMORY,
    GPU_MAPPING,
    GPU_RESERVATION,
    GPU_PINNED,
    GPU_STREAM,
    GPU_EVENT,
    GPU_CONTEXT,
    GPU_MODULE,
    GPU_THINGS
};
void gpu_count(enum gpu_thing thing, int change);

/* ---- memory.c: every function locks for itself ---- */

struct gpu_memory; /* a piece of device memory, counted: by its handles and its mappings */

/* `device` below 0: memory of the host, which devices reach as their own; of its NUMA node -1 - device. */
struct gpu_memory *gpu_memory_create(int device, uint64_t length_bytes); /* NULL: the device is full */
struct gpu_memory *gpu_memory_import(int fd); /* NULL: no memory of a device that is here; fd stays the caller's */
struct gpu_memory *gpu_memory_retain(struct gpu_memory *memory);
void gpu_memory_release(struct gpu_memory *memory);
int gpu_memory_export(struct gpu_memory *memory);   /* a new descriptor, or -1 */
int gpu_memory_fd(const struct gpu_memory *memory); /* the double's own */
uint64_t gpu_memory_bytes(const struct gpu_memory *memory);
int gpu_memory_device(const struct gpu_memory *memory);

/* The ways in which memory may be exported, in the face's own bits; without any it is not. */
void gpu_memory_set_types(struct gpu_memory *memory, unsigned types);
unsigned gpu_memory_types(const struct gpu_memory *memory);

/* Handles that are bytes: they name a file of the process that made them. */
enum { GPU_TICKET_BYTES = 12 };
void gpu_ticket_write(const struct gpu_memory *memory, void *out);
struct gpu_memory *gpu_ticket_open(const void *ticket); /* NULL: no ticket, or its memory was freed */

/* handles.c: numbers for pieces of memory; 0: none. make() takes ownership of the memory; retain() adds a reference to
 * a number. */
uint64_t gpu_handle_make(struct gpu_memory *memory);
uint64_t gpu_handle_retain(struct gpu_memory *memory);
struct gpu_memory *gpu_handle_memory(uint64_t handle); /* borrowed; NULL: no such handle */
bool gpu_handle_release(uint64_t handle);

/* Addresses, and what is mapped there. The bool functions return false if a call violates the rules. */
void *gpu_reserve(uint64_t length_bytes, uint64_t alignment);
bool gpu_unreserve(uint64_t addr, uint64_t length_bytes); /* as reserved, with nothing mapped */
bool gpu_map(uint64_t addr, uint64_t length_bytes, struct gpu_memory *memory);
bool gpu_allow(uint64_t addr, uint64_t length_bytes);      /* accesses by the devices, of whole mappings */
bool gpu_allow_host(uint64_t addr, uint64_t length_bytes); /* by the CPU, likewise, to memory of the host */
bool gpu_unmap(uint64_t addr, uint64_t length_bytes);      /* of whole mappings */

/* All of that at once, for drivers whose allocations are addresses. gpu_free: addr as gpu_alloc returned it. */
void *gpu_alloc(struct gpu_memory *memory);
bool gpu_free(uint64_t addr);

/* Host memory that the driver knows: allocated by it, or registered. */
void *gpu_host_alloc(uint64_t length_bytes);
bool gpu_host_free(void *addr);
bool gpu_pin(void *addr, uint64_t length_bytes); /* Returns false if some of it is pinned. */
bool gpu_unpin(void *addr);

/* What is at an address. */
struct gpu_place {
    enum { GPU_UNKNOWN, GPU_HOST, GPU_DEVICE } kind;
    int device;
    uint64_t base, length_bytes; /* of what is mapped, or known host memory */
    struct gpu_memory *memory;   /* borrowed */
    uint64_t reserved_base, reserved_bytes;
    bool is_piece; /* mapped by gpu_map, not of gpu_alloc */
};
struct gpu_place gpu_find(uint64_t addr);

/* For the engines: where the double may touch a word, or NULL; and copies. The bool functions return false if an
 * address is illegal. */
void *gpu_word(uint64_t addr, size_t length_bytes);
bool gpu_is_valid(uint64_t addr, uint64_t length_bytes);
bool gpu_copy(uint64_t dest, uint64_t source, uint64_t length_bytes);
bool gpu_fill(uint64_t dest, uint8_t value, uint64_t length_bytes);

/* A reservation once more, at addresses that the processor may touch, with what is mapped there now: kernels that the
 * double runs as functions have it for their launch. What is not mapped, or not for devices, faults. */
struct gpu_shadow {
    uint64_t base, length_bytes; /* of the reservation */
    char *at;
};
bool gpu_shadow_open(uint64_t addr, struct gpu_shadow *out); /* false: no reservation has this address */
void gpu_shadow_close(const struct gpu_shadow *shadow);

/* ---- stream.c ---- */

struct gpu_stream;
struct gpu_event;

/* One operation; taken by value. run() returns 0 or the code that the stream, and the device, keep from then on. */
struct gpu_op {
    int (*run)(struct gpu_op *op);
    uint64_t dest, source, length_bytes, value;
    void (*function)(void *argument);
    void *argument;
    struct gpu_event *event, *after; /* set when done; waited for before */
    unsigned blocks;                 /* of a kernel; 0: the operation is none, and needs no room */
    uint64_t parameters[GPU_PARAMETERS_MAX];
    struct gpu_op *next;
    uint64_t event_turn, after_turn;
};

struct gpu_stream *gpu_stream_create(bool is_first); /* is_first: of high priority. NULL: no thread */
struct gpu_stream *gpu_stream_default(void);         /* it exists without create and destroy */
void gpu_stream_destroy(struct gpu_stream *stream);  /* when its operations are done */
bool gpu_stream_submit(struct gpu_stream *stream, const struct gpu_op *op);
bool gpu_stream_is_idle(struct gpu_stream *stream);
void gpu_stream_wait(struct gpu_stream *stream);
void gpu_device_wait(void); /* until all streams are idle */
int gpu_device_error(void); /* the code of the first failed operation in this process; sticky */

/* An event that was never recorded is set; recording clears it until its operation is done. */
struct gpu_event *gpu_event_create(bool is_set);
void gpu_event_destroy(struct gpu_event *event);
bool gpu_event_is_set(struct gpu_event *event);
void gpu_event_wait(struct gpu_event *event);
void gpu_event_clear(struct gpu_event *event);

/* Common operations. gpu_illegal_address is the face's code for an illegal address. */
extern const int gpu_illegal_address;
int gpu_run_copy(struct gpu_op *op);
int gpu_run_fill(struct gpu_op *op);
int gpu_run_function(struct gpu_op *op);
int gpu_run_nothing(struct gpu_op *op);

/* The kernel of atomics in C, for platforms whose kernel a CPU cannot run: isthmus_amo(addr, operand, compare, result,
 * op, bytes). */
int gpu_run_isthmus_amo(struct gpu_op *op);
enum { GPU_AMO_PARAMETERS = 6 };
extern const uint8_t gpu_amo_parameter_bytes[GPU_AMO_PARAMETERS];

#endif
