/* plugins/ib/ib_registration.c: see ib_registration.h. */
#include "plugins/ib/ib_registration.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>
#include <ucp/api/ucp.h>

isthmus_status ib_registration_choose(const struct isthmus_services *services, bool *is_on_demand)
{
    const struct isthmus_services *s = services;
    const char *text = s->config(s->core, "REGISTRATION");
    *is_on_demand = text != NULL && strcasecmp(text, "on_demand") == 0;
    if (*is_on_demand || text == NULL || *text == '\0' || strcasecmp(text, "pinned") == 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_INVALID, "ISTHMUS_IB_REGISTRATION is '%s'; valid: pinned, on_demand", text);
}

/* Memory of a device has no pages that the system could bring in. */
unsigned ib_registration_flags(bool is_on_demand, uint32_t kind)
{
    return is_on_demand && kind == ISTHMUS_MEM_HOST ? UCP_MEM_MAP_NONBLOCK : 0;
}

uint64_t ib_registration_pinned_bytes(const char *status_file)
{
    char line[128];
    uint64_t kib = 0;
    FILE *file = fopen(status_file, "re");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmPin: %" SCNu64 " kB", &kib) == 1) break;
    (void)fclose(file);
    return kib << 10;
}
