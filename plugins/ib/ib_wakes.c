/* plugins/ib/ib_wakes.c: see ib_wakes.h. */
#include "plugins/ib/ib_wakes.h"

#include <stddef.h>
#include <string.h>

/* Those that copy between memories of one process bring nothing to a peer. */
static const char *const waking[] = {"self", "tcp", "cuda_copy", "gdr_copy", "rocm_copy", "ze_copy"};

static bool is_waking(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof waking / sizeof *waking; i++)
        if (strlen(waking[i]) == length && memcmp(waking[i], name, length) == 0) return true;
    return false;
}

/* A line is "resource 1  :  md 1  dev 1  flags -- tcp/eth0". */
bool ib_resources_wake(const char *resources)
{
    static const char mark[] = "resource ", before_name[] = "-- ";
    int n = 0;
    for (const char *line = strstr(resources, mark); line != NULL; line = strstr(line, mark), n++) {
        const char *end = line + strcspn(line, "\n");
        const char *name = strstr(line, before_name);
        if (name == NULL || name > end) return false;
        name += strlen(before_name);
        if (!is_waking(name, strcspn(name, "/\n"))) return false;
        line = end;
    }
    return n > 0;
}
