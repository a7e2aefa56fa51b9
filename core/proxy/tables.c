/* core/proxy/tables.c: see tables.h. */
#include "core/proxy/tables.h"

#include "core/heap/heap.h"
#include "core/stream/stream.h"
#include "core/team/internal_area.h"
#include "core/topo/topo.h"
#include "core/transport/device_view.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)IST_TEAM_DEVICE_WORDS >= (int)ISTHMUS_DEVICE_FLAGS,
               "a team's place has room for the flags of kernels");
_Static_assert(sizeof(struct isthmus_device_team) == 64, "ABI");
_Static_assert(sizeof(int) == sizeof(int32_t), "lists of members are copied");

/* The table as the host fills it, and its parts. */
struct draft {
    char *bytes;
    size_t n_bytes;
    int64_t *heap_delta, *other_delta; /* the latter is not copied: of static data, or of flags on a device */
    struct isthmus_device_team *teams;
};

static bool is_on_device(const struct ist_tables *tables) { return tables->memory.kernels != NULL; }

/* ---- where memory of PEs lies ---- */

static isthmus_status find_delta(const struct ist_tables *tables, int pe, struct draft *out)
{
    const struct ist_card *card;
    const struct ist_peer *peer;
    isthmus_status status = ist_peer_card(pe, &card);
    if (status != ISTHMUS_OK || !ist_host_id_equal(&card->host, &ist_registry.host)) return status;
    status = ist_peer_get(pe, &peer);
    if (status != ISTHMUS_OK) return status;
    bool on_device = is_on_device(tables);
    out->heap_delta[pe] = on_device ? ist_device_delta(peer, IST_SEGMENT_DEVICE) : (int64_t)ist_rows[pe].delta[1];
    out->other_delta[pe] = on_device ? ist_device_delta(peer, IST_SEGMENT_STREAMS) : (int64_t)ist_rows[pe].delta[2];
    return ISTHMUS_OK;
}

/* Rows are filled when a peer is first used, and kernels can fill none: the PEs of this host are used now. Those of
 * other hosts are not, or the start of a job of n PEs would make n * n connections. */
static isthmus_status find_deltas(struct ist_tables *tables, const ist_boot *boot, bool is_direct, struct draft *out)
{
    int n = ist_team_world.n_pes, me = ist_team_world.my_pe;
    for (int pe = 0; pe < n; pe++) out->heap_delta[pe] = out->other_delta[pe] = ISTHMUS_NO_ALIAS;
    for (int i = 0; i < boot->n_local; i++) {
        int pe = boot->local_pes[i];
        isthmus_status status = is_direct || pe == me ? find_delta(tables, pe, out) : ISTHMUS_OK;
        if (status != ISTHMUS_OK) return status;
    }
    for (int pe = 0; pe < n; pe++) {
        tables->n_far += ((out->heap_delta[pe] | out->other_delta[pe]) & ISTHMUS_NO_ALIAS) != 0;
        tables->is_mixed |= ((out->heap_delta[pe] ^ out->other_delta[pe]) & ISTHMUS_NO_ALIAS) != 0;
    }
    return ISTHMUS_OK;
}

isthmus_status ist_tables_list_ranges(struct ist_tables *tables, const ist_boot *boot, bool is_direct)
{
    struct ist_ranges ranges = {.list = NULL};
    void *there = NULL;
    uint32_t kind = is_on_device(tables) ? ist_device_heap.kind : ISTHMUS_MEM_HOST;
    isthmus_status status = ist_ranges_make(boot, kind, is_direct, &ranges);
    if (status == ISTHMUS_OK) status = ist_kernel_table_alloc(&tables->memory, ranges.bytes, &there);
    if (status == ISTHMUS_OK) {
        ist_ranges_move(&ranges, there);
        status = ist_kernel_copy(&tables->memory, there, ranges.list, ranges.bytes);
    }
    if (status == ISTHMUS_OK) {
        ist_kernel_table_free(&tables->memory, tables->ranges);
        tables->ranges = there;
        tables->has_gaps = !ranges.is_whole;
    } else if (there != NULL) {
        ist_kernel_table_free(&tables->memory, there);
    }
    ist_ranges_free(&ranges);
    return status;
}

/* ---- teams ---- */

/* Kernels on processors read the host's list. */
static isthmus_status show_list(struct ist_tables *tables, const struct ist_team *team, int index, const int32_t **out)
{
    *out = team->list;
    if (team->list == NULL || !is_on_device(tables)) return ISTHMUS_OK;
    struct ist_tables_list *list = &tables->lists[index];
    size_t bytes = (size_t)team->n_pes * sizeof *team->list;
    if (list->bytes < bytes) {
        ist_kernel_table_free(&tables->memory, list->at);
        *list = (struct ist_tables_list){.at = NULL};
        isthmus_status status = ist_kernel_table_alloc(&tables->memory, bytes, &list->at);
        if (status != ISTHMUS_OK) return status;
        list->bytes = bytes;
    }
    *out = list->at;
    return ist_kernel_copy(&tables->memory, list->at, team->list, bytes);
}

static isthmus_status describe_team(struct ist_tables *tables, const struct ist_team *team, int index,
                                    struct isthmus_device_team *out)
{
    *out = (struct isthmus_device_team){.n = 0};
    if (team == NULL) return ISTHMUS_OK;
    const int32_t *list;
    isthmus_status status = show_list(tables, team, index, &list);
    if (status != ISTHMUS_OK) return status;
    *out = (struct isthmus_device_team){.n = team->n_pes,
                                        .me = team->my_pe,
                                        .start = team->start,
                                        .stride = team->stride,
                                        .list = list,
                                        .flags = is_on_device(tables) ? ist_meeting_kernel_flags(index)
                                                                      : ist_team_memory_of(index)->device};
    return ISTHMUS_OK;
}

isthmus_status ist_tables_write_team(struct ist_tables *tables, const struct ist_team *team, int index)
{
    struct isthmus_device_team entry;
    isthmus_status status = describe_team(tables, team, index, &entry);
    if (status != ISTHMUS_OK) return status;
    return ist_kernel_copy(&tables->memory, &tables->teams[index], &entry, sizeof entry);
}

static isthmus_status list_teams(struct ist_tables *tables, struct draft *out)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < ist_team_limit && status == ISTHMUS_OK; i++)
        status = describe_team(tables, __atomic_load_n(&ist_team_table[i], __ATOMIC_SEQ_CST), (int)i, &out->teams[i]);
    return status;
}

/* ---- all of it ---- */

/* Gives each part its place, the same for the host and for kernels. */
static isthmus_status lay_out(struct ist_tables *tables, struct draft *out)
{
    size_t n = (size_t)ist_team_world.n_pes, deltas = n * sizeof(int64_t), limit = ist_team_limit;
    size_t teams = limit * sizeof(struct isthmus_device_team);
    *out = (struct draft){.n_bytes = teams + deltas};
    out->bytes = calloc(1, out->n_bytes + deltas);
    tables->lists = calloc(limit, sizeof *tables->lists);
    if (out->bytes == NULL || tables->lists == NULL)
        return ist_fail_memory("what kernels read about %zu PEs and %zu teams", n, limit);
    isthmus_status status = ist_kernel_table_alloc(&tables->memory, out->n_bytes, &tables->table);
    if (status != ISTHMUS_OK) return status;
    char *there = tables->table;
    out->teams = (void *)out->bytes; /* first: each is a line */
    out->heap_delta = (void *)(out->bytes + teams);
    out->other_delta = (void *)(out->bytes + teams + deltas);
    tables->teams = (void *)there;
    tables->heap_delta = (void *)(there + teams);
    return ISTHMUS_OK;
}

isthmus_status ist_tables_open(struct ist_tables *tables, const ist_boot *boot, const struct ist_kernel_memory *memory,
                               bool is_direct)
{
    struct draft draft;
    *tables = (struct ist_tables){.memory = *memory};
    isthmus_status status = lay_out(tables, &draft);
    if (status == ISTHMUS_OK) status = find_deltas(tables, boot, is_direct, &draft);
    if (status == ISTHMUS_OK) status = list_teams(tables, &draft);
    if (status == ISTHMUS_OK) status = ist_tables_list_ranges(tables, boot, is_direct);
    if (status == ISTHMUS_OK) status = ist_kernel_copy(memory, tables->table, draft.bytes, draft.n_bytes);
    free(draft.bytes);
    return status;
}

void ist_tables_close(struct ist_tables *tables)
{
    for (uint32_t i = 0; tables->lists != NULL && i < ist_team_limit; i++)
        if (tables->lists[i].at != NULL) ist_kernel_table_free(&tables->memory, tables->lists[i].at);
    free(tables->lists);
    ist_kernel_table_free(&tables->memory, tables->ranges);
    ist_kernel_table_free(&tables->memory, tables->table);
    *tables = (struct ist_tables){.table = NULL};
}
