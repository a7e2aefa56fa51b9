/* core/transport/flush.c: see memory.h. */
#include "core/transport/memory.h"

#include "core/base/fatal.h"
#include "core/base/log.h"

#include <string.h>

bool ist_flush_is_needed;
uint32_t ist_flush_plain_comparisons = IST_FLUSH_COMPARISONS;

/* By kind; `memory` NULL: not written directly, or visible without a flush. Written before ist_flush_is_needed is
 * set. */
static struct {
    const struct isthmus_memory *memory;
    isthmus_tr *handle;
} flushed[IST_MEM_KINDS];

void ist_flush_expect(const struct ist_transport *writer, uint32_t kind)
{
    const struct ist_memory_keeper *keeper = kind < IST_MEM_KINDS ? ist_memory_ask(kind) : NULL;
    if (keeper == NULL || __atomic_load_n(&flushed[kind].memory, __ATOMIC_RELAXED) != NULL) return;
    if (!keeper->transport->extensions.has_flush) {
        ist_debug("transport %s writes %s memory directly, and it needs no flush", writer->name,
                  ist_memory_kind_name(kind));
        return;
    }
    flushed[kind].handle = keeper->transport->handle;
    __atomic_store_n(&flushed[kind].memory, keeper->memory, __ATOMIC_RELEASE); /* pairs with ist_flush_writes_slow() */
    __atomic_store_n(&ist_flush_is_needed, true, __ATOMIC_RELEASE);
    __atomic_store_n(&ist_flush_plain_comparisons, 0, __ATOMIC_RELEASE);
    ist_info("transport %s writes %s memory directly: each wait that ends flushes such writes through transport %s",
             writer->name, ist_memory_kind_name(kind), keeper->transport->name);
}

void ist_flush_forget(void)
{
    __atomic_store_n(&ist_flush_is_needed, false, __ATOMIC_RELAXED);
    __atomic_store_n(&ist_flush_plain_comparisons, IST_FLUSH_COMPARISONS, __ATOMIC_RELAXED);
    memset(flushed, 0, sizeof flushed);
}

void ist_flush_writes_slow(void)
{
    for (uint32_t kind = ISTHMUS_MEM_HOST + 1; kind < IST_MEM_KINDS; kind++) {
        const struct isthmus_memory *memory = __atomic_load_n(&flushed[kind].memory, __ATOMIC_ACQUIRE);
        isthmus_status status = memory != NULL ? memory->flush_writes(flushed[kind].handle) : ISTHMUS_OK;
        if (status != ISTHMUS_OK) ist_die("the end of a wait", status);
    }
}

uint64_t ist_flush_writes_before_slow(uint64_t value)
{
    ist_flush_writes_slow();
    return value;
}
