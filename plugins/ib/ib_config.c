/* plugins/ib/ib_config.c: see ib_config.h.
 * What ucp_config_modify() returns for a key that UCX lacks: up to 1.19 UCS_OK, and a warning in UCX's log when a
 * worker is created; from 1.20 UCS_ERR_INVALID_PARAM, as for a value that it does not accept. */
#include "plugins/ib/ib_config.h"

static const struct ib_config_key keys[] = {
    {
        .name = "TLS",
        .value = "^sm",
        .why = "PEs of one host load and store, and a PE that is killed would leave UCX's files in /dev/shm",
        .variables = {"UCX_TLS"},
    },
    {
        /* else UCX flushes all peers from 1.17 on; ib_ep_order() flushes a peer where an operation could overtake */
        .name = "FENCE_MODE",
        .value = "weak",
        .why = "a fence is to order what one lane carries, and not to wait for all peers",
        .variables = {"UCX_FENCE_MODE"},
        .since_minor = 16,
    },
    {
        .name = "TCP_TX_SEG_SIZE",
        .old_name = "TX_SEG_SIZE",
        .value = "64k",
        .why = "each segment is a system call on either side, and UCX receives 64 KiB at once anyway",
        .variables = {"UCX_TCP_TX_SEG_SIZE", "UCX_TCP_RX_SEG_SIZE"},
    },
};

static bool user_decides(const struct ib_config_key *key)
{
    for (size_t i = 0; i < sizeof key->variables / sizeof *key->variables; i++)
        if (key->variables[i] != NULL && ib_ucp_is_set(key->variables[i])) return true;
    return false;
}

static const char *name_here(const struct ib_config_key *key)
{
    return key->old_name != NULL && !ib_ucp_is_at_least(1, 17) ? key->old_name : key->name;
}

isthmus_status ib_config_set(const struct isthmus_services *services, ucp_config_t *config,
                             const struct ib_config_key *key)
{
    const struct isthmus_services *s = services;
    char reason[IB_REASON_TEXT_BYTES];
    if (key->value == NULL || user_decides(key) || !ib_ucp_is_at_least(1, key->since_minor)) return ISTHMUS_OK;
    const char *name = name_here(key);
    ib_ucp_reason_begin();
    ucs_status_t status = ib_ucp.ucp_config_modify(config, name, key->value);
    if (status == UCS_OK) return ISTHMUS_OK;
    ib_ucp_reason(reason);
    if (key->is_needed)
        return s->fail(
            s->core, ISTHMUS_ERR_UNSUPPORTED,
            "UCX %s does not accept %s=%s: %s%s; this transport needs it because %s; use another UCX (ISTHMUS_IB_UCX)",
            ib_ucp_version(), name, key->value, ib_ucp.ucs_status_string(status), reason, key->why);
    s->log(s->core, ISTHMUS_LOG_INFO, "UCX %s does not accept %s=%s: %s%s; left out, it was to be set because %s",
           ib_ucp_version(), name, key->value, ib_ucp.ucs_status_string(status), reason, key->why);
    return ISTHMUS_OK;
}

isthmus_status ib_config_set_all(const struct isthmus_services *services, ucp_config_t *config)
{
    isthmus_status status = ISTHMUS_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == ISTHMUS_OK; i++)
        status = ib_config_set(services, config, &keys[i]);
    return status;
}
