/* core/heap/device_heap.h: the memory of a symmetric heap that lies on a device: addresses, and pieces of memory under
 * them.
 * Not the heap as the rest knows it (heap.h), which keeps the book of its blocks.
 * If the transport of that memory can, addresses are taken once and memory is mapped there as the heap grows; else all
 * of it is allocated at the start. */
#ifndef IST_HEAP_DEVICE_HEAP_H
#define IST_HEAP_DEVICE_HEAP_H

#include "core/base/config.h"

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
