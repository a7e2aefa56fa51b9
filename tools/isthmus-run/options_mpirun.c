/* The options of mpirun: those that mean something on one host are read; those that change nothing there are accepted,
 * with a line in the log; those that need what isthmus-run has not are refused, with the remedy.
 * Read on in options.c, which looks here for what its own table does not have. */
#include "options_mpirun.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 64 /* the limit of Linux */
#endif

/* The launcher has no log of its own: a level of the library's that has such lines shows this one too. */
static void log_no_effect(const char *name, const char *value)
{
    static const char *const levels[] = {"info", "debug", "trace"};
    const char *level = getenv("ISTHMUS_LOG");
    bool is_shown = false;
    for (size_t i = 0; level != NULL && i < sizeof levels / sizeof *levels; i++)
        is_shown = is_shown || strcmp(level, levels[i]) == 0;
    if (!is_shown) return;
    report("%s%s%s changes nothing on one host", name, value != NULL ? " " : "", value != NULL ? value : "");
}

static enum launch_status read_no_effect(struct options *options, const char *name, const char *value)
{
    (void)options;
    log_no_effect(name, value);
    return LAUNCH_OK;
}

static enum launch_status read_per_host(struct options *options, const char *name, const char *value)
{
    return options_read_count(&options->n_pes_per_host, name, value);
}

/* Compares host names; a short one names each full one that begins with it. */
static bool is_same_host(const char *a, size_t a_length, const char *b)
{
    size_t length = strlen(b);
    size_t common = a_length < length ? a_length : length;
    if (strncasecmp(a, b, common) != 0) return false;
    return (a_length == common || a[common] == '.') && (length == common || b[common] == '.');
}

/* Of HOST[:SLOTS],... each has to be this host. The slots limit nothing here. */
static enum launch_status read_host(struct options *options, const char *name, const char *value)
{
    char here[HOST_NAME_MAX + 1] = "";
    if (gethostname(here, sizeof here - 1) != 0) here[0] = '\0';
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ":,");
        if (length == 0 || (!is_same_host(at, length, "localhost") && !is_same_host(at, length, "127.0.0.1") &&
                            !is_same_host(at, length, here))) {
            report(
                "%s names '%.*s', which is not this host, '%s'; isthmus-run starts PEs on this host only: for others "
                "there are mpirun and srun",
                name, (int)length, at, here);
            return LAUNCH_USAGE;
        }
        at += strcspn(at, ",");
        if (*at == '\0') break;
    }
    return read_no_effect(options, name, value);
}

static bool is_one_of(const char *const *list, const char *text, size_t length)
{
    for (; *list != NULL; list++)
        if (strlen(*list) == length && strncasecmp(*list, text, length) == 0) return true;
    return false;
}

/* Where PEs lie is left to the kernel, unless --bind is given: a mapping without a binding changes nothing. */
static enum launch_status read_map_by(struct options *options, const char *name, const char *value)
{
    static const char *const places[] = {"slot",    "node",    "core",    "hwthread", "socket", "package",
                                         "l1cache", "l2cache", "l3cache", "numa",     NULL};
    static const char *const modifiers[] = {"oversubscribe", "span", NULL};
    if (strncasecmp(value, "ppr:", 4) == 0) {
        const char *place = strchr(value + 4, ':');
        char number[16];
        size_t length = place != NULL ? (size_t)(place - value - 4) : 0;
        if (length > 0 && length < sizeof number && strcasecmp(place, ":node") == 0) {
            memcpy(number, value + 4, length);
            number[length] = '\0';
            return read_per_host(options, name, number);
        }
    }
    size_t length = strcspn(value, ":");
    bool is_known = is_one_of(places, value, length);
    for (const char *at = value + length; *at == ':' && is_known; at += length) {
        length = strcspn(++at, ":");
        is_known = is_one_of(modifiers, at, length);
    }
    if (is_known) return read_no_effect(options, name, value);
    report("%s is '%s'; valid: node, slot, core, hwthread, numa, package, socket, l1cache, l2cache, l3cache, and "
           ":OVERSUBSCRIBE or :SPAN behind it; ppr:N:node",
           name, value);
    return LAUNCH_USAGE;
}

static enum launch_status refuse_hosts(struct options *options, const char *name, const char *value)
{
    (void)options;
    report("%s is '%s'; isthmus-run starts PEs on this host only: for others there are mpirun and srun", name, value);
    return LAUNCH_USAGE;
}

static enum launch_status refuse_mca(struct options *options, const char *name, const char *value)
{
    (void)options;
    report("%s is an option for Open MPI, which isthmus-run does not use; for a program that does, "
           "-x OMPI_MCA_%s=VALUE",
           name, value);
    return LAUNCH_USAGE;
}

const struct option options_mpirun[] = {
    {"--allow-run-as-root", NULL, read_no_effect},
    {"--oversubscribe", NULL, read_no_effect},
    {"--host", "HOST,...", read_host},
    {"-H", "HOST,...", read_host},
    {"-N", "N", read_per_host},
    {"--npernode", "N", read_per_host},
    {"--map-by", "PLACE", read_map_by},
    {"--hostfile", "FILE", refuse_hosts},
    {"--machinefile", "FILE", refuse_hosts},
    {"--rankfile", "FILE", refuse_hosts},
    {"--mca", "NAME VALUE", refuse_mca},
    {NULL, NULL, NULL},
};

enum launch_status options_check_per_host(struct options *options)
{
    if (options->n_pes_per_host == 0 || options->n_pes <= options->n_pes_per_host) {
        if (options->n_pes == 0) options->n_pes = options->n_pes_per_host;
        return LAUNCH_OK;
    }
    report(
        "%d PEs, and at most %d on each host, need more hosts than one; isthmus-run starts PEs on this host only: for "
        "others there are mpirun and srun",
        options->n_pes, options->n_pes_per_host);
    return LAUNCH_USAGE;
}
