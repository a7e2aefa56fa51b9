/* tools/isthmus-check-transport/main.c: isthmus-check-transport PLUGIN.so: does a transport plugin keep the contract of
 * isthmus/transport.h? The cases are those that our own transports pass (tests/contract). Read on in contract.h. */
#include "job.h"
#include "options.h"
#include "report.h"

#include <stdio.h>

enum { STATUS_FINDINGS = 1, STATUS_USAGE = 2, STATUS_NOTHING = 77 };

static int list_cases(void)
{
    for (size_t i = 0; i < ct_n_cases; i++)
        printf("%-22s %-16s %s\n", ct_cases[i].name, ct_cases[i].slot, ct_cases[i].rule);
    return 0;
}

/* The first case is the table. Without a table the other cases have nothing to test. */
static int check(const struct job *job, const void *argument)
{
    const struct options *options = argument;
    struct report report;
    const char *cut_short = NULL;
    static struct ct_report result;
    report_begin(&report, options->plugin, options->wants_json);
    for (size_t i = 0; i < ct_n_cases && cut_short == NULL; i++) {
        if (options->has_named_cases && !options->is_wanted[i]) continue;
        ct_run_case(&ct_cases[i], options->plugin, job, options->n_pes, options->patience_s, &result);
        report_case(&report, &ct_cases[i], &result);
        if (i == 0 && result.result == CT_FAILED) cut_short = "the other cases need a table without faults: not run";
        if (i == 0 && result.result == CT_SKIPPED) cut_short = "the plugin cannot run here: no other case was run";
    }
    report_end(&report, cut_short);
    return report.failed > 0 ? STATUS_FINDINGS : report.passed > 0 ? 0 : STATUS_NOTHING;
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
