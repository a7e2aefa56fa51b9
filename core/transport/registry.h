/* core/transport/registry.h: the transports of this process: found, checked, selected, opened.
 * Not the choice for a peer (choose.h), not the peers (peer.h).
 * A transport that cannot be used stays in the list with the reason, for messages and isthmus-info. */
#ifndef IST_TRANSPORT_REGISTRY_H
#define IST_TRANSPORT_REGISTRY_H

#include "core/base/config.h"
#include "core/base/thread.h"
#include "core/transport/abi.h"

#include <pthread.h>

enum { IST_MAX_TRANSPORTS = 16 };

enum ist_transport_state {
    IST_TRANSPORT_REFUSED,  /* its file cannot be loaded, or has an ABI that we do not support */
    IST_TRANSPORT_EXCLUDED, /* ISTHMUS_TRANSPORTS excludes it */
    IST_TRANSPORT_UNFIT,    /* its probe reported that it cannot run here */
    IST_TRANSPORT_UNNEEDED, /* usable, and no peer of this job needs it: not opened */
    IST_TRANSPORT_OPEN
};

struct ist_transport {
    struct isthmus_transport ops;     /* complete: no slot is NULL */
    struct ist_extensions extensions; /* likewise; valid while the transport is open */
    struct isthmus_services services;
    struct isthmus_traits traits;
    isthmus_tr *handle;
    char name[16];
    char *file;    /* path of the plugin */
    void *library; /* of dlopen */
    enum ist_transport_state state;
    bool has_failed;      /* it was refused, or could not be opened: not because something is absent here */
    char why[400];        /* why it is not open; empty if it is */
    uint32_t rank;        /* place in ISTHMUS_TRANSPORTS, from 0; UINT32_MAX when not listed */
    pthread_mutex_t cold; /* recursive: a slot may call a service of the core that needs another slot */
    int cold_depth;       /* calls of its holder that are under way, and its cancellation before the first of them */
    int cancel_before;
};

/* Around each call of a slot that transport.h declares cold: one at a time per transport, whatever locks the core
 * holds. */
static inline void ist_cold_begin(struct ist_transport *t)
{
    int before = ist_cancel_disable();
    pthread_mutex_lock(&t->cold);
    if (t->cold_depth++ == 0) t->cancel_before = before;
}

static inline void ist_cold_end(struct ist_transport *t)
{
    bool is_last = --t->cold_depth == 0;
    int before = t->cancel_before;
    pthread_mutex_unlock(&t->cold);
    if (is_last) ist_cancel_restore(before);
}

isthmus_status ist_cold_register(struct ist_transport *t, const struct isthmus_mem *mem, isthmus_lmem **out);
void ist_cold_unregister(struct ist_transport *t, isthmus_lmem *lmem);

struct ist_registry {
    struct ist_transport list[IST_MAX_TRANSPORTS];
    uint32_t n;
    struct isthmus_host_id host;
    char searched[1024]; /* the folders that were searched, for messages */
};

extern struct ist_registry ist_registry;

/* Finds, loads, checks and probes all plugins, in the folders of ISTHMUS_PLUGIN_PATH and in the one beside the library.
 * A plugin that is refused stays in the list with the reason; a transport that ISTHMUS_TRANSPORTS names and that cannot
 * be used is an error. `config` is borrowed until the registry is closed. */
isthmus_status ist_registry_load(const struct ist_config *config);

/* Opens what a job with peers in `scopes` (ISTHMUS_SCOPE_ bits) needs, and what the user named. The transports to
 * devices come first, so that the others can learn which device each PE of the host has (ist_places_publish_device() in
 * between). */
isthmus_status ist_registry_open_devices(int pe, int n_pes, uint64_t scopes);
isthmus_status ist_registry_open(int pe, int n_pes, uint64_t scopes);

void ist_registry_close(void); /* closes what is open, then unloads; accepts any state */

struct ist_transport *ist_registry_find(const char *name); /* NULL: unknown */

/* Returns true if an open transport serves any of these scopes (ISTHMUS_SCOPE_ bits). */
bool ist_registry_has_open(uint64_t scopes);

/* Returns true if a transport reaches other hosts. The same on all PEs. */
static inline bool ist_registry_has_network(void) { return ist_registry_has_open(ISTHMUS_SCOPE_NETWORK); }

/* Returns "found", "refused" and so on, for isthmus-info. */
const char *ist_transport_state_name(enum ist_transport_state state);

/* ---- parts of the registry: load.c, select.c ---- */

/* Fills the list from the plugin folders: entries are UNNEEDED or REFUSED. An empty list is no error here. */
void ist_plugins_load(const struct ist_config *config);

/* Applies ISTHMUS_TRANSPORTS ("" : all; "a,b" : these, in this order; "^a,b" : all but these). */
isthmus_status ist_select_transports(const char *text);

#endif
