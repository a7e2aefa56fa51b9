/* core/api/team_entry.h: handles of teams, and entry functions of teams and of PE numbers.
 * A team's index is the same on all its members. Handles of shmem.h are index + 1, so that the invalid one is a null
 * pointer; those of the other faces are the index itself, and -1 is the invalid one. */
#ifndef IST_API_TEAM_ENTRY_H
#define IST_API_TEAM_ENTRY_H

#include "core/api/public.h"
#include "core/base/log.h"
#include "core/coll/split.h"
#include "core/coll/sync.h"
#include "core/ops/target.h"

/* For what a routine returns to the program: the log has the reason of a failure, and it begins with the routine. */
IST_INLINE isthmus_status ist_returned(isthmus_status status)
{
    if (IST_UNLIKELY(status != ISTHMUS_OK)) ist_info("%s", ist_fail_text());
    return status;
}

/* Returns NULL if the handle is not that of a live team. Ends the job if the library is not initialised. */
IST_INLINE struct ist_team *ist_team_of_index(long index, const char *routine)
{
    if (IST_UNLIKELY(!ist_ctx_default.is_valid)) ist_require_ctx(&ist_ctx_default, routine);
    return ist_team_at(index);
}

IST_INLINE struct ist_team *ist_team_of_shmem(shmem_team_t handle, const char *routine)
{
    return ist_team_of_index((long)(uintptr_t)handle - 1, routine);
}

IST_INLINE struct ist_team *ist_team_of_nvshmem(nvshmem_team_t handle, const char *routine)
{
    return ist_team_of_index(handle, routine);
}

IST_INLINE struct ist_team *ist_team_of_ishmem(ishmem_team_t handle, const char *routine)
{
    return ist_team_of_index(handle, routine);
}

IST_INLINE struct ist_team *ist_team_of_rocshmem(rocshmem_team_t handle, const char *routine)
{
    return ist_team_of_index(handle, routine);
}

/* Contexts of shmem.h and of rocshmem.hpp are one thing under two handles. */
IST_INLINE ist_ctx *ist_ctx_of_rocshmem(rocshmem_ctx_t ctx) { return ist_ctx_of_handle((const void *)ctx.handle); }

/* Where a routine has no team argument. */
IST_INLINE struct ist_team *ist_team_of_all(const char *routine) { return ist_team_of_index(IST_TEAM_WORLD, routine); }

IST_INLINE int ist_index_of(const struct ist_team *team) { return team != NULL ? team->index : -1; }

IST_INLINE shmem_team_t ist_shmem_handle_of(const struct ist_team *team)
{
    return (shmem_team_t)(uintptr_t)(unsigned)(ist_index_of(team) + 1);
}

IST_INLINE int ist_entry_my_pe(const char *routine)
{
    if (IST_UNLIKELY(!ist_ctx_default.is_valid)) ist_require_ctx(&ist_ctx_default, routine);
    return ist_team_world.my_pe;
}

IST_INLINE int ist_entry_n_pes(const char *routine)
{
    if (IST_UNLIKELY(!ist_ctx_default.is_valid)) ist_require_ctx(&ist_ctx_default, routine);
    return ist_team_world.n_pes;
}

static inline int ist_entry_team_my_pe(const struct ist_team *team, const char *routine)
{
    (void)routine; /* the handle's conversion has used it */
    return team != NULL ? team->my_pe : -1;
}

static inline int ist_entry_team_n_pes(const struct ist_team *team, const char *routine)
{
    (void)routine;
    return team != NULL ? team->n_pes : -1;
}

static inline int ist_entry_team_translate_pe(const struct ist_team *from, int pe, const struct ist_team *to,
                                              const char *routine)
{
    (void)routine;
    if (from == NULL || to == NULL || pe < 0 || pe >= from->n_pes) return -1;
    return ist_team_from_world(to, ist_team_to_world(from, pe));
}

static inline void ist_entry_team_destroy(struct ist_team *team, const char *routine)
{
    ist_team_destroy(team, routine);
}

static inline int ist_entry_pe_accessible(int pe, const char *routine)
{
    return pe >= 0 && pe < ist_entry_n_pes(routine);
}

/* reach.c: returns 1 or 0; returns an address for loads and stores, or NULL. */
int ist_addr_accessible(const void *addr, int pe, const char *routine);
void *ist_ptr(const void *dest, int pe, const char *routine);
void *ist_device_ptr(const void *dest, int pe, const char *routine);
void *ist_team_ptr(const struct ist_team *team, const void *dest, int pe, const char *routine);

#endif
