/* core/api/shmem.c: the routines of shmem.h that have no type: set-up, memory, teams, contexts, ordering, collectives.
 * Thin: each finds out what its handles mean and calls the floor below. */
#include "core/api/check.h"
#include "core/api/entry.h"
#include "core/api/public.h"
#include "core/base/fatal.h"
#include "core/coll/sync.h"
#include "core/ops/amo.h"
#include "core/ops/malloc.h"
#include "core/ops/order.h"
#include "core/ops/signal.h"
#include "core/runtime.h"

#include <stdio.h>
#include <stdlib.h>

#undef shmem_signal_add
#undef shmem_signal_set
#undef shmem_sync

/* ---- start and end ---- */

void shmem_init(void)
{
    if (ist_init("shmem_init", IST_FACE_SHMEM, IST_THREAD_SINGLE) != ISTHMUS_OK) exit(EXIT_FAILURE);
}

int shmem_init_thread(int requested, int *provided)
{
    int level = requested < SHMEM_THREAD_SINGLE     ? SHMEM_THREAD_SINGLE
                : requested > SHMEM_THREAD_MULTIPLE ? SHMEM_THREAD_MULTIPLE
                                                    : requested;
    isthmus_status status = ist_init("shmem_init_thread", IST_FACE_SHMEM, level);
    if (status != ISTHMUS_OK) return status;
    if (provided != NULL) *provided = ist_runtime.thread_level;
    return 0;
}

void shmem_query_thread(int *provided)
{
    ist_require_ctx(&ist_ctx_default, "shmem_query_thread");
    *provided = ist_runtime.thread_level;
}

void shmem_query_initialized(int *initialized) { *initialized = ist_is_initialised(); }

void shmem_finalize(void) { ist_finalize("shmem_finalize"); }

void shmem_global_exit(int status) { ist_global_exit(status); }

int shmem_my_pe(void)
{
    if (IST_UNLIKELY(!ist_ctx_default.is_valid)) ist_require_ctx(&ist_ctx_default, "shmem_my_pe");
    return ist_team_world.my_pe;
}

int shmem_n_pes(void)
{
    if (IST_UNLIKELY(!ist_ctx_default.is_valid)) ist_require_ctx(&ist_ctx_default, "shmem_n_pes");
    return ist_team_world.n_pes;
}

void shmem_info_get_version(int *major, int *minor)
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

void shmem_info_get_name(char *name) { snprintf(name, SHMEM_MAX_NAME_LEN, "%s", SHMEM_VENDOR_STRING); }

/* ---- reach ---- */

int shmem_pe_accessible(int pe)
{
    ist_require_ctx(&ist_ctx_default, "shmem_pe_accessible");
    return pe >= 0 && pe < ist_team_world.n_pes;
}

/* The alias of one byte on a PE of the world, resolving it on first use; NULL: not symmetric, or no alias. */
static void *alias_of(const void *addr, int world_pe, bool *is_symmetric)
{
    const struct ist_peer *peer;
    int id = ist_segment_of(addr, 1);
    *is_symmetric = id >= 0 && world_pe >= 0 && world_pe < ist_team_world.n_pes;
    if (!*is_symmetric) return NULL;
    isthmus_status status = ist_peer_get(world_pe, &peer);
    if (status != ISTHMUS_OK) ist_die("shmem_ptr", status);
    const struct ist_attached *segment = &peer->segments[id];
    uint64_t offset = (uint64_t)((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr);
    *is_symmetric = segment->extents != NULL && offset < segment->length_bytes;
    if (!*is_symmetric) return NULL;
    const struct ist_attached_extent *extent = ist_peer_extent(peer, (uint32_t)id, offset);
    return extent != NULL && extent->alias != NULL ? extent->alias + (offset - extent->offset_bytes) : NULL;
}

int shmem_addr_accessible(const void *addr, int pe)
{
    bool is_symmetric;
    ist_require_ctx(&ist_ctx_default, "shmem_addr_accessible");
    (void)alias_of(addr, pe, &is_symmetric);
    return is_symmetric;
}

void *shmem_ptr(const void *dest, int pe)
{
    bool is_symmetric;
    ist_require_ctx(&ist_ctx_default, "shmem_ptr");
    void *alias = alias_of(dest, pe, &is_symmetric);
    return alias == NULL && is_symmetric && pe == ist_team_world.my_pe ? (void *)(uintptr_t)dest : alias;
}

/* ---- teams ---- */

/* A handle is the team's index + 1; NULL: SHMEM_TEAM_INVALID, or no team any more. */
static struct ist_team *team_of(shmem_team_t handle) { return ist_team_at((long)(uintptr_t)handle - 1); }

static shmem_team_t handle_of(const struct ist_team *team)
{
    return team != NULL ? (shmem_team_t)(uintptr_t)(team->index + 1) : SHMEM_TEAM_INVALID;
}

int shmem_team_my_pe(shmem_team_t handle)
{
    ist_require_ctx(&ist_ctx_default, "shmem_team_my_pe");
    const struct ist_team *team = team_of(handle);
    return team != NULL ? team->my_pe : -1;
}

int shmem_team_n_pes(shmem_team_t handle)
{
    ist_require_ctx(&ist_ctx_default, "shmem_team_n_pes");
    const struct ist_team *team = team_of(handle);
    return team != NULL ? team->n_pes : -1;
}

int shmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
    ist_require_ctx(&ist_ctx_default, "shmem_team_translate_pe");
    const struct ist_team *from = team_of(src_team), *to = team_of(dest_team);
    if (from == NULL || to == NULL || src_pe < 0 || src_pe >= from->n_pes) return -1;
    return ist_team_from_world(to, ist_team_to_world(from, src_pe));
}

void *shmem_team_ptr(shmem_team_t handle, const void *dest, int pe)
{
    ist_require_ctx(&ist_ctx_default, "shmem_team_ptr");
    const struct ist_team *team = team_of(handle);
    if (team == NULL || pe < 0 || pe >= team->n_pes) return NULL;
    return shmem_ptr(dest, ist_team_to_world(team, pe));
}

int shmem_team_sync(shmem_team_t handle)
{
    ist_require_ctx(&ist_ctx_default, "shmem_team_sync");
    struct ist_team *team = team_of(handle);
    if (team == NULL) return ISTHMUS_ERR_INVALID;
    ist_meet(team, "shmem_team_sync");
    return 0;
}

/* ---- contexts ---- */

int shmem_team_create_ctx(shmem_team_t handle, long options, shmem_ctx_t *out)
{
    ist_require_ctx(&ist_ctx_default, "shmem_team_create_ctx");
    struct ist_team *team = team_of(handle);
    ist_ctx *ctx;
    *out = SHMEM_CTX_INVALID;
    if (team == NULL || (options & ~(SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE)) != 0)
        return ISTHMUS_ERR_INVALID;
    bool one_thread = (options & (SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE)) != 0 ||
                      ist_runtime.thread_level != IST_THREAD_MULTIPLE;
    isthmus_status status = ist_ctx_create(team, one_thread ? ISTHMUS_THREAD_ONE : ISTHMUS_THREAD_SHARED,
                                           (options & SHMEM_CTX_NOSTORE) != 0 ? ISTHMUS_CHANNEL_NOSTORE : 0, &ctx);
    if (status != ISTHMUS_OK) return status;
    *out = (shmem_ctx_t)(void *)ctx;
    return 0;
}

int shmem_ctx_create(long options, shmem_ctx_t *out) { return shmem_team_create_ctx(SHMEM_TEAM_WORLD, options, out); }

void shmem_ctx_destroy(shmem_ctx_t handle)
{
    static const char routine[] = "shmem_ctx_destroy";
    ist_require_ctx(&ist_ctx_default, routine);
    if (handle == SHMEM_CTX_INVALID) return;
    if (handle == SHMEM_CTX_DEFAULT)
        ist_misuse(routine,
                   "ctx is SHMEM_CTX_DEFAULT, which lives until shmem_finalize; valid: a context that was created");
    ist_quiet(IST_CTX(handle), routine);
    ist_ctx_destroy(IST_CTX(handle));
}

int shmem_ctx_get_team(shmem_ctx_t handle, shmem_team_t *team)
{
    ist_require_ctx(&ist_ctx_default, "shmem_ctx_get_team");
    *team = handle != SHMEM_CTX_INVALID ? handle_of(IST_CTX(handle)->team) : SHMEM_TEAM_INVALID;
    return handle != SHMEM_CTX_INVALID ? 0 : ISTHMUS_ERR_INVALID;
}

/* ---- memory ---- */

enum { MALLOC_ALIGN_BYTES = 16 };

void *shmem_malloc(size_t size) { return ist_malloc(size, MALLOC_ALIGN_BYTES, "shmem_malloc"); }

void *shmem_malloc_with_hints(size_t size, long hints)
{
    (void)hints; /* host memory serves atomics and signals anyway */
    return ist_malloc(size, MALLOC_ALIGN_BYTES, "shmem_malloc_with_hints");
}

void *shmem_align(size_t alignment, size_t size)
{
    bool is_valid = alignment % sizeof(void *) == 0; /* and a power of two, which is seen below */
    return ist_malloc(size, is_valid ? alignment : 0, "shmem_align");
}

void *shmem_calloc(size_t count, size_t size) { return ist_calloc(count, size, "shmem_calloc"); }

void *shmem_realloc(void *ptr, size_t size) { return ist_realloc(ptr, size, "shmem_realloc"); }

void shmem_free(void *ptr) { ist_free(ptr, "shmem_free"); }

/* ---- signals ---- */

static inline void update_signal(ist_ctx *ctx, uint32_t op, uint64_t *sig_addr, uint64_t signal, int pe,
                                 const char *routine)
{
    struct ist_amo amo = {.op = op, .size = sizeof *sig_addr, .operand = signal};
    (void)ist_amo(ctx, sig_addr, amo, 0, pe, routine);
}

void shmem_signal_add(uint64_t *sig_addr, uint64_t signal, int pe)
{
    update_signal(&ist_ctx_default, ISTHMUS_AMO_ADD, sig_addr, signal, pe, "shmem_signal_add");
}

void shmem_signal_set(uint64_t *sig_addr, uint64_t signal, int pe)
{
    update_signal(&ist_ctx_default, ISTHMUS_AMO_SET, sig_addr, signal, pe, "shmem_signal_set");
}

void shmem_ctx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    update_signal(IST_CTX(ctx), ISTHMUS_AMO_ADD, sig_addr, signal, pe, "shmem_ctx_signal_add");
}

void shmem_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    update_signal(IST_CTX(ctx), ISTHMUS_AMO_SET, sig_addr, signal, pe, "shmem_ctx_signal_set");
}

uint64_t shmem_signal_fetch(const uint64_t *sig_addr)
{
    ist_check_wait(sig_addr, SHMEM_CMP_EQ, sizeof *sig_addr, "shmem_signal_fetch");
    return ist_wait_load(sig_addr, sizeof *sig_addr);
}

uint64_t shmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    ist_check_wait(sig_addr, cmp, sizeof *sig_addr, "shmem_signal_wait_until");
    return ist_wait_for(sig_addr, cmp, cmp_value, sizeof *sig_addr, false);
}

/* ---- collectives ---- */

void shmem_barrier_all(void) { ist_barrier_all("shmem_barrier_all"); }

void shmem_sync_all(void)
{
    ist_require_ctx(&ist_ctx_default, "shmem_sync_all");
    ist_meet(&ist_team_world, "shmem_sync_all");
}

/* ---- ordering ---- */

void shmem_fence(void) { ist_fence(&ist_ctx_default, "shmem_fence"); }

void shmem_ctx_fence(shmem_ctx_t ctx) { ist_fence(IST_CTX(ctx), "shmem_ctx_fence"); }

void shmem_quiet(void) { ist_quiet(&ist_ctx_default, "shmem_quiet"); }

void shmem_ctx_quiet(shmem_ctx_t ctx) { ist_quiet(IST_CTX(ctx), "shmem_ctx_quiet"); }

static void pe_quiet(ist_ctx *ctx, const int *target_pes, size_t npes, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    if (npes == 0 || !ctx->is_valid) return;
    ist_require_buffer(routine, "target_pes", target_pes);
    for (size_t i = 0; i < npes; i++) ist_require_pe(ctx, target_pes[i], routine, "an entry of target_pes");
    ist_quiet(ctx, routine); /* more than asked for is allowed */
}

void shmem_pe_quiet(const int *target_pes, size_t npes)
{
    pe_quiet(&ist_ctx_default, target_pes, npes, "shmem_pe_quiet");
}

void shmem_ctx_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes)
{
    pe_quiet(IST_CTX(ctx), target_pes, npes, "shmem_ctx_pe_quiet");
}

void shmem_local_complete(void) { ist_local_complete(&ist_ctx_default, "shmem_local_complete"); }

void shmem_ctx_local_complete(shmem_ctx_t ctx) { ist_local_complete(IST_CTX(ctx), "shmem_ctx_local_complete"); }

void shmem_remote_commit(void) { ist_remote_commit(&ist_ctx_default, "shmem_remote_commit"); }

void shmem_ctx_remote_commit(shmem_ctx_t ctx) { ist_remote_commit(IST_CTX(ctx), "shmem_ctx_remote_commit"); }

static void commit_one(ist_ctx *ctx) { ist_remote_commit(ctx, "shmem_team_remote_commit"); }

void shmem_team_remote_commit(shmem_team_t handle)
{
    static const char routine[] = "shmem_team_remote_commit";
    ist_require_ctx(&ist_ctx_default, routine);
    struct ist_team *team = team_of(handle);
    if (team == NULL) ist_misuse(routine, "team is SHMEM_TEAM_INVALID; valid: a team that this PE is a member of");
    ist_ctx_each(commit_one);
    ist_meet(team, routine);
}
