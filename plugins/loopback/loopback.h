/* plugins/loopback/loopback.h: the parts of this plugin, for its own files. The contract is isthmus/transport.h. */
#ifndef ISTHMUS_LOOPBACK_H
#define ISTHMUS_LOOPBACK_H

#include "plugins/common/fd_pass.h"

#include <isthmus/transport.h>

enum { LB_MAX_EXPOSED = FD_PASS_MAX_OFFERS, LB_DEFAULT_TIMEOUT_S = 30 };

/* Exposed memory of this PE: a path to itself uses it and maps nothing. */
struct isthmus_lmem {
    isthmus_tr *tr;
    uint32_t id; /* the offer's number; 0: entry is free */
    char *addr;
    uint64_t length_bytes;
};

struct isthmus_tr {
    const struct isthmus_services *services;
    struct fd_pass_server *server;
    unsigned timeout_s;
    uint32_t is_sparse;
    uint64_t expose_limit_bytes; /* refuse to expose more */
    uint64_t bytes_exposed;
    struct isthmus_lmem exposed[LB_MAX_EXPOSED];
    uint64_t bytes_mapped;
};

struct isthmus_path {
    isthmus_tr *tr;
    int32_t pe;
    struct fd_pass_client client; /* not of a path to oneself */
    uint32_t is_self;
};

struct isthmus_rmem {
    isthmus_tr *tr;
    char *addr; /* of the peer's extent, here */
    uint64_t length_bytes;
    uint32_t is_mapped; /* 0: own memory */
};

/* lb_mem.c */
isthmus_status lb_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out);
void lb_path_close(isthmus_path *path);
isthmus_status lb_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                         isthmus_lmem **out);
void lb_unregister(isthmus_lmem *lmem);

/* A peer's key of an extent: the number of a descriptor that it offers, and a range in it. */
struct lb_key {
    uint32_t version, id;
    uint64_t offset_bytes, length_bytes;
};
isthmus_status lb_key_read(const struct isthmus_services *s, int32_t pe, const void *bytes, size_t n_bytes,
                           struct lb_key *out); /* VERSION: damaged, or of another version */
isthmus_status lb_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
void lb_detach(isthmus_rmem *rmem);

/* lb_data.c */
isthmus_status lb_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                               struct isthmus_data_ops *ops);
void lb_channel_close(isthmus_chan *chan);

#endif
