/* core/profile/profile.c: see job.h: this PE's part, and the way of all parts to PE 0.
 * PE 0 gets one part after the other, in pieces, through symmetric memory of its own. */
#include "core/profile/job.h"

#include "core/base/log.h"
#include "core/ops/order.h"
#include "core/ops/rma.h"
#include "core/sync/wait.h"
#include "core/team/internal_area.h"
#include "core/topo/topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVENTS_OF_PE_LEAST = 100, PIECE_RECORDS = IST_PROFILE_PIECE_BYTES / sizeof(struct ist_profile_record) };

/* Instead of a number of a piece: the report is written, or not. */
#define PART_IS_DONE UINT64_MAX
#define PART_IS_KEPT (UINT64_MAX - 1)

static bool is_reported;

/* ---- the part ---- */

static bool is_trace(const struct ist_config *config) { return strncmp(config->profile, "trace:", 6) == 0; }

static const char *file_of(const struct ist_config *config) { return config->profile + (is_trace(config) ? 6 : 0); }

static uint64_t events_of_pe(int n_pes)
{
    uint64_t share = IST_PROFILE_EVENTS_OF_JOB / (uint64_t)n_pes;
    return share > EVENTS_OF_PE_LEAST ? share : EVENTS_OF_PE_LEAST;
}

/* What the system has against the report, which is written at the end only; NULL: nothing. */
static const char *why_not_writable(const char *file)
{
    struct stat found;
    if (*file == 0) return "it has no file name";
    if (stat(file, &found) != 0) return NULL; /* the part lies in the same folder */
    if (S_ISDIR(found.st_mode)) return strerror(EISDIR);
    return access(file, W_OK) == 0 ? NULL : strerror(errno);
}

static isthmus_status refuse(const struct ist_config *config, const char *file, const char *reason)
{
    return ist_fail(ISTHMUS_ERR_INVALID,
                    "ISTHMUS_PROFILE is '%s', but %s cannot be written: %s; name a file in a folder that every PE can "
                    "write to",
                    config->profile, file, reason);
}

static void note_host(const struct ist_config *config, int pe)
{
    char host[IST_PROFILE_TEXT_BYTES];
    const char *pretended = config->pretend_hosts;
    snprintf(host, sizeof host, "%s", ist_host_name());
    if (*pretended != 0) /* a mark that the summary counts, and that the map has a border for */
        snprintf(host, sizeof host, "%.40s (%c)", ist_host_name(), pretended[(size_t)pe % strlen(pretended)]);
    ist_profile_note(IST_PROFILE_HOST, 0, host);
}

static isthmus_status open_part(const struct ist_config *config, const ist_boot *boot, uint64_t job)
{
    char part[4096], reason[256];
    const char *file = file_of(config);
    if (snprintf(part, sizeof part, "%s.pe%d", file, boot->pe) >= (int)sizeof part)
        return refuse(config, file, strerror(ENAMETOOLONG));
    const struct ist_profile_settings settings = {.file = part,
                                                  .pe = boot->pe,
                                                  .n_pes = boot->n_pes,
                                                  .job = job,
                                                  .n_events_most = is_trace(config) ? events_of_pe(boot->n_pes) : 0};
    if (ist_profile_open(&settings) == ISTHMUS_OK) return ISTHMUS_OK;
    snprintf(reason, sizeof reason, "%s", ist_fail_text());
    return refuse(config, part, reason);
}

/* The part is created and removed: of a start that fails, on any PE and for any reason, none remains. */
isthmus_status ist_profile_check(const struct ist_config *config, const ist_boot *boot)
{
    if (!ist_config_has_profile(config)) return ISTHMUS_OK;
    const char *file = file_of(config), *reason = why_not_writable(file);
    isthmus_status status = reason == NULL ? open_part(config, boot, 0) : refuse(config, file, reason);
    ist_profile_close(false);
    return status;
}

isthmus_status ist_profile_create(const struct ist_config *config, const ist_boot *boot, uint64_t job)
{
    if (!ist_config_has_profile(config)) return ISTHMUS_OK;
    is_reported = false;
    isthmus_status status = open_part(config, boot, job);
    if (status != ISTHMUS_OK) return status;
    note_host(config, boot->pe);
    for (uint32_t i = 0; i < ist_registry.n; i++) ist_profile_note(IST_PROFILE_TRANSPORT, i, ist_registry.list[i].name);
    return ISTHMUS_OK;
}

void ist_profile_end_job(void) { ist_profile_close(!is_reported); }

/* ---- from PE to PE ---- */

/* Sends the pieces that PE 0 requests, until it has written the report. */
static void send_part(struct ist_profile_area *area, const struct ist_profile_record *part, size_t n,
                      const char *routine)
{
    ist_ctx *ctx = &ist_ctx_default;
    for (uint64_t i = 0;; i++) {
        ist_wait_at_least(&area->granted, i + 1);
        uint64_t granted = ist_load_acquire(&area->granted);
        if (granted >= PART_IS_KEPT) {
            is_reported = granted == PART_IS_DONE;
            return;
        }
        size_t first = i * PIECE_RECORDS, left = n - first, here = left < PIECE_RECORDS ? left : PIECE_RECORDS;
        memcpy(area->piece, part + first, here * sizeof *part); /* adapters cannot register the mapping of a file */
        ist_put(ctx, area->piece, area->piece, here * sizeof *part, 0, routine);
        ist_p(ctx, &area->n_records, n, sizeof area->n_records, 0, routine);
        ist_quiet(ctx, routine);
        ist_p(ctx, &area->sent, 1, sizeof area->sent, 0, routine);
        ist_quiet(ctx, routine);
    }
}

/* Returns the part of a PE, which the caller frees; *n records. NULL: no memory. */
static struct ist_profile_record *receive_part(struct ist_profile_area *area, int pe, size_t *n, const char *routine)
{
    struct ist_profile_record *part = NULL;
    *n = 0;
    for (uint64_t i = 0; i == 0 || i * PIECE_RECORDS < *n; i++) {
        ist_store_relaxed(&area->sent, 0);
        ist_fence(&ist_ctx_default, routine); /* before the grant: this store, and the loads of the last piece */
        ist_p(&ist_ctx_default, &area->granted, i + 1, sizeof area->granted, pe, routine);
        ist_quiet(&ist_ctx_default, routine);
        ist_wait_for_data(&area->sent, 1);
        if (i == 0) {
            *n = ist_load_relaxed(&area->n_records);
            part = malloc(*n * sizeof *part);
            if (part == NULL) return NULL;
        }
        size_t first = i * PIECE_RECORDS, left = *n - first;
        memcpy(part + first, area->piece, (left < PIECE_RECORDS ? left : PIECE_RECORDS) * sizeof *part);
    }
    return part;
}

static isthmus_status add_parts(struct ist_profile_job *job, struct ist_profile_area *area, const char *routine)
{
    isthmus_status status = ISTHMUS_OK;
    for (int pe = 1; pe < job->n_pes && status == ISTHMUS_OK; pe++) {
        size_t n;
        struct ist_profile_record *part = receive_part(area, pe, &n, routine);
        status = part != NULL ? ist_profile_job_add(job, part, n) : ist_fail_memory("the profile of PE %d", pe);
        free(part);
    }
    return status;
}

/* On PE 0. Returns false after a warning. */
static bool report(const struct ist_config *config, const struct ist_profile_record *mine, size_t n,
                   const char *routine)
{
    struct ist_profile_job job;
    isthmus_status status = ist_profile_job_open(&job, file_of(config), is_trace(config), ist_team_world.n_pes);
    if (status == ISTHMUS_OK) status = ist_profile_job_add(&job, mine, n);
    if (status == ISTHMUS_OK) status = add_parts(&job, ist_internal_profile(config), routine);
    if (status == ISTHMUS_OK) status = ist_profile_job_close(&job);
    if (status == ISTHMUS_OK)
        ist_profile_print_summary(stderr, &job);
    else
        ist_warn("ISTHMUS_PROFILE: the report is not written: %s; each PE's part remains: %s.peN", ist_fail_text(),
                 file_of(config));
    ist_profile_job_free(&job);
    return status == ISTHMUS_OK;
}

void ist_profile_report(const struct ist_config *config, const char *routine)
{
    size_t n;
    if (!ist_config_has_profile(config)) return;
    const struct ist_profile_record *mine = ist_profile_stop(&n);
    struct ist_profile_area *area = ist_internal_profile(config);
    if (ist_team_world.my_pe != 0) {
        send_part(area, mine, n, routine);
        return;
    }
    is_reported = report(config, mine, n, routine);
    uint64_t answer = is_reported ? PART_IS_DONE : PART_IS_KEPT;
    for (int pe = 1; pe < ist_team_world.n_pes; pe++)
        ist_p(&ist_ctx_default, &area->granted, answer, sizeof answer, pe, routine);
    ist_quiet(&ist_ctx_default, routine);
}
