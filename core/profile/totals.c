/* core/profile/totals.c: the job's sums: as JSON, and as a summary of one screen. docs/profile.md explains the
 * fields. */
#include "core/profile/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTINES_SHOWN = 14 };

/* ---- numbers as people read them ---- */

/* Three digits at least: 9.87, 98.7, 987. */
/* A unit of each step, the first one for whole numbers below `factor`; from `most` on the next one is used. */
struct scale {
    unsigned factor;
    double most;
    const char *units[7]; /* ends with NULL */
};

static char *scaled(char out[IST_PROFILE_NUMBER_BYTES], uint64_t amount, const struct scale *scale)
{
    double value = (double)amount / scale->factor;
    unsigned unit = 1;
    if (amount < scale->factor) {
        snprintf(out, IST_PROFILE_NUMBER_BYTES, "%u %s", (unsigned)amount, scale->units[0]);
        return out;
    }
    for (; value >= scale->most && scale->units[unit + 1] != NULL; unit++) value /= scale->factor;
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, IST_PROFILE_NUMBER_BYTES, "%.*f %s", decimals, value, scale->units[unit]);
    return out;
}

char *ist_profile_text_bytes(char out[IST_PROFILE_NUMBER_BYTES], uint64_t bytes)
{
    static const struct scale scale = {1024, 1000, {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL}};
    return scaled(out, bytes, &scale);
}

char *ist_profile_text_ns(char out[IST_PROFILE_NUMBER_BYTES], uint64_t ns)
{
    static const struct scale scale = {1000, 999.5, {"ns", "us", "ms", "s", NULL}};
    return scaled(out, ns, &scale);
}

/* ---- JSON ---- */

static void write_routine(struct ist_json *json, const struct ist_profile_routine *routine)
{
    const struct ist_profile_calls *c = &routine->calls;
    ist_json_begin_object(json, NULL);
    ist_json_string(json, "name", routine->name);
    ist_json_integer(json, "pes", routine->n_pes);
    ist_json_number(json, "calls", c->n);
    ist_json_number(json, "bytes", c->bytes);
    ist_json_number(json, "time_ns", c->ns);
    ist_json_number(json, "longest_ns", c->longest_ns);
    ist_json_number(json, "waited_ns", c->waited_ns);
    ist_json_end_object(json);
}

static void write_pe(struct ist_json *json, int number, const struct ist_profile_pe *pe)
{
    ist_json_begin_object(json, NULL);
    ist_json_integer(json, "pe", number);
    ist_json_string(json, "host", pe->host);
    ist_json_number(json, "wall_ns", pe->wall_ns);
    ist_json_number(json, "calls", pe->n_calls);
    ist_json_number(json, "bytes", pe->bytes);
    ist_json_number(json, "library_ns", pe->in_library_ns);
    ist_json_number(json, "waited_ns", pe->waited_ns);
    ist_json_end_object(json);
}

/* Of a way: all of it, or between some PEs. The caller has begun the object. */
static void write_exchange(struct ist_json *json, const struct ist_profile_way *way,
                           const struct ist_profile_exchange *moved)
{
    const struct ist_profile_traffic *t = &moved->traffic;
    ist_json_string(json, "transport", way->name);
    ist_json_bool(json, "load_store", way->is_direct);
    ist_json_number(json, "puts", t->n_puts);
    ist_json_number(json, "put_bytes", t->put_bytes);
    ist_json_number(json, "gets", t->n_gets);
    ist_json_number(json, "got_bytes", t->got_bytes);
    ist_json_number(json, "atomics", t->n_atomics);
    ist_json_number(json, "atomic_bytes", t->atomic_bytes);
    ist_json_number(json, "flags", t->n_flags);
    ist_json_number(json, "calls", moved->n_calls);
    ist_json_number(json, "time_ns", moved->ns);
    ist_json_end_object(json);
}

/* Each cell of the map that has any traffic, by way. */
static void write_pairs(struct ist_json *json, const struct ist_profile_job *job)
{
    static const struct ist_profile_exchange none;
    for (int i = 0; i < job->n_bins * job->n_bins; i++)
        for (size_t way = 0; way < job->n_ways; way++) {
            const struct ist_profile_exchange *cell = &job->ways[way].cells[i];
            if (memcmp(cell, &none, sizeof none) == 0) continue;
            ist_json_begin_object(json, NULL);
            ist_json_integer(json, "pe", i / job->n_bins * job->pes_per_bin);
            ist_json_integer(json, "peer", i % job->n_bins * job->pes_per_bin);
            write_exchange(json, &job->ways[way], cell);
        }
}

static int by_time(const void *a, const void *b)
{
    const struct ist_profile_routine *x = a, *y = b;
    if (x->calls.ns != y->calls.ns) return x->calls.ns > y->calls.ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

void ist_profile_write_totals(struct ist_profile_job *job)
{
    struct ist_json *json = &job->json;
    ist_json_integer(json, "n_pes", job->n_pes);
    ist_json_number(json, "not_recorded", job->n_unkept);
    if (job->n_routines > 0) qsort(job->routines, job->n_routines, sizeof *job->routines, by_time);
    ist_json_begin_array(json, "routines");
    for (size_t i = 0; i < job->n_routines; i++) write_routine(json, &job->routines[i]);
    ist_json_end_array(json);
    ist_json_begin_array(json, "transports");
    for (size_t i = 0; i < job->n_ways; i++) {
        ist_json_begin_object(json, NULL);
        write_exchange(json, &job->ways[i], &job->ways[i].all);
    }
    ist_json_end_array(json);
    ist_json_integer(json, "pes_per_pair", job->pes_per_bin);
    ist_json_begin_array(json, "pairs");
    write_pairs(json, job);
    ist_json_end_array(json);
    ist_json_begin_array(json, "pes");
    for (int i = 0; i < job->n_pes; i++) write_pe(json, i, &job->pes[i]);
    ist_json_end_array(json);
}

/* ---- the summary ---- */

/* PEs of a host need not follow one another. */
static int hosts_of(const struct ist_profile_job *job)
{
    int n = 0;
    for (int i = 0; i < job->n_pes; i++) {
        int first = 0;
        if (job->pes[i].host[0] == 0) continue; /* its part is missing */
        while (strcmp(job->pes[first].host, job->pes[i].host) != 0) first++;
        n += first == i;
    }
    return n;
}

static double percent(uint64_t part, uint64_t whole) { return whole > 0 ? 100.0 * (double)part / (double)whole : 0; }

static void print_head(FILE *out, const struct ist_profile_job *job)
{
    char time[IST_PROFILE_NUMBER_BYTES];
    uint64_t wall = 0, library = 0, waited = 0, longest = 0;
    for (int i = 0; i < job->n_pes; i++) {
        const struct ist_profile_pe *pe = &job->pes[i];
        wall += pe->wall_ns * (uint64_t)(pe->n_threads > 0 ? pe->n_threads : 1);
        library += pe->in_library_ns, waited += pe->waited_ns;
        if (pe->wall_ns > longest) longest = pe->wall_ns;
    }
    int n_hosts = hosts_of(job);
    fprintf(out, "isthmus: profile: %d PE%s on %d host%s, ", job->n_pes, job->n_pes == 1 ? "" : "s", n_hosts,
            n_hosts == 1 ? "" : "s");
    if (job->n_added < job->n_pes) fprintf(out, "parts of %d PEs, ", job->n_added);
    if (longest == 0)
        fprintf(out, "ended without shmem_finalize\n");
    else
        fprintf(out, "%s; %.1f %% of the threads' time in the library, of which %.1f %% waiting\n",
                ist_profile_text_ns(time, longest), percent(library, wall), percent(waited, library));
}

static void print_routines(FILE *out, const struct ist_profile_job *job)
{
    char bytes[IST_PROFILE_NUMBER_BYTES], time[IST_PROFILE_NUMBER_BYTES], mean[IST_PROFILE_NUMBER_BYTES],
        longest[IST_PROFILE_NUMBER_BYTES];
    fprintf(out, "  %-34s %10s %9s %8s %8s %8s %6s\n", "routine, all PEs", "calls", "bytes", "time", "mean", "longest",
            "waits");
    for (size_t i = 0; i < job->n_routines && i < ROUTINES_SHOWN; i++) {
        const struct ist_profile_calls *c = &job->routines[i].calls;
        fprintf(out, "  %-34s %10" PRIu64 " %9s %8s %8s %8s %5.0f%%\n", job->routines[i].name, c->n,
                ist_profile_text_bytes(bytes, c->bytes), ist_profile_text_ns(time, c->ns),
                ist_profile_text_ns(mean, c->n > 0 ? c->ns / c->n : 0), ist_profile_text_ns(longest, c->longest_ns),
                percent(c->waited_ns, c->ns));
    }
    if (job->n_routines > ROUTINES_SHOWN) fprintf(out, "  and %zu more\n", job->n_routines - ROUTINES_SHOWN);
}

static void print_ways(FILE *out, const struct ist_profile_job *job)
{
    char bytes[IST_PROFILE_NUMBER_BYTES], time[IST_PROFILE_NUMBER_BYTES];
    for (size_t i = 0; i < job->n_ways; i++) {
        const struct ist_profile_way *way = &job->ways[i];
        const struct ist_profile_traffic *t = &way->all.traffic;
        fprintf(out,
                "  by %s%s: %s in %" PRIu64 " puts, %" PRIu64 " gets, %" PRIu64 " atomics; %" PRIu64
                " flags; %s in calls to one PE\n",
                way->name, way->is_direct ? ", load and store" : "",
                ist_profile_text_bytes(bytes, ist_profile_bytes_of(t)), t->n_puts, t->n_gets, t->n_atomics, t->n_flags,
                ist_profile_text_ns(time, way->all.ns));
    }
}

static void print_pairs(FILE *out, const struct ist_profile_job *job)
{
    char bytes[IST_PROFILE_NUMBER_BYTES];
    for (int i = 0; i < IST_PROFILE_TOP && job->top[i].bytes > 0; i++)
        fprintf(out, "%s PE %d with PE %d %s%s", i == 0 ? "  most bytes:" : ",", job->top[i].pe, job->top[i].peer,
                ist_profile_text_bytes(bytes, job->top[i].bytes),
                i + 1 == IST_PROFILE_TOP || job->top[i + 1].bytes == 0 ? "\n" : "");
}

static void print_waits(FILE *out, const struct ist_profile_job *job)
{
    char least[IST_PROFILE_NUMBER_BYTES], mean[IST_PROFILE_NUMBER_BYTES], most[IST_PROFILE_NUMBER_BYTES];
    int low = 0, high = 0;
    uint64_t sum = 0;
    for (int i = 0; i < job->n_pes; i++) {
        sum += job->pes[i].waited_ns;
        if (job->pes[i].waited_ns < job->pes[low].waited_ns) low = i;
        if (job->pes[i].waited_ns > job->pes[high].waited_ns) high = i;
    }
    fprintf(out, "  waiting: PE %d least, %s; mean %s; PE %d most, %s\n", low,
            ist_profile_text_ns(least, job->pes[low].waited_ns), ist_profile_text_ns(mean, sum / (uint64_t)job->n_pes),
            high, ist_profile_text_ns(most, job->pes[high].waited_ns));
}

static void print_files(FILE *out, const struct ist_profile_job *job)
{
    if (!job->is_trace)
        fprintf(out, "  written: %s; %s.svg has the map\n", job->file, job->file);
    else if (job->n_events_left_out == 0)
        fprintf(out, "  written: %s, all %" PRIu64 " calls, for ui.perfetto.dev\n", job->file, job->n_events);
    else
        fprintf(out,
                "  written: %s, the first %" PRIu64 " calls, for ui.perfetto.dev; %" PRIu64
                " later ones are left out: a trace holds %d in all, the same number for each PE\n",
                job->file, job->n_events, job->n_events_left_out, IST_PROFILE_EVENTS_OF_JOB);
    if (job->n_unkept > 0)
        fprintf(out, "  %" PRIu64 " calls or transfers are in no number above: their PE had no memory for a record\n",
                job->n_unkept);
}

void ist_profile_print_summary(FILE *out, const struct ist_profile_job *job)
{
    if (job->n_routines > 0) qsort(job->routines, job->n_routines, sizeof *job->routines, by_time);
    print_head(out, job);
    print_routines(out, job);
    print_ways(out, job);
    print_pairs(out, job);
    print_waits(out, job);
    print_files(out, job);
}
