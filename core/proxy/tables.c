/* core/proxy/tables.c: see tables.h. */
#include "core/proxy/tables.h"

#include "core/heap/heap.h"
#include "core/stream/stream.h"
#include "core/team/internal_area.h"

#include <stdlib.h>

_Static_assert((int)IST_TEAM_DEVICE_WORDS >= (int)ISTHMUS_DEVICE_FLAGS,
               "a team's place has room for the flags of kernels");
_Static_assert(sizeof(struct isthmus_device_team) == 64, "ABI");
_Static_assert(sizeof(int) == sizeof(int32_t), "lists of members are copied");

static bool is_on_device(const struct ist_tables *tables) { return tables->memory.kernels != NULL; }

/* ---- tables that are replaced ----
 * Kernels may still read them; and to free memory of CUDA and HIP waits for kernels, which may wait for this PE. */

struct ist_tables_old {
    struct ist_tables_old *next;
    void *at;
};

static isthmus_status free_later(struct ist_tables *tables, void *at)
{
    if (at == NULL) return ISTHMUS_OK;
    struct ist_tables_old *old = malloc(sizeof *old);
    if (old == NULL) return ist_fail_memory("the record of a table of kernels");
    *old = (struct ist_tables_old){.next = tables->old, .at = at};
    tables->old = old;
    return ISTHMUS_OK;
}

void ist_tables_free_old(struct ist_tables *tables)
{
    for (struct ist_tables_old *old = tables->old, *next; old != NULL; old = next) {
        next = old->next;
        ist_kernel_table_free(&tables->memory, old->at);
        free(old);
    }
    tables->old = NULL;
}

/* ---- where memory of PEs lies ---- */

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
    if (status == ISTHMUS_OK) status = free_later(tables, tables->ranges);
    if (status == ISTHMUS_OK) {
        tables->ranges = there;
        tables->heap_delta = ranges.heap_delta;
        tables->n_far = ranges.n_far;
        tables->is_mixed = ranges.is_mixed;
    } else if (there != NULL) {
        ist_kernel_table_free(&tables->memory, there);
    }
    ist_ranges_free(&ranges);
    return status;
}

/* ---- teams ---- */

/* Sizes grow by doubling, so that the old lists of an index take no more than the last one. */
static isthmus_status make_room(struct ist_tables *tables, struct ist_tables_list *list, size_t bytes)
{
    void *there;
    size_t room = 64;
    while (room < bytes) room *= 2;
    isthmus_status status = ist_kernel_table_alloc(&tables->memory, room, &there);
    if (status != ISTHMUS_OK) return status;
    status = free_later(tables, list->at);
    if (status == ISTHMUS_OK)
        *list = (struct ist_tables_list){.at = there, .bytes = room};
    else
        ist_kernel_table_free(&tables->memory, there);
    return status;
}

/* Kernels on processors read the host's list. */
static isthmus_status show_list(struct ist_tables *tables, const struct ist_team *team, int index, const int32_t **out)
{
    *out = team->list;
    if (team->list == NULL || !is_on_device(tables)) return ISTHMUS_OK;
    struct ist_tables_list *list = &tables->lists[index];
    size_t bytes = (size_t)team->n_pes * sizeof *team->list;
    isthmus_status status = list->bytes < bytes ? make_room(tables, list, bytes) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) return status;
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

/* All at once: one copy. */
static isthmus_status list_teams(struct ist_tables *tables)
{
    size_t bytes = ist_team_limit * sizeof *tables->teams;
    struct isthmus_device_team *entries = calloc(ist_team_limit, sizeof *entries);
    tables->lists = calloc(ist_team_limit, sizeof *tables->lists);
    if (entries == NULL || tables->lists == NULL) {
        free(entries);
        return ist_fail_memory("what kernels read about %u teams", ist_team_limit);
    }
    void *there = NULL;
    isthmus_status status = ist_kernel_table_alloc(&tables->memory, bytes, &there);
    tables->teams = there;
    for (uint32_t i = 0; i < ist_team_limit && status == ISTHMUS_OK; i++)
        status = describe_team(tables, __atomic_load_n(&ist_team_table[i], __ATOMIC_SEQ_CST), (int)i, &entries[i]);
    if (status == ISTHMUS_OK) status = ist_kernel_copy(&tables->memory, there, entries, bytes);
    free(entries);
    return status;
}

/* ---- all of it ---- */

isthmus_status ist_tables_open(struct ist_tables *tables, const ist_boot *boot, const struct ist_kernel_memory *memory,
                               bool is_direct)
{
    *tables = (struct ist_tables){.memory = *memory};
    isthmus_status status = list_teams(tables);
    return status == ISTHMUS_OK ? ist_tables_list_ranges(tables, boot, is_direct) : status;
}

void ist_tables_close(struct ist_tables *tables)
{
    for (uint32_t i = 0; tables->lists != NULL && i < ist_team_limit; i++)
        if (tables->lists[i].at != NULL) ist_kernel_table_free(&tables->memory, tables->lists[i].at);
    free(tables->lists);
    ist_tables_free_old(tables);
    ist_kernel_table_free(&tables->memory, tables->ranges);
    ist_kernel_table_free(&tables->memory, tables->teams);
    *tables = (struct ist_tables){.teams = NULL};
}
