/* core/profile/job.c: see job.h: adds the parts up. */
#include "core/profile/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file ---- */

isthmus_status ist_profile_job_open(struct ist_profile_job *job, const char *file, bool is_trace, int n_pes)
{
    *job = (struct ist_profile_job){.n_pes = n_pes, .file = file, .is_trace = is_trace};
    job->pes_per_bin = n_pes <= IST_PROFILE_EXACT_MOST ? 1
                                                       : (n_pes + IST_PROFILE_BINS_MOST - 1) / IST_PROFILE_BINS_MOST;
    job->n_bins = (n_pes + job->pes_per_bin - 1) / job->pes_per_bin;
    job->pes = calloc((size_t)n_pes, sizeof *job->pes);
    if (job->pes == NULL) return ist_fail_memory("the profile of %d PEs", n_pes);
    job->out = fopen(file, "we");
    if (job->out == NULL) return ist_fail(ISTHMUS_ERR_IO, "%s: %s", file, strerror(errno));
    job->json = (struct ist_json){.out = job->out};
    if (is_trace) {
        ist_profile_trace_begin(job);
    } else {
        ist_json_begin_object(&job->json, NULL);
        ist_json_string(&job->json, "format", "isthmus-profile-2");
    }
    return ISTHMUS_OK;
}

/* Right after writes: errno is theirs only until the next call of the system. */
static void keep_error(struct ist_profile_job *job)
{
    if (job->error == 0 && ferror(job->out)) job->error = errno;
}

/* Returns the errno of the first write that failed, or 0. */
static int close_file(struct ist_profile_job *job)
{
    (void)fflush(job->out);
    keep_error(job);
    if (fclose(job->out) != 0 && job->error == 0) job->error = errno;
    job->out = NULL;
    return job->error;
}

isthmus_status ist_profile_job_close(struct ist_profile_job *job)
{
    if (job->is_trace) {
        ist_profile_trace_end(job);
    } else {
        ist_profile_write_totals(job);
        ist_json_end_object(&job->json);
    }
    int error = close_file(job);
    if (error != 0) return ist_fail(ISTHMUS_ERR_IO, "%s: %s", job->file, strerror(error));
    return job->is_trace ? ISTHMUS_OK : ist_profile_write_map(job);
}

void ist_profile_job_free(struct ist_profile_job *job)
{
    if (job->out != NULL) fclose(job->out);
    free(job->pes);
    free(job->routines);
    for (size_t i = 0; i < job->n_ways; i++) free(job->ways[i].cells);
    free(job->ways);
    *job = (struct ist_profile_job){.out = NULL};
}

/* ---- sums ---- */

const char *ist_profile_name(const struct ist_profile_names *names, unsigned index)
{
    return index < names->n && names->list[index] != NULL ? names->list[index] : "?";
}

static struct ist_profile_routine *routine_named(struct ist_profile_job *job, const char *name)
{
    for (size_t i = 0; i < job->n_routines; i++)
        if (strcmp(job->routines[i].name, name) == 0) return &job->routines[i];
    struct ist_profile_routine *list = realloc(job->routines, (job->n_routines + 1) * sizeof *list);
    if (list == NULL) return NULL;
    job->routines = list;
    list += job->n_routines++;
    *list = (struct ist_profile_routine){.last_pe = -1};
    snprintf(list->name, sizeof list->name, "%s", name);
    return list;
}

uint64_t ist_profile_bytes_between(const struct ist_profile_job *job, int row, int column)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < job->n_ways; i++)
        bytes += ist_profile_bytes_of(&job->ways[i].cells[row * job->n_bins + column].traffic);
    return bytes;
}

static struct ist_profile_way *way_named(struct ist_profile_job *job, const char *name, bool is_direct)
{
    for (size_t i = 0; i < job->n_ways; i++)
        if (job->ways[i].is_direct == is_direct && strcmp(job->ways[i].name, name) == 0) return &job->ways[i];
    struct ist_profile_way *list = realloc(job->ways, (job->n_ways + 1) * sizeof *list);
    if (list == NULL) return NULL;
    job->ways = list;
    list += job->n_ways;
    *list = (struct ist_profile_way){.is_direct = is_direct};
    list->cells = calloc((size_t)job->n_bins * (size_t)job->n_bins, sizeof *list->cells);
    if (list->cells == NULL) return NULL;
    job->n_ways++;
    snprintf(list->name, sizeof list->name, "%s", name);
    return list;
}

static void add_exchange(struct ist_profile_exchange *sum, const struct ist_profile_exchange *one)
{
    struct ist_profile_traffic *to = &sum->traffic;
    const struct ist_profile_traffic *from = &one->traffic;
    to->n_puts += from->n_puts, to->put_bytes += from->put_bytes;
    to->n_gets += from->n_gets, to->got_bytes += from->got_bytes;
    to->n_atomics += from->n_atomics, to->atomic_bytes += from->atomic_bytes;
    to->n_flags += from->n_flags;
    sum->n_calls += one->n_calls, sum->ns += one->ns;
}

static bool add_calls(struct ist_profile_job *job, struct ist_profile_pe *pe, const char *name,
                      const struct ist_profile_calls *calls)
{
    int number = (int)(pe - job->pes);
    struct ist_profile_routine *routine = routine_named(job, name);
    if (routine == NULL) return false;
    routine->calls.n += calls->n;
    routine->calls.bytes += calls->bytes;
    routine->calls.ns += calls->ns;
    routine->calls.waited_ns += calls->waited_ns;
    if (calls->longest_ns > routine->calls.longest_ns) routine->calls.longest_ns = calls->longest_ns;
    routine->n_pes += routine->last_pe != number;
    routine->last_pe = number;
    pe->n_calls += calls->n;
    pe->in_library_ns += calls->ns;
    pe->waited_ns += calls->waited_ns;
    return true;
}

static void consider(struct ist_profile_pair top[IST_PROFILE_TOP], struct ist_profile_pair pair)
{
    for (int i = 0; i < IST_PROFILE_TOP; i++) {
        if (pair.bytes <= top[i].bytes) continue;
        struct ist_profile_pair less = top[i];
        top[i] = pair;
        pair = less;
    }
}

/* ---- the links of one part ---- */

struct link {
    int peer;
    const char *transport;
    bool is_direct;
    struct ist_profile_exchange moved;
};

static int by_peer(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
    if (x->is_direct != y->is_direct) return x->is_direct ? -1 : 1;
    return strcmp(x->transport, y->transport);
}

/* Several threads have records of one link, and each of its calls: adds them up. Returns how many links are left. */
static size_t merge(struct link *links, size_t n)
{
    size_t n_left = 0;
    qsort(links, n, sizeof *links, by_peer);
    for (size_t i = 0; i < n; i++) {
        if (n_left > 0 && by_peer(&links[n_left - 1], &links[i]) == 0)
            add_exchange(&links[n_left - 1].moved, &links[i].moved);
        else
            links[n_left++] = links[i];
    }
    return n_left;
}

static bool add_links(struct ist_profile_job *job, struct ist_profile_pe *pe, struct link *links, size_t n)
{
    int number = (int)(pe - job->pes);
    struct ist_profile_pair pair = {number, -1, 0};
    for (size_t i = 0; i < n; i++) {
        struct ist_profile_way *way = way_named(job, links[i].transport, links[i].is_direct);
        if (way == NULL) return false;
        uint64_t bytes = ist_profile_bytes_of(&links[i].moved.traffic);
        add_exchange(&way->all, &links[i].moved);
        pe->bytes += bytes;
        int row = number / job->pes_per_bin, column = links[i].peer / job->pes_per_bin;
        add_exchange(&way->cells[row * job->n_bins + column], &links[i].moved);
        pair = (struct ist_profile_pair){number, links[i].peer, (links[i].peer == pair.peer ? pair.bytes : 0) + bytes};
        bool is_last = i + 1 == n || links[i + 1].peer != pair.peer;
        if (is_last && pair.peer != number) consider(job->top, pair);
    }
    return true;
}

/* ---- a part ---- */

bool ist_profile_is_part(const struct ist_profile_record *part, size_t n)
{
    return n > 0 && part->kind == IST_PROFILE_HEAD && part->head.layout == IST_PROFILE_LAYOUT;
}

/* What a part calls its routines and transports. */
struct naming {
    struct ist_profile_names routines, transports;
};

/* Sets names[index]. Returns false without memory. */
static bool name(struct ist_profile_names *names, unsigned index, const char *text)
{
    if (index >= names->n) {
        size_t n = 2 * (size_t)index + 16;
        const char **list = realloc(names->list, n * sizeof *list);
        if (list == NULL) return false;
        memset(list + names->n, 0, (n - names->n) * sizeof *list);
        *names = (struct ist_profile_names){list, n};
    }
    names->list[index] = text;
    return true;
}

/* First of all: a name's record may follow those that refer to it. */
static bool read_names(struct ist_profile_pe *pe, struct naming *out, const struct ist_profile_record *part, size_t n)
{
    bool has_memory = true;
    for (size_t i = 0; i < n && has_memory; i++) {
        const struct ist_profile_record *r = &part[i];
        if (r->kind == IST_PROFILE_NAME) has_memory = name(&out->routines, r->index, r->text);
        if (r->kind == IST_PROFILE_TRANSPORT) has_memory = name(&out->transports, r->index, r->text);
        if (r->kind == IST_PROFILE_HOST) memcpy(pe->host, r->text, sizeof pe->host);
    }
    return has_memory;
}

static bool add_records(struct ist_profile_job *job, const struct naming *names, const struct ist_profile_record *part,
                        size_t n)
{
    struct ist_profile_pe *pe = &job->pes[part->pe];
    struct link *links = malloc(n * sizeof *links);
    size_t n_links = 0;
    bool is_added = links != NULL;
    for (size_t i = 0; i < n && is_added; i++) {
        const struct ist_profile_record *r = &part[i];
        if (r->kind == IST_PROFILE_ROUTINE && r->pe >= pe->n_threads) pe->n_threads = r->pe + 1;
        if (r->kind == IST_PROFILE_ROUTINE)
            is_added = add_calls(job, pe, ist_profile_name(&names->routines, r->index), &r->calls);
        if (r->pe < 0 || r->pe >= job->n_pes || (r->kind != IST_PROFILE_LINK && r->kind != IST_PROFILE_LINK_CALLS))
            continue;
        struct link *link = &links[n_links++];
        *link = (struct link){r->pe, ist_profile_name(&names->transports, r->index), r->is_direct, {.n_calls = 0}};
        if (r->kind == IST_PROFILE_LINK)
            link->moved.traffic = r->traffic;
        else
            link->moved.n_calls = r->calls.n, link->moved.ns = r->calls.ns;
    }
    if (is_added) is_added = add_links(job, pe, links, merge(links, n_links));
    free(links);
    return is_added;
}

isthmus_status ist_profile_job_add(struct ist_profile_job *job, const struct ist_profile_record *part, size_t n)
{
    struct naming names = {{NULL, 0}, {NULL, 0}};
    if (!ist_profile_is_part(part, n) || part->pe < 0 || part->pe >= job->n_pes)
        return ist_fail(ISTHMUS_ERR_INVALID, "a part of the profile is damaged");
    struct ist_profile_pe *pe = &job->pes[part->pe];
    pe->wall_ns = part->head.wall_ns;
    job->n_unkept += part->head.n_unkept;
    job->n_events_left_out += part->head.n_events_left_out;
    if (job->n_added++ == 0) job->zero_ns = part->head.realtime_ns;
    bool is_added = read_names(pe, &names, part, n) && add_records(job, &names, part, n);
    if (is_added && job->is_trace) ist_profile_trace_add(job, part, n, &names.routines);
    keep_error(job);
    free(names.routines.list);
    free(names.transports.list);
    return is_added ? ISTHMUS_OK : ist_fail_memory("the profile of PE %d", part->pe);
}
