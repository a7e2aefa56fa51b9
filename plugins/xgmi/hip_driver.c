/* plugins/xgmi/hip_driver.c: HIP as a driver of the engine (plugins/common/p2p.h).
 * Work happens on the device that is current in the thread: this PE's is made current for the call, and the former one
 * is restored. */
#include "plugins/xgmi/xgmi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

isthmus_status xg_check(const struct p2p_gpu *gpu, hipError_t result, const char *what)
{
    const struct isthmus_services *s = gpu->services;
    if (result == hipSuccess) return ISTHMUS_OK;
    return s->fail(s->core, xg_status(result), "%s: %s", what, xg_result_name(result));
}

hipError_t xg_enter(const struct p2p_gpu *gpu, int *before)
{
    *before = -1;
    hipError_t result = xg_hip.hipGetDevice(before);
    if (result != hipSuccess || *before == gpu->device) {
        *before = -1;
        return result;
    }
    return xg_hip.hipSetDevice(gpu->device);
}

void xg_leave(int before)
{
    if (before >= 0) (void)xg_hip.hipSetDevice(before);
}

/* ---- life ---- */

static isthmus_status xg_count(const struct isthmus_services *s, int *n)
{
    isthmus_status status = xg_load(s);
    if (status != ISTHMUS_OK) return status;
    hipError_t result = xg_hip.hipInit(0);
    if (result == hipSuccess) result = xg_hip.hipGetDeviceCount(n);
    if (result == hipSuccess && *n > 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "HIP has no GPU for this process: %s",
                   result == hipSuccess ? "it reports 0 GPUs" : xg_result_name(result));
}

/* A thread that has chosen no device is on device 0, so only another number shows a choice. */
static int xg_current(void)
{
    int device = 0;
    return xg_hip.hipGetDevice(&device) == hipSuccess && device > 0 ? device : -1;
}

static isthmus_status xg_open(const struct isthmus_services *s, int ordinal, struct p2p_gpu **out)
{
    struct p2p_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the record of a GPU");
    *gpu = (struct p2p_gpu){.services = s, .device = ordinal};
    pthread_mutex_init(&gpu->lock, NULL);
    gpu->granule = xg_vmm_granule(gpu);
    gpu->has_streams = xg_streams_work(gpu);
    *out = gpu;
    return ISTHMUS_OK;
}

static void xg_close(struct p2p_gpu *gpu)
{
    xg_amo_unload(&gpu->kernel);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

/* What cannot be found out counts as no. On one host the address on the bus is a device's identity. */
static int xg_survey(struct p2p_gpu *gpu, struct p2p_device *list, int room)
{
    int n = 0;
    if (xg_hip.hipGetDeviceCount(&n) != hipSuccess) n = 0;
    if (n > room) n = room;
    for (int i = 0; i < n; i++) {
        int can = 0, atomics = 0;
        list[i] = (struct p2p_device){.is_used = i == gpu->device};
        (void)xg_hip.hipDeviceGetName(list[i].name, sizeof list[i].name, i);
        (void)xg_hip.hipDeviceGetPCIBusId(list[i].pci, sizeof list[i].pci, i);
        memcpy(list[i].pci_address, list[i].pci, sizeof list[i].pci_address);
        memcpy(list[i].uuid, list[i].pci, sizeof list[i].uuid);
        if (!list[i].is_used) (void)xg_hip.hipDeviceCanAccessPeer(&can, gpu->device, i);
        if (can != 0)
            (void)xg_hip.hipDeviceGetP2PAttribute(&atomics, hipDevP2PAttrNativeAtomicSupported, gpu->device, i);
        list[i].can_access = list[i].is_used || can != 0;
        list[i].has_atomics = xg_has_rtc && (list[i].is_used || atomics != 0);
    }
    return n;
}

static uint32_t xg_offers(struct p2p_gpu *gpu)
{
    return (gpu->granule > 0 ? P2P_GROWING | P2P_PLACES : 0) | (gpu->has_streams ? P2P_STREAMS : 0);
}

const struct p2p_driver xg_driver = {
    .hardware = "AMD GPU",
    .kind = ISTHMUS_MEM_HIP,
    .count = xg_count,
    .current = xg_current,
    .open = xg_open,
    .close = xg_close,
    .survey = xg_survey,
    .offers = xg_offers,
    .granule = xg_granule,
    .create = xg_create,
    .destroy = xg_destroy,
    .share = xg_share,
    .import = xg_import,
    .drop = xg_drop,
    .reserve = xg_vmm_reserve,
    .unreserve = xg_vmm_unreserve,
    .host_alloc = xg_host_alloc,
    .host_free = xg_host_free,
    .pin = xg_pin,
    .unpin = xg_unpin,
    .stream_open = xg_stream_open,
    .stream_close = xg_stream_close,
    .stream_wait = xg_stream_wait,
    .copy = xg_copy,
    .amo = xg_amo,
    .wait_until = xg_wait_until,
    .words = xg_words,
    .host_function = xg_host_function,
    .complete = xg_complete,
    .host_view = xg_host_view,
    .device_alloc = xg_device_alloc,
    .device_free = xg_device_free,
    .find = xg_find,
    .call = xg_call,
    .place = xg_place,
};
