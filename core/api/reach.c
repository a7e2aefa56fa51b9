/* core/api/reach.c: which memory of other PEs can be reached, and at which address. See team_entry.h. */
#include "core/api/team_entry.h"
#include "core/base/fatal.h"
#include "core/ops/target.h"
#include "core/transport/choose.h"
#include "core/transport/memory.h"

/* Where a byte of the symmetric memory of a PE of the world lies. */
struct location {
    const struct ist_attached *segment; /* NULL: it is not symmetric there */
    const struct ist_attached_extent *extent;
    uint64_t in_extent;
};

/* Resolves the PE on first use. */
static struct location location_of(const void *addr, int world_pe, const char *routine)
{
    const struct ist_peer *peer;
    struct location at = {.segment = NULL};
    int id = ist_segment_of(addr, 1);
    if (id < 0 || world_pe < 0 || world_pe >= ist_team_world.n_pes) return at;
    isthmus_status status = ist_peer_get(world_pe, &peer);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    uint64_t offset = (uint64_t)((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr);
    if (offset >= ist_peer_segment(peer, (uint32_t)id)->length_bytes) return at;
    at.segment = ist_peer_segment(peer, (uint32_t)id);
    if (at.segment->carrier == IST_NO_TRANSPORT) return at;
    at.extent = ist_peer_extent(peer, (uint32_t)id, offset);
    if (at.extent != NULL) at.in_extent = offset - at.extent->offset_bytes;
    return at;
}

int ist_addr_accessible(const void *addr, int pe, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    struct location at = location_of(addr, pe, routine);
    return at.segment != NULL && at.segment->carrier != IST_NO_TRANSPORT;
}

void *ist_ptr(const void *dest, int pe, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    struct location at = location_of(dest, pe, routine);
    if (at.extent != NULL && at.extent->alias != NULL) return at.extent->alias + at.in_extent;
    bool is_mine = at.segment != NULL && pe == ist_team_world.my_pe;
    return is_mine && !ist_is_on_device(dest) ? (void *)(uintptr_t)dest : NULL;
}

/* For code on a device: the address at which this PE's kernels reach memory of a device. */
void *ist_device_ptr(const void *dest, int pe, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    struct location at = location_of(dest, pe, routine);
    if (at.segment == NULL || at.segment->kind == ISTHMUS_MEM_HOST) return ist_ptr(dest, pe, routine);
    if (pe == ist_team_world.my_pe) return (void *)(uintptr_t)dest;
    if (at.extent == NULL) return NULL;
    const struct isthmus_memory *memory = &ist_registry.list[at.segment->carrier].extensions.memory;
    void *view = NULL;
    bool is_seen = memory->device_view(at.extent->rmem, &view) == ISTHMUS_OK;
    return is_seen ? (char *)view + at.in_extent : NULL;
}

void *ist_team_ptr(const struct ist_team *team, const void *dest, int pe, const char *routine)
{
    if (team == NULL || pe < 0 || pe >= team->n_pes) return NULL;
    return ist_ptr(dest, ist_team_to_world(team, pe), routine);
}
