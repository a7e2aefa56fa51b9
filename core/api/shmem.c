/* core/api/shmem.c: the routines of shmem.h that are not made from the table: start and end, and those whose structures
 * and handles only this face has: teams and contexts; and old names. Thin: each resolves its handles and calls the
 * floor below. */
#include "core/api/all_entries.h"
#include "core/base/fatal.h"
#include "core/base/recorder.h"
#include "core/ops/order.h"
#include "core/runtime.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- start and end ---- */

void shmem_init(void)
{
    if (ist_init("shmem_init", IST_FACE_SHMEM, IST_THREAD_SINGLE) != ISTHMUS_OK) exit(EXIT_FAILURE);
}
IST_PROFILED(shmem_init)

int shmem_init_thread(int requested, int *provided)
{
    return ist_init_thread("shmem_init_thread", IST_FACE_SHMEM, requested, provided);
}
IST_PROFILED(shmem_init_thread)

void shmem_query_thread(int *provided)
{
    ist_require_ctx(&ist_ctx_default, "shmem_query_thread");
    *provided = ist_runtime.thread_level;
}
IST_PROFILED(shmem_query_thread)

void shmem_query_initialized(int *initialized) { *initialized = ist_is_initialised(); }
IST_PROFILED(shmem_query_initialized)

void shmem_finalize(void) { ist_finalize("shmem_finalize"); }
IST_PROFILED(shmem_finalize)

void shmem_global_exit(int status) { ist_global_exit(status); }
IST_PROFILED(shmem_global_exit)

void shmem_info_get_version(int *major, int *minor)
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}
IST_PROFILED(shmem_info_get_version)

void shmem_info_get_name(char *name) { snprintf(name, SHMEM_MAX_NAME_LEN, "%s", SHMEM_VENDOR_STRING); }
IST_PROFILED(shmem_info_get_name)

void shmem_pcontrol(int level, ...) { ist_profile_set_level(level); }
IST_PROFILED(shmem_pcontrol)

/* ---- teams ---- */

static struct ist_team_options options_of(const shmem_team_config_t *config, long mask)
{
    bool is_given = config != NULL && (mask & SHMEM_TEAM_NUM_CONTEXTS) != 0;
    return (struct ist_team_options){.num_contexts = is_given ? config->num_contexts : 0};
}

int shmem_team_get_config(shmem_team_t handle, long config_mask, shmem_team_config_t *config)
{
    static const char routine[] = "shmem_team_get_config";
    const struct ist_team *team = ist_team_of_shmem(handle, routine);
    if (team == NULL || (config_mask & ~SHMEM_TEAM_NUM_CONTEXTS) != 0) return ISTHMUS_ERR_INVALID;
    if (config_mask == 0) return 0;
    ist_require_buffer(routine, "config", config);
    config->num_contexts = team->options.num_contexts;
    return 0;
}
IST_PROFILED(shmem_team_get_config)

int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t *config,
                             long config_mask, shmem_team_t *new_team)
{
    static const char routine[] = "shmem_team_split_strided";
    struct ist_team_options options = options_of(config, config_mask);
    struct ist_team *team = NULL;
    ist_require_buffer(routine, "new_team", new_team);
    isthmus_status status = ist_team_split_strided(ist_team_of_shmem(parent, routine), start, stride, size, &options,
                                                   &team, routine);
    *new_team = ist_shmem_handle_of(team);
    return ist_returned(status);
}
IST_PROFILED(shmem_team_split_strided)

int shmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,
                        shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
                        shmem_team_t *yaxis_team)
{
    static const char routine[] = "shmem_team_split_2d";
    struct ist_team_options x_options = options_of(xaxis_config, xaxis_mask);
    struct ist_team_options y_options = options_of(yaxis_config, yaxis_mask);
    struct ist_team *x = NULL, *y = NULL;
    ist_require_buffer(routine, "xaxis_team", xaxis_team);
    ist_require_buffer(routine, "yaxis_team", yaxis_team);
    isthmus_status status = ist_team_split_2d(ist_team_of_shmem(parent, routine), xrange, &x_options, &x, &y_options,
                                              &y, routine);
    *xaxis_team = ist_shmem_handle_of(x);
    *yaxis_team = ist_shmem_handle_of(y);
    return ist_returned(status);
}
IST_PROFILED(shmem_team_split_2d)

/* ---- contexts ---- */

static int create_ctx(struct ist_team *team, long options, shmem_ctx_t *out, const char *routine)
{
    const long known = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;
    ist_ctx *ctx;
    *out = SHMEM_CTX_INVALID;
    if (team == NULL)
        return ist_returned(
            ist_fail(ISTHMUS_ERR_INVALID, "%s: team is invalid or was destroyed; valid: a live team", routine));
    if ((options & ~known) != 0)
        return ist_returned(ist_fail(ISTHMUS_ERR_INVALID, "%s: options is %ld; valid: a sum of SHMEM_CTX_ constants",
                                     routine, options));
    enum ist_ctx_users users = (options & SHMEM_CTX_PRIVATE) != 0      ? IST_CTX_PRIVATE
                               : (options & SHMEM_CTX_SERIALIZED) != 0 ? IST_CTX_SERIALIZED
                                                                       : IST_CTX_SHARED;
    isthmus_status status = ist_ctx_create(team, users,
                                           (options & SHMEM_CTX_NOSTORE) != 0 ? ISTHMUS_CHANNEL_NOSTORE : 0, &ctx);
    if (status != ISTHMUS_OK) return ist_returned(status);
    *out = (shmem_ctx_t)(void *)ctx;
    return 0;
}

int shmem_ctx_create(long options, shmem_ctx_t *ctx)
{
    static const char routine[] = "shmem_ctx_create";
    return create_ctx(ist_team_of_all(routine), options, ctx, routine);
}
IST_PROFILED(shmem_ctx_create)

int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
    static const char routine[] = "shmem_team_create_ctx";
    return create_ctx(ist_team_of_shmem(team, routine), options, ctx, routine);
}
IST_PROFILED(shmem_team_create_ctx)

void shmem_ctx_destroy(shmem_ctx_t handle)
{
    static const char routine[] = "shmem_ctx_destroy";
    ist_require_ctx(&ist_ctx_default, routine);
    if (handle == SHMEM_CTX_INVALID) return;
    if (handle == SHMEM_CTX_DEFAULT)
        ist_misuse(routine,
                   "ctx is SHMEM_CTX_DEFAULT, which lives until shmem_finalize; valid: a context that was created");
    ist_quiet(ist_ctx_of_handle(handle), routine);
    ist_ctx_destroy(ist_ctx_of_handle(handle));
}
IST_PROFILED(shmem_ctx_destroy)

int shmem_ctx_get_team(shmem_ctx_t handle, shmem_team_t *team)
{
    ist_require_ctx(&ist_ctx_default, "shmem_ctx_get_team");
    *team = handle != SHMEM_CTX_INVALID ? ist_shmem_handle_of(ist_ctx_of_handle(handle)->team) : SHMEM_TEAM_INVALID;
    return handle != SHMEM_CTX_INVALID ? 0 : ISTHMUS_ERR_INVALID;
}
IST_PROFILED(shmem_ctx_get_team)

/* Sessions are hints on what the program is about to issue. No path of this library uses them. */
void shmem_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask)
{
    (void)ctx, (void)options, (void)config, (void)config_mask;
}
IST_PROFILED(shmem_ctx_session_start)

void shmem_ctx_session_stop(shmem_ctx_t ctx) { (void)ctx; }
IST_PROFILED(shmem_ctx_session_stop)

/* ---- names from before 1.2, which have no pshmem_ form ---- */

#pragma weak _my_pe /* not in our name space: a program may have them for something else */
#pragma weak _num_pes

/* The end of the program is the finalize; calls after the first do nothing. */
void start_pes(int npes)
{
    (void)npes; /* the launcher has decided */
    if (ist_is_initialised()) return;
    if (ist_init("start_pes", IST_FACE_SHMEM, IST_THREAD_SINGLE) != ISTHMUS_OK) exit(EXIT_FAILURE);
    ist_runtime.finalize_at_exit = true;
}

int _my_pe(void) { return ist_entry_my_pe("_my_pe"); }

int _num_pes(void) { return ist_entry_n_pes("_num_pes"); }

void *shmalloc(size_t size) { return ist_entry_malloc(size, "shmalloc"); }

void *shmemalign(size_t alignment, size_t size) { return ist_entry_align(alignment, size, "shmemalign"); }

void *shrealloc(void *ptr, size_t size) { return ist_realloc(ptr, size, "shrealloc"); }

void shfree(void *ptr) { ist_free(ptr, "shfree"); }
