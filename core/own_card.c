/* core/own_card.c: see own_card.h. */
#include "core/own_card.h"

#include "core/base/mac.h"
#include "core/base/process.h"
#include "core/heap/heap.h"
#include "core/life/life.h"
#include "core/runtime.h"
#include "core/team/team.h"
#include "core/topo/topo.h"
#include "core/transport/choose.h"
#include "core/transport/places.h"
#include "core/transport/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    struct ist_card card; /* its blobs point into room */
    struct ist_card_room lists;
    uint8_t *room;
} own;

const struct ist_card *ist_own_card(void) { return &own.card; }

/* Returns the settings as they hold on this PE: where several words mean the same, or the machine has a say, what was
 * decided. */
static struct ist_config settings_in_force(void)
{
    struct ist_config c = ist_runtime.config;
    c.teams_max = ist_teams_max(&c);
    c.heap_kind = IST_HEAP_HOST + (int)ist_device_heap.kind;
    c.heap_grows = ist_device_heap.granule_bytes > 0;
    c.heap_step_bytes = ist_device_heap.step_bytes;
    return c;
}

/* The reason if this PE has fewer transports open than others. */
static const char *why_not_open(void)
{
    static char text[sizeof ist_registry.list[0].why + IST_CARD_NAME_BYTES + 3];
    uint32_t i = 0;
    while (i < ist_registry.n && !ist_registry.list[i].has_failed) i++;
    if (i == ist_registry.n) return "";
    snprintf(text, sizeof text, "%s: %s", ist_registry.list[i].name, ist_registry.list[i].why);
    return text;
}

/* Writes what must be equal on all PEs: settings, and what follows from the machine and the plugins. */
static isthmus_status write_agreement(struct ist_card *card)
{
    static char agreement[IST_AGREEMENT_BYTES];
    char part[32], granule[32], transports[IST_MAX_TRANSPORTS * sizeof ist_registry.list[0].name] = "";
    const struct ist_config settings = settings_in_force();
    const struct ist_fact facts[] = {
        {"the mapping of host memory", ist_segments_have_extents() ? "by extents" : "as a whole"},
        {"the library's part of the heap (it follows ISTHMUS_HEAP_PAGES and the system's pages)", part},
        {"the smallest piece of a heap that grows", granule},
        {IST_FACT_TRANSPORTS, transports},
    };
    snprintf(part, sizeof part, "%llu bytes",
             (unsigned long long)(ist_heap.segment == IST_SEGMENT_HEAP ? ist_heap.segment_offset_bytes
                                                                       : ist_heap.mapped_bytes));
    snprintf(granule, sizeof granule, "%llu bytes", (unsigned long long)ist_device_heap.granule_bytes);
    size_t used = 0;
    for (uint32_t i = 0; i < ist_registry.n; i++)
        if (ist_registry.list[i].state == IST_TRANSPORT_OPEN)
            used += (size_t)snprintf(transports + used, sizeof transports - used, "%s%s", used > 0 ? " " : "",
                                     ist_registry.list[i].name);
    card->agreement = agreement;
    card->failure_text = why_not_open();
    return ist_agreement_write(&settings, facts, sizeof facts / sizeof *facts, agreement);
}

isthmus_status ist_own_card_make(uint64_t scopes)
{
    struct ist_card *card = &own.card;
    ist_card_use_room(card, &own.lists);
    card->pe = ist_runtime.boot->pe;
    card->pid = (int32_t)getpid();
    card->numa_node = ist_topo_numa_node();
    card->host = ist_registry.host;
    snprintf(card->host_name, sizeof card->host_name, "%s", ist_host_name());
    ist_executable_name(card->executable, sizeof card->executable);
    card->first_on_host = ist_runtime.boot->local_pes[0];
    card->liveness = ist_liveness_card();
    card->heap_limit_bytes = ist_heap.limit_bytes;
    isthmus_status status = ist_random_bytes(&card->job, sizeof card->job);
    if (status == ISTHMUS_OK && card->pe == card->first_on_host) status = ist_places_cpus(&card->n_cpus);
    if (status != ISTHMUS_OK) return status;
    size_t room = ist_card_room();
    own.room = malloc(room + 1);
    if (own.room == NULL) return ist_fail_memory("this PE's card");
    status = ist_segments_to_card(card, own.room, room);
    if (status == ISTHMUS_OK) status = ist_home_settle(card, scopes, &ist_runtime.config);
    return status == ISTHMUS_OK ? write_agreement(card) : status;
}

void ist_own_card_free(void)
{
    free(own.room);
    own.room = NULL;
    memset(&own.card, 0, sizeof own.card);
}
