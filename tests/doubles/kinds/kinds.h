/* tests/doubles/kinds/kinds.h: a transport that stands for a device's: its memory is the host's, mapped where the
 * processor must not touch it (PROT_NONE), and once more at hidden addresses, which only this plugin uses. Not a model
 * of any driver: those are doubled beside this folder.
 *
 * ISTHMUS_KINDS_OPEN     1: the processor may touch the memory where the program knows it; the core still must not
 * ISTHMUS_KINDS_GRANULE  bytes of the pieces that memory comes in, 2 MiB; 0: nothing grows, mem_alloc makes all of it
 * ISTHMUS_KINDS_HELD     1: what peers put is held back until the owner flushes it (kinds_held.c); the core knows it
 * ISTHMUS_KINDS_MEMORY   bytes that the device of a PE has; ISTHMUS_KINDS_MEMORY_OF_1 that of PE 1 */
#ifndef KINDS_H
#define KINDS_H

#include "plugins/common/fd_pass.h"

#include <isthmus/transport.h>

#include <stdbool.h>

enum { KINDS_MAX_RANGES = 64 };

/* Addresses of the program and, hidden_offset further on, those of the plugin. */
struct kinds_range {
    char *addr; /* NULL: the entry is free */
    uint64_t length_bytes, hidden_offset;
    uint64_t used_bytes; /* of the device's memory, by the pieces in it */
    uint32_t is_managed; /* stands for managed memory */
    int fd;              /* of memory that a program made; -1: pieces have their own */
};

struct isthmus_tr {
    const struct isthmus_services *services;
    struct fd_pass_server *server;
    uint32_t is_open, is_held;
    uint64_t granule_bytes, memory_bytes;
};

struct isthmus_lmem {
    isthmus_tr *tr;
    uint32_t id; /* of the descriptor on offer; 0: none, a local operand only */
    char *addr;
    uint64_t length_bytes, hidden_offset;
};

struct isthmus_path {
    isthmus_tr *tr;
    int32_t pe;
    char host_name[64];
    uint32_t is_self;
    struct fd_pass_address address;
    struct fd_pass_bundle bundle;
};

struct isthmus_rmem {
    char *hidden; /* address of the extent in this process */
    uint64_t length_bytes;
    uint32_t is_mapped, is_held;
};

/* kinds_mem.c */
isthmus_status kinds_mem_alloc(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes,
                               struct isthmus_mem *out);
void kinds_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem);
isthmus_status kinds_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                            isthmus_lmem **out);
isthmus_status kinds_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out);
void kinds_unregister(isthmus_lmem *lmem);
extern const struct isthmus_growing kinds_growing;
extern const struct isthmus_memory kinds_memory;
const void *kinds_hidden(
    const void *addr); /* where the plugin finds what lies there; of host memory the address itself */

/* kinds_far.c */
isthmus_status kinds_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out);
void kinds_path_close(isthmus_path *path);
isthmus_status kinds_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
void kinds_detach(isthmus_rmem *rmem);
isthmus_status kinds_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                  struct isthmus_data_ops *ops);
void kinds_channel_close(isthmus_chan *chan);

/* Contents of a key: a descriptor on offer at the peer, and for the peer itself where it is. */
struct kinds_key {
    uint64_t id, length_bytes;
    char *hidden;
    uint64_t is_held;
};

/* kinds_held.c: an extent of which writes are held back: the memory, what is held, and which bytes of it are (0:
 * not). */
struct kinds_held {
    char *real, *data;
    uint8_t *mask, *pages, *lock; /* pages: of which some bytes are */
    uint64_t length_bytes;
    const char *owner_addr; /* the owner's address of it; for own extents */
};
uint64_t kinds_held_file_bytes(uint64_t length_bytes); /* of an extent */
struct kinds_held kinds_held_at(char *all, uint64_t length_bytes);
void kinds_held_write(const struct kinds_held *held, uint64_t at, const void *source, uint64_t length_bytes);
void kinds_held_apply(const struct kinds_held *held, uint64_t at, uint64_t length_bytes);
int kinds_held_expose(isthmus_tr *tr, const isthmus_lmem *lmem, int fd); /* 0: writes are not held back */
void kinds_held_hide(const isthmus_lmem *lmem);
void kinds_held_arrive(const void *addr, uint64_t length_bytes); /* the owner is about to read that memory */
isthmus_status kinds_flush_writes(isthmus_tr *tr);

/* For programs: they find these in the loaded plugin (dlopen, dlsym), as they would find a driver's. */
ISTHMUS_PLUGIN_EXPORT void *kinds_malloc(uint64_t length_bytes, int is_managed);
ISTHMUS_PLUGIN_EXPORT void kinds_free(void *addr);
ISTHMUS_PLUGIN_EXPORT uint64_t kinds_n_flushes(void);
ISTHMUS_PLUGIN_EXPORT void kinds_copy(void *dest, const void *source, uint64_t length_bytes);

#endif
