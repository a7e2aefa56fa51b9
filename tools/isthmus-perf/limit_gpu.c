/* tools/isthmus-perf/limit_gpu.c: see limit_gpu.h. */
#include "tools/isthmus-perf/limit_gpu.h"

#include <nvshmem.h>

#include <dlfcn.h>
#include <stdio.h>

enum { REASON_BYTES = 96 };
static const struct gpu_driver *const drivers[] = {&gpu_driver_cuda, &gpu_driver_hip};
enum { N_DRIVERS = sizeof drivers / sizeof *drivers };

static struct {
    const struct gpu_driver *driver;
    void *stream;
    bool was_opened, has_failed;
    char reason[REASON_BYTES];
} gpu;

/* Keeps the first reason. */
static void check(int result, const char *call)
{
    if (result == 0) return;
    const char *name = gpu.driver->error_name(result);
    if (!gpu.has_failed) snprintf(gpu.reason, sizeof gpu.reason, "%s: %s", call, name != NULL ? name : "unknown error");
    gpu.has_failed = true;
}

/* ---- batches ---- */

static void copy(void *dest, const void *source, size_t n_bytes)
{
    check(gpu.driver->copy(dest, source, n_bytes, gpu.stream), gpu.driver->copy_name);
}

void limit_gpu_synchronize(void) { check(gpu.driver->synchronize(gpu.stream), "the synchronization of a stream"); }

static void batch_put(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !gpu.has_failed; i++) {
        copy(place->alias, place->source, place->size_bytes);
        limit_gpu_synchronize();
    }
}

static void batch_get(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !gpu.has_failed; i++) {
        copy(place->source, place->alias, place->size_bytes);
        limit_gpu_synchronize();
    }
}

static void batch_put_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !gpu.has_failed; i++) copy(place->alias, place->source, place->size_bytes);
    limit_gpu_synchronize();
}

static void batch_get_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !gpu.has_failed; i++) copy(place->source, place->alias, place->size_bytes);
    limit_gpu_synchronize();
}

perf_batch *limit_gpu_batch(enum transfer what)
{
    switch (what) {
    case TRANSFER_PUT: return batch_put;
    case TRANSFER_GET: return batch_get;
    case TRANSFER_PUT_NBI: return batch_put_nbi;
    case TRANSFER_GET_NBI: return batch_get_nbi;
    case TRANSFER_FETCH_ADD:
    case TRANSFER_NONE: break;
    }
    return NULL;
}

const char *limit_gpu_failure(void) { return gpu.has_failed ? gpu.reason : NULL; }
const char *limit_gpu_name(void) { return gpu.driver->copy_name; }
void *limit_gpu_stream(void) { return gpu.stream; }

/* ---- set-up ---- */

bool gpu_driver_find(const char *const *files, const char *const *names, void **entries, size_t n)
{
    void *library = NULL;
    for (; library == NULL && *files != NULL; files++) library = dlopen(*files, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    for (size_t i = 0; library != NULL && i < n; i++)
        if ((entries[i] = dlsym(library, names[i])) == NULL) return false;
    return library != NULL;
}

/* Both drivers may be there: the memory is of one of them. */
static void open_one(const void *own)
{
    for (size_t i = 0; i < N_DRIVERS && gpu.stream == NULL; i++) {
        const char *call = "";
        if (!drivers[i]->load()) continue;
        gpu.driver = drivers[i];
        int result = gpu.driver->open(own, &gpu.stream, &call);
        check(result, call);
        if (result == 0) gpu.has_failed = false;
    }
    if (gpu.driver != NULL) return;
    snprintf(gpu.reason, sizeof gpu.reason, "bare copies are built in for CUDA's driver and HIP, which are not in use");
    gpu.has_failed = true;
}

const char *limit_gpu_open(const void *own)
{
    if (!gpu.was_opened) open_one(own);
    gpu.was_opened = true;
    return limit_gpu_failure();
}

void limit_gpu_close(void)
{
    if (gpu.driver != NULL) gpu.driver->close(gpu.stream);
    gpu.stream = NULL;
}

void *limit_gpu_alias(const void *dest, int pe) { return nvshmem_ptr(dest, pe); }
