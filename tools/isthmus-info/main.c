/* tools/isthmus-info/main.c: isthmus-info: which sections are wanted, in which form.
 * The sections are print_*.c; the command line is options.c. */
#include "tools/isthmus-info/doctor.h"
#include "tools/isthmus-info/info.h"
#include "tools/isthmus-info/options.h"
#include "tools/isthmus-info/routes.h"

#include "core/base/log.h"
#include "core/profile/job.h"
#include "core/runtime.h"
#include "core/transport/registry.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_USAGE = 2 };

struct report {
    struct options options;
    struct ist_config own_config;
    const struct ist_config *config; /* this process's own, or the running library's for --routes */
    struct routes routes;
    bool is_screen; /* no section was named: the summary */
    bool failed;
};

static void fail(struct report *report)
{
    fprintf(stderr, "isthmus-info: %s\n", ist_fail_text());
    report->failed = true;
}

/* Settings and plugins without the library: a bad setting is reported, and the report goes on with its default. */
static void look_around(struct report *report)
{
    struct ist_config *config = &report->own_config;
    if (ist_config_init(config, IST_FACE_SHMEM) != ISTHMUS_OK) fail(report);
    bool quiet = config->log_level == ISTHMUS_LOG_WARN; /* refused plugins are in the report */
    ist_log_open(quiet ? ISTHMUS_LOG_ERROR : (uint32_t)config->log_level, config->log_file);
    if (plugins_load(config) != ISTHMUS_OK) report->failed = true; /* the section reports why */
    report->config = config;
}

static void warn_unknown_variables(const struct ist_config *config)
{
    const char *prefixes[IST_MAX_TRANSPORTS];
    for (uint32_t i = 0; i < ist_registry.n; i++) prefixes[i] = ist_registry.list[i].name;
    if (ist_log_threshold < ISTHMUS_LOG_WARN) ist_log_threshold = ISTHMUS_LOG_WARN;
    ist_config_warn_unknown(config, prefixes, ist_registry.n);
}

static void look_away(struct report *report)
{
    fflush(stdout);
    warn_unknown_variables(&report->own_config);
    plugins_unload();
    ist_log_close();
    ist_config_fini(&report->own_config);
}

static void print_screen(struct report *report)
{
    build_text();
    putchar('\n');
    host_text();
    heap_text(report->config);
    putchar('\n');
    plugins_text();
    printf("\nSettings (isthmus-info --env lists all, and where they are from)\n");
    ist_config_print_set(stdout, report->config);
}

static void print_text(struct report *report)
{
    const struct options *options = &report->options;
    bool first = true;
    if (report->is_screen) print_screen(report);
    if (options->routes) {
        routes_text(&report->routes);
        first = false;
    }
    if (options->doctor) {
        if (!first) putchar('\n');
        first = false;
        doctor_text();
    }
    if (options->topology) {
        if (!first) putchar('\n');
        first = false;
        if (topology_text() != ISTHMUS_OK) fail(report);
    }
    if (options->env) {
        if (!first) putchar('\n');
        ist_config_print_files(stdout, report->config);
        ist_config_print_table(stdout, report->config);
    }
}

static void print_json(struct report *report)
{
    const struct options *options = &report->options;
    struct ist_json json = {.out = stdout};
    ist_json_begin_object(&json, NULL);
    build_json(&json);
    if (report->is_screen) {
        host_json(&json);
        heap_json(&json, report->config);
        plugins_json(&json);
    }
    if (options->routes) routes_json(&json, &report->routes);
    if (options->doctor) doctor_json(&json);
    if (options->topology && topology_json(&json) != ISTHMUS_OK) fail(report);
    if (options->env || report->is_screen) ist_config_print_json(&json, "environment", report->config);
    ist_json_end_object(&json);
}

static void print(struct report *report)
{
    if (report->options.json)
        print_json(report);
    else
        print_text(report);
    fflush(stdout);
}

static void examine(struct report *report)
{
    doctor_host(report->config);
    doctor_network();
    doctor_devices();
}

/* As one PE of a job, of which PE 0 prints. */
static void report_with_routes(struct report *report)
{
    const bool with_doctor = report->options.doctor;
    report->failed = routes_start(&report->routes) != ISTHMUS_OK;
    if (report->failed) return;
    report->config = &ist_runtime.config;
    if (with_doctor) {
        examine(report);
        doctor_publish();
    }
    bool is_gathered = routes_gather(with_doctor, &report->routes) == ISTHMUS_OK;
    if (with_doctor && is_gathered && report->routes.pe == 0) doctor_compare_hosts(&report->routes);
    report->failed = !is_gathered || (with_doctor && !doctor_is_well());
    if (is_gathered && report->routes.pe == 0) print(report);
    routes_end(&report->routes);
}

static void report_alone(struct report *report)
{
    look_around(report);
    if (report->options.doctor) {
        examine(report);
        report->failed |= !doctor_is_well();
    }
    print(report);
    look_away(report);
}

static int finish(bool failed)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("isthmus-info: stdout");
        return EXIT_FAILURE;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool report_profile(const char *file)
{
    if (ist_profile_report_parts(file) == ISTHMUS_OK) return true;
    fprintf(stderr, "isthmus-info: no report is written: %s\n", ist_fail_text());
    return false;
}

int main(int argc, char **argv)
{
    static struct report report;
    struct options *options = &report.options;
    if (!options_parse(argc, argv, options)) return EXIT_USAGE;
    if (options->help)
        options_print_help();
    else if (options->version)
        printf("isthmus-info %s\n", ISTHMUS_VERSION);
    else if (options->env_markdown)
        ist_config_print_markdown(stdout);
    if (options->help || options->version || options->env_markdown) return finish(false);
    if (options->profile != NULL) return finish(!report_profile(options->profile));

    report.is_screen = !options->routes && !options->doctor && !options->env && !options->topology;
    if (options->routes)
        report_with_routes(&report);
    else
        report_alone(&report);
    return finish(report.failed);
}
