/* core/transport/memory.h: kinds of memory that the processor cannot access: the transport for each, and the kind of an
 * address.
 * Not the heap in such memory (core/heap/device_heap.h), not the operands of an operation (core/ops/target.h). */
#ifndef IST_TRANSPORT_MEMORY_H
#define IST_TRANSPORT_MEMORY_H

#include "core/transport/registry.h"

enum { IST_MEM_KINDS = ISTHMUS_MEM_HIP + 1 };

/* The transport that allocates and copies memory of one kind. */
struct ist_memory_keeper {
    struct ist_transport *transport;     /* NULL: none */
    const struct isthmus_memory *memory; /* its extensions */
    const struct isthmus_growing *growing;
};

/* Finds the open transport that manages this kind, which may start its driver and is not done before it is needed.
 * Returns NULL if there is none. The result is valid until the registry is closed. */
const struct ist_memory_keeper *ist_memory_ask(uint32_t kind);
void ist_memory_forget(void); /* called while transports are still open */

/* Returns the PCI address of the device that this PE uses for memory of this kind, as its transport reports it; NULL if
 * it is unknown. */
const char *ist_memory_pci_address(uint32_t kind);

const char *ist_memory_kind_name(uint32_t kind); /* as in ISTHMUS_HEAP_KIND: "host", "cuda" */

/* Writes why no transport allocates memory of this kind here: a reason for each. */
void ist_memory_why_not(uint32_t kind, char *out, size_t room);

/* Returns the memory at an address of this PE, of any kind: host memory unless a driver reports otherwise. UNSUPPORTED
 * if the memory has no single place (managed). */
isthmus_status ist_memory_at(const void *addr, struct isthmus_mem *out);

/* For a job with devices, of which this PE has one: its program may pass memory from the driver as a local operand
 * without registering it. From now on the kind of operands is checked, and transports with ISTHMUS_TRAIT_ANY_LOCAL get
 * a registration for such memory. Until ist_memory_forget(). */
isthmus_status ist_memory_expect_operands(void);

/* Returns the ISTHMUS_MEM_ kind of an address, as drivers report it; managed memory counts as host memory, which the
 * processor can access. Returns host memory without a query if no such operands are expected. */
uint32_t ist_memory_kind_at(const void *addr);

/* Returns the transport's registration for an unregistered operand of this kind; NULL if it takes none. */
const isthmus_lmem *ist_memory_any(uint32_t transport, uint32_t kind);

/* Copies between any two addresses of this PE, one of them in memory of `kind`; complete on return. The ranges must not
 * overlap. */
isthmus_status ist_memory_copy(uint32_t kind, void *dest, const void *source, size_t length_bytes);

/* Fills in services that let transports stage such memory through host memory. */
void ist_memory_serve(struct isthmus_services *services);

#endif
