/* core/proxy/tables.h: what the state of kernels points to, in memory that they reach: deltas, ranges, teams. Not the
 * ring (batch.h). One table is filled here and copied there as a whole; teams that are made later follow one by
 * one. */
#ifndef IST_PROXY_TABLES_H
#define IST_PROXY_TABLES_H

#include "core/boot/boot.h"
#include "core/proxy/kernel_memory.h"
#include "core/team/team.h"

#include <isthmus/device_state.h>
#include <stdbool.h>

/* ---- ranges (ranges.c) ----
 * Symmetric memory outside the heap, as kernels find it: static data, the library's flags, buffers that the program has
 * made symmetric. Each is a range with one delta for every PE; the list ends with an empty range. The heap has deltas
 * only. Not where the list lies: a caller copies it to where its kernels read. */

struct ist_ranges {
    struct isthmus_device_range *list; /* n + 1 of them, then the deltas: one block of memory */
    size_t bytes;                      /* of the block */
    uint32_t n;
    uint32_t n_far;            /* PEs that have symmetric memory which kernels do not reach: it takes the ring */
    bool is_mixed;             /* of some PE kernels reach a part only */
    const int64_t *heap_delta; /* in the block */
};

/* Lists the ranges for kernels that run in memory of `kind` (ISTHMUS_MEM_): memory of that kind. Connects to the PEs of
 * this host, to no others. `is_direct` false: of other PEs all takes the ring (ISTHMUS_DEVICE_DIRECT=0). To be called
 * again in the collective call that makes a buffer symmetric, and in the one that takes it back. */
isthmus_status ist_ranges_make(const ist_boot *boot, uint32_t kind, bool is_direct, struct ist_ranges *out);
void ist_ranges_free(struct ist_ranges *ranges); /* accepts a zeroed struct */

/* Makes the list one that is read at another address: its pointers are then those of a copy of the block there. */
void ist_ranges_move(struct ist_ranges *ranges, const void *there);

/* ---- all tables (tables.c) ---- */

struct ist_tables {
    struct ist_kernel_memory memory;
    uint32_t n_far; /* as struct ist_ranges has it */
    bool is_mixed;
    /* At their addresses for kernels. */
    struct isthmus_device_range *ranges; /* a table that is replaced when buffers change */
    const int64_t *heap_delta;           /* in that table */
    struct isthmus_device_team *teams;   /* a table, by index: ist_team_limit of them */
    struct ist_tables_list {
        void *at; /* of the team with this index: its members; kept for the next one */
        size_t bytes;
    } * lists;                  /* where kernels do not reach those of the host */
    struct ist_tables_old *old; /* tables that have been replaced, and that kernels may still read */
};

/* Not collective. `is_direct` false: kernels do not reach other PEs (ISTHMUS_DEVICE_DIRECT=0). After an error close. */
isthmus_status ist_tables_open(struct ist_tables *tables, const ist_boot *boot, const struct ist_kernel_memory *memory,
                               bool is_direct);
void ist_tables_close(struct ist_tables *tables); /* accepts a zeroed struct */

/* Lists the ranges again: the buffers have changed. The old list stays until ist_tables_free_old(). */
isthmus_status ist_tables_list_ranges(struct ist_tables *tables, const ist_boot *boot, bool is_direct);

/* All modules have the new state, and no kernel runs that has read the old one; or the free waits for such kernels, as
 * that of CUDA's and HIP's memory does. */
void ist_tables_free_old(struct ist_tables *tables);

/* A team has been made, or (NULL) there is none of this index any more. */
isthmus_status ist_tables_write_team(struct ist_tables *tables, const struct ist_team *team, int index);

#endif
