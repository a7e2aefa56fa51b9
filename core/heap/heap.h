/* core/heap/heap.h: the symmetric heap on the host: one sparse memfd, mapped shared, as large as it may become.
 * Not the collective calls (ops/malloc.c has their barriers), not the book-keeping of blocks (alloc.h).
 * Before the program's part lies a small area of the library's own, symmetric like the rest: flags of barriers and the
 * like. It does not count against the size that the user asked for. */
#ifndef IST_HEAP_HEAP_H
#define IST_HEAP_HEAP_H

#include "core/base/config.h"
#include "core/heap/alloc.h"

/* Largest alignment that holds on every PE: heaps lie at different addresses, but all are congruent modulo this. */
#define IST_HEAP_MAX_ALIGN_BYTES ((uint64_t)1 << 30)

struct ist_heap {
    char *base;              /* of the mapping: the internal area */
    char *user_base;         /* of the program's part; a multiple of IST_HEAP_MAX_ALIGN_BYTES */
    uint64_t reserved_bytes; /* of the program's part, in address space */
    uint64_t limit_bytes;    /* how much of it may be used: the same on all PEs */
    uint64_t page_bytes;     /* of the pages behind it */
    int fd;
    ist_alloc *alloc;
};

extern struct ist_heap ist_heap;

/* Reserve and map. The size is the configured one, or else a share of the machine's memory for each of n_local PEs. */
isthmus_status ist_heap_init(const struct ist_config *config, int n_local);

/* All PEs use the same limit: that of PE 0. LIMIT: this PE cannot offer so much. */
isthmus_status ist_heap_set_limit(uint64_t limit_bytes);
void ist_heap_fini(void); /* takes any state */

/* Growth, where a transport has to register memory: how much there is at first, and how much there has to be for a request
 * (0: it does not fit within the limit). Without such a transport all of the limit is there from the start. */
uint64_t ist_heap_first_bytes(void);
uint64_t ist_heap_grown_for(uint64_t size_bytes, uint64_t align_bytes);
isthmus_status ist_heap_grow(uint64_t managed_bytes);

void *ist_heap_take(uint64_t size_bytes, uint64_t align_bytes);                                /* NULL: does not fit */
void ist_heap_explain_no_room(const char *routine, uint64_t size_bytes, uint64_t align_bytes); /* at info level */
bool ist_heap_give(void *block);                        /* false: no live block starts there */
bool ist_heap_resize(void *block, uint64_t size_bytes); /* in place; false: not possible */
uint64_t ist_heap_size_of(const void *block);           /* as requested; 0: no live block starts there */
void ist_heap_zero(void *block, uint64_t size_bytes);

/* In a child after fork: what the parent writes later is the parent's. */
void ist_heap_make_private(void);

#endif
