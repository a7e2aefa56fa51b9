/* core/transport/select.c: applies ISTHMUS_TRANSPORTS to the registry.
 * "a,b" selects only these, in this order; "^a,b" all but these. */
#include "core/transport/registry.h"

#include "core/base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *nearest(const char *name)
{
    const char *names[IST_MAX_TRANSPORTS];
    for (uint32_t i = 0; i < ist_registry.n; i++) names[i] = ist_registry.list[i].name;
    return ist_names_nearest(name, names, ist_registry.n);
}

static isthmus_status fail_unknown(const char *name)
{
    char all[IST_MAX_TRANSPORTS * 18] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < ist_registry.n; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", ist_registry.list[i].name);
    const char *near = nearest(name);
    return ist_fail(ISTHMUS_ERR_INVALID,
                    "ISTHMUS_TRANSPORTS names '%s', but there is no such plugin%s%s%s; found: %s, in %s", name,
                    near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "",
                    all[0] != '\0' ? all : "none", ist_registry.searched);
}

static void exclude(struct ist_transport *t, const char *why)
{
    if (t->state == IST_TRANSPORT_REFUSED) return; /* that reason is more specific */
    t->state = IST_TRANSPORT_EXCLUDED;
    snprintf(t->why, sizeof t->why, "%s", why);
}

static isthmus_status select_listed(char *list, bool excluding)
{
    uint32_t rank = 0;
    char *rest = list;
    for (char *name; (name = strsep(&rest, ", ")) != NULL;) {
        if (name[0] == '\0') continue;
        if (name[0] == '^')
            return ist_fail(
                ISTHMUS_ERR_INVALID,
                "ISTHMUS_TRANSPORTS has a '^' inside the list; accepted: 'a,b' for only these, or '^a,b' for all "
                "but these");
        struct ist_transport *t = ist_registry_find(name);
        if (t == NULL && excluding && nearest(name) == NULL) continue; /* excluded and not present: no error */
        if (t == NULL) return fail_unknown(name);
        if (excluding)
            exclude(t, "ISTHMUS_TRANSPORTS excludes it");
        else if (t->rank == UINT32_MAX)
            t->rank = rank++;
    }
    if (!excluding && rank == 0)
        return ist_fail(ISTHMUS_ERR_INVALID, "ISTHMUS_TRANSPORTS names no transport; accepted: 'a,b' or '^a,b'");
    return ISTHMUS_OK;
}

isthmus_status ist_select_transports(const char *text)
{
    if (text == NULL || text[0] == '\0') return ISTHMUS_OK;
    bool excluding = text[0] == '^';
    char *list = strdup(text + excluding);
    if (list == NULL) return ist_fail_memory("ISTHMUS_TRANSPORTS");
    isthmus_status status = select_listed(list, excluding);
    free(list);
    for (uint32_t i = 0; status == ISTHMUS_OK && !excluding && i < ist_registry.n; i++)
        if (ist_registry.list[i].rank == UINT32_MAX)
            exclude(&ist_registry.list[i], "ISTHMUS_TRANSPORTS does not name it");
    return status;
}
