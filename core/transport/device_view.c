/* core/transport/device_view.c: see device_view.h. */
#include "core/transport/device_view.h"

#include "core/transport/choose.h"

/* Where atomics go another way than data, a kernel's own would not exclude those. */
int64_t ist_device_delta(const struct ist_peer *peer, uint32_t segment)
{
    const struct ist_attached *attached = ist_peer_segment(peer, segment);
    const struct isthmus_mem *mine = &ist_segments.list[segment].mem;
    void *base = NULL;
    bool is_there = attached->length_bytes > 0 && mine->length_bytes > 0 && attached->kind == mine->kind;
    if (!is_there || attached->carrier == IST_NO_TRANSPORT || attached->atomics != attached->carrier)
        return ISTHMUS_NO_ALIAS;
    if (peer->card.pe == ist_registry.list[attached->carrier].services.my_pe) return 0;
    const struct ist_attached_extent *extent = ist_load_acquire(&attached->extents);
    if (extent == NULL || extent->length_bytes != attached->length_bytes) return ISTHMUS_NO_ALIAS;
    const struct isthmus_memory *memory = &ist_registry.list[attached->carrier].extensions.memory;
    if (memory->device_view(extent->rmem, &base) != ISTHMUS_OK) return ISTHMUS_NO_ALIAS;
    return (int64_t)((uintptr_t)base - (uintptr_t)mine->addr);
}
