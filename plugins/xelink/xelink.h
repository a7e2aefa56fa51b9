/* plugins/xelink/xelink.h: the parts of this plugin, for its own files. The engine above them is
 * plugins/common/p2p.h. */
#ifndef ISTHMUS_XELINK_H
#define ISTHMUS_XELINK_H

#include "plugins/common/p2p.h"

#include <level_zero/ze_api.h>
#include <pthread.h>

/* ze_load.c: Level Zero's loader, loaded at run time: the same build runs where there is none. Stays loaded from
 * xe_load() on. */
extern struct ze_api {
#define ZE(name) __typeof__(name) *(name);
#include "plugins/xelink/ze.def"
} xe_ze;
#ifdef ZE_PCI_PROPERTIES_EXT_NAME
extern __typeof__(zeDevicePciGetPropertiesExt) *xe_get_pci; /* NULL: this Level Zero is too old to have it */
#endif
isthmus_status xe_probe(const struct isthmus_services *services);
isthmus_status xe_load(const struct isthmus_services *services);
isthmus_status xe_status(ze_result_t result);

/* ze_stream.c: an immediate command list whose commands run one after the other. */
isthmus_status xe_stream_open(struct p2p_gpu *gpu, void **stream);
void xe_stream_close(struct p2p_gpu *gpu, void *stream);
isthmus_status xe_stream_wait(struct p2p_gpu *gpu, void *stream);
isthmus_status xe_copy(struct p2p_gpu *gpu, void *stream, void *dest, const void *source, size_t length_bytes);
isthmus_status xe_amo(struct p2p_gpu *gpu, void *stream, const struct p2p_amo *amo);
isthmus_status xe_clear(struct p2p_gpu *gpu, void *dest, size_t length_bytes); /* complete on return */

/* ze_amo.c: the kernel of atomics. Append: to a list of a queue that computes. */
bool xe_amo_is_built(void);
ze_result_t xe_amo_append(struct p2p_gpu *gpu, ze_command_list_handle_t list, const struct p2p_amo *amo);
void xe_amo_unload(struct p2p_gpu *gpu); /* also of one that was not loaded */

/* ze_vmm.c: memory that grows. `granule` of a device is 0 if a trial has shown that its driver lacks that. */
void xe_vmm_try(struct p2p_gpu *gpu);
isthmus_status xe_reserve(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr);
void xe_unreserve(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes);
isthmus_status xe_vmm_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out);
void xe_vmm_destroy(struct p2p_gpu *gpu, const struct p2p_memory *memory);

/* ze_driver.c: results that are errors, and results of releases, which are for the log only. */
isthmus_status xe_check(const struct isthmus_services *s, ze_result_t result, const char *what);
void xe_note(const struct isthmus_services *s, ze_result_t result, const char *what);

/* ze_driver.c: the GPUs of all drivers are one row, and an ordinal is a place in it. */
struct xe_device {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
};
struct p2p_gpu {
    const struct isthmus_services *services;
    struct xe_device list[P2P_MAX_DEVICES];
    int n_devices, ordinal;
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    uint32_t copy_group;    /* of command queues, for copies */
    uint32_t compute_group; /* for kernels and copies */
    uint64_t granule;       /* of memory that grows; 0: none does */
    bool has_atomics;
    pthread_mutex_t lock; /* of the kernel, which is loaded when it is first needed */
    ze_module_handle_t module;
    ze_kernel_handle_t amo;
};
extern const struct p2p_driver xe_driver;

#endif
