/* tests/contract/contract_main.c: contract PLUGIN.so [CASE...]: does a transport plugin keep the contract of
 * isthmus/transport.h? Runs all cases, or those named; --list names them.
 * Exit status: 0 all passed, 1 some failed, 77 nothing could run here, 2 wrong usage. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static int list_cases(void)
{
    for (size_t i = 0; i < ct_n_cases; i++) printf("%-22s %s\n", ct_cases[i].name, ct_cases[i].shows);
    return 0;
}

static const struct ct_case *find_case(const char *name)
{
    for (size_t i = 0; i < ct_n_cases; i++)
        if (strcmp(ct_cases[i].name, name) == 0) return &ct_cases[i];
    fprintf(stderr, "contract: there is no case '%s'; contract --list names them\n", name);
    return NULL;
}

struct tally {
    int passed, failed, skipped;
};

static void run(const struct ct_case *c, const char *plugin, struct tally *tally)
{
    int status = ct_run_case(c, plugin);
    printf("%-7s %-22s %s\n", status == 0 ? "ok" : status == CT_SKIPPED ? "skipped" : "FAILED", c->name, c->shows);
    fflush(stdout);
    int *count = status == 0 ? &tally->passed : status == CT_SKIPPED ? &tally->skipped : &tally->failed;
    ++*count;
}

int main(int argc, char **argv)
{
    struct tally tally = {0, 0, 0};
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return list_cases();
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: contract PLUGIN.so [CASE...], or contract --list\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        const struct ct_case *c = find_case(argv[i]);
        if (c == NULL) return 2;
        run(c, argv[1], &tally);
    }
    for (size_t i = 0; argc == 2 && i < ct_n_cases; i++) run(&ct_cases[i], argv[1], &tally);
    printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
    return tally.failed > 0 ? 1 : tally.passed > 0 ? 0 : CT_SKIPPED;
}
