/* core/proxy/ranges.c: see tables.h. */
#include "core/proxy/tables.h"

#include "core/topo/topo.h"
#include "core/transport/device_view.h"

#include <stdlib.h>

static bool is_buffer(uint32_t id) { return id >= ist_segments.n_at_start; }

/* Buffers that not all PEs have yet, or that one of them takes back, do not count. */
static bool is_shown(uint32_t id)
{
    const struct ist_segment *segment = &ist_segments.list[id];
    return segment->mem.length_bytes > 0 && (!is_buffer(id) || segment->late_number != 0);
}

/* The state has the heap for itself. */
static bool is_listed(uint32_t id, uint32_t kind)
{
    uint32_t heap = kind == ISTHMUS_MEM_HOST ? IST_SEGMENT_HEAP : IST_SEGMENT_DEVICE;
    return is_shown(id) && id != heap && ist_segments.list[id].mem.kind == kind;
}

/* Deltas of the heap, and then of each range. */
static int64_t *deltas_of(const struct ist_ranges *ranges) { return (void *)(ranges->list + ranges->n + 1); }

/* Rows of deltas are filled when a peer is first used, and kernels can fill none: the PEs of this host are used now.
 * Those of other hosts are not, or the start of a job of n PEs would make n * n connections. */
static isthmus_status find_deltas(const ist_boot *boot, int pe, uint32_t kind, const struct ist_ranges *ranges)
{
    bool is_host = kind == ISTHMUS_MEM_HOST;
    const struct ist_card *card;
    const struct ist_peer *peer;
    isthmus_status status = ist_peer_card(pe, &card);
    if (status != ISTHMUS_OK || !ist_host_id_equal(&card->host, &ist_registry.host)) return status;
    status = ist_peer_get(pe, &peer);
    if (status != ISTHMUS_OK) return status;
    int64_t *delta = deltas_of(ranges) + pe;
    *delta = is_host ? (int64_t)ist_peer_delta(peer, IST_SEGMENT_HEAP) : ist_device_delta(peer, IST_SEGMENT_DEVICE);
    for (uint32_t id = 0; id < ist_segments.n; id++) {
        if (!is_listed(id, kind)) continue;
        delta += boot->n_pes;
        *delta = is_host ? (int64_t)ist_peer_delta(peer, id) : ist_device_delta(peer, id);
    }
    return ISTHMUS_OK;
}

/* Sorts the PEs. `any_hidden`: there are buffers that kernels reach nowhere. */
static void count(struct ist_ranges *ranges, int n_pes, bool any_hidden)
{
    const int64_t *deltas = deltas_of(ranges);
    for (int pe = 0; pe < n_pes; pe++) {
        bool any_near = false, any_far = any_hidden;
        for (uint32_t i = 0; i <= ranges->n; i++) {
            bool is_far = (deltas[(size_t)i * (size_t)n_pes + (size_t)pe] & ISTHMUS_NO_ALIAS) != 0;
            any_far |= is_far;
            any_near |= !is_far;
        }
        ranges->n_far += any_far;
        ranges->is_mixed |= any_near && any_far;
    }
}

static isthmus_status find_all(const ist_boot *boot, uint32_t kind, bool is_direct, const struct ist_ranges *ranges)
{
    int64_t *deltas = deltas_of(ranges);
    size_t n_deltas = (ranges->n + 1) * (size_t)boot->n_pes;
    isthmus_status status = ISTHMUS_OK;
    for (size_t i = 0; i < n_deltas; i++) deltas[i] = ISTHMUS_NO_ALIAS;
    for (int i = 0; i < boot->n_local && status == ISTHMUS_OK; i++)
        if (is_direct || boot->local_pes[i] == boot->pe) status = find_deltas(boot, boot->local_pes[i], kind, ranges);
    return status;
}

isthmus_status ist_ranges_make(const ist_boot *boot, uint32_t kind, bool is_direct, struct ist_ranges *out)
{
    struct ist_ranges ranges = {.n = 0};
    bool any_hidden = false;
    for (uint32_t id = 0; id < ist_segments.n; id++) {
        ranges.n += is_listed(id, kind);
        any_hidden |= is_buffer(id) && is_shown(id) && !is_listed(id, kind);
    }
    ranges.bytes = (ranges.n + 1) * (sizeof *ranges.list + (size_t)boot->n_pes * sizeof(int64_t));
    ranges.list = calloc(1, ranges.bytes);
    if (ranges.list == NULL)
        return ist_fail_memory("the addresses of %u symmetric ranges at %d PEs", ranges.n, boot->n_pes);
    struct isthmus_device_range *range = ranges.list;
    for (uint32_t id = 0; id < ist_segments.n; id++) {
        const struct isthmus_mem *mem = &ist_segments.list[id].mem;
        if (is_listed(id, kind))
            *range++ = (struct isthmus_device_range){.base = (uintptr_t)mem->addr, .length_bytes = mem->length_bytes};
    }
    isthmus_status status = find_all(boot, kind, is_direct, &ranges);
    if (status != ISTHMUS_OK) {
        ist_ranges_free(&ranges);
        return status;
    }
    count(&ranges, boot->n_pes, any_hidden);
    ist_ranges_move(&ranges, ranges.list);
    *out = ranges;
    return ISTHMUS_OK;
}

void ist_ranges_free(struct ist_ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct ist_ranges){.list = NULL};
}

void ist_ranges_move(struct ist_ranges *ranges, const void *there)
{
    size_t n_rows = ranges->n + 1, head_bytes = n_rows * sizeof *ranges->list;
    size_t row = (ranges->bytes - head_bytes) / n_rows / sizeof(int64_t);
    ranges->heap_delta = (const int64_t *)(const void *)((const char *)there + head_bytes);
    for (uint32_t i = 0; i < ranges->n; i++) ranges->list[i].delta = ranges->heap_delta + row * (i + 1);
}
