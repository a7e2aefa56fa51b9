/* plugins/xelink/ze_stream.c: see xelink.h. Commands of an immediate list may overtake one another; a barrier behind
 * each makes them a stream. One event shows the host its progress; waits take the lock too, because a list admits one
 * caller. A list uses a queue that only copies until its first atomic operation: from then on it uses one that
 * computes, so that copies and atomics stay in one order. Both have high priority: the kernel of atomics runs before
 * kernels of the program's that wait for room, and perhaps for what it does. */
#include "plugins/xelink/xelink.h"

#include <pthread.h>
#include <stdlib.h>

struct xe_stream {
    pthread_mutex_t lock;
    ze_command_list_handle_t list;
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;
    bool is_computing;
};

static isthmus_status check(const struct p2p_gpu *gpu, ze_result_t result, const char *what)
{
    const struct isthmus_services *s = gpu->services;
    if (result == ZE_RESULT_SUCCESS) return ISTHMUS_OK;
    return s->fail(s->core, xe_status(result), "%s: Level Zero's error %#x", what, (unsigned)result);
}

static ze_result_t create_list(const struct p2p_gpu *gpu, uint32_t group, ze_command_list_handle_t *list)
{
    const ze_command_queue_desc_t queue = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = group,
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
        .priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
    };
    return xe_ze.zeCommandListCreateImmediate(gpu->context, gpu->device, &queue, list);
}

static ze_result_t create_parts(const struct p2p_gpu *gpu, struct xe_stream *stream)
{
    const ze_event_pool_desc_t pool = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 1};
    const ze_event_desc_t event = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_device_handle_t device = gpu->device;
    ze_result_t result = create_list(gpu, gpu->copy_group, &stream->list);
    if (result == ZE_RESULT_SUCCESS) result = xe_ze.zeEventPoolCreate(gpu->context, &pool, 1, &device, &stream->pool);
    if (result == ZE_RESULT_SUCCESS) result = xe_ze.zeEventCreate(stream->pool, &event, &stream->event);
    return result;
}

isthmus_status xe_stream_open(struct p2p_gpu *gpu, void **out)
{
    const struct isthmus_services *s = gpu->services;
    struct xe_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a stream");
    pthread_mutex_init(&stream->lock, NULL);
    isthmus_status status = check(gpu, create_parts(gpu, stream), "a command list and its event");
    if (status != ISTHMUS_OK)
        xe_stream_close(gpu, stream);
    else
        *out = stream;
    return status;
}

/* Also of one that was opened halfway. */
void xe_stream_close(struct p2p_gpu *gpu, void *argument)
{
    struct xe_stream *stream = argument;
    (void)gpu;
    if (stream->list != NULL) (void)xe_ze.zeCommandListDestroy(stream->list);
    if (stream->event != NULL) (void)xe_ze.zeEventDestroy(stream->event);
    if (stream->pool != NULL) (void)xe_ze.zeEventPoolDestroy(stream->pool);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* With the lock. */
static ze_result_t drain(struct xe_stream *stream)
{
    ze_result_t result = xe_ze.zeEventHostReset(stream->event);
    if (result == ZE_RESULT_SUCCESS) result = xe_ze.zeCommandListAppendBarrier(stream->list, stream->event, 0, NULL);
    if (result == ZE_RESULT_SUCCESS) result = xe_ze.zeEventHostSynchronize(stream->event, UINT64_MAX);
    return result;
}

/* With the lock. After a wait that failed the caller frees the memory of its copies: unless the device is lost it still
 * executes them, so they are waited for once more. */
static ze_result_t wait(struct xe_stream *stream)
{
    ze_result_t result = drain(stream);
    if (result != ZE_RESULT_SUCCESS) (void)drain(stream);
    return result;
}

/* With the lock: what follows a command. A command that no barrier separates from the next one has failed. */
static ze_result_t append_barrier(struct xe_stream *stream)
{
    ze_result_t result = xe_ze.zeCommandListAppendBarrier(stream->list, NULL, 0, NULL);
    if (result != ZE_RESULT_SUCCESS) (void)wait(stream);
    return result;
}

isthmus_status xe_stream_wait(struct p2p_gpu *gpu, void *argument)
{
    struct xe_stream *stream = argument;
    pthread_mutex_lock(&stream->lock);
    ze_result_t result = wait(stream);
    pthread_mutex_unlock(&stream->lock);
    return check(gpu, result, "waiting for copies and atomic operations of the GPU");
}

isthmus_status xe_copy(struct p2p_gpu *gpu, void *argument, void *dest, const void *source, size_t length_bytes)
{
    struct xe_stream *stream = argument;
    pthread_mutex_lock(&stream->lock);
    ze_result_t result = xe_ze.zeCommandListAppendMemoryCopy(stream->list, dest, source, length_bytes, NULL, 0, NULL);
    if (result == ZE_RESULT_SUCCESS) result = append_barrier(stream);
    pthread_mutex_unlock(&stream->lock);
    return check(gpu, result, "zeCommandListAppendMemoryCopy");
}

/* With the lock. What the old list was given is done before the new one begins. */
static ze_result_t begin_computing(struct p2p_gpu *gpu, struct xe_stream *stream)
{
    ze_command_list_handle_t list = NULL;
    ze_result_t result = gpu->copy_group != gpu->compute_group ? create_list(gpu, gpu->compute_group, &list)
                                                               : ZE_RESULT_SUCCESS;
    if (result == ZE_RESULT_SUCCESS && list != NULL) {
        result = drain(stream);
        (void)xe_ze.zeCommandListDestroy(result == ZE_RESULT_SUCCESS ? stream->list : list);
        if (result == ZE_RESULT_SUCCESS) stream->list = list;
    }
    stream->is_computing = result == ZE_RESULT_SUCCESS;
    return result;
}

isthmus_status xe_amo(struct p2p_gpu *gpu, void *argument, const struct p2p_amo *amo)
{
    struct xe_stream *stream = argument;
    pthread_mutex_lock(&stream->lock);
    ze_result_t result = stream->is_computing ? ZE_RESULT_SUCCESS : begin_computing(gpu, stream);
    if (result == ZE_RESULT_SUCCESS) result = xe_amo_append(gpu, stream->list, amo);
    if (result == ZE_RESULT_SUCCESS) result = append_barrier(stream);
    pthread_mutex_unlock(&stream->lock);
    return check(gpu, result, "the kernel of atomics");
}

isthmus_status xe_clear(struct p2p_gpu *gpu, void *dest, size_t length_bytes)
{
    static const uint8_t zero;
    void *argument = NULL;
    isthmus_status status = xe_stream_open(gpu, &argument);
    if (status != ISTHMUS_OK) return status;
    struct xe_stream *stream = argument;
    ze_result_t result = xe_ze.zeCommandListAppendMemoryFill(stream->list, dest, &zero, sizeof zero, length_bytes, NULL,
                                                             0, NULL);
    status = check(gpu, result, "zeCommandListAppendMemoryFill");
    if (status == ISTHMUS_OK) status = xe_stream_wait(gpu, stream);
    xe_stream_close(gpu, stream);
    return status;
}
