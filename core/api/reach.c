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

/* Returns true if the segment of that PE may have addresses here. That takes no connection, and for host memory of
 * other hosts, which has none, not even the PE's card: programs ask for every PE of a job. */
static bool may_be_mapped(uint32_t id, int world_pe, uint64_t offset)
{
    struct ist_outlook outlook;
    if (ist_segments.list[id].mem.kind == ISTHMUS_MEM_HOST && !ist_team_is_local(world_pe)) return false;
    return ist_peer_outlook(world_pe, id, offset, &outlook) == ISTHMUS_OK && outlook.is_mapped;
}

/* Resolves the PE on first use, if its memory may be mapped. A PE that cannot be reached has no addresses here; an
 * operation on it reports why. */
static struct location location_of(const void *addr, int world_pe)
{
    const struct ist_peer *peer;
    struct location at = {.segment = NULL};
    int id = ist_segment_of(addr, 1);
    if (id < 0 || world_pe < 0 || world_pe >= ist_team_world.n_pes) return at;
    uint64_t offset = (uint64_t)((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr);
    if (!may_be_mapped((uint32_t)id, world_pe, offset) || ist_peer_get(world_pe, &peer) != ISTHMUS_OK) return at;
    if (offset >= ist_peer_segment(peer, (uint32_t)id)->length_bytes) return at;
    at.segment = ist_peer_segment(peer, (uint32_t)id);
    if (at.segment->carrier == IST_NO_TRANSPORT) return at;
    at.extent = ist_peer_extent(peer, (uint32_t)id, offset);
    if (at.extent != NULL) at.in_extent = offset - at.extent->offset_bytes;
    return at;
}

static bool is_mine(const void *addr, int pe) { return pe == ist_team_world.my_pe && ist_segment_of(addr, 1) >= 0; }

int ist_addr_accessible(const void *addr, int pe, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    int id = ist_segment_of(addr, 1);
    struct ist_outlook outlook;
    if (is_mine(addr, pe)) return 1; /* an operation on it reports why no transport carries it */
    if (id < 0 || pe < 0 || pe >= ist_team_world.n_pes) return 0;
    uint64_t offset = (uint64_t)((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr);
    if (ist_peer_outlook(pe, (uint32_t)id, offset, &outlook) != ISTHMUS_OK) return 0;
    return offset < outlook.length_bytes && outlook.carrier != IST_NO_TRANSPORT;
}

void *ist_ptr(const void *dest, int pe, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    if (is_mine(dest, pe) && !ist_is_on_device(dest)) return (void *)(uintptr_t)dest;
    struct location at = location_of(dest, pe);
    return at.extent != NULL && at.extent->alias != NULL ? at.extent->alias + at.in_extent : NULL;
}

/* For code on a device: the address at which this PE's kernels reach memory of a device. */
void *ist_device_ptr(const void *dest, int pe, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    if (is_mine(dest, pe)) return (void *)(uintptr_t)dest;
    struct location at = location_of(dest, pe);
    if (at.segment == NULL || at.segment->kind == ISTHMUS_MEM_HOST) return ist_ptr(dest, pe, routine);
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
