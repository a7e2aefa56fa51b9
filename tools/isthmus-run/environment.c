/* Builds the PEs' environment from the launcher's, and cleans the launcher's own for the PMIx server.
 * Not a parser of -x: options.c has checked its form.
 * Read on in server.c for the variables of one PE. */
#include "environment.h"
#include "explain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

extern char **environ;

enum { SECRET_BYTES = 16 };

static size_t name_length(const char *variable) { return strcspn(variable, "="); }

/* A launcher that was itself started by a launcher has PMIX_ variables that identify itself. Passed on, they would send
 * the PEs to the wrong server; PMIX_MCA_ ones are the user's settings of the library and stay. */
static bool is_outer_launchers(const char *variable)
{
    return strncmp(variable, "PMIX_", 5) == 0 && strncmp(variable, "PMIX_MCA_", 9) != 0;
}

/* Puts `variable` (NAME=VALUE, allocated, now owned) in place of one with the same name or at the end.
 * `variables` has room for one more. */
static void set(char **variables, char *variable)
{
    size_t length = name_length(variable), i = 0;
    while (variables[i] && !(name_length(variables[i]) == length && strncmp(variables[i], variable, length) == 0)) i++;
    free(variables[i]);
    variables[i] = variable;
}

static char *copy(const char *variable)
{
    char *own = strdup(variable);
    if (!own) report_and_exit("no memory for the environment of the PEs");
    return own;
}

static char *setting(const char *name, const char *value)
{
    size_t bytes = strlen(name) + 1 + strlen(value) + 1;
    char *variable = zeroed_memory(1, bytes);
    snprintf(variable, bytes, "%s=%s", name, value);
    return variable;
}

static void set_export(char **variables, const char *export)
{
    char **inherited = environ;
    if (strchr(export, '=')) {
        set(variables, copy(export));
        return;
    }
    size_t length = strlen(export);
    while (*inherited && !(name_length(*inherited) == length && strncmp(*inherited, export, length) == 0)) inherited++;
    if (*inherited)
        set(variables, copy(*inherited)); /* also brings back a PMIX_ variable that was left out */
    else
        report("warning: -x %s has no effect: this variable is not set; set it, or pass -x NAME=VALUE", export);
}

/* Peers on the host authenticate each other by it. Hexadecimal, 128 bits. */
static char *make_secret(void)
{
    unsigned char bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        report_and_exit("no random numbers for the job's secret: getrandom: %m");
    static const char name[] = "ISTHMUS_JOB_SECRET=";
    char *variable = zeroed_memory(1, sizeof name + 2 * sizeof bytes), *at = variable + sizeof name - 1;
    memcpy(variable, name, sizeof name);
    for (size_t i = 0; i < sizeof bytes; i++) at += snprintf(at, 3, "%02x", bytes[i]);
    return variable;
}

char **environment_create(const struct options *options)
{
    size_t n_inherited = 0, n = 0;
    while (environ[n_inherited]) n_inherited++;
    char **variables = zeroed_memory(n_inherited + (size_t)options->n_exports + 5, sizeof *variables);
    for (size_t i = 0; i < n_inherited; i++)
        if (!is_outer_launchers(environ[i])) variables[n++] = copy(environ[i]);
    if (!getenv("ISTHMUS_JOB_SECRET")) set(variables, make_secret());
    /* A program of Open MPI 4 gets its identity from the PMIx server only under launchers that it knows by name.
     * If the component that checks for those is excluded, it uses any server. */
    if (!getenv("OMPI_MCA_schizo")) set(variables, copy("OMPI_MCA_schizo=^orte"));
    char *notes = explain_variable();
    if (notes) set(variables, notes);
    if (options->profile) set(variables, setting("ISTHMUS_PROFILE", options->profile));
    for (int i = 0; i < options->n_exports; i++) set_export(variables, options->exports[i]);
    return variables;
}

const char *environment_value(char *const *variables, const char *name)
{
    size_t length = strlen(name);
    for (; *variables; variables++)
        if (name_length(*variables) == length && strncmp(*variables, name, length) == 0 && (*variables)[length] == '=')
            return *variables + length + 1;
    return NULL;
}

void environment_destroy(char **variables)
{
    for (size_t i = 0; variables && variables[i]; i++) free(variables[i]);
    free(variables);
}

char **environment_join(char *const *common, char *const *own)
{
    size_t n_common = 0, n_own = 0;
    while (common[n_common]) n_common++;
    while (own && own[n_own]) n_own++;
    char **joined = zeroed_memory(n_common + n_own + 1, sizeof *joined);
    for (size_t i = 0; i < n_common; i++) joined[i] = common[i];
    for (size_t i = 0; i < n_own; i++) joined[n_common + i] = own[i];
    return joined;
}

/* The library complains on stderr of each connection that a killed PE cuts in the middle, beside the launcher's one
 * line that reports what happened. With the library's verbose settings all of it is printed. */
static void silence_library(void)
{
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "PMIX_MCA_", 9) == 0 && strstr(*at, "verbose")) return;
    char number[16];
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    snprintf(number, sizeof number, "%d", null);
    if (null >= 0) setenv("PMIX_OUTPUT_STDERR_FD", number, 1);
}

void environment_prepare_server(void)
{
    for (char **at = environ; *at;) {
        char name[256];
        size_t length = name_length(*at);
        if (!is_outer_launchers(*at) || length >= sizeof name) {
            at++;
            continue;
        }
        memcpy(name, *at, length);
        name[length] = '\0';
        unsetenv(name); /* closes the gap in environ: check the same place again */
    }
    /* The library's other stores of job data make directories in /tmp, which a kill -9 would leave there. */
    setenv("PMIX_MCA_gds", "hash", 1);
    /* The server looks for every device of the machine, for schedulers that place processes by them. This one does
     * not, and the search would take 11 of the server's 13 ms, more on a large machine. */
    setenv("HWLOC_COMPONENTS", "no_os,stop", 1);
    setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1);
    silence_library();
}
