/* tools/isthmus-perf/limit_gpu.c: see limit_gpu.h. */
#include "tools/isthmus-perf/limit_gpu.h"
#include "tools/isthmus-perf/bare.h"

#include <nvshmem.h>

#include <dlfcn.h>
#include <stdio.h>

enum { REASON_BYTES = 128 };
static const struct gpu_driver *const drivers[] = {&gpu_driver_cuda, &gpu_driver_hip, &gpu_driver_ze};
enum { N_DRIVERS = sizeof drivers / sizeof *drivers };

static struct {
    const struct gpu_driver *driver; /* NULL: none is open */
    void *stream;
    bool was_opened, has_failed;
    char reason[REASON_BYTES];
} gpu;

/* Keeps the first reason. */
static void check(const struct gpu_driver *driver, int result, const char *call)
{
    if (result == 0) return;
    const char *name = driver->error_name(result);
    if (!gpu.has_failed) snprintf(gpu.reason, sizeof gpu.reason, "%s: %s", call, name != NULL ? name : "unknown error");
    gpu.has_failed = true;
}

/* ---- steps ---- */

static void copy(void *dest, const void *source, size_t n_bytes)
{
    if (!gpu.has_failed) check(gpu.driver, gpu.driver->copy(dest, source, n_bytes, gpu.stream), gpu.driver->copy_name);
}

void limit_gpu_synchronize(void)
{
    check(gpu.driver, gpu.driver->synchronize(gpu.stream), "the synchronization of a stream");
}

static void write_word(uint64_t *word, uint64_t value)
{
    if (!gpu.has_failed) check(gpu.driver, gpu.driver->write_word(word, value, gpu.stream), "a write of a stream");
}

static void wait_word(uint64_t *word, uint64_t value)
{
    if (!gpu.has_failed) check(gpu.driver, gpu.driver->wait_word(word, value, gpu.stream), "a wait of a stream");
}

/* ---- batches of a pair ---- */

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
    for (long i = 0; i < reps; i++) copy(place->alias, place->source, place->size_bytes);
    limit_gpu_synchronize();
}

static void batch_get_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) copy(place->source, place->alias, place->size_bytes);
    limit_gpu_synchronize();
}

/* The flag of that PE is as far as any other word of its memory. */
static void batch_stream_signal(const struct place *place, long reps)
{
    uint64_t *signal = nvshmem_ptr(&place->stream_flags[FLAG_SIGNAL], place->to);
    for (long i = 0; i < reps; i++) {
        copy(place->alias, place->source, place->size_bytes);
        if (signal != NULL) write_word(signal, (uint64_t)i);
    }
    limit_gpu_synchronize();
}

/* ---- batches of all PEs: each gets blocks from the next one ---- */

static void receive_now(const struct place *place, int n_blocks)
{
    for (int block = 0; block < n_blocks; block++)
        copy(place->dest + (size_t)block * place->size_bytes, place->alias, place->size_bytes);
    limit_gpu_synchronize();
}

static void batch_block_alone(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) receive_now(place, 1);
}

static void batch_block(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        bare_flags(place, 1);
        receive_now(place, 1);
    }
}

static void batch_blocks(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        bare_flags(place, 1);
        receive_now(place, place->n_pes - 1);
    }
}

static void batch_stream_block(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) copy(place->dest, place->alias, place->size_bytes);
    limit_gpu_synchronize();
}

static void batch_stream_blocks(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        for (int block = 0; block < place->n_pes - 1; block++)
            copy(place->dest + (size_t)block * place->size_bytes, place->alias, place->size_bytes);
    limit_gpu_synchronize();
}

/* The flag of a round at the partner that this PE informs. */
static uint64_t *partner_flag(const struct place *place, int round)
{
    return nvshmem_ptr(&place->stream_flags[round * FLAG_STRIDE], (int)((place->my_pe + (1L << round)) % place->n_pes));
}

bool limit_gpu_reaches_flags(const struct place *place)
{
    for (int round = 0; 1L << round < place->n_pes; round++)
        if (partner_flag(place, round) == NULL) return false;
    return true;
}

/* As bare_flags() in the order of streams: the host only passes the commands on. */
static void batch_stream_flags(const struct place *place, long reps)
{
    static uint64_t turn;
    for (long i = 0; i < reps; i++) {
        turn++;
        for (int round = 0; 1L << round < place->n_pes; round++) {
            write_word(partner_flag(place, round), turn);
            wait_word(&place->stream_flags[round * FLAG_STRIDE], turn);
        }
    }
    limit_gpu_synchronize();
}

static bool has_words(void) { return gpu.stream != NULL && gpu.driver->has_words != NULL && gpu.driver->has_words(); }

/* An atomic on a device needs one way to its memory at least, one that fetches both: that of a copy of a word. */
perf_batch *limit_gpu_batch(enum transfer what)
{
    static perf_batch *const batches[N_TRANSFERS] = {
        [TRANSFER_PUT] = batch_put,
        [TRANSFER_GET] = batch_get,
        [TRANSFER_PUT_NBI] = batch_put_nbi,
        [TRANSFER_GET_NBI] = batch_get_nbi,
        [TRANSFER_PUT_SIGNAL] = batch_put,
        [TRANSFER_FETCH_ADD] = batch_get,
        [TRANSFER_ADD] = batch_put_nbi,
        [TRANSFER_COMPARE_SWAP] = batch_get,
        [TRANSFER_BLOCK_ALONE] = batch_block_alone,
        [TRANSFER_BLOCK] = batch_block,
        [TRANSFER_BLOCKS] = batch_blocks,
        [TRANSFER_STREAM_SIGNAL] = batch_stream_signal,
        [TRANSFER_STREAM_FLAGS] = batch_stream_flags,
        [TRANSFER_STREAM_BLOCK] = batch_stream_block,
        [TRANSFER_STREAM_BLOCKS] = batch_stream_blocks,
    };
    bool needs_words = what == TRANSFER_STREAM_SIGNAL || what == TRANSFER_STREAM_FLAGS;
    return needs_words && !has_words() ? NULL : batches[what];
}

const char *limit_gpu_failure(void) { return gpu.has_failed ? gpu.reason : NULL; }
void *limit_gpu_stream(void) { return gpu.stream; }

const char *limit_gpu_name(enum transfer what)
{
    return what == TRANSFER_STREAM_FLAGS ? "writes and waits of streams" : gpu.driver->copy_name;
}

bool limit_gpu_has_streams(void) { return gpu.stream != NULL && gpu.driver->has_streams; }

/* ---- set-up ---- */

bool gpu_driver_find(const char *const *files, const char *const *names, void **entries, size_t n)
{
    void *library = NULL;
    for (; library == NULL && *files != NULL; files++) library = dlopen(*files, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    for (size_t i = 0; library != NULL && i < n; i++)
        if ((entries[i] = dlsym(library, names[i])) == NULL) return false;
    return library != NULL;
}

/* Several drivers may be there: the memory is of one of them. One that fails to open it keeps nothing. */
static void open_one(const void *own, size_t room_bytes)
{
    bool has_driver = false;
    for (size_t i = 0; i < N_DRIVERS && gpu.driver == NULL; i++) {
        const char *call = "";
        void *stream = NULL;
        if (!drivers[i]->load()) continue;
        has_driver = true;
        int result = drivers[i]->open(own, room_bytes, &stream, &call);
        check(drivers[i], result, call);
        if (result == 0) {
            gpu.driver = drivers[i];
            gpu.stream = stream;
            gpu.has_failed = false;
        } else {
            drivers[i]->close(NULL);
        }
    }
    if (has_driver) return;
    snprintf(gpu.reason, sizeof gpu.reason,
             "bare copies are built in for CUDA's driver, HIP and Level Zero, which are not in use");
    gpu.has_failed = true;
}

const char *limit_gpu_open(const void *own, size_t room_bytes)
{
    if (!gpu.was_opened) open_one(own, room_bytes);
    gpu.was_opened = true;
    return limit_gpu_failure();
}

void limit_gpu_close(void)
{
    if (gpu.driver != NULL) gpu.driver->close(gpu.stream);
    gpu.driver = NULL;
    gpu.stream = NULL;
}

bool limit_gpu_reach(struct place *place, const void *symmetric, int pe)
{
    if (gpu.driver->reach != NULL) return gpu.driver->reach(place, symmetric, pe);
    place->alias = nvshmem_ptr(symmetric, pe);
    return place->alias != NULL;
}
