/* core/api/entry.h: shared by all entry functions of the APIs. */
#ifndef IST_API_ENTRY_H
#define IST_API_ENTRY_H

#include "core/ctx/ctx.h"

#include <string.h>

#define IST_CTX(handle) ist_ctx_of_handle(handle)
#define IST_IS_SIGNED(type) ((type)-1 < (type)1)

/* The bits of a value of up to 8 bytes, in the low end. `size` is constant, so that a register move remains. */
IST_INLINE uint64_t ist_bits_of(const void *value, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, value, size < sizeof bits ? size : sizeof bits);
    return bits;
}

IST_INLINE void ist_bits_to(void *result, uint64_t bits, size_t size)
{
    memcpy(result, &bits, size < sizeof bits ? size : sizeof bits);
}

#endif
