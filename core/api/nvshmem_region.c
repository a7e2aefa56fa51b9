/* core/api/nvshmem_region.c: regions of nvshmemx.h: what a program announces about the transfers that follow. A region
 * belongs to the thread that starts it, as one of a kernel belongs to its block. Every transfer starts when it is
 * called, inside a region too: this file keeps the book that the routines return from. */
#include "core/api/public.h"
#include "core/ops/target.h"

enum { KNOWN_HINTS = NVSHMEMX_REGION_HINT_BATCH_RMA };

static _Thread_local struct {
    nvshmemx_region_handle_t handle; /* 0: this thread is in no region */
    uint32_t hints;
} current;

static nvshmemx_region_handle_t last_handle; /* of any thread */

static bool are_known(uint32_t hints) { return (hints & ~(uint32_t)KNOWN_HINTS) == 0; }

int nvshmemx_region_start(nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs)
{
    uint32_t hints = attrs != NULL ? attrs->hints : NVSHMEMX_REGION_HINT_NONE;
    ist_require_ctx(&ist_ctx_default, "nvshmemx_region_start");
    if (handle == NULL || !are_known(hints) || current.handle != 0) return NVSHMEMX_ERROR_INVALID_VALUE;
    current.handle = __atomic_add_fetch(&last_handle, 1, __ATOMIC_RELAXED);
    current.hints = hints;
    *handle = current.handle;
    return NVSHMEMX_SUCCESS;
}

int nvshmemx_region_stop(nvshmemx_region_handle_t handle)
{
    ist_require_ctx(&ist_ctx_default, "nvshmemx_region_stop");
    if (handle == 0 || handle != current.handle) return NVSHMEMX_ERROR_INVALID_VALUE;
    current.handle = 0;
    return NVSHMEMX_SUCCESS;
}

int nvshmemx_region_is_active(uint32_t hints, int *active)
{
    ist_require_ctx(&ist_ctx_default, "nvshmemx_region_is_active");
    if (active == NULL || !are_known(hints)) return NVSHMEMX_ERROR_INVALID_VALUE;
    *active = current.handle != 0 && (hints & ~current.hints) == 0;
    return NVSHMEMX_SUCCESS;
}
