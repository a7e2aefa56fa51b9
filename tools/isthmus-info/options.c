/* tools/isthmus-info/options.c: see options.h. The table, of switches, is also the help text; --profile has a value. */
#include "tools/isthmus-info/options.h"

#include "core/base/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct option {
    const char *name;
    size_t offset_bytes;
    const char *help;
} options[] = {
    {"--routes", offsetof(struct options, routes), "which transport carries what between PEs, and why not others;"},
    {"--doctor", offsetof(struct options, doctor),
     "what this host lacks for which transport, and the remedy; with\n"
     "                  --routes: whether the hosts of the job agree"},
    {"--env", offsetof(struct options, env), "all environment variables, their values and what set them"},
    {"--env-markdown", offsetof(struct options, env_markdown), "the reference page of the environment variables"},
    {"--topology", offsetof(struct options, topology), "processors, memory and devices of this host"},
    {"--json", offsetof(struct options, json), "print JSON; combines with the others"},
    {"--help", offsetof(struct options, help), "print this"},
    {"--version", offsetof(struct options, version), "print the version"},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static const struct option *find(const char *text)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (strcmp(text, options[i].name) == 0) return &options[i];
    return strcmp(text, "-h") == 0 ? find("--help") : NULL;
}

static void say_unknown(const char *text)
{
    const char *names[N_OPTIONS];
    for (size_t i = 0; i < N_OPTIONS; i++) names[i] = options[i].name;
    const char *nearest = ist_names_nearest(text, names, N_OPTIONS);
    if (nearest != NULL)
        fprintf(stderr, "isthmus-info: unknown option %s; did you mean %s?\n", text, nearest);
    else
        fprintf(stderr, "isthmus-info: unknown %s '%s'; isthmus-info --help lists the options\n",
                text[0] == '-' ? "option" : "argument", text);
}

bool options_parse(int argc, char **argv, struct options *out)
{
    *out = (struct options){.help = false};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--profile") == 0) {
            if (argv[i + 1] == NULL) {
                fprintf(stderr, "isthmus-info: --profile needs a value: --profile FILE\n");
                return false;
            }
            out->profile = argv[++i];
            continue;
        }
        const struct option *option = find(argv[i]);
        if (option == NULL) {
            say_unknown(argv[i]);
            return false;
        }
        *(bool *)(void *)((char *)out + option->offset_bytes) = true;
    }
    if (out->env_markdown && (out->routes || out->doctor || out->env || out->topology || out->json)) {
        fprintf(stderr, "isthmus-info: --env-markdown cannot be combined with other options; leave them out\n");
        return false;
    }
    return true;
}

void options_print_help(void)
{
    printf("Usage: isthmus-info [OPTION]...\n"
           "What this Isthmus is, which transports it finds, and why it uses them or not.\n\n");
    for (size_t i = 0; i < N_OPTIONS; i++) {
        printf("  %-15s %s\n", options[i].name, options[i].help);
        if (i == 0) printf("  %-15s run it as a job: isthmus-run -n 4 isthmus-info --routes\n", "");
    }
    printf("  --profile FILE  write the report of ISTHMUS_PROFILE=FILE from the parts of a job that died\n");
    printf("\nWithout an option: one screen with version, host, transports and settings.\n"
           "Status: 0; 1 if something could not be determined, or --doctor found a failure;\n"
           "2 for a wrong option.\n");
}
