/* tools/isthmus-check-transport/options.c: see options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PATIENCE_S = 60, LONGEST_PATIENCE_S = 3600, LONGEST_SOAK_S = 7 * 24 * 3600 };

static const char usage[] =
    "usage: isthmus-check-transport PLUGIN.so [options]\n"
    "Does this transport plugin keep the contract of isthmus/transport.h? Starts its own PEs;\n"
    "with a launcher, such as mpirun -n 2, on the hosts of the job.\n"
    "\n"
    "  --pes N        PEs of the cases that take any number, up to 8 (default: 2 to 4, by case)\n"
    "  --case NAME    this case only; may be given several times\n"
    "  --timeout S    how long a PE may be silent before it counts as hanging (default: 60)\n"
    "  --soak S       repeat the cases with other random numbers for S seconds, or until one fails\n"
    "  --json         one JSON document instead of text\n"
    "  --list         print the cases, and what each needs\n"
    "  -h, --help     this text\n"
    "  -V, --version  versions of this program and of the transport ABI\n"
    "\n"
    "Status: 0 no finding, 1 findings, 2 wrong usage, 77 no case could run on this machine.\n"
    "ISTHMUS_TEST_SEED=N repeats a run that printed this seed. The plugin gets its own variables, "
    "ISTHMUS_<NAME>_<KEY>.\n";

static enum options_result wrong(const char *what, const char *value, const char *valid)
{
    fprintf(stderr, "isthmus-check-transport: %s is '%s'; valid: %s\n", what, value, valid);
    return OPTIONS_WRONG;
}

/* 0: not a number from 1 to `most`. */
static int read_count(const char *text, int most)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && n >= 1 && n <= most ? (int)n : 0;
}

static enum options_result want_case(struct options *out, const char *name)
{
    for (size_t i = 0; i < ct_n_cases; i++) {
        if (strcmp(ct_cases[i].name, name) != 0) continue;
        out->is_wanted[i] = true;
        out->has_named_cases = true;
        return OPTIONS_OK;
    }
    return wrong("--case", name, "a name printed by --list");
}

static enum options_result take_plugin(struct options *out, int n, char **names)
{
    if (out->wants_list && n == 0) return OPTIONS_OK;
    if (n != 1) {
        fprintf(stderr, "isthmus-check-transport: %d plugins are named; valid: one; --help prints the usage\n", n);
        return OPTIONS_WRONG;
    }
    out->plugin = realpath(names[0], NULL);
    if (out->plugin != NULL) return OPTIONS_OK;
    fprintf(stderr, "isthmus-check-transport: cannot open the plugin %s: %s\n", names[0], strerror(errno));
    return OPTIONS_WRONG;
}

static enum options_result take(struct options *out, int option, const char *value)
{
    switch (option) {
    case 'p':
        out->n_pes = read_count(value, CT_MAX_PROCESSES);
        return out->n_pes > 0 ? OPTIONS_OK : wrong("--pes", value, "1 to 8");
    case 't':
        out->patience_s = read_count(value, LONGEST_PATIENCE_S);
        return out->patience_s > 0 ? OPTIONS_OK : wrong("--timeout", value, "1 to 3600 seconds");
    case 's':
        out->soak_s = read_count(value, LONGEST_SOAK_S);
        return out->soak_s > 0 ? OPTIONS_OK : wrong("--soak", value, "1 to 604800 seconds");
    case 'c': return want_case(out, value);
    case 'j': out->wants_json = true; return OPTIONS_OK;
    case 'l': out->wants_list = true; return OPTIONS_OK;
    case 'h': fputs(usage, stdout); return OPTIONS_ANSWERED;
    case 'V':
        printf("isthmus-check-transport %s (transport ABI %d.%d)\n", ISTHMUS_VERSION, ISTHMUS_ABI_MAJOR,
               ISTHMUS_ABI_MINOR);
        return OPTIONS_ANSWERED;
    default: return OPTIONS_WRONG; /* getopt has printed the reason */
    }
}

enum options_result options_parse(int argc, char **argv, struct options *out)
{
    static const struct option known[] = {
        {"pes", required_argument, NULL, 'p'},
        {"case", required_argument, NULL, 'c'},
        {"timeout", required_argument, NULL, 't'},
        {"soak", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    *out = (struct options){.patience_s = DEFAULT_PATIENCE_S};
    for (int option; (option = getopt_long(argc, argv, "hV", known, NULL)) != -1;) {
        enum options_result result = take(out, option, optarg);
        if (result != OPTIONS_OK) return result;
    }
    return take_plugin(out, argc - optind, argv + optind);
}

void options_fini(struct options *options) { free(options->plugin); }
