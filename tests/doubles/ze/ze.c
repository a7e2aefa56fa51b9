/* tests/doubles/ze/ze.c: a driver of Level Zero, the double: loaded by the real loader (ZE_ENABLE_ALT_DRIVERS) in place
 * of one. Its GPU is that of tests/doubles/gpu; knobs: gpu.h. The first bytes of a handle to memory are a descriptor of
 * this process, as with Intel's driver, and commands of an immediate list may overtake one another: operations appended
 * between two barriers run in reverse. */
#include "tests/doubles/ze/ze.h"

#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 64 << 10, PENDING_MAX = 16 };

const int gpu_illegal_address = (int)ZE_RESULT_ERROR_DEVICE_LOST;

/* Handles point here. */
static struct {
    int unused;
} the_driver, the_devices[GPU_DEVICES_MAX], the_gpus[GPU_DEVICES_MAX]; /* whole ones, where devices are tiles */

int double_ordinal(ze_device_handle_t device)
{
    for (int i = 0; i < gpu_knobs()->devices; i++)
        if ((void *)device == &the_devices[i]) return i;
    return -1;
}

/* How Level Zero hands out lists: *n is the room, or 0 to query the number. */
static bool list_wants(uint32_t *n, uint32_t all)
{
    bool is_asking = *n == 0;
    if (is_asking || *n > all) *n = all;
    return !is_asking;
}

static ze_device_handle_t device_of(int ordinal) { return (ze_device_handle_t)(void *)&the_devices[ordinal]; }

/* Which whole GPU it is; -1: it is a tile, or there are none. */
static int gpu_of(ze_device_handle_t device)
{
    int tiles = gpu_knobs()->tiles;
    for (int i = 0; tiles > 0 && i < gpu_knobs()->devices / tiles; i++)
        if ((void *)device == &the_gpus[i]) return i;
    return -1;
}

/* ---- driver, devices, contexts ---- */

static ze_result_t init(ze_init_flags_t flags)
{
    (void)flags;
    ENTER("zeInit", ZE_RESULT_ERROR_UNINITIALIZED);
    return gpu_knobs()->devices > 0 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
}

static ze_result_t driver_get(uint32_t *n, ze_driver_handle_t *list)
{
    ENTER("zeDriverGet", ZE_RESULT_ERROR_UNINITIALIZED);
    if (list_wants(n, 1) && list != NULL) list[0] = (ze_driver_handle_t)(void *)&the_driver;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_get_api_version(ze_driver_handle_t driver, ze_api_version_t *version)
{
    (void)driver;
    *version = ZE_API_VERSION_1_3;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t driver, uint32_t *n, ze_device_handle_t *list)
{
    (void)driver;
    ENTER("zeDeviceGet", ZE_RESULT_ERROR_DEVICE_LOST);
    int tiles = gpu_knobs()->tiles, all = gpu_knobs()->devices;
    if (list_wants(n, (uint32_t)(tiles > 0 ? all / tiles : all)))
        for (uint32_t i = 0; i < *n; i++)
            list[i] = tiles > 0 ? (ze_device_handle_t)(void *)&the_gpus[i] : device_of((int)i);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get_sub_devices(ze_device_handle_t device, uint32_t *n, ze_device_handle_t *list)
{
    ENTER("zeDeviceGetSubDevices", ZE_RESULT_ERROR_DEVICE_LOST);
    int gpu = gpu_of(device), tiles = gpu_knobs()->tiles;
    if (list_wants(n, gpu < 0 ? 0 : (uint32_t)tiles) && list != NULL)
        for (uint32_t i = 0; i < *n; i++) list[i] = device_of(gpu * tiles + (int)i);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get_properties(ze_device_handle_t device, ze_device_properties_t *out)
{
    ENTER("zeDeviceGetProperties", ZE_RESULT_ERROR_DEVICE_LOST);
    int ordinal = double_ordinal(device), gpu = gpu_of(device);
    if (ordinal < 0 && gpu < 0) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (out->stype != ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    out->type = ZE_DEVICE_TYPE_GPU;
    snprintf(out->name, sizeof out->name, "double of a GPU %d", ordinal);
    memset(out->uuid.id, 0x2e, sizeof out->uuid.id);
    out->uuid.id[0] = (uint8_t)ordinal;
    return ZE_RESULT_SUCCESS;
}

/* Tiles share the address of their GPU. */
static ze_result_t device_get_pci(ze_device_handle_t device, ze_pci_ext_properties_t *out)
{
    ENTER("zeDevicePciGetPropertiesExt", ZE_RESULT_ERROR_DEVICE_LOST);
    int ordinal = double_ordinal(device), tiles = gpu_knobs()->tiles;
    if (ordinal < 0) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    out->address = (ze_pci_address_ext_t){.bus = 0x50 + (uint32_t)(tiles > 0 ? ordinal / tiles : ordinal)};
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get_groups(ze_device_handle_t device, uint32_t *n, ze_command_queue_group_properties_t *list)
{
    (void)device;
    ENTER("zeDeviceGetCommandQueueGroupProperties", ZE_RESULT_ERROR_DEVICE_LOST);
    static const ze_command_queue_group_property_flags_t flags[] = {ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
                                                                        ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY,
                                                                    ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY};
    if (list_wants(n, 2))
        for (uint32_t i = 0; i < *n; i++) {
            list[i].flags = flags[i];
            list[i].numQueues = 1;
        }
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get_module_properties(ze_device_handle_t device, ze_device_module_properties_t *out)
{
    ENTER("zeDeviceGetModuleProperties", ZE_RESULT_ERROR_DEVICE_LOST);
    if (double_ordinal(device) < 0) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (out->stype != ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    out->flags = ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get_p2p(ze_device_handle_t device, ze_device_handle_t peer, ze_device_p2p_properties_t *out)
{
    ENTER("zeDeviceGetP2PProperties", ZE_RESULT_ERROR_DEVICE_LOST);
    if (out->stype != ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    bool is_reached = device == peer || gpu_knobs()->has_peers;
    out->flags = is_reached ? ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS : 0;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_can_access_peer(ze_device_handle_t device, ze_device_handle_t peer, ze_bool_t *can)
{
    ENTER("zeDeviceCanAccessPeer", ZE_RESULT_ERROR_DEVICE_LOST);
    *can = device == peer || gpu_knobs()->has_peers;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t context_create(ze_driver_handle_t driver, const ze_context_desc_t *desc, ze_context_handle_t *out)
{
    (void)driver;
    ENTER("zeContextCreate", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    if (desc->stype != ZE_STRUCTURE_TYPE_CONTEXT_DESC) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *out = malloc(1);
    gpu_count(GPU_CONTEXT, 1);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t context_destroy(ze_context_handle_t context)
{
    ENTER("zeContextDestroy", ZE_RESULT_ERROR_DEVICE_LOST);
    free(context);
    gpu_count(GPU_CONTEXT, -1);
    return ZE_RESULT_SUCCESS;
}

/* ---- memory ---- */

static ze_result_t put_at_address(struct gpu_memory *memory, void **out)
{
    if (memory == NULL) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    *out = gpu_alloc(memory);
    gpu_memory_release(memory); /* the mapping has it */
    return *out != NULL ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

static ze_result_t mem_alloc_device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc, size_t size,
                                    size_t alignment, ze_device_handle_t device, void **out)
{
    (void)context, (void)alignment;
    ENTER("zeMemAllocDevice", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    if (desc->stype != ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC || size == 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (double_ordinal(device) < 0)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE; /* memory in several tiles is not doubled */
    size = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    return put_at_address(gpu_memory_create(double_ordinal(device), size), out);
}

static ze_result_t mem_alloc_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc, size_t size,
                                  size_t alignment, void **out)
{
    (void)context, (void)alignment;
    ENTER("zeMemAllocHost", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    if (desc->stype != ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *out = gpu_host_alloc(size);
    return *out != NULL ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

static ze_result_t mem_free(ze_context_handle_t context, void *addr)
{
    (void)context;
    ENTER("zeMemFree", ZE_RESULT_ERROR_DEVICE_LOST);
    bool is_known = gpu_free((uint64_t)(uintptr_t)addr) || gpu_host_free(addr);
    return is_known ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t mem_get_properties(ze_context_handle_t context, const void *addr,
                                      ze_memory_allocation_properties_t *out, ze_device_handle_t *device)
{
    (void)context;
    ENTER("zeMemGetAllocProperties", ZE_RESULT_ERROR_DEVICE_LOST);
    struct gpu_place place = gpu_find((uint64_t)(uintptr_t)addr);
    out->type = place.kind == GPU_DEVICE ? ZE_MEMORY_TYPE_DEVICE
                : place.kind == GPU_HOST ? ZE_MEMORY_TYPE_HOST
                                         : ZE_MEMORY_TYPE_UNKNOWN;
    if (device != NULL) *device = place.kind == GPU_DEVICE ? device_of(place.device) : NULL;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_get_range(ze_context_handle_t context, const void *addr, void **base, size_t *size)
{
    (void)context;
    ENTER("zeMemGetAddressRange", ZE_RESULT_ERROR_DEVICE_LOST);
    struct gpu_place place = gpu_find((uint64_t)(uintptr_t)addr);
    if (place.kind == GPU_UNKNOWN) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (base != NULL) *base = (void *)(uintptr_t)place.base;
    if (size != NULL) *size = place.length_bytes;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_get_handle(ze_context_handle_t context, const void *addr, ze_ipc_mem_handle_t *out)
{
    (void)context;
    ENTER("zeMemGetIpcHandle", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    struct gpu_place place = gpu_find((uint64_t)(uintptr_t)addr);
    if (place.kind != GPU_DEVICE || place.base != (uint64_t)(uintptr_t)addr) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    int fd = gpu_memory_fd(place.memory);
    memset(out, 0, sizeof *out);
    memcpy(out->data, &fd, sizeof fd);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_open_handle(ze_context_handle_t context, ze_device_handle_t device, ze_ipc_mem_handle_t handle,
                                   ze_ipc_memory_flags_t flags, void **out)
{
    int fd;
    (void)context, (void)device, (void)flags;
    ENTER("zeMemOpenIpcHandle", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    memcpy(&fd, handle.data, sizeof fd);
    struct gpu_memory *memory = gpu_memory_import(fd);
    return memory != NULL ? put_at_address(memory, out) : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t mem_close_handle(ze_context_handle_t context, const void *addr)
{
    (void)context;
    ENTER("zeMemCloseIpcHandle", ZE_RESULT_ERROR_DEVICE_LOST);
    return gpu_free((uint64_t)(uintptr_t)addr) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* ---- command lists ---- */

struct list {
    struct gpu_stream *stream;
    struct gpu_op pending[PENDING_MAX]; /* since the last barrier */
    int n_pending;
    bool only_copies; /* of group 1, see device_get_groups */
};

static bool flush(struct list *list)
{
    bool ok = true;
    while (list->n_pending > 0) ok = gpu_stream_submit(list->stream, &list->pending[--list->n_pending]) && ok;
    return ok;
}

static ze_result_t append(ze_command_list_handle_t handle, const struct gpu_op *op, ze_event_handle_t signal,
                          uint32_t n_waits)
{
    struct list *list = (struct list *)(void *)handle;
    if (n_waits > 0) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    if (list->n_pending == PENDING_MAX && !flush(list)) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    list->pending[list->n_pending] = *op;
    list->pending[list->n_pending++].event = (struct gpu_event *)(void *)signal;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t list_create_immediate(ze_context_handle_t context, ze_device_handle_t device,
                                         const ze_command_queue_desc_t *desc, ze_command_list_handle_t *out)
{
    (void)context, (void)device;
    ENTER("zeCommandListCreateImmediate", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    if (desc->stype != ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC || desc->mode != ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct list *list = calloc(1, sizeof *list);
    if (list != NULL) list->stream = gpu_stream_create(desc->priority == ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
    if (list == NULL || list->stream == NULL) {
        free(list);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    list->only_copies = desc->ordinal == 1;
    *out = (ze_command_list_handle_t)(void *)list;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t list_destroy(ze_command_list_handle_t handle)
{
    struct list *list = (struct list *)(void *)handle;
    ENTER("zeCommandListDestroy", ZE_RESULT_ERROR_DEVICE_LOST);
    (void)flush(list);
    gpu_stream_destroy(list->stream);
    free(list);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t list_append_copy(ze_command_list_handle_t list, void *dest, const void *source, size_t size,
                                    ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits)
{
    uint64_t to = (uint64_t)(uintptr_t)dest, from = (uint64_t)(uintptr_t)source;
    (void)waits;
    ENTER("zeCommandListAppendMemoryCopy", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    if (!gpu_is_valid(to, size) || !gpu_is_valid(from, size)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    return append(list, &(struct gpu_op){.run = gpu_run_copy, .dest = to, .source = from, .length_bytes = size}, signal,
                  n_waits);
}

static ze_result_t list_append_fill(ze_command_list_handle_t list, void *dest, const void *pattern, size_t pattern_size,
                                    size_t size, ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits)
{
    uint64_t to = (uint64_t)(uintptr_t)dest;
    (void)waits;
    ENTER("zeCommandListAppendMemoryFill", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    if (pattern_size != 1 || !gpu_is_valid(to, size)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    const struct gpu_op op = {
        .run = gpu_run_fill, .dest = to, .value = *(const uint8_t *)pattern, .length_bytes = size};
    return append(list, &op, signal, n_waits);
}

static ze_result_t list_append_barrier(ze_command_list_handle_t handle, ze_event_handle_t signal, uint32_t n_waits,
                                       ze_event_handle_t *waits)
{
    struct list *list = (struct list *)(void *)handle;
    (void)waits;
    ENTER("zeCommandListAppendBarrier", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    if (!flush(list)) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    ze_result_t result = append(handle, &(struct gpu_op){.run = gpu_run_nothing}, signal, n_waits);
    return result == ZE_RESULT_SUCCESS && !flush(list) ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : result;
}

static ze_result_t list_append_kernel(ze_command_list_handle_t handle, ze_kernel_handle_t kernel,
                                      const ze_group_count_t *groups, ze_event_handle_t signal, uint32_t n_waits,
                                      ze_event_handle_t *waits)
{
    struct list *list = (struct list *)(void *)handle;
    struct gpu_op op;
    (void)waits;
    ENTER("zeCommandListAppendLaunchKernel", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    if (list->only_copies) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    if (groups->groupCountX != 1 || groups->groupCountY != 1 || groups->groupCountZ != 1)
        return ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION; /* the double runs one work-item */
    ze_result_t result = double_kernel_op(kernel, &op);
    op.blocks = 1;
    return result == ZE_RESULT_SUCCESS ? append(handle, &op, signal, n_waits) : result;
}

/* ---- events ---- */

static ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *desc, uint32_t n,
                               ze_device_handle_t *devices, ze_event_pool_handle_t *out)
{
    (void)context, (void)n, (void)devices;
    ENTER("zeEventPoolCreate", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    if (desc->stype != ZE_STRUCTURE_TYPE_EVENT_POOL_DESC || desc->count == 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *out = malloc(1);
    gpu_count(GPU_MODULE, 1); /* counted with those */
    return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t pool)
{
    ENTER("zeEventPoolDestroy", ZE_RESULT_ERROR_DEVICE_LOST);
    free(pool);
    gpu_count(GPU_MODULE, -1);
    return ZE_RESULT_SUCCESS;
}

static struct gpu_event *event_of(ze_event_handle_t event) { return (struct gpu_event *)(void *)event; }

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc, ze_event_handle_t *out)
{
    (void)pool;
    ENTER("zeEventCreate", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    if (desc->stype != ZE_STRUCTURE_TYPE_EVENT_DESC) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *out = (ze_event_handle_t)(void *)gpu_event_create(false);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t event_destroy(ze_event_handle_t event)
{
    ENTER("zeEventDestroy", ZE_RESULT_ERROR_DEVICE_LOST);
    gpu_event_destroy(event_of(event));
    return ZE_RESULT_SUCCESS;
}

/* Waits without a time-out: no caller here passes another. */
static ze_result_t event_wait(ze_event_handle_t event, uint64_t timeout)
{
    ENTER("zeEventHostSynchronize", ZE_RESULT_ERROR_DEVICE_LOST);
    if (timeout != UINT64_MAX) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    gpu_event_wait(event_of(event));
    return (ze_result_t)gpu_device_error();
}

static ze_result_t event_reset(ze_event_handle_t event)
{
    ENTER("zeEventHostReset", ZE_RESULT_ERROR_DEVICE_LOST);
    gpu_event_clear(event_of(event));
    return ZE_RESULT_SUCCESS;
}

/* ---- tables ---- */

static void fill_global(ze_global_dditable_t *table) { table->pfnInit = init; }

static void fill_driver(ze_driver_dditable_t *table)
{
    table->pfnGet = driver_get;
    table->pfnGetApiVersion = driver_get_api_version;
}

static void fill_device(ze_device_dditable_t *table)
{
    table->pfnGet = device_get;
    table->pfnGetSubDevices = device_get_sub_devices;
    table->pfnGetProperties = device_get_properties;
    table->pfnGetCommandQueueGroupProperties = device_get_groups;
    table->pfnGetModuleProperties = device_get_module_properties;
    table->pfnCanAccessPeer = device_can_access_peer;
    table->pfnGetP2PProperties = device_get_p2p;
    table->pfnPciGetPropertiesExt = device_get_pci;
}

static void fill_context(ze_context_dditable_t *table)
{
    table->pfnCreate = context_create;
    table->pfnDestroy = context_destroy;
}

static void fill_mem(ze_mem_dditable_t *table)
{
    table->pfnAllocDevice = mem_alloc_device;
    table->pfnAllocHost = mem_alloc_host;
    table->pfnFree = mem_free;
    table->pfnGetAllocProperties = mem_get_properties;
    table->pfnGetAddressRange = mem_get_range;
    table->pfnGetIpcHandle = mem_get_handle;
    table->pfnOpenIpcHandle = mem_open_handle;
    table->pfnCloseIpcHandle = mem_close_handle;
}

static void fill_command_list(ze_command_list_dditable_t *table)
{
    table->pfnCreateImmediate = list_create_immediate;
    table->pfnDestroy = list_destroy;
    table->pfnAppendMemoryCopy = list_append_copy;
    table->pfnAppendMemoryFill = list_append_fill;
    table->pfnAppendBarrier = list_append_barrier;
    table->pfnAppendLaunchKernel = list_append_kernel;
}

static void fill_event_pool(ze_event_pool_dditable_t *table)
{
    table->pfnCreate = pool_create;
    table->pfnDestroy = pool_destroy;
}

static void fill_event(ze_event_dditable_t *table)
{
    table->pfnCreate = event_create;
    table->pfnDestroy = event_destroy;
    table->pfnHostSynchronize = event_wait;
    table->pfnHostReset = event_reset;
}

#include "ze_tables.inc"
