/* tools/isthmus-perf/driver_ze.c: Level Zero, for Intel's GPUs. See limit_gpu.h. It copies within a context, and the
 * heap is in that of transport xelink; so this one has a context of its own, with a buffer on the heap's device and one
 * on each device that a peer's heap is on: the copy takes the same way. */
#include "tools/isthmus-perf/limit_gpu.h"

#ifdef PERF_WITH_ZE

#include <level_zero/ze_api.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DRIVERS = 8, MAX_DEVICES = 64, MAX_GROUPS = 16, ALIGN_BYTES = 64 << 10 };

#define CALLS(X)                              \
    X(zeInit)                                 \
    X(zeDriverGet)                            \
    X(zeDeviceGet)                            \
    X(zeDeviceGetSubDevices)                  \
    X(zeDeviceGetProperties)                  \
    X(zeDeviceCanAccessPeer)                  \
    X(zeDeviceGetCommandQueueGroupProperties) \
    X(zeContextCreate)                        \
    X(zeContextDestroy)                       \
    X(zeMemGetAllocProperties)                \
    X(zeMemAllocDevice)                       \
    X(zeMemFree)                              \
    X(zeCommandListCreateImmediate)           \
    X(zeCommandListDestroy)                   \
    X(zeCommandListAppendMemoryCopy)          \
    X(zeCommandListAppendBarrier)             \
    X(zeEventPoolCreate)                      \
    X(zeEventPoolDestroy)                     \
    X(zeEventCreate)                          \
    X(zeEventDestroy)                         \
    X(zeEventHostSynchronize)                 \
    X(zeEventHostReset)

#define DECLARE(name) __typeof__(name) *(name);
#define NAME(name) #name,
static struct {
    CALLS(DECLARE)
} ze;
static const char *const names[] = {CALLS(NAME)};
_Static_assert(sizeof ze == sizeof names, "a name for each call");

struct device {
    ze_device_handle_t handle;
    ze_device_uuid_t uuid;
    void *buffer; /* NULL: not allocated */
};

static ze_device_uuid_t uuid; /* symmetric: of the device of the heap */

static struct {
    struct device devices[MAX_DEVICES]; /* of the driver that has the heap's; tiles count as devices */
    int n_devices, own;
    size_t room_bytes;
    ze_context_handle_t context;
    ze_command_list_handle_t list;
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;
} own;

static bool load(void)
{
    const char *file = getenv("ISTHMUS_XELINK_LIBRARY");
    const char *const files[] = {file != NULL ? file : "libze_loader.so.1", NULL};
    return gpu_driver_find(files, names, (void **)(void *)&ze, sizeof names / sizeof *names);
}

/* ---- devices ---- */

static void add_device(ze_device_handle_t handle)
{
    ze_device_properties_t about = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    if (own.n_devices == MAX_DEVICES || ze.zeDeviceGetProperties(handle, &about) != ZE_RESULT_SUCCESS) return;
    own.devices[own.n_devices++] = (struct device){.handle = handle, .uuid = about.uuid};
}

static void add_devices(ze_driver_handle_t driver)
{
    ze_device_handle_t devices[MAX_DEVICES], tiles[MAX_DEVICES];
    uint32_t n = MAX_DEVICES;
    own.n_devices = 0;
    if (ze.zeDeviceGet(driver, &n, devices) != ZE_RESULT_SUCCESS) n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_tiles = MAX_DEVICES;
        if (ze.zeDeviceGetSubDevices(devices[i], &n_tiles, tiles) != ZE_RESULT_SUCCESS) n_tiles = 0;
        for (uint32_t tile = 0; tile < n_tiles; tile++) add_device(tiles[tile]);
        if (n_tiles == 0) add_device(devices[i]);
    }
}

static int find_device(const void *addr)
{
    ze_memory_allocation_properties_t about = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t handle = NULL;
    if (ze.zeMemGetAllocProperties(own.context, addr, &about, &handle) != ZE_RESULT_SUCCESS) return -1;
    for (int i = 0; i < own.n_devices && about.type == ZE_MEMORY_TYPE_DEVICE; i++)
        if (own.devices[i].handle == handle) return i;
    return -1;
}

/* Drivers do not promise to know another context's memory, but do. */
static ze_result_t open_context(const void *addr, const char **call)
{
    const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_driver_handle_t drivers[MAX_DRIVERS];
    uint32_t n = MAX_DRIVERS;
    *call = "zeInit";
    ze_result_t result = ze.zeInit(ZE_INIT_FLAG_GPU_ONLY);
    if (result == ZE_RESULT_SUCCESS) *call = "zeDriverGet", result = ze.zeDriverGet(&n, drivers);
    for (uint32_t i = 0; i < n && result == ZE_RESULT_SUCCESS; i++) {
        *call = "zeContextCreate";
        result = ze.zeContextCreate(drivers[i], &desc, &own.context);
        if (result != ZE_RESULT_SUCCESS) return result;
        add_devices(drivers[i]);
        own.own = find_device(addr);
        if (own.own >= 0) return ZE_RESULT_SUCCESS;
        (void)ze.zeContextDestroy(own.context);
        own.context = NULL;
    }
    if (result == ZE_RESULT_SUCCESS) *call = "the device of the heap, which no driver knows in another context";
    return result == ZE_RESULT_SUCCESS ? ZE_RESULT_ERROR_INVALID_ARGUMENT : result;
}

/* ---- the stream: a list whose commands run when they are appended ---- */

/* A queue that only copies, as the transport takes it; else group 0, which does everything. */
static uint32_t choose_group(ze_device_handle_t device)
{
    ze_command_queue_group_properties_t groups[MAX_GROUPS];
    uint32_t n = MAX_GROUPS;
    for (uint32_t i = 0; i < MAX_GROUPS; i++)
        groups[i] = (ze_command_queue_group_properties_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES};
    if (ze.zeDeviceGetCommandQueueGroupProperties(device, &n, groups) != ZE_RESULT_SUCCESS) return 0;
    for (uint32_t i = 0; i < n; i++)
        if ((groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY) != 0 &&
            (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) == 0)
            return i;
    return 0;
}

static ze_result_t open_list(ze_device_handle_t device, const char **call)
{
    const ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .ordinal = choose_group(device),
                                           .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    const ze_event_pool_desc_t pool = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 1};
    const ze_event_desc_t event = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    *call = "zeCommandListCreateImmediate";
    ze_result_t result = ze.zeCommandListCreateImmediate(own.context, device, &queue, &own.list);
    if (result != ZE_RESULT_SUCCESS) return result;
    *call = "zeEventPoolCreate";
    result = ze.zeEventPoolCreate(own.context, &pool, 1, &device, &own.pool);
    if (result != ZE_RESULT_SUCCESS) return result;
    *call = "zeEventCreate";
    return ze.zeEventCreate(own.pool, &event, &own.event);
}

static ze_result_t allocate(struct device *device)
{
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    if (device->buffer != NULL) return ZE_RESULT_SUCCESS;
    return ze.zeMemAllocDevice(own.context, &desc, 2 * own.room_bytes, ALIGN_BYTES, device->handle, &device->buffer);
}

static int open_stream(const void *addr, size_t room_bytes, void **stream, const char **call)
{
    own.room_bytes = room_bytes;
    ze_result_t result = open_context(addr, call);
    if (result == ZE_RESULT_SUCCESS) result = open_list(own.devices[own.own].handle, call);
    if (result == ZE_RESULT_SUCCESS) *call = "zeMemAllocDevice", result = allocate(&own.devices[own.own]);
    if (result != ZE_RESULT_SUCCESS) return (int)result;
    uuid = own.devices[own.own].uuid;
    *stream = own.list;
    return 0;
}

static int copy(void *dest, const void *source, size_t n_bytes, void *stream)
{
    return (int)ze.zeCommandListAppendMemoryCopy(stream, dest, source, n_bytes, NULL, 0, NULL);
}

static int synchronize(void *stream)
{
    ze_result_t result = ze.zeEventHostReset(own.event);
    if (result == ZE_RESULT_SUCCESS) result = ze.zeCommandListAppendBarrier(stream, own.event, 0, NULL);
    if (result == ZE_RESULT_SUCCESS) result = ze.zeEventHostSynchronize(own.event, UINT64_MAX);
    return (int)result;
}

static void close_stream(void *stream)
{
    (void)stream;
    for (int i = 0; i < own.n_devices && own.context != NULL; i++)
        if (own.devices[i].buffer != NULL) (void)ze.zeMemFree(own.context, own.devices[i].buffer);
    if (own.list != NULL) (void)ze.zeCommandListDestroy(own.list);
    if (own.event != NULL) (void)ze.zeEventDestroy(own.event);
    if (own.pool != NULL) (void)ze.zeEventPoolDestroy(own.pool);
    if (own.context != NULL) (void)ze.zeContextDestroy(own.context);
    memset(&own, 0, sizeof own);
}

static const char *error_name(int error)
{
    static char text[32];
    snprintf(text, sizeof text, "Level Zero's error %#x", (unsigned)error);
    return text;
}

/* ---- the buffers ---- */

/* Symmetric memory of this PE becomes the first half of the buffer on its device; that of the peer the second half of
 * the one on the peer's, which may be the same device. */
static bool reach(struct place *place, const void *symmetric, int pe)
{
    ze_device_uuid_t of_peer;
    ze_bool_t can = 0;
    struct device *mine = &own.devices[own.own], *other = NULL;
    (void)symmetric;
    shmem_getmem(&of_peer, &uuid, sizeof uuid, pe);
    for (int i = 0; i < own.n_devices && other == NULL; i++)
        if (memcmp(&own.devices[i].uuid, &of_peer, sizeof of_peer) == 0) other = &own.devices[i];
    if (other == NULL) return false;
    if (other != mine && (ze.zeDeviceCanAccessPeer(mine->handle, other->handle, &can) != ZE_RESULT_SUCCESS || can == 0))
        return false;
    if (allocate(other) != ZE_RESULT_SUCCESS) return false;
    if (place->source == place->whole_source) place->source = mine->buffer;
    place->whole_source = place->dest = mine->buffer;
    place->alias = (char *)other->buffer + own.room_bytes;
    return true;
}

const struct gpu_driver gpu_driver_ze = {
    .copy_name = "Level Zero's copy",
    .load = load,
    .open = open_stream,
    .copy = copy,
    .synchronize = synchronize,
    .close = close_stream,
    .error_name = error_name,
    .reach = reach,
};

#else

static bool load(void) { return false; }

const struct gpu_driver gpu_driver_ze = {.load = load};

#endif
