/* core/api/memory_entry.h: entry functions of the symmetric heap. */
#ifndef IST_API_MEMORY_ENTRY_H
#define IST_API_MEMORY_ENTRY_H

#include "core/memory/malloc.h"

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
    bool is_valid = alignment % sizeof(void *) == 0; /* and a power of two, which is checked below */
    return ist_malloc(size, is_valid ? alignment : 0, routine);
}

#endif
