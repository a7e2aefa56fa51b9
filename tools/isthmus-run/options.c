/* The command line of isthmus-run: a table of options and the loop that reads argv with it.
 * Not getopt: `-np` is no cluster of `-n` and `-p` here, and every complaint should name what would be right.
 * Read on in main.c. */
#include "options_mpirun.h"

#include <pmix_version.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ISTHMUS_VERSION
#define ISTHMUS_VERSION "unknown"
#endif

static const char usage[] =
    "usage: isthmus-run -n N [options] [--] PROGRAM [ARGS...]\n"
    "Starts N PEs of PROGRAM on this machine and waits for them.\n"
    "\n"
    "  -n, -np N          number of PEs, 1 to 4096\n"
    "  -x VAR[=VALUE]     set VAR for the PEs, or warn if it is not set (the PEs inherit the environment)\n"
    "  --tag-output       put [PE i] before each line that a PE writes\n"
    "  --bind core|none   core: PE i runs on the i-th core only, when there are enough cores (default: none)\n"
    "  --profile[=FILE]   record what the PEs call and move: set ISTHMUS_PROFILE to FILE (default: profile.json);\n"
    "                     --profile=trace:FILE writes each call, for ui.perfetto.dev\n"
    "  --timeout S        end the job after S seconds, with status 124, and print what each PE waits for\n"
    "  -h, --help         this text\n"
    "  -V, --version      version of isthmus-run and of its PMIx library\n"
    "\n"
    "Scripts that call mpirun may pass --bind-to, --oversubscribe, --allow-run-as-root, --host with names of this\n"
    "host, -N and --map-by as well; those that change nothing on one host are logged with ISTHMUS_LOG=info.\n"
    "PE 0 gets the standard input, the others /dev/null. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2, SIGTSTP and\n"
    "SIGCONT are passed on to all PEs; a second SIGINT, SIGTERM, SIGHUP or SIGQUIT kills them. On SIGUSR1 a few lines\n"
    "report what the PEs wait for (the odd ones first), and PEs that have a handler for it get it as well.\n"
    "When a PE fails, the others are ended. The status is that of the first PE that failed (128 + signal\n"
    "when it was killed), 2 for wrong usage, 126 and 127 for a PROGRAM that cannot be started.\n";

enum launch_status options_read_count(int *n_pes, const char *name, const char *value)
{
    char *end;
    errno = 0;
    long n = strtol(value, &end, 10);
    if (end == value || *end || errno || n < 1 || n > LAUNCH_MAX_PES) {
        report("%s is '%s'; valid: a number of PEs from 1 to %d", name, value, LAUNCH_MAX_PES);
        return LAUNCH_USAGE;
    }
    *n_pes = (int)n;
    return LAUNCH_OK;
}

static enum launch_status read_n_pes(struct options *options, const char *name, const char *value)
{
    return options_read_count(&options->n_pes, name, value);
}

static enum launch_status read_export(struct options *options, const char *name, const char *value)
{
    if (value[0] == '=' || value[0] == '\0') {
        report("%s is '%s'; valid: VAR or VAR=VALUE", name, value);
        return LAUNCH_USAGE;
    }
    options->exports[options->n_exports++] = value;
    return LAUNCH_OK;
}

static enum launch_status read_bind(struct options *options, const char *name, const char *value)
{
    options->bind_core = strcmp(value, "core") == 0;
    if (options->bind_core || strcmp(value, "none") == 0) return LAUNCH_OK;
    report("%s is '%s'; valid: core, none", name, value);
    return LAUNCH_USAGE;
}

static enum launch_status read_timeout(struct options *options, const char *name, const char *value)
{
    const double longest_s = 1e9; /* thirty years; its nanoseconds fit */
    char *end;
    double seconds = strtod(value, &end);
    if (end == value || *end || !(seconds > 0) || seconds > longest_s) {
        report("%s is '%s'; valid: a number of seconds above 0", name, value);
        return LAUNCH_USAGE;
    }
    options->timeout_ns = (int64_t)(seconds * 1e9);
    return LAUNCH_OK;
}

static enum launch_status read_tag_output(struct options *options, const char *name, const char *value)
{
    (void)name, (void)value;
    options->tag_output = true;
    return LAUNCH_OK;
}

static enum launch_status read_profile(struct options *options, const char *name, const char *value)
{
    options->profile = value != NULL ? value : "profile.json";
    if (*options->profile != 0) return LAUNCH_OK;
    report("%s is '%s'; valid: a file, or trace: and a file", name, value);
    return LAUNCH_USAGE;
}

static enum launch_status print_help(struct options *options, const char *name, const char *value)
{
    (void)name, (void)value;
    options->finished = true;
    return fputs(usage, stdout) < 0 || fflush(stdout) ? LAUNCH_FAILED : LAUNCH_OK;
}

static enum launch_status print_version(struct options *options, const char *name, const char *value)
{
    (void)name, (void)value;
    options->finished = true;
    printf("isthmus-run %s (PMIx %ld.%ld.%ld)\n", ISTHMUS_VERSION, (long)PMIX_VERSION_MAJOR, (long)PMIX_VERSION_MINOR,
           (long)PMIX_VERSION_RELEASE);
    return fflush(stdout) ? LAUNCH_FAILED : LAUNCH_OK;
}

static const struct option table[] = {
    {"-n", "N", read_n_pes},
    {"-np", "N", read_n_pes},
    {"--np", "N", read_n_pes},
    {"-x", "VAR[=VALUE]", read_export},
    {"--tag-output", NULL, read_tag_output},
    {"--bind", "core|none", read_bind},
    {"--bind-to", "core|none", read_bind},
    {"--profile", "[=FILE]", read_profile},
    {"--timeout", "S", read_timeout},
    {"-h", NULL, print_help},
    {"--help", NULL, print_help},
    {"-V", NULL, print_version},
    {"--version", NULL, print_version},
    {NULL, NULL, NULL},
};

/* As mpirun, it takes one - for two before a long name. */
static bool is_name(const char *name, const char *argument, size_t length)
{
    bool is_short_of_long = name[1] == '-' && argument[1] != '-';
    name += is_short_of_long;
    return strlen(name) == length && strncmp(name, argument, length) == 0;
}

/* Finds the row for `--name`, `--name=value` or `-n`; *value points behind the '=' or is NULL. */
static const struct option *find_option(const char *argument, const char **value)
{
    const char *equals = strncmp(argument, "--", 2) == 0 ? strchr(argument, '=') : NULL;
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    *value = equals ? equals + 1 : NULL;
    for (const struct option *row = table; row->name; row++)
        if (is_name(row->name, argument, length)) return row;
    for (const struct option *row = options_mpirun; row->name; row++)
        if (is_name(row->name, argument, length)) return row;
    return NULL;
}

/* Reads the option at argv[*at] and moves *at behind it. */
static enum launch_status read_option(struct options *options, char **argv, int *at)
{
    const char *value;
    const struct option *option = find_option(argv[*at], &value);
    if (!option) {
        report("unknown option '%s'; isthmus-run --help lists them", argv[*at]);
        return LAUNCH_USAGE;
    }
    if (!option->value_name && value) {
        report("%s takes no value, but '%s' was given; leave it out", option->name, value);
        return LAUNCH_USAGE;
    }
    bool needs_value = option->value_name && option->value_name[0] != '[';
    if (needs_value && !value) value = argv[++*at];
    if (needs_value && !value) {
        report("%s needs a value: %s %s", option->name, option->name, option->value_name);
        return LAUNCH_USAGE;
    }
    ++*at;
    return option->read(options, option->name, value);
}

enum launch_status options_parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){.exports = zeroed_memory((size_t)argc, sizeof *options->exports)};
    int at = 1;
    while (at < argc && argv[at][0] == '-' && argv[at][1]) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        enum launch_status status = read_option(options, argv, &at);
        if (status != LAUNCH_OK || options->finished) return status;
    }
    enum launch_status status = options_check_per_host(options);
    if (status != LAUNCH_OK) return status;
    if (options->n_pes == 0) {
        report("the number of PEs is missing; usage: isthmus-run -n N PROGRAM ARGS...");
        return LAUNCH_USAGE;
    }
    if (at >= argc || !argv[at][0]) {
        report("the program is missing; usage: isthmus-run -n N PROGRAM ARGS...");
        return LAUNCH_USAGE;
    }
    options->program = argv + at;
    return LAUNCH_OK;
}

void options_fini(struct options *options) { free(options->exports); }
