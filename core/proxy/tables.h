/* core/proxy/tables.h: what the state of kernels points to, in memory that they reach: deltas, ranges, teams. Not the
 * ring (requests.h). One table is filled here and copied there as a whole; teams that are made later follow one by
 * one. */
#ifndef IST_PROXY_TABLES_H
#define IST_PROXY_TABLES_H

#include "core/boot/boot.h"
#include "core/proxy/kernel_memory.h"
#include "core/team/team.h"

#include <isthmus/device_state.h>
#include <stdbool.h>

struct ist_tables {
    struct ist_kernel_memory memory;
    void *table;
    uint32_t n_far; /* PEs that have memory which kernels do not reach */
    bool is_mixed;  /* of some PE they reach a part only */
    bool has_gaps;  /* they do not reach all that the ranges stand for */
    /* At their addresses for kernels. */
    const int64_t *heap_delta;
    struct isthmus_device_range *ranges; /* in a table of their own, which changes with the buffers */
    struct isthmus_device_team *teams;   /* by index, ist_team_limit of them */
    struct ist_tables_list {
        void *at; /* of the team with this index: its members; kept for the next one */
        size_t bytes;
    } * lists; /* where kernels do not reach those of the host */
};

/* Not collective. `is_direct` false: kernels do not reach other PEs (ISTHMUS_DEVICE_DIRECT=0). After an error close. */
isthmus_status ist_tables_open(struct ist_tables *tables, const ist_boot *boot, const struct ist_kernel_memory *memory,
                               bool is_direct);
void ist_tables_close(struct ist_tables *tables); /* accepts a zeroed struct */

/* Lists the ranges again: a buffer has become symmetric, or private. No kernel runs. */
isthmus_status ist_tables_list_ranges(struct ist_tables *tables, const ist_boot *boot, bool is_direct);

/* A team has been made, or (NULL) there is none of this index any more. */
isthmus_status ist_tables_write_team(struct ist_tables *tables, const struct ist_team *team, int index);

#endif
