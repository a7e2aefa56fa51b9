/* tests/doubles/cuda/cuda_coll.c: see cuda_double.h. The kernel's own source (plugins/common/kernels), compiled
 * for the CPU device, runs when the launch has its turn in the stream. The processor cannot touch device addresses: the
 * kernel gets the same memory at others, all of a member's heap at one distance, as on a device. */
#define isthmus_device_register_v1 double_has_no_register /* the double is no module of the program's */
#define isthmus_device_unregister_v1 double_has_no_unregister

#include "tests/doubles/cuda/cuda_double.h"

#include "plugins/common/kernels/coll_kernel.h"

#include <isthmus/device_cpu_launch.h>
#include <stdlib.h>

enum { THREADS_AT_MOST = 8 }; /* of a block: results do not depend on their number */

/* One range of symmetric memory on all members: the addresses of this PE, and what they become. */
struct range {
    struct gpu_shadow shadows[ISTHMUS_COLLECTIVE_MEMBERS];
    int n;
};

static char *in(const struct gpu_shadow *shadow, uint64_t addr)
{
    return addr - shadow->base < shadow->length_bytes ? shadow->at + (addr - shadow->base) : NULL;
}

/* Sets deltas to the distances of the other addresses. Returns this PE's other address of `addr`; NULL: a member's is
 * illegal. */
static char *open_range(struct range *range, uint64_t addr, uint64_t length_bytes, int64_t *delta,
                        const struct coll_args *args)
{
    char *at[ISTHMUS_COLLECTIVE_MEMBERS];
    for (; range->n < args->n; range->n++) {
        uint64_t there = addr + (uint64_t)delta[range->n];
        if (!gpu_is_valid(there, length_bytes) || !gpu_shadow_open(there, &range->shadows[range->n])) return NULL;
        at[range->n] = in(&range->shadows[range->n], there);
    }
    for (int i = 0; i < args->n; i++) delta[i] = (int64_t)((uintptr_t)at[i] - (uintptr_t)at[args->me]);
    return at[args->me];
}

static void close_range(struct range *range)
{
    while (range->n > 0) gpu_shadow_close(&range->shadows[--range->n]);
}

static bool are_sources_valid(const struct coll_args *args, uint64_t length_bytes)
{
    bool ok = true;
    for (int i = 0; i < args->n; i++)
        ok = ok && gpu_is_valid((uint64_t)(uintptr_t)args->source + (uint64_t)args->data_delta[i], length_bytes);
    return ok;
}

static bool open_data(struct range *data, struct coll_args *args)
{
    uint32_t what = args->what;
    uint64_t n = (uint64_t)args->n, source = (uint64_t)(uintptr_t)args->source;
    bool has_dests = what == ISTHMUS_COLLECTIVE_FCOLLECT || what == ISTHMUS_COLLECTIVE_ALLTOALL;
    bool has_sources = what == ISTHMUS_COLLECTIVE_ALLTOALL || what == ISTHMUS_COLLECTIVE_REDUCESCATTER;
    if (what == ISTHMUS_COLLECTIVE_SYNC) return true;
    if (!are_sources_valid(args, args->length * (has_sources ? n : 1))) return false;
    args->dest = open_range(data, (uint64_t)(uintptr_t)args->dest, args->length * (has_dests ? n : 1), args->data_delta,
                            args);
    if (args->dest == NULL) return false;
    char *at = in(&data->shadows[args->me], source);
    args->source = at;
    return at != NULL;
}

static void kernel(void *args) { coll_run(args); }

int double_run_isthmus_coll(struct gpu_op *op)
{
    enum { LAUNCH_FAILED = 719 };
    struct coll_args *args = op->argument;
    struct range data = {.n = 0}, flags = {.n = 0};
    uint32_t threads = op->value < THREADS_AT_MOST ? (uint32_t)op->value : (uint32_t)THREADS_AT_MOST;
    bool ok = open_data(&data, args);
    char *own_flags = !ok ? NULL
                          : open_range(&flags, (uint64_t)(uintptr_t)args->flags,
                                       coll_flag_words(args->most) * sizeof(uint64_t), args->flags_delta, args);
    args->flags = (uint64_t *)(void *)own_flags;
    int code = own_flags != NULL ? 0 : CUDA_ERROR_ILLEGAL_ADDRESS;
    if (code == 0 && isthmus_cpu_launch(op->blocks, threads, kernel, args) != 0) code = LAUNCH_FAILED;
    close_range(&data);
    close_range(&flags);
    free(args);
    return code;
}
