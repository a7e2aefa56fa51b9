/* core/transport/extents.c: see peer_priv.h. The extents of peers' segments: those of the peer's card are attached with
 * the peer, others on first use, or for the device's sake (device_view.h) when the segment grows. */
#include "core/transport/peer_priv.h"

#include "core/base/fatal.h"
#include "core/base/log.h"

#include <stdlib.h>
#include <string.h>

struct ist_way ist_way_of_data(struct ist_peer *peer, uint32_t id)
{
    struct ist_attached *attached = ist_peer_segment(peer, id);
    bool is_checked = ist_peer_leaves_out(peer, id, 0, UINT64_MAX);
    return (struct ist_way){peer, id, attached->carrier, is_checked ? &attached->checked : &attached->extents};
}

struct ist_way ist_way_of_atomics(struct ist_peer *peer, uint32_t id)
{
    struct ist_attached *attached = ist_peer_segment(peer, id);
    return (struct ist_way){peer, id, attached->atomics, &attached->of_atomics};
}

/* ---- attach and detach ---- */

/* At this PE's addresses for the segment, or anywhere. The first extent decides: a transport that cannot attach it
 * there attaches no later one there. */
static isthmus_status attach_rmem(const struct ist_way *way, const struct ist_blob *key, uint64_t offset_bytes,
                                  isthmus_rmem **out, void **alias)
{
    struct ist_transport *t = &ist_registry.list[way->transport];
    const struct ist_attached *attached = ist_peer_segment(way->peer, way->id);
    isthmus_path *path = way->peer->paths[way->transport];
    if (attached->view != NULL && way->extents == &attached->extents) {
        isthmus_status status = t->extensions.growing.attach_at(path, key->bytes, key->length_bytes,
                                                                attached->view->base + offset_bytes, out);
        if (status != ISTHMUS_ERR_UNSUPPORTED || *way->extents != NULL) return status;
        ist_device_view_close(way);
    }
    return t->ops.attach(path, key->bytes, key->length_bytes, out, alias);
}

isthmus_status ist_way_attach(const struct ist_way *way, const struct ist_blob *key, uint64_t offset_bytes,
                              uint64_t length_bytes)
{
    struct ist_peer *peer = way->peer;
    struct ist_transport *t = &ist_registry.list[way->transport];
    struct ist_attached_extent *extent = calloc(1, sizeof *extent);
    if (extent == NULL) return ist_fail_memory("an extent of PE %d", peer->card.pe);
    void *alias = NULL;
    ist_path_begin(t);
    isthmus_status status = attach_rmem(way, key, offset_bytes, &extent->rmem, &alias);
    ist_path_end(t);
    if (status != ISTHMUS_OK) {
        free(extent);
        return status;
    }
    extent->alias = ist_peer_table.use_alias ? alias : NULL;
    extent->offset_bytes = offset_bytes;
    extent->length_bytes = length_bytes;
    extent->next = *way->extents;
    ist_store_release(way->extents, extent); /* pairs with the acquire in ist_extent_of() */
    ist_debug("PE %d: %llu bytes of %s through %s%s", peer->card.pe, (unsigned long long)length_bytes,
              ist_segments.list[way->id].name, t->name, extent->alias != NULL ? ", by load and store" : "");
    return ISTHMUS_OK;
}

static void detach(struct ist_transport *t, isthmus_rmem *rmem)
{
    ist_cold_begin(t);
    t->ops.detach(rmem);
    ist_cold_end(t);
}

void ist_way_detach(const struct ist_way *way)
{
    while (*way->extents != NULL) {
        struct ist_attached_extent *extent = *way->extents;
        *way->extents = extent->next;
        detach(&ist_registry.list[way->transport], extent->rmem);
        free(extent);
    }
}

/* Other threads may be passing through the list, so the entries stay until all is detached. Without a length none of
 * them is found. */
void ist_way_cut(const struct ist_way *way, uint64_t offset_bytes)
{
    for (struct ist_attached_extent *extent = *way->extents; extent != NULL; extent = extent->next) {
        if (extent->length_bytes == 0 || extent->offset_bytes < offset_bytes) continue;
        ist_store_relaxed(&extent->length_bytes, 0);
        detach(&ist_registry.list[way->transport], extent->rmem);
        extent->rmem = NULL;
    }
}

/* ---- extents that were published later ---- */

/* `index`: that of the extent, which this PE has published itself under the same number. */
static isthmus_status fetch_extent(const struct ist_way *way, uint32_t index)
{
    const struct ist_peer *peer = way->peer;
    ist_boot *boot = ist_peer_table.boot;
    uint32_t number = ist_segments.list[way->id].extents[index]->number;
    const char *name = ist_registry.list[way->transport].name;
    struct ist_card card;
    char key[96];
    void *bytes;
    size_t n_bytes;
    ist_extent_key(key, sizeof key, ist_peer_table.card_key, way->id, number);
    isthmus_status status = boot->ops->get(boot, peer->card.pe, key, &bytes, &n_bytes);
    if (status == ISTHMUS_OK) status = ist_card_read(bytes, n_bytes, &card);
    if (status != ISTHMUS_OK) return status;
    uint32_t column = 0;
    while (column < card.n_transports && strcmp(card.transports[column].name, name) != 0) column++;
    if (column == card.n_transports || card.n_segments != 1)
        status = ist_fail(ISTHMUS_ERR_VERSION,
                          "extent %u of PE %d has no key for transport %s; use one version of Isthmus on all PEs",
                          number, peer->card.pe, name);
    else
        status = ist_way_attach(way, &card.segments[0].keys[column], card.segments[0].base,
                                card.segments[0].length_bytes);
    ist_card_fini(&card);
    return status;
}

static uint32_t n_attached(const struct ist_way *way)
{
    uint32_t n = 0;
    for (const struct ist_attached_extent *at = *way->extents; at != NULL; at = at->next) n += at->length_bytes > 0;
    return n;
}

isthmus_status ist_way_attach_up_to(const struct ist_way *way, uint32_t n)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = n_attached(way); i < n && status == ISTHMUS_OK; i++) status = fetch_extent(way, i);
    return status;
}

/* Extents follow one another without gaps, so this fetches those after the last one attached until the wanted one is
 * there. This PE has as many itself: the heap grows on all PEs at once, and a program uses only what it has
 * allocated. */
static const struct ist_attached_extent *get_extent(const struct ist_way *way, uint64_t offset_bytes)
{
    const struct ist_attached_extent *extent = ist_extent_of(way->extents, offset_bytes, 1);
    if (extent != NULL) return extent;
    pthread_mutex_lock(&way->peer->lock);
    isthmus_status status = ISTHMUS_OK;
    uint32_t n = n_attached(way);
    while (status == ISTHMUS_OK && (extent = ist_extent_of(way->extents, offset_bytes, 1)) == NULL) {
        if (n >= ist_segments.list[way->id].n_extents)
            status = ist_fail(
                ISTHMUS_ERR_INVALID,
                "PE %d has not exposed offset %llu of %s; call shmem_malloc on all PEs with the same size",
                way->peer->card.pe, (unsigned long long)offset_bytes, ist_segments.list[way->id].name);
        else
            status = fetch_extent(way, n++);
    }
    pthread_mutex_unlock(&way->peer->lock);
    return extent;
}

const struct ist_attached_extent *ist_peer_extent(const struct ist_peer *known, uint32_t id, uint64_t offset_bytes)
{
    struct ist_way way = ist_way_of_data(ist_peer_table.by_pe[known->card.pe], id);
    return get_extent(&way, offset_bytes);
}

const struct ist_attached_extent *ist_peer_extent_of_atomics(const struct ist_peer *known, uint32_t id,
                                                             uint64_t offset_bytes)
{
    struct ist_way way = ist_way_of_atomics(ist_peer_table.by_pe[known->card.pe], id);
    return get_extent(&way, offset_bytes);
}
