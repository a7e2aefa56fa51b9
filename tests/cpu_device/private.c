/* tests/cpu_device/private.c: operands that the host does not reach, through the ring: a thread's variables, and memory
 * that a block shares. On the CPU device a part of the program's memory counts as such, and no request may name it;
 * nvcc compiles the real ones. */
#include <stdint.h>

enum { OWN_BYTES = 256 };

#ifndef __CUDACC__
static _Alignas(16) char own_memory[2][OWN_BYTES];
#define ISTHMUS_CPU_IS_PRIVATE(addr) ((uintptr_t)(addr) - (uintptr_t)own_memory < sizeof own_memory)
#endif
#include "kernel.h"

#ifdef __CUDACC__
#define VARIABLE(name) char name[OWN_BYTES]
#define SHARED(name) __shared__ char name[OWN_BYTES]
#else
#define VARIABLE(name) char *name = own_memory[0]
#define SHARED(name) char *name = own_memory[1]
#endif

enum { THREADS = 8, LENGTHS = 7, OFFSETS = 4 };

ON_BOTH struct {
    char *dest, *source;
    uint64_t *signal;
} mem;
ON_BOTH int me, right, left, n_faults;

TABLE int lengths[LENGTHS] = {1, 2, 7, 8, 13, 64, 200}, offsets[OFFSETS] = {0, 1, 4, 6};

ON_DEVICE void expect(bool is_right, const char *what, int at)
{
    if (is_right) return;
    if (KERNEL_COUNT(&n_faults) < 20) printf("PE %d: %s at %d\n", me, what, at);
}

ON_DEVICE char byte_of(int pe, int i) { return (char)(37 * (pe + 1) + i); }

ON_DEVICE bool is_leader(void) { return isthmus_dev_thread_rank() == 0; }

ON_DEVICE void fill(char *at)
{
    for (int i = 0; i < OWN_BYTES; i++) at[i] = byte_of(me, i);
}

/* All PEs have come so far, and the operations before are complete. */
ON_DEVICE void everybody(void) { nvshmemx_barrier_all_block(); }

/* `length` bytes of PE `pe` from the beginning of its pattern on, and none behind them. */
ON_DEVICE void check(const char *at, int length, int pe, const char *what)
{
    for (int i = 0; i < length; i++) expect(at[i] == byte_of(pe, i), what, i);
    expect(at[length] == 0, what, length);
}

ON_DEVICE void clear(char *at)
{
    for (int i = 0; i < OWN_BYTES; i++) at[i] = 0;
}

/* A source that has been overwritten since must not matter: the calls have taken it. */
ON_DEVICE void put_from(char *own, int k, int scope)
{
    int length = lengths[k % LENGTHS], offset = offsets[k % OFFSETS];
    if (is_leader()) {
        clear(mem.dest);
        fill(own);
    }
    everybody();
    if (scope == ISTHMUS_BLOCK || is_leader()) isthmus_dev_put(mem.dest + offset, own, (size_t)length, right, scope, 1);
    if (is_leader()) clear(own);
    everybody();
    if (is_leader()) check(mem.dest + offset, length, left, "put");
    everybody();
}

ON_DEVICE void get_into(char *own, int k, int scope)
{
    int length = lengths[k % LENGTHS], offset = offsets[k % OFFSETS];
    if (is_leader()) {
        clear(own);
        for (int i = 0; i < OWN_BYTES - 8; i++) mem.source[offset + i] = byte_of(me, i);
    }
    everybody();
    if (scope == ISTHMUS_BLOCK || is_leader())
        isthmus_dev_get(own, mem.source + offset, (size_t)length, right, scope, 1);
    if (is_leader()) check(own, length, right, "get");
    everybody();
}

ON_DEVICE void strided(char *own, int size)
{
    struct isthmus_dev_stride put = {3, 2, 5, (size_t)size}, get = {2, 3, 5, (size_t)size};
    if (is_leader()) {
        clear(mem.dest);
        fill(own);
    }
    everybody();
    if (is_leader()) isthmus_dev_iput(mem.dest, own, &put, right, ISTHMUS_THREAD);
    everybody();
    if (is_leader()) {
        for (int i = 0; i < 5 * size; i++)
            expect(mem.dest[3 * size * (i / size) + i % size] == byte_of(left, 2 * size * (i / size) + i % size),
                   "iput", i);
        isthmus_dev_iget(own, mem.dest, &get, right, ISTHMUS_THREAD);
        for (int i = 0; i < 5 * size; i++)
            expect(own[2 * size * (i / size) + i % size] == byte_of(me, 2 * size * (i / size) + i % size), "iget", i);
    }
    everybody();
}

ON_DEVICE void signalled(char *own, int k, int scope)
{
    uint64_t turn = (uint64_t)k + 1;
    int length = lengths[k % LENGTHS];
    if (is_leader()) {
        clear(mem.dest);
        fill(own);
    }
    everybody();
    struct isthmus_dev_signal signal = {mem.signal, k % 2 == 0 ? turn : 1,
                                        (uint32_t)(k % 2 == 0 ? ISTHMUS_DEV_AMO_SET : ISTHMUS_DEV_AMO_ADD)};
    if (scope == ISTHMUS_BLOCK || is_leader())
        isthmus_dev_put_signal(mem.dest, own, (size_t)length, signal, right, scope, k % 3 == 0);
    if (is_leader()) {
        nvshmem_signal_wait_until(mem.signal, NVSHMEM_CMP_EQ, turn);
        check(mem.dest, length, left, "put_signal");
    }
    everybody();
}

KERNEL operands(void *unused)
{
    VARIABLE(variable);
    SHARED(shared);
    (void)unused;
    for (int k = 0; k < 2 * LENGTHS; k++) {
        put_from(variable, k, ISTHMUS_THREAD);
        put_from(shared, k, ISTHMUS_BLOCK);
        get_into(variable, k, ISTHMUS_THREAD);
        get_into(shared, k, ISTHMUS_BLOCK);
        signalled(k % 2 == 0 ? variable : shared, k, k % 2 == 0 ? ISTHMUS_THREAD : ISTHMUS_BLOCK);
    }
    for (int size = 1; size <= 16; size *= 2) strided(size % 2 == 0 ? variable : shared, size);
}

/* ---- what the requests name ---- */

#ifndef __CUDACC__
/* Returns how many requests name this memory as theirs, among those that are still in their slots. */
static int count_requests_of(const char *memory, size_t bytes)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    int n = 0;
    for (uint64_t slot = 0; slot < UINT64_C(1) << ring->log2_n; slot++) {
        const uint64_t *wire = ring->slots + ISTHMUS_WIRE_WORDS * slot;
        struct isthmus_request request;
        if (isthmus_wire_read(wire, wire[0] & 0xff, &request)) n += request.local - (uintptr_t)memory < bytes;
    }
    return n;
}

KERNEL one_of_the_host(void *unused)
{
    (void)unused;
    nvshmem_putmem(mem.dest, mem.source, 8, right);
}

static void check_requests(void)
{
    int n_own = count_requests_of(own_memory[0], sizeof own_memory);
    if (n_own != 0) fprintf(stderr, "PE %d: %d requests name memory of the kernel\n", me, n_own);
    if (isthmus_cpu_launch(1, 1, one_of_the_host, NULL) != 0 || count_requests_of(mem.source, OWN_BYTES) == 0)
        fprintf(stderr, "PE %d: the search finds no request\n", me), n_faults++;
    n_faults += n_own;
}
#else
static void check_requests(void) {}
#endif

int main(void)
{
    kernel_need_device();
    nvshmem_init();
    me = nvshmem_my_pe();
    right = (me + 1) % nvshmem_n_pes(), left = (me + nvshmem_n_pes() - 1) % nvshmem_n_pes();
    mem.dest = (char *)nvshmem_malloc(2 * OWN_BYTES);
    mem.source = (char *)nvshmem_malloc(2 * OWN_BYTES);
    mem.signal = (uint64_t *)nvshmem_calloc(1, sizeof *mem.signal);
    nvshmem_barrier_all();
    if (kernel_launch(1, THREADS, operands, NULL, 0) != 0) {
        fprintf(stderr, "PE %d: the kernel was stopped\n", me);
        return 1;
    }
    nvshmem_barrier_all();
    check_requests();
    nvshmem_barrier_all();
    if (me == 0 && n_faults == 0) printf("operands of kernels on %d PEs\n", nvshmem_n_pes());
    nvshmem_finalize();
    return n_faults != 0;
}
