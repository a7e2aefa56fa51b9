/* core/transport/memory.h: kinds of memory that the processor cannot touch: which transport knows each, and what is where.
 * Not the heap in such memory (core/heap/device_heap.h), not the operands of an operation (core/ops/operand.h). */
#ifndef IST_TRANSPORT_MEMORY_H
#define IST_TRANSPORT_MEMORY_H

#include "core/transport/registry.h"

enum { IST_MEM_KINDS = ISTHMUS_MEM_HIP + 1 };

/* Who allocates and copies memory of one kind. */
struct ist_memory_keeper {
    struct ist_transport *transport; /* NULL: nobody */
    const struct isthmus_memory *memory;
    const struct isthmus_growing *growing; /* NULL: it allocates once */
};

/* Ask the transports that are open who keeps this kind; which may start its driver, and is not done before it is needed. NULL:
 * nobody does. The answer holds until the registry is closed. */
const struct ist_memory_keeper *ist_memory_ask(uint32_t kind);
void ist_memory_forget(void); /* while transports are open still */

/* NULL: the transport, which is open, does not have it. */
const struct isthmus_memory *ist_memory_extension(const struct ist_transport *t);

/* The PCI address of the device that this PE uses for memory of this kind, as its transport reports it; NULL: not known. */
const char *ist_memory_pci_address(uint32_t kind);

const char *ist_memory_kind_name(uint32_t kind); /* as in ISTHMUS_HEAP_KIND: "host", "cuda" */

/* Why nobody allocates memory of this kind here: a reason for each transport. */
void ist_memory_why_not(uint32_t kind, char *out, size_t room);

/* What is at an address of this PE, of any kind: host memory where no driver says otherwise. UNSUPPORTED: memory without one
 * place (managed). */
isthmus_status ist_memory_at(const void *addr, struct isthmus_mem *out);

/* In a job that may have devices, of which this PE has one: its program may pass memory that it got from the driver as a local
 * operand without telling. From now on operands are looked at, and transports with ISTHMUS_TRAIT_ANY_LOCAL are given a
 * registration for such memory. Until ist_memory_forget(). */
isthmus_status ist_memory_expect_operands(void);

/* ISTHMUS_MEM_ of an address, as drivers know it; managed memory counts as the host's, which the processor may touch. Host memory,
 * and nobody is asked, where none is expected. */
uint32_t ist_memory_kind_at(const void *addr);

/* What that transport takes for an operand of this kind that nobody has registered; NULL: it takes none. */
const isthmus_lmem *ist_memory_any(uint32_t transport, uint32_t kind);

/* Between any two addresses of this PE, one of them in memory of `kind`; complete on return. The ranges do not overlap. */
isthmus_status ist_memory_copy(uint32_t kind, void *dest, const void *source, size_t length_bytes);

/* What transports are offered besides, so that they can carry such memory by way of the host's. */
void ist_memory_serve(struct isthmus_services *services);

#endif
