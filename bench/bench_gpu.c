/* Memory of GPUs, two PEs on one host: the calls of the host and those on streams, beside the same work of the CUDA
 * driver between the same buffers. PE 0 measures, PE 1 waits in a barrier of the host; both take part in some rows.
 * Not about kernels that communicate. A second argument picks the rows with it in the name.
 * Read on: bare_cuda.h; gpu.py starts this. */
#include "bare_cuda.h"
#include "bench.h"

#include <nvshmem.h>

#include <string.h>

enum { LARGE_BYTES = 64 << 20, MEDIUM_BYTES = 1 << 20, SMALL_BYTES = 4096, FLAGS = 64 };

static char *from;             /* symmetric memory of this PE, as dest is */
static uint64_t value, round_; /* the value written, and the number of barriers so far */

/* ---- device to device ---- */

static void put(const struct bench_target *target, long reps, size_t n_bytes)
{
    for (long i = 0; i < reps; i++) {
        shmem_putmem(target->dest, from, n_bytes, target->peer);
        shmem_quiet();
    }
}

static void get(const struct bench_target *target, long reps, size_t n_bytes)
{
    for (long i = 0; i < reps; i++) shmem_getmem(from, target->dest, n_bytes, target->peer);
}

static void bare_copy(const struct bench_target *target, long reps, size_t n_bytes, bool is_get)
{
    for (long i = 0; i < reps; i++) {
        bare_cuda_copy(is_get ? from : target->alias, is_get ? target->alias : from, n_bytes);
        bare_cuda_synchronize();
    }
}

static void call_put_large(const struct bench_target *target, long reps) { put(target, reps, LARGE_BYTES); }
static void bare_put_large(const struct bench_target *target, long reps)
{
    bare_copy(target, reps, LARGE_BYTES, false);
}
static void call_get_large(const struct bench_target *target, long reps) { get(target, reps, LARGE_BYTES); }
static void bare_get_large(const struct bench_target *target, long reps) { bare_copy(target, reps, LARGE_BYTES, true); }
static void call_put_medium(const struct bench_target *target, long reps) { put(target, reps, MEDIUM_BYTES); }
static void bare_put_medium(const struct bench_target *target, long reps)
{
    bare_copy(target, reps, MEDIUM_BYTES, false);
}
static void call_put_small(const struct bench_target *target, long reps) { put(target, reps, SMALL_BYTES); }
static void bare_put_small(const struct bench_target *target, long reps)
{
    bare_copy(target, reps, SMALL_BYTES, false);
}
static void call_get_small(const struct bench_target *target, long reps) { get(target, reps, SMALL_BYTES); }
static void bare_get_small(const struct bench_target *target, long reps) { bare_copy(target, reps, SMALL_BYTES, true); }

static void call_put_on_stream(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) {
        nvshmemx_putmem_on_stream(target->dest, from, LARGE_BYTES, target->peer, bare_cuda_stream());
        nvshmemx_quiet_on_stream(bare_cuda_stream());
        bare_cuda_synchronize();
    }
}

/* ---- a word of the host's ---- */

static void call_p(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) {
        shmem_uint64_p(target->dest, ++value, target->peer);
        shmem_quiet();
    }
}

static void call_p_rate(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) shmem_uint64_p(target->dest, ++value, target->peer);
    shmem_quiet();
}

static void bare_write_rate(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) bare_cuda_write(target->alias, ++value);
    bare_cuda_synchronize();
}

#define BARE_WORD(way)                                                          \
    static void bare_##way##_word(const struct bench_target *target, long reps) \
    {                                                                           \
        for (long i = 0; i < reps; i++) {                                       \
            bare_cuda_##way(target->alias, ++value);                            \
            bare_cuda_synchronize();                                            \
        }                                                                       \
    }
BARE_WORD(write)
BARE_WORD(store)
BARE_WORD(from_pinned)

static void bare_to_device_word(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) bare_cuda_to_device(target->alias, ++value);
}

static void call_g(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) value = shmem_uint64_g(target->dest, target->peer);
}

static void bare_g(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) value = bare_cuda_from_device(target->alias);
}

static void call_fetch_add(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) value = shmem_uint64_atomic_fetch_add(target->dest, 1, target->peer);
}

/* ---- barriers and syncs ---- */

static void call_barrier(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) nvshmemx_barrier_all_on_stream(bare_cuda_stream());
    bare_cuda_synchronize();
}

static void call_barrier_each(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) call_barrier(target, 1);
}

static void bare_meet(const struct bench_target *target)
{
    bare_cuda_write((char *)target->alias + FLAGS, ++round_);
    bare_cuda_wait((char *)target->dest + FLAGS, round_);
}

static void bare_barrier(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) bare_meet(target);
    bare_cuda_synchronize();
}

static void bare_barrier_each(const struct bench_target *target, long reps)
{
    for (long i = 0; i < reps; i++) bare_barrier(target, 1);
}

static const struct bench_row alone[] = {
    {"put of 64 MiB + quiet", call_put_large, bare_put_large, 5, 1 / 0.95, "x"},
    {"get of 64 MiB", call_get_large, bare_get_large, 5, 1 / 0.95, "x"},
    {"put_on_stream of 64 MiB", call_put_on_stream, bare_put_large, 5, 1 / 0.95, "x"},
    {"put of 1 MiB + quiet", call_put_medium, bare_put_medium, 50, 0, "x"},
    {"put of 4 KiB of device memory + quiet", call_put_small, bare_put_small, 100, 0, "x"},
    {"get of 4 KiB into device memory", call_get_small, bare_get_small, 100, 0, "x"},
    {"p + quiet, against cuStreamWriteValue64", call_p, bare_write_word, 200, 1.2, "x"},
    {"p + quiet, against cuMemcpyHtoD", call_p, bare_to_device_word, 200, 1.2, "x"},
    {"p + quiet, against cuMemcpyAsync", call_p, bare_from_pinned_word, 200, 1.2, "x"},
    {"p + quiet, against a kernel", call_p, bare_store_word, 200, 1.2, "x"},
    {"p, each of 1000 (bare: cuStreamWriteValue64)", call_p_rate, bare_write_rate, 1000, 1.2, "x"},
    {"g of 8 B (bare: cuMemcpyDtoH)", call_g, bare_g, 200, 0, "x"},
    {"fetch_add (bare: a kernel that stores)", call_fetch_add, bare_store_word, 200, 0, "x"},
};

static const struct bench_row together[] = {
    {"barrier_all_on_stream + synchronize (bare: write a flag, wait for one)", call_barrier_each, bare_barrier_each, 20,
     0, "x"},
    {"barrier_all_on_stream, each of 100 (bare: write a flag, wait for one)", call_barrier, bare_barrier, 100, 0, "x"},
};

static bool is_chosen(const struct bench_row *row, int argc, char **argv)
{
    return argc < 3 || strstr(row->name, argv[2]) != NULL;
}

int main(int argc, char **argv)
{
    struct bench_target target = bench_open_anywhere(argc, argv, LARGE_BYTES);
    from = shmem_calloc(LARGE_BYTES, 1);
    target.alias = nvshmem_ptr(target.dest, target.peer);
    if (from == NULL || target.alias == NULL) bench_skip(&target, "the heap is not in memory of one host's GPUs");
    if (!bare_cuda_open(target.dest)) bench_skip(&target, "no CUDA driver");
    if (target.my_pe == 0) printf("device\t%s\n", bare_cuda_device());
    for (size_t i = 0; i < sizeof alone / sizeof *alone && target.my_pe == 0; i++)
        if (is_chosen(&alone[i], argc, argv)) bench_compare(&target, &alone[i], false);
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof together / sizeof *together; i++)
        if (is_chosen(&together[i], argc, argv)) bench_compare(&target, &together[i], true);
    bare_cuda_close();
    shmem_free(from);
    return bench_close(&target);
}
