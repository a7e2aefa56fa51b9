/* core/ops/operand.c: see operand.h. */
#include "core/ops/operand.h"

#include "core/base/fatal.h"
#include "core/transport/memory.h"

uint32_t ist_operand_kind_slow(const void *addr)
{
    uint32_t kind;
    int id = ist_segment_of(addr, 1);
    if (id >= 0) return ist_segments.list[id].mem.kind;
    return ist_registered_holds(addr, &kind) ? kind : ist_memory_kind_at(addr);
}

size_t ist_operand_piece(const void *addr, size_t length_bytes)
{
    if (IST_LIKELY(!ist_has_device_memory())) return length_bytes;
    size_t piece_bytes = ist_segment_piece(addr);
    return piece_bytes > 0 && piece_bytes < length_bytes ? piece_bytes : length_bytes;
}

void ist_copy_here_slow(void *dest, const void *source, size_t length_bytes, const char *routine)
{
    uint32_t kind = ist_operand_kind(dest);
    if (kind == ISTHMUS_MEM_HOST) kind = ist_operand_kind(source);
    if (kind == ISTHMUS_MEM_HOST) {
        memcpy(dest, source, length_bytes);
        return;
    }
    isthmus_status status = ist_memory_copy(kind, dest, source, length_bytes);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}
