/* A program as NVSHMEM's own headers and libraries make it: it names symbols of libnvshmem_host.so.3 with the version
 * NVSHMEM, and variables, by declarations of its own. It also calls OpenSHMEM of Isthmus: there is one runtime in the
 * process. tests/compat/CMakeLists.txt links it; LD_LIBRARY_PATH finds the library. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

static void fail(const char *what, int line)
{
    fprintf(stderr, "client.c:%d: not so: %s\n", line, what);
    exit(1);
}

/* ---- what NVSHMEM's headers declare ---- */

typedef struct {
    int major, minor, patch;
} version;
typedef int (*device_library)(void **, void **);
typedef struct {
    unsigned x, y, z;
} dim3;

extern int nvshmem_selected_device_transport;
extern long nvshmem_error;
int nvshmemid_hostlib_init_attr(int, int *, unsigned, void *, version, device_library);
void nvshmemid_hostlib_finalize(void *, void *);
int nvshmemid_init_status(void);
int nvshmem_my_pe(void);
int nvshmem_n_pes(void);
void *nvshmem_malloc(size_t);
void nvshmem_free(void *);
void nvshmem_barrier_all(void);
void nvshmem_int_p(int *, int, int);
float nvshmem_float_g(const float *, int);
double nvshmemx_double_atomic_fetch_add(double *, double, int);
int nvshmem_long_sum_reduce(int32_t, long *, const long *, size_t);
void nvshmemx_putmem_signal_on_stream(void *, const void *, size_t, uint64_t *, uint64_t, int, int, void *);
void nvshmemx_signal_wait_until_on_stream(uint64_t *, int, uint64_t, void *);
void nvshmemx_flush_on_stream(void *);
int nvshmemx_collective_launch(const void *, dim3, dim3, void **, size_t, void *);
int nvshmemx_collective_launch_query_gridsize(const void *, dim3, void **, size_t, int *);

/* ---- a CUDA runtime in the program: one device of 4 multiprocessors, which runs 3 blocks on each ---- */

typedef struct {
    int id, unused;
    union {
        char bytes[64];
        int cooperative;
    } value;
} attribute;
typedef struct {
    dim3 grid, block;
    size_t shared_bytes;
    void *stream;
    attribute *attributes;
    unsigned n_attributes;
} config;
enum { MULTIPROCESSORS = 4, ON_ONE = 3, COOPERATIVE_LAUNCH = 2, NOT_SUPPORTED = 3, LAUNCH_FAILED = 6 };
static unsigned launched;
static int needs_place; /* whether a kernel for atomics of other hosts runs beside those that are launched */

#pragma GCC visibility push(default)
int isthmus_device_launch_v1(void);
int cudaGetDevice(int *device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *func, int threads, size_t shared_bytes);
int cudaLaunchKernelExC(const config *c, const void *func, void **args);
const char *cudaGetErrorString(int error);
#pragma GCC visibility pop

/* In place of the library's, which reports it of a GPU. */
int isthmus_device_launch_v1(void) { return needs_place; }

int cudaGetDevice(int *device)
{
    *device = 0;
    return 0;
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 16 ? MULTIPROCESSORS : attribute == 95;
    return 0;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *func, int threads, size_t shared_bytes)
{
    (void)func, (void)shared_bytes;
    *n = threads == 64 ? ON_ONE : 0;
    return 0;
}

int cudaLaunchKernelExC(const config *c, const void *func, void **args)
{
    CHECK(c->n_attributes == 1 && c->attributes->id == COOPERATIVE_LAUNCH && c->attributes->value.cooperative == 1);
    CHECK(func == (const void *)&launched && args == (void **)&launched && c->stream == &launched);
    launched = c->grid.x * c->grid.y * c->grid.z;
    return 0;
}

const char *cudaGetErrorString(int error) { return error == 0 ? "none" : "some"; }

static void launch(void)
{
    const dim3 ours = {0, 0, 0}, two = {2, 1, 1}, many = {4, 4, 1}, block = {64, 1, 1}, part = {2, 0, 1},
               large = {128, 1, 1};
    void *kernel = &launched, *stream = &launched;
    int most = 0;
    CHECK(nvshmemx_collective_launch_query_gridsize(kernel, block, NULL, 0, &most) == 0);
    CHECK(most == MULTIPROCESSORS * ON_ONE);
    CHECK(nvshmemx_collective_launch(kernel, ours, block, (void **)&launched, 0, stream) == 0);
    CHECK(launched == MULTIPROCESSORS * ON_ONE);
    CHECK(nvshmemx_collective_launch(kernel, two, block, (void **)&launched, 0, stream) == 0);
    CHECK(launched == 2);
    CHECK(nvshmemx_collective_launch(kernel, part, block, (void **)&launched, 0, stream) == 1);
    CHECK(nvshmemx_collective_launch(kernel, many, block, (void **)&launched, 0, stream) == LAUNCH_FAILED);
    CHECK(launched == 2);
    CHECK(nvshmemx_collective_launch(kernel, ours, large, (void **)&launched, 0, stream) == LAUNCH_FAILED);
    needs_place = 1;
    CHECK(nvshmemx_collective_launch_query_gridsize(kernel, block, NULL, 0, &most) == 0);
    CHECK(most == MULTIPROCESSORS * ON_ONE - 1);
    CHECK(nvshmemx_collective_launch_query_gridsize(kernel, large, NULL, 0, &most) == 0);
    CHECK(most == 0); /* no block of it fits */
    needs_place = 0;
}

/* ---- what it does ---- */

int shmem_n_pes(void);
void shmem_int_p(int *, int, int);

static int count_runtime(struct dl_phdr_info *info, size_t size, void *n)
{
    (void)size;
    *(int *)n += strstr(info->dlpi_name, "libisthmus.so") != NULL;
    return 0;
}

static void one_runtime(int n)
{
    int n_runtimes = 0;
    dl_iterate_phdr(count_runtime, &n_runtimes);
    CHECK(n_runtimes == 1);
    CHECK(shmem_n_pes() == n);
    void *library = dlopen("libnvshmem_host.so.3",
                           RTLD_NOW | RTLD_NOLOAD); /* as the bindings for Python find routines */
    CHECK(library != NULL);
    CHECK(dlsym(library, "nvshmem_malloc") == dlvsym(library, "nvshmem_malloc", "NVSHMEM"));
    CHECK(dlsym(library, "nvshmem_malloc") != NULL);
    dlclose(library);
}

static void transfers(int me, int n)
{
    const int right = (me + 1) % n, left = (me + n - 1) % n, stream = 0;
    struct {
        long mine, sum;
        double total;
        uint64_t signal;
        float value;
        int from_left, by_shmem;
    } *at = nvshmem_malloc(sizeof *at), *data = nvshmem_malloc(sizeof *data);
    CHECK(at != NULL && data != NULL);
    memset(at, 0, sizeof *at);
    memset(data, me, sizeof *data);
    at->mine = me + 1, at->value = (float)me / 2;
    nvshmem_barrier_all();
    nvshmem_int_p(&at->from_left, me, right);
    shmem_int_p(&at->by_shmem, me + 100, right);
    CHECK(nvshmem_float_g(&at->value, right) == (float)right / 2);
    CHECK(nvshmem_long_sum_reduce(0, &at->sum, &at->mine, 1) == 0);
    (void)nvshmemx_double_atomic_fetch_add(&at->total, 0.5, 0);
    nvshmem_barrier_all();
    CHECK(at->from_left == left && at->by_shmem == left + 100 && at->sum == n * (n + 1) / 2);
    CHECK(at->total == (me == 0 ? 0.5 * n : 0));
    nvshmemx_putmem_signal_on_stream(data, at, sizeof *data - sizeof(long), &at->signal, 1, 9, right, (void *)&stream);
    nvshmemx_flush_on_stream((void *)&stream);
    nvshmemx_signal_wait_until_on_stream(&at->signal, 0, 1, (void *)&stream);
    CHECK(data->mine == left + 1);
    nvshmem_barrier_all();
    nvshmem_free(data);
    nvshmem_free(at);
}

static int device_library_of_program(void **state, void **transport_state)
{
    (void)state, (void)transport_state;
    fail("the state of the program's device library is left alone", __LINE__);
    return 1;
}

int main(void)
{
    const version v = {3, 8, 0};
    int provided = -1;
    CHECK(nvshmemid_init_status() == 0);
    CHECK(nvshmemid_hostlib_init_attr(2, &provided, 0, NULL, v, device_library_of_program) == 0);
    CHECK(provided == 2 && nvshmemid_init_status() == 2);
    CHECK(nvshmem_selected_device_transport == 0 && nvshmem_error == 0);
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    one_runtime(n);
    transfers(me, n);
    launch();
    nvshmemid_hostlib_finalize(NULL, NULL);
    CHECK(nvshmemid_init_status() == 0);
    return 0;
}
