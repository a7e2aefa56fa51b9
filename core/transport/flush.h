/* core/transport/flush.h: makes what transports have written into memory of this PE's devices visible when a wait ends.
 * A transport that writes such memory past the device's driver, and then a flag elsewhere, uses two ways, and the flag
 * may become visible first. A flush is needed once a transport reports such memory (memory_is_direct
 * in isthmus/transport.h), if the device's driver requires one; until then this costs one test of one flag. */
#ifndef IST_TRANSPORT_FLUSH_H
#define IST_TRANSPORT_FLUSH_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ist_transport;

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
