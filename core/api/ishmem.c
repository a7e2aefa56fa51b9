/* core/api/ishmem.c: the routines of ishmem.h and ishmemx.h that are not made from the table, but for start and end
 * (ishmem_setup.c): versions, teams with this face's structures, and the utilities. */
#include "core/api/team_entry.h"
#include "core/base/log.h"
#include "core/runtime.h"

#include <stdio.h>
#include <time.h>

void ishmem_info_get_version(int *major, int *minor)
{
    *major = ISHMEM_MAJOR_VERSION;
    *minor = ISHMEM_MINOR_VERSION;
}

void ishmem_info_get_name(char *name) { snprintf(name, ISHMEM_MAX_NAME_LEN, "%s", ISHMEM_VENDOR_STRING); }

/* ---- teams ---- */

static struct ist_team_options options_of(const ishmem_team_config_t *config, long mask)
{
    bool is_given = config != NULL && (mask & ISHMEM_TEAM_NUM_CONTEXTS) != 0;
    return (struct ist_team_options){.num_contexts = is_given ? config->num_contexts : 0};
}

int ishmem_team_get_config(ishmem_team_t handle, long config_mask, ishmem_team_config_t *config)
{
    static const char routine[] = "ishmem_team_get_config";
    const struct ist_team *team = ist_team_of_ishmem(handle, routine);
    if (team == NULL || (config_mask & ~ISHMEM_TEAM_NUM_CONTEXTS) != 0) return ISTHMUS_ERR_INVALID;
    if (config_mask == 0) return 0;
    ist_require_buffer(routine, "config", config);
    config->num_contexts = team->options.num_contexts;
    return 0;
}

int ishmem_team_split_strided(ishmem_team_t parent, int start, int stride, int size, const ishmem_team_config_t *config,
                              long config_mask, ishmem_team_t *new_team)
{
    static const char routine[] = "ishmem_team_split_strided";
    struct ist_team_options options = options_of(config, config_mask);
    struct ist_team *team = NULL;
    ist_require_buffer(routine, "new_team", new_team);
    isthmus_status status = ist_team_split_strided(ist_team_of_ishmem(parent, routine), start, stride, size, &options,
                                                   &team, routine);
    *new_team = ist_index_of(team);
    return ist_returned(status);
}

int ishmem_team_split_2d(ishmem_team_t parent, int xrange, const ishmem_team_config_t *xaxis_config, long xaxis_mask,
                         ishmem_team_t *xaxis_team, const ishmem_team_config_t *yaxis_config, long yaxis_mask,
                         ishmem_team_t *yaxis_team)
{
    static const char routine[] = "ishmem_team_split_2d";
    struct ist_team_options x_options = options_of(xaxis_config, xaxis_mask);
    struct ist_team_options y_options = options_of(yaxis_config, yaxis_mask);
    struct ist_team *x = NULL, *y = NULL;
    ist_require_buffer(routine, "xaxis_team", xaxis_team);
    ist_require_buffer(routine, "yaxis_team", yaxis_team);
    isthmus_status status = ist_team_split_2d(ist_team_of_ishmem(parent, routine), xrange, &x_options, &x, &y_options,
                                              &y, routine);
    *xaxis_team = ist_index_of(x);
    *yaxis_team = ist_index_of(y);
    return ist_returned(status);
}

/* ---- utilities ---- */

/* There is no proxy between the host and the library. */
void ishmemx_nop(void) {}

void ishmemx_nop_no_r(void) {}

void ishmemx_debug_test(void) {}

void ishmemx_timestamp(ishmemx_ts_handle_t dst)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *(unsigned long *)dst = (unsigned long)now.tv_sec * 1000000000UL + (unsigned long)now.tv_nsec;
}

void ishmemx_timestamp_nbi(ishmemx_ts_handle_t dst) { ishmemx_timestamp(dst); }

/* ISTHMUS_VERBOSE_PRINT also prints the kind of message. */
static void print_to(FILE *stream, const char *place, const char *out)
{
    const char *kind = stream == stderr ? "STDERR: " : "STDOUT: ";
    fprintf(stream, "PE %d: %s%s%s\n", ist_entry_my_pe("ishmemx_print"), ist_runtime.config.verbose_print ? kind : "",
            place, out);
    fflush(stream);
}

void ishmemx_print(const char *out) { print_to(stdout, "", out); }

void ishmemx_print_as(const char *file, long int line, const char *func, const char *out,
                      ishmemx_print_msg_type_t msg_type)
{
    char place[256] = "";
    if (file != NULL) snprintf(place, sizeof place, "%s:%ld (%s): ", file, line, func != NULL ? func : "?");
    switch (msg_type) {
    case ISHMEMX_PRINT_DEBUG: ist_debug("%s%s", place, out); break;
    case ISHMEMX_PRINT_WARNING: ist_warn("%s%s", place, out); break;
    case ISHMEMX_PRINT_ERROR: ist_error("%s%s", place, out); break;
    case ISHMEMX_PRINT_STDERR: print_to(stderr, place, out); break;
    default: print_to(stdout, place, out); break;
    }
}
