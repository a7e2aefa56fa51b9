/* core/transport/flush.h: what network adapters have written into memory of this PE's devices is made visible when a wait ends.
 * An adapter that writes such memory past the device's driver (GPUDirect RDMA), and then a flag elsewhere, uses two ways, and the flag
 * can be seen first. Needed from the moment that a transport says that it has such memory (memory_is_direct in
 * isthmus/transport.h), if the device's driver says that its memory has to be flushed; else all of this is one test of one flag. */
#ifndef IST_TRANSPORT_FLUSH_H
#define IST_TRANSPORT_FLUSH_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

extern bool ist_flush_is_needed;

/* The constants of comparisons below this number pass the inline test of waits: all, or none once a flush is needed. So the test, which
 * compares with this anyway, has no branch for it. */
enum { IST_FLUSH_COMPARISONS = 6 }; /* that there are: IST_CMP_COUNT of core/sync/wait.h */
extern uint32_t ist_flush_plain_comparisons;

/* Every device whose memory is written directly. Ends the job when a driver fails. Any thread. */
void ist_flush_writes_slow(void) IST_COLD;
uint64_t ist_flush_writes_before_slow(uint64_t value) IST_COLD;

static inline uint32_t ist_plain_comparisons(void)
{
    return __atomic_load_n(&ist_flush_plain_comparisons, __ATOMIC_RELAXED);
}

/* At the end of each wait, in which the program, or an algorithm, has learned that data is there. */
static inline void ist_flush_writes(void)
{
    if (IST_UNLIKELY(__atomic_load_n(&ist_flush_is_needed, __ATOMIC_RELAXED))) ist_flush_writes_slow();
}

/* The same as the last thing before a value is returned. */
static inline uint64_t ist_flush_writes_before(uint64_t value)
{
    bool is_needed = __atomic_load_n(&ist_flush_is_needed, __ATOMIC_RELAXED);
    return IST_LIKELY(!is_needed) ? value : ist_flush_writes_before_slow(value);
}

/* From now on memory of this kind is written directly, until the transports close. In cold slots. */
void ist_flush_expect(uint32_t kind);
void ist_flush_forget(void);

#endif
