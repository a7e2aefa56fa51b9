/* core/check/check.c: see check.h: whether a call is checked, and in which order the subjects check it. */
#include "core/check/check_priv.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/heap/heap.h"
#include "core/heap/static_data.h"
#include "core/ops/target.h"
#include "core/transport/segment.h"

pthread_mutex_t ist_check_lock = PTHREAD_MUTEX_INITIALIZER;
ist_ctx *ist_check_ctx;
uint64_t ist_check_synchronised_ns;

uint64_t ist_check_place(const void *addr)
{
    int id = addr != NULL ? ist_segment_of(addr, 1) : -1;
    if (id < 0) return 0;
    return (uint64_t)(id + 1) << 56 | ((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr);
}

/* Both sides are checked here, so that they are right before the operation is recorded. */
static int require_right(const struct ist_transfer *op)
{
    int world_pe = ist_require_pe(op->ctx, op->pe, op->routine, "pe");
    const char *far = ist_transfer_far(op), *near = ist_transfer_near(op);
    ist_require_symmetric(op->routine, ist_transfer_far_name(op), far, op->length_bytes, 1);
    if (near == NULL) return world_pe;
    ist_check_heap_range(op->routine, ist_transfer_near_name(op), near, op->length_bytes);
    if (world_pe == ist_team_world.my_pe) {
        bool is_read = op->kind == IST_TRANSFER_GET;
        ist_check_overlap(op->routine, is_read ? near : far, op->length_bytes, is_read ? far : near, op->length_bytes,
                          false);
    }
    return world_pe;
}

/* The library's own part of symmetric memory. */
static bool is_internal(const void *addr)
{
    bool is_in_heap = (uintptr_t)addr - (uintptr_t)ist_heap.user_base < ist_heap.reserved_bytes;
    return !is_in_heap && (uintptr_t)addr - (uintptr_t)ist_heap.base < ist_heap.mapped_bytes;
}

static bool check_transfer(const struct ist_transfer *op)
{
    if (op->length_bytes == 0 || is_internal(ist_transfer_far(op))) return false;
    if (op->kind == IST_TRANSFER_GET && ist_symmetric_data_is_constant(ist_transfer_far(op), op->length_bytes))
        return false;
    struct ist_check_access access = {.op = op, .world_pe = require_right(op), .caller = ist_caller()};
    access.now_ns = ist_clock_ns();
    ist_check_enter(); /* accesses to the tables of other PEs are no operations of the program */
    pthread_mutex_lock(&ist_check_lock);
    ist_pending_compare(&access);
    bool is_held = op->is_nbi && ist_transfer_near(op) != NULL && ist_pending_add(&access);
    if (ist_team_world.n_pes > 1) {
        ist_unordered_note(&access);
        ist_mixed_note(&access);
    }
    pthread_mutex_unlock(&ist_check_lock);
    ist_check_leave();
    return is_held;
}

static void check_order(ist_ctx *ctx, enum ist_check_order what, const char *routine)
{
    (void)routine;
    ist_check_enter();
    pthread_mutex_lock(&ist_check_lock);
    if (what == IST_CHECK_LOCAL_COMPLETE || what == IST_CHECK_QUIET) ist_pending_complete(ctx);
    if (what != IST_CHECK_LOCAL_COMPLETE) ist_unordered_order(ctx, what != IST_CHECK_FENCE);
    pthread_mutex_unlock(&ist_check_lock);
    ist_check_leave();
}

static void synchronised(void)
{
    ist_check_enter();
    pthread_mutex_lock(&ist_check_lock);
    if (ist_team_world.n_pes > 1) ist_unordered_synchronised();
    ist_check_synchronised_ns = ist_clock_ns();
    pthread_mutex_unlock(&ist_check_lock);
    ist_check_leave();
}

static void check_seen(const void *ivar, size_t size, const char *routine)
{
    if (!ist_check_applies()) return;
    ist_check_enter();
    pthread_mutex_lock(&ist_check_lock);
    if (ist_team_world.n_pes > 1) ist_unordered_seen(ivar, size, routine);
    pthread_mutex_unlock(&ist_check_lock);
    ist_check_leave();
    synchronised();
}

/* ---- the mode ---- */

static const struct ist_checker checker = {
    .transfer = check_transfer,
    .order = check_order,
    .seen = check_seen,
    .synchronised = synchronised,
    .heap_range = ist_check_heap_range,
};

isthmus_status ist_check_init(bool is_on)
{
    ist_checker = &checker;
    ist_check_on = is_on;
    if (!is_on) return ISTHMUS_OK;
    ist_blocks_init();
    ist_check_synchronised_ns = ist_clock_ns();
    return ist_ctx_create(&ist_team_world, IST_CTX_SERIALIZED, 0, &ist_check_ctx);
}

/* ---- what the program has created and not released when it finalizes ----
 * Blocks and teams are the same on all members: the first member reports. */

static void report_ctx(ist_ctx *ctx)
{
    if (ctx == &ist_ctx_default || ctx == ist_check_ctx) return;
    ist_finding(IST_FINDING_LEAK, "shmem_ctx_create", ctx->made_by,
                "the context %p is not destroyed at finalize; right: shmem_ctx_destroy", (void *)ctx);
}

static void report_team(const struct ist_team *team)
{
    if (team == NULL || team->my_pe != 0 || team->is_active_set) return;
    ist_finding(IST_FINDING_LEAK, "shmem_team_split", team->made_by,
                "a team of %d PEs is not destroyed at finalize; right: shmem_team_destroy", team->n_pes);
}

static void report_leaks(void)
{
    ist_ctx_each(report_ctx);
    for (uint32_t i = IST_TEAMS_PREDEFINED; i < ist_team_limit; i++) report_team(ist_team_table[i]);
    if (ist_team_world.my_pe == 0) ist_blocks_leaks();
}

/* ---- the end ---- */

/* The context itself ends with the others. */
void ist_check_fini(void)
{
    if (!ist_check_on) return;
    ist_check_on = false;
    report_leaks();
    ist_findings_end();
    ist_blocks_fini();
    ist_pending_fini();
    ist_unordered_fini();
    ist_check_ctx = NULL;
}
