/* core/api/nvshmem.c: the routines of nvshmem.h and nvshmemx.h that are not made from the table, but for start and end
 * (nvshmem_setup.c): versions, and the structures and devices of this face only. */
#include "core/api/team_entry.h"

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
    return status;
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
    return status;
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
