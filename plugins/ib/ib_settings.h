/* plugins/ib/ib_settings.h: the numbers that users set, and their defaults. */
#ifndef ISTHMUS_IB_SETTINGS_H
#define ISTHMUS_IB_SETTINGS_H

#include <isthmus/transport.h>

struct ib_settings {
    uint32_t timeout_s; /* ISTHMUS_IB_TIMEOUT */
    uint32_t n_peers;   /* ISTHMUS_IB_PEERS: how many a PE is expected to talk to */
    uint32_t n_workers; /* ISTHMUS_IB_WORKERS: at most so many in this PE */
    uint32_t n_rails;   /* ISTHMUS_IB_RAILS: ports of this PE, at most */
};

enum { IB_MAX_WORKERS = 16, IB_USUAL_WORKERS = 4, IB_MAX_RAILS = 16 };

/* An empty variable counts as not set. After INVALID, fail() has the variable, its value and the valid values. */
isthmus_status ib_settings_read(const struct isthmus_services *services, struct ib_settings *out);

/* How many workers are of use to a PE that may run on `n_allowed` of its host's `n_online` processors, where `n_local`
 * PEs are. */
uint32_t ib_workers_of_use(uint32_t n_allowed, uint32_t n_online, uint32_t n_local);

#endif
