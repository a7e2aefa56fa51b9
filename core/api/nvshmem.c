/* core/api/nvshmem.c: the routines of nvshmem.h and nvshmemx.h that are not made from the table, but for start and end
 * (nvshmem_setup.c): versions, and the structures, devices, buffers and regions of this face only. */
#include "core/api/team_entry.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/coll/split.h"
#include "core/heap/registered.h"
#include "core/memory/malloc.h"
#include "core/ops/region.h"
#include "core/ops/target.h"
#include "core/proxy/device.h"

#include <stdio.h>

void nvshmem_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

void nvshmem_info_get_name(char *name) { snprintf(name, NVSHMEM_MAX_NAME_LEN, "%s", NVSHMEM_VENDOR_STRING); }

void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

/* ---- teams ---- */

static struct ist_team_options options_of(const nvshmem_team_config_t *config, long mask)
{
    struct ist_team_options options = {.num_contexts = 0};
    if (config == NULL) return options;
    if ((mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS) != 0) options.num_contexts = config->num_contexts;
    if ((mask & NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID) != 0) options.unique_id = config->uniqueid;
    return options;
}

void nvshmem_team_get_config(nvshmem_team_t handle, nvshmem_team_config_t *config)
{
    static const char routine[] = "nvshmem_team_get_config";
    const struct ist_team *team = ist_team_of_nvshmem(handle, routine);
    if (team == NULL) return;
    ist_require_buffer(routine, "config", config);
    *config = (nvshmem_team_config_t)NVSHMEM_TEAM_CONFIG_INITIALIZER;
    config->num_contexts = team->options.num_contexts;
    config->uniqueid = team->options.unique_id;
}

int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride, int size,
                               const nvshmem_team_config_t *config, long config_mask, nvshmem_team_t *new_team)
{
    static const char routine[] = "nvshmem_team_split_strided";
    struct ist_team_options options = options_of(config, config_mask);
    struct ist_team *team = NULL;
    ist_require_buffer(routine, "new_team", new_team);
    isthmus_status status = ist_team_split_strided(ist_team_of_nvshmem(parent, routine), start, stride, size, &options,
                                                   &team, routine);
    *new_team = ist_index_of(team);
    return ist_returned(status);
}

int nvshmem_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t *xaxis_config, long xaxis_mask,
                          nvshmem_team_t *xaxis_team, const nvshmem_team_config_t *yaxis_config, long yaxis_mask,
                          nvshmem_team_t *yaxis_team)
{
    static const char routine[] = "nvshmem_team_split_2d";
    struct ist_team_options x_options = options_of(xaxis_config, xaxis_mask);
    struct ist_team_options y_options = options_of(yaxis_config, yaxis_mask);
    struct ist_team *x = NULL, *y = NULL;
    ist_require_buffer(routine, "xaxis_team", xaxis_team);
    ist_require_buffer(routine, "yaxis_team", yaxis_team);
    isthmus_status status = ist_team_split_2d(ist_team_of_nvshmem(parent, routine), xrange, &x_options, &x, &y_options,
                                              &y, routine);
    *xaxis_team = ist_index_of(x);
    *yaxis_team = ist_index_of(y);
    return ist_returned(status);
}

/* ---- devices ---- */

void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr)
{
    (void)team, (void)ptr;
    return NULL; /* host memory has no multicast address */
}

int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **out_qp_array)
{
    (void)num_qps;
    *out_qp_array = NULL;
    return NVSHMEMX_ERROR_NOT_SUPPORTED; /* handles are for device code */
}

/* ---- teams of any PEs; core/coll/lobby.c connects the members ---- */

static int code_of(const char *routine, isthmus_status status)
{
    if (status == ISTHMUS_OK) return NVSHMEMX_SUCCESS;
    ist_info("%s: %s", routine, ist_fail_text());
    switch (status) {
    case ISTHMUS_ERR_INVALID: return NVSHMEMX_ERROR_INVALID_VALUE;
    case ISTHMUS_ERR_NO_MEMORY:
    case ISTHMUS_ERR_LIMIT: return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    default: return NVSHMEMX_ERROR_INTERNAL;
    }
}

int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid)
{
    static const char routine[] = "nvshmemx_team_get_uniqueid";
    ist_require_ctx(&ist_ctx_default, routine);
    if (uniqueid == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    return code_of(routine, ist_lobby_new_id(uniqueid));
}

int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config, long config_mask, int npes,
                       int pe_idx_in_team)
{
    static const char routine[] = "nvshmemx_team_init";
    ist_require_ctx(&ist_ctx_default, routine);
    if (team == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    *team = NVSHMEM_TEAM_INVALID;
    if (config == NULL || (config_mask & NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID) == 0) return NVSHMEMX_ERROR_INVALID_VALUE;
    struct ist_team_options options = {.unique_id = config->uniqueid};
    if ((config_mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS) != 0) options.num_contexts = config->num_contexts;
    struct ist_team *made = NULL;
    isthmus_status status = ist_lobby_make_team(config->uniqueid, npes, pe_idx_in_team, &options, &made, routine);
    *team = ist_index_of(made);
    return code_of(routine, status);
}

/* ---- registered buffers: what the routines return; core/heap/registered.c and core/memory/symmetric_buffers.c do the
 * work ---- */

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

static void *register_symmetric(void *buf_ptr, size_t size, int flags, const char *routine)
{
    if (flags != 0) ist_warn("%s: flags is %d; valid: 0", routine, flags);
    if (ist_buffer_make_symmetric(buf_ptr, size, flags == 0, routine) != ISTHMUS_OK) return NULL;
    isthmus_status status = ist_device_list_buffers();
    if (status != ISTHMUS_OK) ist_die(routine, status);
    return buf_ptr;
}

void *nvshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int flags)
{
    return register_symmetric(buf_ptr, size, flags, "nvshmemx_buffer_register_symmetric");
}

/* A buffer keeps the address that it has: the preferred one, if they are the same. */
void *nvshmemx_buffer_register_symmetric_at_preferred_address(void *buf_ptr, size_t size, void *preferred_addr,
                                                              int flags)
{
    (void)preferred_addr;
    return register_symmetric(buf_ptr, size, flags, "nvshmemx_buffer_register_symmetric_at_preferred_address");
}

int nvshmemx_buffer_unregister_symmetric(void *mmap_ptr, size_t size)
{
    const char routine[] = "nvshmemx_buffer_unregister_symmetric";
    isthmus_status status = ist_buffer_make_private(mmap_ptr, size, routine);
    if (status == ISTHMUS_OK) {
        status = ist_device_list_buffers();
        if (status != ISTHMUS_OK) ist_die(routine, status);
        return NVSHMEMX_SUCCESS;
    }
    ist_warn("%s: %s", routine, ist_fail_text());
    return status == ISTHMUS_ERR_INVALID ? NVSHMEMX_ERROR_INVALID_VALUE : NVSHMEMX_ERROR_INTERNAL;
}

/* ---- regions ---- */

/* A region belongs to the thread that starts it, as one of a kernel belongs to its block. */
enum { KNOWN_HINTS = NVSHMEMX_REGION_HINT_BATCH_RMA };

static bool are_known_hints(uint32_t hints) { return (hints & ~(uint32_t)KNOWN_HINTS) == 0; }

int nvshmemx_region_start(nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs)
{
    uint32_t hints = attrs != NULL ? attrs->hints : NVSHMEMX_REGION_HINT_NONE;
    ist_require_ctx(&ist_ctx_default, "nvshmemx_region_start");
    if (handle == NULL || !are_known_hints(hints) || ist_region.handle != 0) return NVSHMEMX_ERROR_INVALID_VALUE;
    ist_region_start(hints, (hints & NVSHMEMX_REGION_HINT_BATCH_RMA) != 0);
    *handle = ist_region.handle;
    return NVSHMEMX_SUCCESS;
}

int nvshmemx_region_stop(nvshmemx_region_handle_t handle)
{
    ist_require_ctx(&ist_ctx_default, "nvshmemx_region_stop");
    if (handle == 0 || handle != ist_region.handle) return NVSHMEMX_ERROR_INVALID_VALUE;
    ist_region_stop();
    return NVSHMEMX_SUCCESS;
}

int nvshmemx_region_is_active(uint32_t hints, int *active)
{
    ist_require_ctx(&ist_ctx_default, "nvshmemx_region_is_active");
    if (active == NULL || !are_known_hints(hints)) return NVSHMEMX_ERROR_INVALID_VALUE;
    *active = ist_region.handle != 0 && (hints & ~ist_region.hints) == 0;
    return NVSHMEMX_SUCCESS;
}
