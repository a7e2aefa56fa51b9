/* core/api/all_entries.h: what the routines made from the table call: the headers of their entry functions, and the
 * entry functions of the symmetric heap. */
#ifndef IST_API_ALL_ENTRIES_H
#define IST_API_ALL_ENTRIES_H

#include "core/api/amo_entry.h"
#include "core/api/coll_entry.h"
#include "core/api/public.h"
#include "core/api/rma_entry.h"
#include "core/api/stream_entry.h"
#include "core/api/sync_entry.h"
#include "core/api/team_entry.h"
#include "core/memory/malloc.h"
#include "core/ops/order.h"
#include "core/sync/wait.h"

/* ---- the symmetric heap ---- */

enum { IST_MALLOC_ALIGN_BYTES = 16 };

static inline void *ist_entry_malloc(size_t size, const char *routine)
{
    return ist_malloc(size, IST_MALLOC_ALIGN_BYTES, routine);
}

static inline void *ist_entry_malloc_with_hints(size_t size, long hints, const char *routine)
{
    (void)hints; /* host memory serves atomics and signals anyway */
    return ist_malloc(size, IST_MALLOC_ALIGN_BYTES, routine);
}

static inline void *ist_entry_align(size_t alignment, size_t size, const char *routine)
{
    /* The specification leaves alignments below that of a pointer undefined; other libraries accept them, and programs
     * pass them. Powers of two are checked below. */
    bool is_small = alignment == 1 || alignment == 2 || alignment == 4;
    return ist_malloc(size, is_small ? sizeof(void *) : alignment, routine);
}

#endif
