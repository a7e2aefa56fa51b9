/* tests/cuda_gates/starts.cu: a program with kernels, or (PART) a shared object with some, where there is no GPU: it
 * starts, the host's routines work, and what needs a GPU reports that there is none. */
#include <dlfcn.h>
#include <nvshmem.h>
#include <stdio.h>

__global__ void shift(int *dest) { nvshmem_int_p(dest, nvshmem_my_pe() + nvshmemx_init_status(), 0); }

#ifdef PART
extern "C" int part_launch(void)
{
    int *dest = nullptr;
    void *args[] = {&dest};
    return nvshmemx_collective_launch((const void *)shift, dim3(0, 0, 0), dim3(32), args, 0, 0);
}
#else
static int n_faults;

static void expect(int seen, int expected, const char *what)
{
    if (seen != expected) fprintf(stderr, "%s: %d, expected %d\n", what, seen, expected);
    n_faults += seen != expected;
}

/* Its kernels are registered while the library runs. */
static void load_part(const char *path)
{
    void *part = dlopen(path, RTLD_NOW);
    if (part == nullptr) fprintf(stderr, "%s\n", dlerror());
    int (*launch)(void) = part != nullptr ? (int (*)(void))dlsym(part, "part_launch") : nullptr;
    expect(launch != nullptr ? launch() : -1, NVSHMEMX_ERROR_NOT_SUPPORTED, "a launch in the shared object");
    if (part != nullptr) dlclose(part);
}

int main(int argc, char **argv)
{
    int grid = -1;
    nvshmem_init();
    int *word = (int *)nvshmem_calloc(1, sizeof *word), me = nvshmem_my_pe(), n = nvshmem_n_pes();
    void *args[] = {&word};
    expect(nvshmemx_collective_launch_query_gridsize((const void *)shift, dim3(32), args, 0, &grid),
           NVSHMEMX_ERROR_NOT_SUPPORTED, "the query");
    expect(nvshmemx_collective_launch((const void *)shift, dim3(1), dim3(32), args, 0, 0), NVSHMEMX_ERROR_NOT_SUPPORTED,
           "a launch");
    for (int i = 1; i < argc; i++) load_part(argv[i]);
    nvshmem_int_p(word, me + 1, (me + 1) % n);
    nvshmem_barrier_all();
    expect(*word, (me + n - 1) % n + 1, "what another PE has put");
    nvshmem_finalize();
    return n_faults != 0;
}
#endif
