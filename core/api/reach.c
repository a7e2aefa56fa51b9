/* core/api/reach.c: what of other PEs' memory can be reached, and at which address. See team_entry.h. */
#include "core/api/team_entry.h"
#include "core/base/fatal.h"

/* The alias of one byte on a PE of the world, resolving it on first use; NULL: not symmetric, or no alias. */
static void *alias_of(const void *addr, int world_pe, bool *is_symmetric, const char *routine)
{
    const struct ist_peer *peer;
    int id = ist_segment_of(addr, 1);
    *is_symmetric = id >= 0 && world_pe >= 0 && world_pe < ist_team_world.n_pes;
    if (!*is_symmetric) return NULL;
    isthmus_status status = ist_peer_get(world_pe, &peer);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    const struct ist_attached *segment = &peer->segments[id];
    uint64_t offset = (uint64_t)((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr);
    *is_symmetric = segment->extents != NULL && offset < segment->length_bytes;
    if (!*is_symmetric) return NULL;
    const struct ist_attached_extent *extent = ist_peer_extent(peer, (uint32_t)id, offset);
    return extent != NULL && extent->alias != NULL ? extent->alias + (offset - extent->offset_bytes) : NULL;
}

int ist_addr_accessible(const void *addr, int pe, const char *routine)
{
    bool is_symmetric;
    ist_require_ctx(&ist_ctx_default, routine);
    (void)alias_of(addr, pe, &is_symmetric, routine);
    return is_symmetric;
}

void *ist_ptr(const void *dest, int pe, const char *routine)
{
    bool is_symmetric;
    ist_require_ctx(&ist_ctx_default, routine);
    void *alias = alias_of(dest, pe, &is_symmetric, routine);
    return alias == NULL && is_symmetric && pe == ist_team_world.my_pe ? (void *)(uintptr_t)dest : alias;
}

void *ist_team_ptr(const struct ist_team *team, const void *dest, int pe, const char *routine)
{
    if (team == NULL || pe < 0 || pe >= team->n_pes) return NULL;
    return ist_ptr(dest, ist_team_to_world(team, pe), routine);
}
