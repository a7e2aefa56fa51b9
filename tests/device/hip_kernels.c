/* tests/device/hip_kernels.c: the state of kernels on an AMD GPU, on the double of HIP's library: the modules that the
 * program's runtime finds have it, and kernels that have nothing else reach other PEs.
 * hip_kernels direct|ring: how other PEs are reached
 * hip_kernels hang: a kernel waits for ever
 * hip_kernels wrong_pe|wrong_address: a kernel of PE 0 calls so, and its report ends the job */
#include "tests/device/state_kernels.h"

#include <dlfcn.h>

enum { OF_HIP = 3 };

static const char code_with_state[] = ".b8 isthmus_device_v1[128]";

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
    if (strcmp(argv[1], "hang") == 0) hang(state);
    check_state(state, strcmp(argv[1], "direct") == 0);
    check_kernels(state);
    nvshmem_finalize();
    CHECK(memcmp(state, &none, sizeof none) == 0);
    isthmus_device_unregister_gpu_v1(find_state);
    *(void **)(void *)&unload = call_of("hipModuleUnload");
    CHECK(unload(module) == HIP_SUCCESS);
    return 0;
}
