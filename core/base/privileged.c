/* core/base/privileged.c: see privileged.h. */
#include "core/base/privileged.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* PMIX_MCA_mca_base_component_path, UCX_MODULE_DIR, HWLOC_PLUGINS_PATH and the like name folders of shared objects;
 * others name files that are read or written. The variables that describe the job (PMIX_RANK, PMIX_SERVER_URI) stay. */
static const char *const prefixes[] = {"PMIX_MCA_", "OMPI_MCA_", "PRTE_MCA_", "UCX_",
                                       "UCM_",      "HWLOC_",    "IBV_",      "RDMAV_"};

static bool is_dangerous(const char *entry)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

void ist_privileged_clean_environment(void)
{
    if (getauxval(AT_SECURE) == 0) return;
    for (char **at = environ; at != NULL && *at != NULL;) {
        size_t length = strcspn(*at, "=");
        char *name = is_dangerous(*at) ? strndup(*at, length) : NULL;
        if (name == NULL || unsetenv(name) != 0) at++; /* otherwise the next entry has moved here */
        free(name);
    }
}
