/* core/profile/trace.c: the calls as a trace, in the JSON format that Perfetto and Chrome read: a process for each PE,
 * a track for each thread, a slice for each call. Times are in microseconds since the start of PE 0, by the hosts'
 * clocks. */
#include "core/profile/job.h"

#include <inttypes.h>

void ist_profile_trace_begin(struct ist_profile_job *job) { fputs("{\"traceEvents\":[", job->out); }

static const char *comma(const struct ist_profile_job *job) { return job->n_added > 1 || job->n_events > 0 ? "," : ""; }

/* Names of hosts are the system's, and may hold anything. */
static void write_process(struct ist_profile_job *job, int pe)
{
    char name[IST_PROFILE_TEXT_BYTES + 32];
    snprintf(name, sizeof name, "PE %d on %s", pe, job->pes[pe].host);
    fprintf(job->out, "%s\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":", comma(job), pe);
    struct ist_json args = {.out = job->out};
    ist_json_begin_object(&args, NULL);
    ist_json_string(&args, "name", name);
    ist_json_end_object(&args);
    fprintf(job->out,
            "},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"tid\":0,\"args\":{\"sort_index\":%d}}", pe,
            pe);
}

static void write_event(struct ist_profile_job *job, const struct ist_profile_record *record, int pe, uint64_t start_ns,
                        const char *routine)
{
    const struct ist_profile_event *event = &record->event;
    int64_t at_ns = (int64_t)(start_ns + event->begin_ns - job->zero_ns);
    fprintf(job->out,
            ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32 ",\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
            routine, pe, event->thread, (double)at_ns / 1000, (double)event->ns / 1000);
    if (record->pe >= 0) fprintf(job->out, "\"peer\":%d,", record->pe);
    fprintf(job->out, "\"bytes\":%" PRIu64 ",\"waited_us\":%.3f}}", event->bytes, (double)event->waited_ns / 1000);
}

void ist_profile_trace_add(struct ist_profile_job *job, const struct ist_profile_record *part, size_t n,
                           const struct ist_profile_names *names)
{
    int pe = part->pe;
    write_process(job, pe);
    for (size_t i = 0; i < n; i++) {
        if (part[i].kind != IST_PROFILE_EVENT) continue;
        write_event(job, &part[i], pe, part->head.realtime_ns, ist_profile_name(names, part[i].index));
        job->n_events++;
    }
}

void ist_profile_trace_end(struct ist_profile_job *job)
{
    fprintf(job->out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"calls_left_out\":%" PRIu64 "}}\n",
            job->n_events_left_out);
}
