/* tools/isthmus-check-transport/main.c: isthmus-check-transport PLUGIN.so: does a transport plugin keep the contract of
 * isthmus/transport.h? The cases are those that our own transports pass (tests/contract). Read on in contract.h. */
#include "job.h"
#include "options.h"
#include "report.h"

#include <stdio.h>
#include <time.h>

enum { STATUS_FINDINGS = 1, STATUS_USAGE = 2, STATUS_NOTHING = 77 };

static int list_cases(void)
{
    for (size_t i = 0; i < ct_n_cases; i++)
        printf("%-22s %-16s %s\n", ct_cases[i].name, ct_cases[i].slot, ct_cases[i].rule);
    return 0;
}

struct state {
    const struct options *options;
    const struct job *job;
    struct report report;
    bool is_done[sizeof((struct options *)0)->is_wanted / sizeof(bool)]; /* skipped, or failed: no more of it */
};

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* The first case is the table. Without a table the other cases have nothing to test. */
static const char *first_round(struct state *s)
{
    static struct ct_report result;
    for (size_t i = 0; i < ct_n_cases; i++) {
        s->is_done[i] = s->options->has_named_cases && !s->options->is_wanted[i];
        if (s->is_done[i]) continue;
        ct_run_case(&ct_cases[i], s->options->plugin, s->job, s->options->n_pes, s->options->patience_s, &result);
        report_case(&s->report, &ct_cases[i], &result);
        s->is_done[i] = result.result != CT_PASSED;
        if (i == 0 && result.result == CT_FAILED) return "the other cases need a table without faults: not run";
        if (i == 0 && result.result == CT_SKIPPED) return "the plugin cannot run here: no other case was run";
    }
    return NULL;
}

/* With other random numbers each time. Only what fails is reported: it repeats with that seed, or needs many rounds. */
static void more_rounds(struct state *s)
{
    static struct ct_report result;
    uint64_t seeds = ct_seed();
    time_t end_s = s->report.began_s + s->options->soak_s;
    while (now_s() < end_s && s->report.failed == 0 && s->report.passed > 0) {
        s->report.n_rounds++;
        ct_set_seed(ct_random(&seeds) | 1);
        for (size_t i = 0; i < ct_n_cases && now_s() < end_s && s->report.failed == 0; i++) {
            if (s->is_done[i]) continue;
            ct_run_case(&ct_cases[i], s->options->plugin, s->job, s->options->n_pes, s->options->patience_s, &result);
            if (result.result == CT_FAILED) report_again(&s->report, &ct_cases[i], &result);
        }
    }
}

static int check(const struct job *job, const void *argument)
{
    static struct state s;
    s.options = argument;
    s.job = job;
    report_begin(&s.report, s.options->plugin, s.options->wants_json);
    s.report.began_s = now_s();
    const char *cut_short = first_round(&s);
    if (cut_short == NULL) more_rounds(&s);
    report_end(&s.report, cut_short);
    return s.report.failed > 0 ? STATUS_FINDINGS : s.report.passed > 0 ? 0 : STATUS_NOTHING;
}

int main(int argc, char **argv)
{
    struct options options;
    int status = STATUS_USAGE;
    switch (options_parse(argc, argv, &options)) {
    case OPTIONS_ANSWERED: status = 0; break;
    case OPTIONS_OK: status = options.wants_list ? list_cases() : job_run(check, &options, options.plugin); break;
    case OPTIONS_WRONG: break;
    }
    options_fini(&options);
    return fflush(stdout) != 0 ? STATUS_USAGE : status;
}
