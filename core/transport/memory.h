/* core/transport/memory.h: kinds of memory that the processor cannot access: the transport for each, the kind of an
 * address, and what makes writes to such memory visible.
 * Not the heap in such memory (core/heap/heap.h), not the operands of an operation (core/ops/target.h). */
#ifndef IST_TRANSPORT_MEMORY_H
#define IST_TRANSPORT_MEMORY_H

#include "core/transport/registry.h"

#include <stdbool.h>
#include <stdint.h>

enum { IST_MEM_KINDS = ISTHMUS_MEM_HIP + 1 };

/* The transport that allocates and copies memory of one kind. */
struct ist_memory_keeper {
    struct ist_transport *transport;     /* NULL: none */
    const struct isthmus_memory *memory; /* its extensions */
    const struct isthmus_growing *growing;
    const struct isthmus_kernels *kernels; /* has_kernels of the transport: kernels there can make calls */
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

/* ---- flush of writes (flush.c): what transports wrote into devices' memory is visible when a wait ends ----
 * A transport that writes such memory past the device's driver, and then a flag elsewhere, uses two ways, and the flag
 * may become visible first. A flush is needed once a transport reports such memory (memory_is_direct in
 * isthmus/transport.h), if the device's driver requires one; until then this costs one test of one flag. */

extern bool ist_flush_is_needed;

/* The inline test of waits accepts comparisons below this number: all of them, or none once a flush is needed. That
 * test exists anyway, so flushing adds no branch. */
enum { IST_FLUSH_COMPARISONS = 6 }; /* their number: IST_CMP_COUNT of core/sync/wait.h */
extern uint32_t ist_flush_plain_comparisons;

/* Flushes every device whose memory is written directly. Ends the job if a driver fails. Any thread. */
void ist_flush_writes_slow(void) IST_COLD;
uint64_t ist_flush_writes_before_slow(uint64_t value) IST_COLD;

static inline uint32_t ist_plain_comparisons(void)
{
    return __atomic_load_n(&ist_flush_plain_comparisons, __ATOMIC_RELAXED);
}

/* At the end of each wait after which the program, or an algorithm, may read data. */
static inline void ist_flush_writes(void)
{
    if (IST_UNLIKELY(__atomic_load_n(&ist_flush_is_needed, __ATOMIC_RELAXED))) ist_flush_writes_slow();
}

/* The same as the last step before a value is returned. */
static inline uint64_t ist_flush_writes_before(uint64_t value)
{
    bool is_needed = __atomic_load_n(&ist_flush_is_needed, __ATOMIC_RELAXED);
    return IST_LIKELY(!is_needed) ? value : ist_flush_writes_before_slow(value);
}

/* From now on `writer` writes memory of this kind directly, until the transports close. Called in cold slots. */
void ist_flush_expect(const struct ist_transport *writer, uint32_t kind);
void ist_flush_forget(void);

#endif
