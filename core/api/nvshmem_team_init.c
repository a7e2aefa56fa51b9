/* core/api/nvshmem_team_init.c: teams of any PEs in nvshmemx.h; core/coll/lobby.c connects the members. */
#include "core/api/team_entry.h"
#include "core/base/log.h"
#include "core/coll/split.h"

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
