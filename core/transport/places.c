/* core/transport/places.c: see places.h. */
#include "core/transport/places.h"

#include "core/topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    ist_boot *boot;
    char key[64];
    struct isthmus_local_pe *list; /* NULL: not asked for so far */
    uint32_t n;
} places;

isthmus_status ist_places_publish(ist_boot *boot, const char *key)
{
    int32_t node = ist_topo_bound_node();
    places.boot = boot;
    snprintf(places.key, sizeof places.key, "%s", key);
    return boot->n_local > 1 ? boot->ops->put(boot, key, &node, sizeof node) : ISTHMUS_OK; /* else nobody asks */
}

static isthmus_status fetch_node(int pe, int32_t *out)
{
    void *bytes;
    size_t n_bytes;
    isthmus_status status = places.boot->ops->get(places.boot, pe, places.key, &bytes, &n_bytes);
    if (status != ISTHMUS_OK) return status;
    if (n_bytes == sizeof *out)
        memcpy(out, bytes, sizeof *out);
    else
        status = ist_fail(ISTHMUS_ERR_VERSION, "PE %d is of another version of Isthmus", pe);
    free(bytes);
    return status;
}

static isthmus_status fetch_all(void)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < places.n && status == ISTHMUS_OK; i++) {
        struct isthmus_local_pe *place = &places.list[i];
        place->pe = places.boot != NULL ? places.boot->local_pes[i] : 0;
        place->numa_node = ist_topo_bound_node();
        if (places.boot != NULL && place->pe != places.boot->pe) status = fetch_node(place->pe, &place->numa_node);
    }
    return status;
}

uint32_t ist_places_count(void) { return places.boot != NULL ? (uint32_t)places.boot->n_local : 1; }

isthmus_status ist_places_get(const struct isthmus_local_pe **list, uint32_t *n)
{
    if (places.list == NULL) {
        places.n = ist_places_count();
        places.list = calloc(places.n, sizeof *places.list);
        if (places.list == NULL) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no memory for the places of %u PEs", places.n);
        isthmus_status status = fetch_all();
        if (status != ISTHMUS_OK) {
            free(places.list);
            places.list = NULL;
            return status;
        }
    }
    *list = places.list;
    *n = places.n;
    return ISTHMUS_OK;
}

void ist_places_close(void)
{
    free(places.list);
    memset(&places, 0, sizeof places);
}
