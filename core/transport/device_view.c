/* core/transport/device_view.c: see device_view.h. */
#include "core/transport/device_view.h"

#include "core/base/log.h"
#include "core/transport/choose.h"
#include "core/transport/peer_priv.h"

#include <stdlib.h>

/* ---- addresses ---- */

static uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

/* Reserves one granule more: a reservation begins anywhere. */
static isthmus_status reserve(struct ist_transport *t, uint32_t kind, uint64_t length_bytes,
                              struct ist_device_view *out)
{
    const struct isthmus_growing *growing = &t->extensions.growing;
    int32_t device = t->extensions.memory.device(t->handle, kind);
    uint64_t granule = growing->granule(t->handle, kind, device);
    if (granule == 0)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                        "this device cannot reserve addresses for a heap that grows; set ISTHMUS_HEAP_GROWS=0");
    out->reserved_bytes = round_up(length_bytes, granule) + granule;
    isthmus_status status = growing->reserve(t->handle, kind, device, out->reserved_bytes, &out->reserved);
    if (status != ISTHMUS_OK) return status;
    uint64_t skipped_bytes = round_up((uintptr_t)out->reserved, granule) - (uintptr_t)out->reserved;
    out->base = (char *)out->reserved + skipped_bytes;
    return ISTHMUS_OK;
}

void ist_device_view_open(const struct ist_way *way, uint64_t first_bytes)
{
    struct ist_attached *attached = ist_peer_segment(way->peer, way->id);
    struct ist_transport *t = &ist_registry.list[way->transport];
    bool is_mine = way->peer->card.pe == ist_peer_table.my_pe;
    if (attached->kind == ISTHMUS_MEM_HOST || is_mine || first_bytes == attached->length_bytes) return;
    if (!t->extensions.has_attach_at) return;
    struct ist_device_view *view = calloc(1, sizeof *view);
    if (view == NULL) return;
    ist_cold_begin(t);
    isthmus_status status = reserve(t, attached->kind, attached->length_bytes, view);
    ist_cold_end(t);
    if (status == ISTHMUS_OK) {
        attached->view = view;
        return;
    }
    ist_info("kernels reach memory of PE %d through the host: %s", way->peer->card.pe, ist_fail_text());
    free(view);
}

void ist_device_view_close(const struct ist_way *way)
{
    struct ist_attached *attached = ist_peer_segment(way->peer, way->id);
    struct ist_device_view *view = attached->view;
    if (view == NULL) return;
    struct ist_transport *t = &ist_registry.list[way->transport];
    attached->view = NULL;
    ist_cold_begin(t);
    t->extensions.growing.unreserve(t->handle, view->reserved, view->reserved_bytes);
    ist_cold_end(t);
    free(view);
}

/* ---- segments that grow ---- */

isthmus_status ist_device_views_catch_up(struct ist_peer *peer)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t id = 0; id < ist_segments.n_at_start && status == ISTHMUS_OK; id++) {
        struct ist_way way = ist_way_of_data(peer, id);
        uint32_t n = ist_load_relaxed(&ist_peer_table.n_published[id]);
        if (ist_peer_segment(peer, id)->view != NULL) status = ist_way_attach_up_to(&way, n);
    }
    return status;
}

/* With the table's lock, under which peers enter it. */
static struct ist_peer *peer_at(int pe)
{
    pthread_mutex_lock(&ist_peer_table.lock);
    struct ist_peer *peer = ist_peer_table.by_pe[pe];
    pthread_mutex_unlock(&ist_peer_table.lock);
    return peer;
}

isthmus_status ist_device_views_extend(uint32_t segment)
{
    isthmus_status status = ISTHMUS_OK;
    ist_store_relaxed(&ist_peer_table.n_published[segment], ist_segments.list[segment].n_extents);
    for (int pe = 0; pe < ist_peer_table.n_pes && status == ISTHMUS_OK; pe++) {
        struct ist_peer *peer = peer_at(pe);
        if (peer == NULL) continue;
        pthread_mutex_lock(&peer->lock);
        if (peer->is_resolved) status = ist_device_views_catch_up(peer);
        pthread_mutex_unlock(&peer->lock);
    }
    return status;
}

void ist_device_views_cut(uint32_t segment)
{
    const struct ist_segment *mine = &ist_segments.list[segment];
    uint64_t from_bytes = mine->extents[mine->n_extents - 1]->offset_bytes;
    ist_store_relaxed(&ist_peer_table.n_published[segment], mine->n_extents - 1);
    for (int pe = 0; pe < ist_peer_table.n_pes; pe++) {
        struct ist_peer *peer = peer_at(pe);
        if (peer == NULL) continue;
        struct ist_way way = ist_way_of_data(peer, segment);
        pthread_mutex_lock(&peer->lock);
        if (peer->is_resolved && ist_peer_segment(peer, segment)->view != NULL) ist_way_cut(&way, from_bytes);
        pthread_mutex_unlock(&peer->lock);
    }
}

/* ---- what kernels add ---- */

/* Returns where this PE's device has the beginning of the segment, or NULL. */
static const char *base_of(const struct ist_attached *attached)
{
    void *base = NULL;
    if (attached->view != NULL) return attached->view->base;
    const struct ist_attached_extent *extent = ist_load_acquire(&attached->extents);
    if (extent == NULL || extent->length_bytes != attached->length_bytes) return NULL;
    const struct isthmus_memory *memory = &ist_registry.list[attached->carrier].extensions.memory;
    return memory->device_view(extent->rmem, &base) == ISTHMUS_OK ? base : NULL;
}

/* Where atomics go another way than data, a kernel's own would not exclude those. */
int64_t ist_device_delta(const struct ist_peer *peer, uint32_t segment)
{
    const struct ist_attached *attached = ist_peer_segment(peer, segment);
    const struct isthmus_mem *mine = &ist_segments.list[segment].mem;
    bool is_there = attached->length_bytes > 0 && mine->length_bytes > 0 && attached->kind != ISTHMUS_MEM_HOST &&
                    attached->kind == mine->kind;
    if (!is_there || attached->carrier == IST_NO_TRANSPORT || attached->atomics != attached->carrier)
        return ISTHMUS_NO_ALIAS;
    if (peer->card.pe == ist_peer_table.my_pe) return 0;
    const char *base = base_of(attached);
    return base != NULL ? (int64_t)((uintptr_t)base - (uintptr_t)mine->addr) : ISTHMUS_NO_ALIAS;
}
