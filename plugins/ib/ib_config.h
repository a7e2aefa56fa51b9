/* plugins/ib/ib_config.h: the keys of UCX's configuration that this plugin sets. UCX's versions and builds differ in
 * their keys: one that this UCX lacks is left out with a line in the log. */
#ifndef ISTHMUS_IB_CONFIG_H
#define ISTHMUS_IB_CONFIG_H

#include "plugins/ib/ib_ucp.h"

struct ib_config_key {
    const char *name;         /* as UCX 1.17 and newer call it: that of the variable without UCX_ */
    const char *old_name;     /* up to 1.16, where names of modules' keys lack the module; NULL: the same */
    const char *value;        /* NULL: this key is not set now */
    const char *why;          /* the reason to set it, for the log and messages */
    const char *variables[2]; /* of UCX's own, UCX_...: where the user has set one of them, it decides */
    unsigned since_minor;     /* of 1.x, the first with the key: it is not set before; 0: all versions have it */
    bool is_needed;           /* the transport does not start without it */
};

/* The keys whose value is always the same; the others come from ib_net.c and ib.c. Returns OK if each needed one is
 * set. */
isthmus_status ib_config_set_all(const struct isthmus_services *services, ucp_config_t *config);

/* Returns OK if the key is set, or is left out and was not needed. */
isthmus_status ib_config_set(const struct isthmus_services *services, ucp_config_t *config,
                             const struct ib_config_key *key);

#endif
