/* plugins/xelink/ze_driver.c: Level Zero as a driver of the engine (plugins/common/p2p.h).
 * Memory goes to another process by a handle of 64 bytes whose first four are a descriptor of the process that made it:
 * the descriptor is passed, and its number replaced where the handle is opened. */
#include "plugins/xelink/xelink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DRIVERS = 8, GRANULE_BYTES = 64 << 10, HOST_ALIGN = 128, MAX_GROUPS = 16 };

isthmus_status xe_check(const struct isthmus_services *s, ze_result_t result, const char *what)
{
    if (result == ZE_RESULT_SUCCESS) return ISTHMUS_OK;
    return s->fail(s->core, xe_status(result), "%s: Level Zero's error %#x", what, (unsigned)result);
}

void xe_note(const struct isthmus_services *s, ze_result_t result, const char *what)
{
    if (result != ZE_RESULT_SUCCESS)
        s->log(s->core, ISTHMUS_LOG_DEBUG, "%s: Level Zero's error %#x", what, (unsigned)result);
}

/* ---- devices ---- */

static bool is_gpu(ze_device_handle_t device)
{
    ze_device_properties_t about = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    return xe_ze.zeDeviceGetProperties(device, &about) == ZE_RESULT_SUCCESS && about.type == ZE_DEVICE_TYPE_GPU;
}

struct xe_row {
    struct xe_device *list; /* of P2P_MAX_DEVICES */
    int n;
};

static void add_device(struct xe_row *row, ze_driver_handle_t driver, ze_device_handle_t device)
{
    if (row->n < P2P_MAX_DEVICES) row->list[row->n++] = (struct xe_device){driver, device};
}

/* A GPU of several tiles counts as its tiles, however the driver shows them (ZE_FLAT_DEVICE_HIERARCHY): memory of the
 * whole lies in all of them, and no one handle shares it. */
static ze_result_t add_gpu(struct xe_row *row, ze_driver_handle_t driver, ze_device_handle_t gpu)
{
    ze_device_handle_t tiles[P2P_MAX_DEVICES];
    uint32_t n = 0;
    ze_result_t result = xe_ze.zeDeviceGetSubDevices(gpu, &n, NULL);
    if (result == ZE_RESULT_SUCCESS && n == 0) add_device(row, driver, gpu);
    if (result != ZE_RESULT_SUCCESS || n == 0) return result;
    if (n > P2P_MAX_DEVICES) n = P2P_MAX_DEVICES;
    result = xe_ze.zeDeviceGetSubDevices(gpu, &n, tiles);
    for (uint32_t i = 0; result == ZE_RESULT_SUCCESS && i < n; i++) add_device(row, driver, tiles[i]);
    return result;
}

/* The GPUs of all drivers in one row: its numbers are the ordinals. */
static ze_result_t list_devices(struct xe_device list[P2P_MAX_DEVICES], int *n)
{
    struct xe_row row = {list, 0};
    ze_driver_handle_t drivers[MAX_DRIVERS];
    uint32_t n_drivers = MAX_DRIVERS;
    ze_result_t result = xe_ze.zeDriverGet(&n_drivers, drivers);
    for (uint32_t d = 0; result == ZE_RESULT_SUCCESS && d < n_drivers; d++) {
        ze_device_handle_t devices[P2P_MAX_DEVICES];
        uint32_t n_devices = P2P_MAX_DEVICES;
        result = xe_ze.zeDeviceGet(drivers[d], &n_devices, devices);
        for (uint32_t i = 0; result == ZE_RESULT_SUCCESS && i < n_devices; i++)
            if (is_gpu(devices[i])) result = add_gpu(&row, drivers[d], devices[i]);
    }
    *n = row.n;
    return result;
}

static isthmus_status xe_count(const struct isthmus_services *s, int *n)
{
    struct xe_device list[P2P_MAX_DEVICES];
    isthmus_status status = xe_load(s);
    if (status != ISTHMUS_OK) return status;
    ze_result_t result = xe_ze.zeInit(ZE_INIT_FLAG_GPU_ONLY);
    if (result == ZE_RESULT_SUCCESS) result = list_devices(list, n);
    if (result == ZE_RESULT_SUCCESS && *n > 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "Level Zero has no GPU for this process: result %#x",
                   (unsigned)result);
}

static int xe_current(void) { return -1; } /* Level Zero knows no current device */

/* The first group of queues that has all of these flags and none of those, or group 0, which does everything. */
static uint32_t choose_group(ze_device_handle_t device, ze_command_queue_group_property_flags_t wanted,
                             ze_command_queue_group_property_flags_t unwanted)
{
    ze_command_queue_group_properties_t groups[MAX_GROUPS];
    uint32_t n = MAX_GROUPS;
    for (uint32_t i = 0; i < MAX_GROUPS; i++)
        groups[i] = (ze_command_queue_group_properties_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES};
    if (xe_ze.zeDeviceGetCommandQueueGroupProperties(device, &n, groups) != ZE_RESULT_SUCCESS) return 0;
    for (uint32_t i = 0; i < n; i++)
        if ((groups[i].flags & wanted) == wanted && (groups[i].flags & unwanted) == 0) return i;
    return 0;
}

/* Copies have queues that only copy, where there are some: out of the way of kernels. */
static void choose_groups(struct p2p_gpu *gpu)
{
    const ze_command_queue_group_property_flags_t copies = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    const ze_command_queue_group_property_flags_t computes = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
    gpu->copy_group = choose_group(gpu->device, copies, computes);
    gpu->compute_group = choose_group(gpu->device, copies | computes, 0);
}

/* What cannot be found out counts as no. */
static bool find_atomics(const struct p2p_gpu *gpu)
{
    const struct isthmus_services *s = gpu->services;
    ze_device_module_properties_t about = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES};
    bool is_able = xe_ze.zeDeviceGetModuleProperties(gpu->device, &about) == ZE_RESULT_SUCCESS &&
                   (about.flags & ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS) != 0;
    if (is_able && xe_amo_is_built()) return true;
    s->log(s->core, ISTHMUS_LOG_INFO, "no atomics: %s",
           is_able ? "this build had no spirv-as for their kernel" : "the GPU has none of 64 bits");
    return false;
}

static void xe_close(struct p2p_gpu *gpu)
{
    xe_amo_unload(gpu);
    if (gpu->context != NULL) (void)xe_ze.zeContextDestroy(gpu->context);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

static isthmus_status xe_open(const struct isthmus_services *s, int ordinal, struct p2p_gpu **out)
{
    const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    struct p2p_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the record of a GPU");
    gpu->services = s;
    gpu->ordinal = ordinal;
    pthread_mutex_init(&gpu->lock, NULL);
    isthmus_status status = xe_check(s, list_devices(gpu->list, &gpu->n_devices), "the list of GPUs");
    if (status == ISTHMUS_OK && ordinal >= gpu->n_devices)
        status = s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                         "GPU %d of Level Zero has disappeared since the list of GPUs was read", ordinal);
    if (status == ISTHMUS_OK) {
        gpu->driver = gpu->list[ordinal].driver;
        gpu->device = gpu->list[ordinal].device;
        choose_groups(gpu);
        gpu->has_atomics = find_atomics(gpu);
        status = xe_check(s, xe_ze.zeContextCreate(gpu->driver, &desc, &gpu->context), "zeContextCreate");
    }
    if (status != ISTHMUS_OK) {
        xe_close(gpu);
        return status;
    }
    xe_vmm_try(gpu);
    *out = gpu;
    return ISTHMUS_OK;
}

/* What cannot be found out counts as no. */
static void describe_link(const struct p2p_gpu *gpu, const struct xe_device *other, struct p2p_device *out)
{
    ze_device_p2p_properties_t link = {.stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES};
    ze_bool_t can = 0;
    if (out->is_used) {
        out->can_access = true;
        out->has_atomics = gpu->has_atomics;
        return;
    }
    if (other->driver != gpu->driver) return;
    (void)xe_ze.zeDeviceCanAccessPeer(gpu->device, other->device, &can);
    out->can_access = can != 0;
    if (!out->can_access || !gpu->has_atomics) return;
    bool is_known = xe_ze.zeDeviceGetP2PProperties(gpu->device, other->device, &link) == ZE_RESULT_SUCCESS;
    out->has_atomics = is_known && (link.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS) != 0;
}

/* Tiles of a GPU have the address of the whole. */
static void describe_address(ze_device_handle_t device, struct p2p_device *out)
{
#ifdef ZE_PCI_PROPERTIES_EXT_NAME
    ze_pci_ext_properties_t about = {.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES};
    if (xe_get_pci == NULL || xe_get_pci(device, &about) != ZE_RESULT_SUCCESS) return;
    snprintf(out->pci_address, sizeof out->pci_address, "%04x:%02x:%02x.%x", about.address.domain,
             about.address.bus & 0xff, about.address.device & 0x1f, about.address.function & 7);
#else
    (void)device, (void)out;
#endif
}

static int xe_survey(struct p2p_gpu *gpu, struct p2p_device *list, int room)
{
    int n = gpu->n_devices < room ? gpu->n_devices : room;
    for (int i = 0; i < n; i++) {
        ze_device_properties_t about = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
        list[i] = (struct p2p_device){.is_used = i == gpu->ordinal};
        snprintf(list[i].pci, sizeof list[i].pci, "ze%d", i);
        if (xe_ze.zeDeviceGetProperties(gpu->list[i].device, &about) == ZE_RESULT_SUCCESS) {
            memcpy(list[i].uuid, about.uuid.id, sizeof list[i].uuid);
            snprintf(list[i].name, sizeof list[i].name, "%.63s", about.name);
        }
        describe_address(gpu->list[i].device, &list[i]);
        describe_link(gpu, &gpu->list[i], &list[i]);
    }
    return n;
}

/* ---- memory ---- */

static uint64_t xe_granule(struct p2p_gpu *gpu) { return gpu->granule > 0 ? gpu->granule : GRANULE_BYTES; }
static uint32_t xe_offers(struct p2p_gpu *gpu) { return gpu->granule > 0 ? P2P_GROWING : 0; }

static void xe_destroy(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    if (memory->handle != 0)
        xe_vmm_destroy(gpu, memory);
    else
        xe_note(gpu->services, xe_ze.zeMemFree(gpu->context, memory->addr), "zeMemFree");
}

static isthmus_status allocate(struct p2p_gpu *gpu, uint64_t length_bytes, struct p2p_memory *out)
{
    const struct isthmus_services *s = gpu->services;
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *got = NULL;
    ze_result_t result = xe_ze.zeMemAllocDevice(gpu->context, &desc, length_bytes, GRANULE_BYTES, gpu->device, &got);
    if (result != ZE_RESULT_SUCCESS)
        return s->fail(s->core, xe_status(result), "zeMemAllocDevice of %llu bytes: Level Zero's error %#x",
                       (unsigned long long)length_bytes, (unsigned)result);
    *out = (struct p2p_memory){.addr = got, .length_bytes = length_bytes};
    return ISTHMUS_OK;
}

static isthmus_status xe_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out)
{
    struct p2p_memory memory;
    isthmus_status status = addr != NULL ? xe_vmm_create(gpu, addr, length_bytes, &memory)
                                         : allocate(gpu, length_bytes, &memory);
    if (status != ISTHMUS_OK) return status;
    status = xe_clear(gpu, memory.addr, length_bytes);
    if (status != ISTHMUS_OK)
        xe_destroy(gpu, &memory);
    else
        *out = memory;
    return status;
}

static isthmus_status xe_share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out)
{
    ze_ipc_mem_handle_t handle;
    _Static_assert(sizeof handle.data == P2P_HANDLE_BYTES, "a handle of Level Zero fits");
    isthmus_status status = xe_check(gpu->services, xe_ze.zeMemGetIpcHandle(gpu->context, memory->addr, &handle),
                                     "zeMemGetIpcHandle");
    if (status != ISTHMUS_OK) return status;
    memcpy(&out->fd, handle.data, sizeof out->fd);
    out->is_lent = true; /* the driver closes it with the memory */
    out->n_bytes = sizeof handle.data;
    memcpy(out->bytes, handle.data, sizeof handle.data);
    return ISTHMUS_OK;
}

/* Level Zero chooses the address. */
static isthmus_status xe_import(struct p2p_gpu *gpu, const struct p2p_share *share, void *wanted, uint64_t length_bytes,
                                struct p2p_memory *out)
{
    const struct isthmus_services *s = gpu->services;
    ze_ipc_mem_handle_t handle;
    void *addr = NULL;
    if (wanted != NULL)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "Level Zero does not map a peer's memory at a given address (%p)", wanted);
    memcpy(handle.data, share->bytes, sizeof handle.data);
    memcpy(handle.data, &share->fd, sizeof share->fd);
    isthmus_status status = xe_check(
        gpu->services, xe_ze.zeMemOpenIpcHandle(gpu->context, gpu->device, handle, 0, &addr), "zeMemOpenIpcHandle");
    if (status == ISTHMUS_OK) *out = (struct p2p_memory){.addr = addr, .length_bytes = length_bytes};
    return status;
}

static void xe_drop(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    xe_note(gpu->services, xe_ze.zeMemCloseIpcHandle(gpu->context, memory->addr), "zeMemCloseIpcHandle");
}

static isthmus_status xe_host_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    const ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    return xe_check(gpu->services, xe_ze.zeMemAllocHost(gpu->context, &desc, length_bytes, HOST_ALIGN, addr),
                    "zeMemAllocHost");
}

static void xe_host_free(struct p2p_gpu *gpu, void *addr) { (void)xe_ze.zeMemFree(gpu->context, addr); }

/* ---- for kernels ---- */

/* Memory of zeMemAllocHost has one address for processors and devices. */
static isthmus_status xe_host_view(struct p2p_gpu *gpu, void *addr, void **view)
{
    (void)gpu;
    *view = addr;
    return ISTHMUS_OK;
}

static isthmus_status xe_device_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    struct p2p_memory memory;
    isthmus_status status = xe_create(gpu, NULL, length_bytes, &memory);
    if (status == ISTHMUS_OK) *addr = memory.addr;
    return status;
}

static void xe_device_free(struct p2p_gpu *gpu, void *addr)
{
    xe_note(gpu->services, xe_ze.zeMemFree(gpu->context, addr), "zeMemFree");
}

/* ---- memory at an address ---- */

static int ordinal_of(const struct p2p_gpu *gpu, ze_device_handle_t device)
{
    for (int i = 0; i < gpu->n_devices; i++)
        if (gpu->list[i].device == device) return i;
    return -1;
}

static isthmus_status xe_place(struct p2p_gpu *gpu, const void *addr, struct isthmus_mem *out)
{
    const struct isthmus_services *s = gpu->services;
    ze_memory_allocation_properties_t about = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t device = NULL;
    void *base = NULL;
    size_t length_bytes = 0;
    isthmus_status status = xe_check(s, xe_ze.zeMemGetAllocProperties(gpu->context, addr, &about, &device),
                                     "zeMemGetAllocProperties");
    if (status != ISTHMUS_OK || about.type == ZE_MEMORY_TYPE_UNKNOWN) return status;
    if (about.type == ZE_MEMORY_TYPE_SHARED)
        return s->fail(
            s->core, ISTHMUS_ERR_UNSUPPORTED,
            "Level Zero shared memory at %p is not supported; use memory of zeMemAllocDevice or shmem_malloc", addr);
    status = xe_check(s, xe_ze.zeMemGetAddressRange(gpu->context, addr, &base, &length_bytes), "zeMemGetAddressRange");
    if (status != ISTHMUS_OK) return status;
    out->addr = base;
    out->length_bytes = length_bytes;
    if (about.type == ZE_MEMORY_TYPE_HOST) return ISTHMUS_OK;
    out->kind = ISTHMUS_MEM_ZE;
    out->device = ordinal_of(gpu, device);
    return ISTHMUS_OK;
}

const struct p2p_driver xe_driver = {
    .hardware = "Intel GPU",
    .kind = ISTHMUS_MEM_ZE,
    .count = xe_count,
    .current = xe_current,
    .open = xe_open,
    .close = xe_close,
    .survey = xe_survey,
    .offers = xe_offers,
    .granule = xe_granule,
    .create = xe_create,
    .destroy = xe_destroy,
    .share = xe_share,
    .import = xe_import,
    .drop = xe_drop,
    .reserve = xe_reserve,
    .unreserve = xe_unreserve,
    .host_alloc = xe_host_alloc,
    .host_free = xe_host_free,
    .stream_open = xe_stream_open,
    .stream_close = xe_stream_close,
    .stream_wait = xe_stream_wait,
    .copy = xe_copy,
    .amo = xe_amo,
    .host_view = xe_host_view,
    .device_alloc = xe_device_alloc,
    .device_free = xe_device_free,
    .place = xe_place,
};
