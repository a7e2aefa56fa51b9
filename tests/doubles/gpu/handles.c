/* tests/doubles/gpu/handles.c: see gpu.h. Handles are numbers whose upper part distinguishes a new one from an old one
 * in the same row. */
#include "gpu.h"

#include <pthread.h>

enum { HANDLES_MAX = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct gpu_memory *memory;
    uint32_t generation, uses;
} handles[HANDLES_MAX];

static bool is_live(uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    return i < HANDLES_MAX && handles[i].memory != NULL && handles[i].generation == handle >> 32;
}

static uint64_t make(struct gpu_memory *memory)
{
    for (uint32_t i = 0; i < HANDLES_MAX; i++) {
        if (handles[i].memory != NULL) continue;
        handles[i].memory = memory;
        handles[i].uses = 1;
        return (uint64_t)++handles[i].generation << 32 | i;
    }
    gpu_memory_release(memory);
    return 0;
}

static uint64_t retain(struct gpu_memory *memory)
{
    for (uint32_t i = 0; i < HANDLES_MAX; i++) {
        if (handles[i].memory != memory) continue;
        handles[i].uses++;
        return (uint64_t)handles[i].generation << 32 | i;
    }
    return make(gpu_memory_retain(memory));
}

static bool release(uint64_t handle)
{
    if (!is_live(handle)) return false;
    uint32_t i = (uint32_t)handle;
    if (--handles[i].uses > 0) return true;
    gpu_memory_release(handles[i].memory);
    handles[i].memory = NULL;
    return true;
}

uint64_t gpu_handle_make(struct gpu_memory *memory)
{
    pthread_mutex_lock(&lock);
    uint64_t handle = make(memory);
    pthread_mutex_unlock(&lock);
    return handle;
}

uint64_t gpu_handle_retain(struct gpu_memory *memory)
{
    pthread_mutex_lock(&lock);
    uint64_t handle = retain(memory);
    pthread_mutex_unlock(&lock);
    return handle;
}

struct gpu_memory *gpu_handle_memory(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct gpu_memory *memory = is_live(handle) ? handles[(uint32_t)handle].memory : NULL;
    pthread_mutex_unlock(&lock);
    return memory;
}

bool gpu_handle_release(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    bool ok = release(handle);
    pthread_mutex_unlock(&lock);
    return ok;
}
