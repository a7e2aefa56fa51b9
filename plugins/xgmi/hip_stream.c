/* plugins/xgmi/hip_stream.c: see xgmi.h. */
#include "plugins/xgmi/xgmi.h"

/* The program's own streams need a device that waits for values, and HIP's compiler for their atomics. */
bool xg_streams_work(const struct p2p_gpu *gpu)
{
    int waits = 0;
    if (!xg_has_rtc || xg_more.hipStreamWaitValue64 == NULL || xg_more.hipLaunchHostFunc == NULL) return false;
    hipError_t result = xg_hip.hipDeviceGetAttribute(&waits, hipDeviceAttributeCanUseStreamWaitValue, gpu->device);
    return result == hipSuccess && waits != 0;
}

/* The highest priority: the kernel of atomics runs before kernels of the program's that wait for room, and perhaps for
 * what it does. */
isthmus_status xg_stream_open(struct p2p_gpu *gpu, void **stream)
{
    int before, least, greatest;
    hipStream_t own = NULL;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipDeviceGetStreamPriorityRange(&least, &greatest);
    if (result == hipSuccess) result = xg_hip.hipStreamCreateWithPriority(&own, hipStreamNonBlocking, greatest);
    xg_leave(before);
    if (result == hipSuccess) *stream = own;
    return xg_check(gpu, result, "hipStreamCreateWithPriority");
}

void xg_stream_close(struct p2p_gpu *gpu, void *stream)
{
    (void)gpu;
    (void)xg_hip.hipStreamDestroy(stream);
}

isthmus_status xg_stream_wait(struct p2p_gpu *gpu, void *stream)
{
    return xg_check(gpu, xg_hip.hipStreamSynchronize(stream), "a copy of the GPU");
}

isthmus_status xg_copy(struct p2p_gpu *gpu, void *stream, void *dest, const void *source, size_t length_bytes)
{
    int before;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipMemcpyAsync(dest, source, length_bytes, hipMemcpyDefault, stream);
    xg_leave(before);
    return xg_check(gpu, result, "hipMemcpyAsync");
}

static isthmus_status launch(struct p2p_gpu *gpu, void *stream, const struct p2p_amo *amo)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&gpu->lock);
    if (gpu->kernel.amo == NULL) status = xg_amo_load(gpu->services, &gpu->kernel);
    pthread_mutex_unlock(&gpu->lock);
    return status == ISTHMUS_OK ? xg_check(gpu, xg_amo_launch(&gpu->kernel, stream, amo), "hipModuleLaunchKernel")
                                : status;
}

isthmus_status xg_amo(struct p2p_gpu *gpu, void *stream, const struct p2p_amo *amo)
{
    int before;
    isthmus_status status = xg_check(gpu, xg_enter(gpu, &before), "hipSetDevice");
    if (status == ISTHMUS_OK) status = launch(gpu, stream, amo);
    xg_leave(before);
    return status;
}

/* A stream compares unsigned numbers for equality and for "at least". Which memory it can wait on is HIP's matter: in
 * old releases signals only. What it refuses, the core does otherwise. */
isthmus_status xg_wait_until(struct p2p_gpu *gpu, void *stream, const uint64_t *word, uint32_t compare, uint64_t value)
{
    const struct isthmus_services *s = gpu->services;
    bool is_greater = compare == ISTHMUS_COMPARE_GT && value < UINT64_MAX;
    if (compare != ISTHMUS_COMPARE_EQ && compare != ISTHMUS_COMPARE_GE && !is_greater)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "a HIP stream cannot wait with comparison %u and value %llu",
                       compare, (unsigned long long)value);
    unsigned flags = compare == ISTHMUS_COMPARE_EQ ? hipStreamWaitValueEq : hipStreamWaitValueGte;
    int before;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess)
        result = xg_more.hipStreamWaitValue64(stream, (void *)(uintptr_t)word, is_greater ? value + 1 : value, flags,
                                              UINT64_MAX);
    xg_leave(before);
    if (result == hipErrorInvalidValue)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "a stream of this HIP cannot wait on the memory at %p",
                       (const void *)word);
    return xg_check(gpu, result, "hipStreamWaitValue64");
}

/* Words by value in the program's streams, where they are flags. The engine's own words are copies (no write()): HIP
 * writes by a kernel, for which a program's kernel that waits for the word may have left no room. */
static isthmus_status write_word(struct p2p_gpu *gpu, void *stream, const struct p2p_word *word)
{
    int before;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = xg_more.hipStreamWriteValue64(stream, word->addr, word->value, 0);
    xg_leave(before);
    return xg_check(gpu, result, "hipStreamWriteValue64");
}

isthmus_status xg_words(struct p2p_gpu *gpu, void *stream, const struct p2p_word *list, uint32_t n)
{
    const struct isthmus_services *s = gpu->services;
    isthmus_status status = ISTHMUS_OK;
    if (xg_more.hipStreamWriteValue64 == NULL)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "this HIP lacks hipStreamWriteValue64; install ROCm 5 or newer");
    for (uint32_t i = 0; i < n && status == ISTHMUS_OK; i++)
        status = list[i].is_awaited ? xg_wait_until(gpu, stream, list[i].addr, ISTHMUS_COMPARE_GE, list[i].value)
                                    : write_word(gpu, stream, &list[i]);
    return status;
}

isthmus_status xg_complete(struct p2p_gpu *gpu)
{
    int before;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipDeviceSynchronize();
    xg_leave(before);
    return xg_check(gpu, result, "hipDeviceSynchronize");
}

isthmus_status xg_host_function(struct p2p_gpu *gpu, void *stream, void (*function)(void *), void *argument)
{
    int before;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = xg_more.hipLaunchHostFunc(stream, function, argument);
    xg_leave(before);
    return xg_check(gpu, result, "hipLaunchHostFunc");
}
