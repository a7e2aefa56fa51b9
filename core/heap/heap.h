/* core/heap/heap.h: the symmetric heap: on the host one sparse memfd, mapped shared, as large as it may become; or
 * memory of a device (device_heap.c).
 * Not the collective calls (memory/malloc.c has their barriers), not the book-keeping of blocks (alloc.h).
 * The library has a small area of its own, symmetric like the rest: flags of barriers and the like. It is always memory
 * of the host, lies before the program's part if that is too, and does not count against the size that the user
 * requested. */
#ifndef IST_HEAP_HEAP_H
#define IST_HEAP_HEAP_H

#include "core/base/config.h"
#include "core/boot/boot.h"
#include "core/heap/alloc.h"

/* Largest alignment that holds on every PE: heaps may lie at different addresses, but all are congruent modulo this. */
#define IST_HEAP_MAX_ALIGN_BYTES ((uint64_t)1 << 30)

struct ist_heap {
    char *base;                    /* of the mapping: the internal area */
    uint64_t mapped_bytes;         /* of it: the internal area, and the program's part where that is on the host */
    char *user_base;               /* of the program's part; a multiple of max_align_bytes */
    uint32_t segment;              /* which that part is in */
    uint64_t segment_offset_bytes; /* where it begins there */
    uint64_t max_align_bytes;
    uint64_t reserved_bytes; /* of the program's part, in address space */
    uint64_t limit_bytes;    /* how much of it may be used: the same on all PEs once there are blocks */
    uint64_t page_bytes;     /* of the pages behind it */
    int fd;
    ist_alloc *alloc;
};

extern struct ist_heap ist_heap;

/* Reserve and map. On the host the size is the configured one, or else a share of the machine's memory for each of
 * n_local PEs. `internal_bytes`: of the library's own area. `kind`: of the program's part, from
 * ist_device_heap_choose(). */
isthmus_status ist_heap_init(const struct ist_config *config, uint64_t internal_bytes, int n_local, uint32_t kind);

/* heap_base.c: reserves addresses, without memory, for a mapping of `bytes` whose program's part begins internal_bytes
 * into it: at the address of ISTHMUS_HEAP_BASE, or else where there is room. */
isthmus_status ist_heap_reserve(const struct ist_config *config, uint64_t internal_bytes, uint64_t bytes, char **out);
void ist_heap_describe_base(const struct ist_config *config, char *out, size_t room); /* for people, without a heap */

/* As segments, and for the fast paths. */
isthmus_status ist_heap_expose(void);

/* No block exists before this call. All PEs pass the same limit, which is not above what any of them has reserved. */
void ist_heap_set_limit(uint64_t limit_bytes);
void ist_heap_fini(void); /* takes any state */

/* Growth, where a transport has to register memory, and in memory of a device: how much there has to be for a request,
 * and a little more for the next ones, or no more than it takes (0: it does not fit within the limit). Otherwise all of
 * the limit is there from the start. */
bool ist_heap_grows(void);
uint64_t ist_heap_grown_for(uint64_t size_bytes, uint64_t align_bytes, bool with_more);

/* Exposes the added memory, under a number as ist_segment_grow() takes it; shrink undoes that; grow releases it for
 * blocks. */
isthmus_status ist_heap_extend(ist_boot *boot, const char *card_key, uint64_t managed_bytes, uint32_t number);
void ist_heap_shrink(ist_boot *boot, const char *card_key);
isthmus_status ist_heap_grow(uint64_t managed_bytes);

/* For PEs that agree before all of them take: private memory for the next take, grow or resize; and the block that this
 * take will return, or whether the block will be resized in place. The last two change nothing and need no memory, so
 * that all PEs have the same answer. */
isthmus_status ist_heap_reserve_records(void);
void *ist_heap_room(uint64_t size_bytes, uint64_t align_bytes);
bool ist_heap_can_resize(const void *block, uint64_t size_bytes);

void *ist_heap_take(uint64_t size_bytes, uint64_t align_bytes); /* NULL if it does not fit */
void ist_heap_explain_no_room(const char *routine, uint64_t size_bytes, uint64_t align_bytes); /* at info level */
bool ist_heap_give(void *block);                                /* false if no live block starts there */
bool ist_heap_resize(void *block, uint64_t size_bytes);         /* in place; false if impossible */
uint64_t ist_heap_size_of(const void *block);                   /* as requested; 0 if no live block starts there */
isthmus_status ist_heap_zero(void *block, uint64_t size_bytes); /* fails in memory of a device only */

/* In a child after fork: later writes of the parent stay the parent's. */
void ist_heap_make_private(void);

/* ---- the memory of a heap that lies on a device: addresses, and pieces of memory under them (device_heap.c) ----
 * If the transport of that memory can, addresses are taken once and memory is mapped there as the heap grows; else all
 * of it is allocated at the start. */

struct ist_device_heap {
    uint32_t kind; /* ISTHMUS_MEM_HOST: there is none */
    int32_t device;
    char *base;             /* of the heap: a multiple of align_bytes on every PE */
    uint64_t length_bytes;  /* of addresses from there on */
    uint64_t granule_bytes; /* of the pieces that it grows by; 0: it does not grow */
    uint64_t step_bytes;    /* the usual piece: some granules */
    uint64_t filled_bytes;  /* have memory, from the base on */
    uint64_t align_bytes;
    char keeper[16]; /* name of the transport, for people */
};

extern struct ist_device_heap ist_device_heap;

/* The kind of memory that the settings request, or else the face's default. NO_DEVICE: they require one that no
 * transport allocates, and the text has each transport's reason. */
isthmus_status ist_device_heap_choose(const struct ist_config *config, uint32_t *kind);

/* The transports to devices are open: announces to the PEs of this host which device will hold this PE's heap, or that
 * none will. */
isthmus_status ist_device_heap_publish(const struct ist_config *config);

/* Take addresses for a heap of `kind`, and the memory that it begins with: the configured amount, and all of it if it
 * does not grow. After an error close undoes the rest. */
isthmus_status ist_device_heap_open(uint32_t kind, const struct ist_config *config);
const struct isthmus_mem *ist_device_heap_first(void); /* the memory that it began with; NULL: none */
void ist_device_heap_close(void); /* takes any state; no peer is attached any more, nothing exposed */

/* More memory: up to filled_bytes + length_bytes. *piece is the new one, to be exposed; take it back: the last one. */
isthmus_status ist_device_heap_fill(uint64_t length_bytes, struct isthmus_mem *piece);
void ist_device_heap_unfill(void);

#endif
