/* core/coll/wire.c: see wire.h. */
#include "core/coll/wire.h"

#include "core/base/fatal.h"

/* First use of the peer, memory that the table of rows does not know, or the last bytes of a segment. */
void *ist_wire_alias_slow(const void *addr, size_t length_bytes, int world_pe, const char *routine)
{
    if (length_bytes == 0) return (void *)(uintptr_t)addr; /* an empty collective: may be NULL, nobody looks there */
    struct ist_target target;
    struct ist_access access = {routine, "dest or source", addr, length_bytes, 1, world_pe};
    ist_target_find(&ist_ctx_default, &access, &target);
    if (target.alias == NULL || target.length_bytes < length_bytes)
        ist_misuse(routine, "memory at %p cannot be loaded and stored on PE %d, as that of this host's PEs should be",
                   addr, world_pe);
    return target.alias;
}
