/* core/api/nvshmem_buffers.c: the registered buffers of nvshmemx.h: what the routines return; core/heap/registered.c
 * and core/memory/symmetric_buffers.c do the work. */
#include "core/api/public.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/heap/registered.h"
#include "core/memory/symmetric_buffers.h"
#include "core/ops/target.h"
#include "core/proxy/device.h"

int nvshmemx_buffer_register(void *addr, size_t length)
{
    ist_require_ctx(&ist_ctx_default, "nvshmemx_buffer_register");
    isthmus_status status = ist_registered_add(addr, length);
    if (status == ISTHMUS_OK) return NVSHMEMX_SUCCESS;
    ist_info("nvshmemx_buffer_register: %s", ist_fail_text());
    switch (status) {
    case ISTHMUS_ERR_INVALID: return NVSHMEMX_ERROR_INVALID_VALUE;
    case ISTHMUS_ERR_NO_MEMORY: return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    default: return NVSHMEMX_ERROR_INTERNAL;
    }
}

int nvshmemx_buffer_unregister(void *addr)
{
    return ist_registered_remove(addr) == ISTHMUS_OK ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}

void nvshmemx_buffer_unregister_all(void) { ist_registered_remove_all(); }

void *nvshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int flags)
{
    const char routine[] = "nvshmemx_buffer_register_symmetric";
    if (flags != 0) ist_info("%s: flags is %d; valid: 0", routine, flags);
    if (ist_buffer_make_symmetric(buf_ptr, size, flags == 0, routine) != ISTHMUS_OK) return NULL;
    isthmus_status status = ist_device_need_ring();
    if (status != ISTHMUS_OK) ist_die(routine, status);
    return buf_ptr;
}

int nvshmemx_buffer_unregister_symmetric(void *mmap_ptr, size_t size)
{
    isthmus_status status = ist_buffer_make_private(mmap_ptr, size, "nvshmemx_buffer_unregister_symmetric");
    if (status == ISTHMUS_OK) return NVSHMEMX_SUCCESS;
    return status == ISTHMUS_ERR_INVALID ? NVSHMEMX_ERROR_INVALID_VALUE : NVSHMEMX_ERROR_INTERNAL;
}
