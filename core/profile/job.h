/* core/profile/job.h: ISTHMUS_PROFILE from init to finalize: this PE's part, and the report of the job, which PE 0
 * writes from the parts of all PEs. It adds one part after the other and keeps sums only: of 10,000 PEs it holds one
 * part at a time. What threads record is core/base/recorder.h. */
#ifndef IST_PROFILE_JOB_H
#define IST_PROFILE_JOB_H

#include "core/base/config.h"
#include "core/base/json.h"
#include "core/base/recorder.h"
#include "core/boot/boot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- a PE's part ---- */

/* Both return OK without ISTHMUS_PROFILE, and INVALID, with a text that names the variable, if the files cannot be
 * written. The check comes early in a start; the part, FILE.peN, is created once the job starts, before
 * ist_profile_start(). `job`: PE 0's, of its card (core/boot/card.h). */
isthmus_status ist_profile_check(const struct ist_config *config, const ist_boot *boot);
isthmus_status ist_profile_create(const struct ist_config *config, const ist_boot *boot, uint64_t job);

/* Collective over all PEs, at finalize: PE 0 gets all parts and writes the report. */
void ist_profile_report(const struct ist_config *config, const char *routine);

/* Removes the part, unless the report could not be written or finalize was not reached. Takes any state. */
void ist_profile_end_job(void);

/* ---- the job's sums ---- */

enum {
    IST_PROFILE_EXACT_MOST = 256, /* PEs of a job whose report has each pair; of more PEs, several share a bin */
    IST_PROFILE_BINS_MOST = 128,  /* then: 16,384 cells, however large the job is */
    IST_PROFILE_TOP = 3,
    IST_PROFILE_EVENTS_OF_JOB = 1000000 /* a trace of more is too much for its readers */
};

struct ist_profile_routine {
    char name[IST_PROFILE_TEXT_BYTES];
    struct ist_profile_calls calls;
    int n_pes, last_pe; /* how many PEs have called it */
};

/* Sums of one PE. */
struct ist_profile_pe {
    char host[IST_PROFILE_TEXT_BYTES];
    uint64_t wall_ns, in_library_ns, waited_ns, n_calls, bytes;
    int n_threads; /* that have called the library; in_library_ns and waited_ns are of all of them */
};

/* What went one way between some PEs, and the calls that moved data between two of them alone. */
struct ist_profile_exchange {
    struct ist_profile_traffic traffic;
    uint64_t n_calls, ns;
};

struct ist_profile_way {
    char name[IST_PROFILE_TEXT_BYTES];
    bool is_direct;
    struct ist_profile_exchange all;
    struct ist_profile_exchange *cells; /* of the map: n_bins rows of the calling PEs, of n_bins peers */
};

struct ist_profile_pair {
    int pe, peer;
    uint64_t bytes;
};

struct ist_profile_job {
    int n_pes, n_added;
    struct ist_profile_pe *pes; /* by number */
    struct ist_profile_routine *routines;
    size_t n_routines;
    struct ist_profile_way *ways;
    size_t n_ways;
    int n_bins, pes_per_bin; /* of the map */
    struct ist_profile_pair top[IST_PROFILE_TOP];
    uint64_t n_unkept, n_events, n_events_left_out;

    const char *file; /* of the report */
    bool is_trace;
    FILE *out;
    int error;            /* errno of the first write that failed; 0: none has */
    struct ist_json json; /* without a trace */
    uint64_t zero_ns;     /* of a trace: when PE 0 started */
};

/* Between the PEs of two bins, by all ways. */
uint64_t ist_profile_bytes_between(const struct ist_profile_job *job, int row, int column);

static inline uint64_t ist_profile_bytes_of(const struct ist_profile_traffic *traffic)
{
    return traffic->put_bytes + traffic->got_bytes + traffic->atomic_bytes;
}

/* Opens the file. The texts of failures have file and reason. */
isthmus_status ist_profile_job_open(struct ist_profile_job *job, const char *file, bool is_trace, int n_pes);

/* Returns true if these are records of a part of this version. */
bool ist_profile_is_part(const struct ist_profile_record *part, size_t n);

/* Adds a part. INVALID: it is no part of this version of the library. */
isthmus_status ist_profile_job_add(struct ist_profile_job *job, const struct ist_profile_record *part, size_t n);

/* Writes what is left, and FILE.svg. */
isthmus_status ist_profile_job_close(struct ist_profile_job *job);
void ist_profile_job_free(struct ist_profile_job *job); /* takes any state */

/* ---- the outputs ---- */

/* What routines are called by a part, by their number. */
struct ist_profile_names {
    const char **list;
    size_t n;
};
const char *ist_profile_name(const struct ist_profile_names *names, unsigned index);

void ist_profile_print_summary(FILE *out, const struct ist_profile_job *job); /* a screen */
void ist_profile_write_totals(struct ist_profile_job *job);                   /* JSON */
isthmus_status ist_profile_write_map(const struct ist_profile_job *job);      /* FILE.svg */
void ist_profile_trace_begin(struct ist_profile_job *job);
void ist_profile_trace_add(struct ist_profile_job *job, const struct ist_profile_record *part, size_t n,
                           const struct ist_profile_names *names);
void ist_profile_trace_end(struct ist_profile_job *job);

/* Writes the report from FILE.pe0, FILE.pe1 and so on, as many as there are, which it leaves, and prints the summary on
 * stdout. Failures have been reported by ist_fail(). */
isthmus_status ist_profile_report_parts(const char *file);

/* Numbers as people read them. Each returns `out`. */
enum { IST_PROFILE_NUMBER_BYTES = 24 };

char *ist_profile_text_bytes(char out[IST_PROFILE_NUMBER_BYTES], uint64_t bytes); /* 1.5 MiB */
char *ist_profile_text_ns(char out[IST_PROFILE_NUMBER_BYTES], uint64_t ns);       /* 1.5 ms */

#endif
