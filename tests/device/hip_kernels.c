/* tests/device/hip_kernels.c: the state of kernels on an AMD GPU, on the double of HIP's library: the modules that the
 * program's runtime finds have it, and kernels that have nothing else reach other PEs. They run on the CPU device, for
 * which the processor may touch the double's memory.
 * hip_kernels direct|ring: how other PEs are reached
 * hip_kernels wrong_pe|wrong_address: a kernel of PE 0 calls so, and its report ends the job */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OF_HIP = 3, BLOCKS = 3, THREADS = 4 };

static const char code_with_state[] = ".b8 isthmus_device_v1[128]";
static int me, n_pes;

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (condition) break;                                                            \
        fprintf(stderr, "PE %d: line %d: %s does not hold\n", me, __LINE__, #condition); \
        exit(1);                                                                         \
    } while (0)

/* ---- a module, as device_hip.h registers one ---- */

/* HIP's calls by hand: its header and CUDA's, which nvshmem.h includes where it is, define types of the same names. */
enum { HIP_SUCCESS = 0 };
static void *module;
static const struct isthmus_device_state *state;

static void *call_of(const char *name)
{
    void *library = dlopen(getenv("ISTHMUS_XGMI_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
    void *call = library != NULL ? dlsym(library, name) : NULL;
    CHECK(call != NULL);
    return call;
}

/* The library calls it when HIP is loaded, and the PE's device current. */
static void *find_state(void)
{
    int (*load)(void **out, const void *image);
    int (*get_global)(void **addr, size_t *size, void *of, const char *name);
    void *at;
    size_t bytes;
    *(void **)(void *)&load = call_of("hipModuleLoadData");
    *(void **)(void *)&get_global = call_of("hipModuleGetGlobal");
    if (module == NULL) CHECK(load(&module, code_with_state) == HIP_SUCCESS);
    CHECK(get_global(&at, &bytes, module, "isthmus_device_v1") == HIP_SUCCESS && bytes == sizeof *state);
    state = at;
    return at;
}

static __attribute__((constructor)) void announce(void)
{
    CHECK(isthmus_device_register_gpu_v1(OF_HIP, find_state) == 0);
}

/* ---- what is in it ---- */

static void check_state(bool is_direct)
{
    char *block = nvshmem_malloc(64);
    CHECK(state != NULL && state->struct_size == sizeof *state && state->me == me && state->n == n_pes);
    CHECK((uintptr_t)block - state->heap < state->heap_bytes && state->delta[me] == 0);
    for (int pe = 0; pe < n_pes; pe++) CHECK(pe == me || ((state->delta[pe] & 1) == 0) == is_direct);
    CHECK((state->ring != NULL) != is_direct && state->n_ring_pes == (is_direct ? 0 : (uint32_t)n_pes - 1));
    nvshmem_free(block);
}

/* ---- kernels that know nothing but the state ---- */

struct words {
    uint64_t *counter, *data, *signal;
};

static void exchange(void *argument)
{
    const struct words *w = argument;
    int right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    nvshmem_uint64_atomic_add(w->counter, 1, 0);
    if (isthmus_dev_block_rank() != 0) return;
    if (isthmus_dev_thread_rank() == 0) nvshmem_uint64_p(w->data + 1, 100 + (uint64_t)me, me);
    nvshmemx_putmem_signal_block(w->data, w->data + 1, 8, w->signal, 1, NVSHMEM_SIGNAL_SET, right);
    nvshmem_signal_wait_until(w->signal, NVSHMEM_CMP_EQ, 1);
    if (nvshmem_uint64_g(w->data, me) != 100 + (uint64_t)left) isthmus_dev_trap();
    nvshmemx_barrier_all_block();
    if (nvshmem_uint64_g(w->data, right) != 100 + (uint64_t)me) isthmus_dev_trap();
}

static void check_kernels(void)
{
    uint64_t *words = nvshmem_calloc(8, sizeof *words);
    struct words w = {words, words + 1, words + 3};
    isthmus_device_v1 = *state;
    CHECK(isthmus_cpu_launch(BLOCKS, THREADS, exchange, &w) == 0);
    nvshmem_barrier_all();
    CHECK(me != 0 || nvshmem_uint64_g(w.counter, 0) == BLOCKS * THREADS * (uint64_t)n_pes);
    memset(&isthmus_device_v1, 0, sizeof isthmus_device_v1);
    nvshmem_free(words);
}

/* ---- wrong calls ---- */

static void call_wrongly(void *addr)
{
    bool is_symmetric = (uintptr_t)addr - state->heap < state->heap_bytes;
    if (isthmus_dev_thread_rank() == 2) nvshmem_long_p(addr, 1, is_symmetric ? n_pes + 39 : 1);
}

/* Does not return on PE 0. */
static void check_wrong(const char *what)
{
    long elsewhere = 0, *word = nvshmem_calloc(1, sizeof *word);
    isthmus_device_v1 = *state;
    nvshmem_barrier_all();
    if (me == 0) (void)isthmus_cpu_launch(1, THREADS, call_wrongly, strcmp(what, "pe") == 0 ? word : &elsewhere);
    nvshmem_barrier_all();
    printf("PE %d goes on\n", me);
}

int main(int argc, char **argv)
{
    static const struct isthmus_device_state none;
    int (*unload)(void *code);
    CHECK(argc == 2);
    nvshmem_init();
    me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    if (strncmp(argv[1], "wrong_", 6) == 0) check_wrong(argv[1] + 6);
    check_state(strcmp(argv[1], "direct") == 0);
    check_kernels();
    nvshmem_finalize();
    CHECK(memcmp(state, &none, sizeof none) == 0);
    isthmus_device_unregister_gpu_v1(find_state);
    *(void **)(void *)&unload = call_of("hipModuleUnload");
    CHECK(unload(module) == HIP_SUCCESS);
    return 0;
}
