/* tools/isthmus-info/print_plugins.c: the transports that were found: what they can do, or why they cannot be used.
 * Everything that can be opened is opened, as for a job with peers everywhere. Which of them a job then uses is
 * --routes. */
#include "tools/isthmus-info/info.h"

#include "core/heap/heap.h"
#include "core/transport/memory.h"
#include "core/transport/places.h"
#include "core/transport/registry.h"
#include "tools/isthmus-info/words.h"

#include <limits.h>
#include <string.h>

enum {
    CARD_BYTES = 4096,
    ALL_SCOPES = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST | ISTHMUS_SCOPE_NETWORK | ISTHMUS_SCOPE_DEVICE
};

static char problem[1024]; /* why loading failed; "": it did not */

isthmus_status plugins_load(const struct ist_config *config)
{
    isthmus_status status = ist_registry_load(config);
    if (status == ISTHMUS_OK) status = ist_registry_open_devices(0, 1, ALL_SCOPES);
    if (status == ISTHMUS_OK) status = ist_device_heap_publish(config);
    if (status == ISTHMUS_OK) status = ist_registry_open(0, 1, ALL_SCOPES);
    if (status != ISTHMUS_OK) snprintf(problem, sizeof problem, "%s", ist_fail_text());
    return status;
}

void plugins_unload(void)
{
    ist_memory_forget();
    ist_registry_close();
    ist_places_close();
}

/* What an open transport offers towards this PE. Returns false if it does not reach it, or gives no card. */
static bool reach_self(const struct ist_transport *t, struct isthmus_reach *out)
{
    char card[CARD_BYTES];
    size_t card_bytes = sizeof card;
    if (t->state != IST_TRANSPORT_OPEN || t->ops.card(t->handle, card, &card_bytes) != ISTHMUS_OK) return false;
    struct isthmus_peer self = {
        .struct_size = sizeof self,
        .pe = 0,
        .host = &ist_registry.host,
        .host_name = "this host",
        .card = card,
        .card_bytes = card_bytes,
    };
    *out = (struct isthmus_reach){.struct_size = sizeof *out};
    return t->ops.reach(t->handle, &self, out) == ISTHMUS_OK;
}

static bool is_loaded(const struct ist_transport *t) { return t->state != IST_TRANSPORT_REFUSED; }

static void print_field(const char *name, const char *text)
{
    printf("    %-10s", name);
    print_filled(14, 14, text);
}

/* "usable", or why not. Transports found before a failure have not been opened. */
static const char *verdict(const struct ist_transport *t)
{
    if (t->state == IST_TRANSPORT_UNNEEDED && problem[0] != '\0') return "found, not probed";
    return t->state == IST_TRANSPORT_OPEN || t->state == IST_TRANSPORT_UNNEEDED ? "usable"
                                                                                : ist_transport_state_name(t->state);
}

static void print_reach(const struct isthmus_reach *reach)
{
    char words[WORDS_BYTES], line[2 * WORDS_BYTES];
    caps_text(reach->caps, words);
    bool any_atomics = reach->atomics_domain != ISTHMUS_DOMAIN_NONE;
    snprintf(line, sizeof line, "%s%s%s %s; visible to %s", reach->caps != 0 ? words : "", reach->caps != 0 ? "; " : "",
             any_atomics ? "atomics by the" : "atomics:", domain_name(reach->atomics_domain),
             visibility_name(reach->visibility));
    print_field("here", line);
}

const struct isthmus_devices *transport_devices(const struct ist_transport *t)
{
    return t->state == IST_TRANSPORT_OPEN && t->extensions.has_devices ? &t->extensions.devices : NULL;
}

static void print_devices(const struct ist_transport *t)
{
    const struct isthmus_devices *devices = transport_devices(t);
    for (uint32_t i = 0; devices != NULL && i < devices->count(t->handle); i++) {
        struct isthmus_device device = {.struct_size = sizeof device};
        char line[512];
        devices->describe(t->handle, i, &device);
        snprintf(line, sizeof line, "%s: %s; %s: %s", device.name, device.what, device.is_used ? "used" : "not used",
                 device.why);
        print_field(i == 0 ? "through" : "", line);
    }
}

static void json_devices(struct ist_json *json, const struct ist_transport *t)
{
    const struct isthmus_devices *devices = transport_devices(t);
    if (devices == NULL) return;
    ist_json_begin_array(json, "devices");
    for (uint32_t i = 0; i < devices->count(t->handle); i++) {
        struct isthmus_device device = {.struct_size = sizeof device};
        devices->describe(t->handle, i, &device);
        ist_json_begin_object(json, NULL);
        ist_json_string(json, "name", device.name);
        ist_json_string(json, "what", device.what);
        ist_json_bool(json, "is_used", device.is_used != 0);
        ist_json_string(json, "why", device.why);
        ist_json_end_object(json);
    }
    ist_json_end_array(json);
}

/* Returns false if the transport names none. */
static bool library_of(const struct ist_transport *t, struct isthmus_library_info *out)
{
    if (t->state != IST_TRANSPORT_OPEN) return false;
    *out = (struct isthmus_library_info){.struct_size = sizeof *out};
    t->extensions.library.describe(t->handle, out);
    return out->name != NULL;
}

static void print_library(const struct ist_transport *t)
{
    struct isthmus_library_info library;
    char line[WORDS_BYTES + PATH_MAX];
    if (!library_of(t, &library)) return;
    snprintf(line, sizeof line, "%s %s, %s", library.name, library.version, library.file);
    print_field("library", line);
}

static void json_library(struct ist_json *json, const struct ist_transport *t)
{
    struct isthmus_library_info library;
    if (!library_of(t, &library)) return;
    ist_json_begin_object(json, "library");
    ist_json_string(json, "name", library.name);
    ist_json_string(json, "version", library.version);
    ist_json_string(json, "file", library.file);
    ist_json_end_object(json);
}

static void print_abilities(const struct ist_transport *t)
{
    char words[WORDS_BYTES];
    struct isthmus_reach reach;
    scopes_text(t->ops.scopes, words);
    print_field("reaches", words);
    if (t->state != IST_TRANSPORT_OPEN) return;
    kinds_text(t->traits.kinds_attach, words);
    print_field("memory", words);
    if (reach_self(t, &reach)) print_reach(&reach);
    print_library(t);
    print_devices(t);
}

static void print_transport(const struct ist_transport *t)
{
    if (is_loaded(t))
        printf("  %s %s: %s\n", t->name, t->ops.version != NULL ? t->ops.version : "", verdict(t));
    else
        printf("  %s: %s\n", t->name, verdict(t));
    if (t->why[0] != '\0') print_field("because", t->why);
    if (is_loaded(t)) print_abilities(t);
    print_field("file", t->file);
}

void plugins_text(void)
{
    printf("Transports\n");
    for (uint32_t i = 0; i < ist_registry.n; i++) print_transport(&ist_registry.list[i]);
    if (ist_registry.n == 0)
        printf("  no plugin in %s\n", ist_registry.searched[0] != '\0' ? ist_registry.searched : "any folder");
    if (problem[0] != '\0') print_field("error", problem);
}

static void json_transport(struct ist_json *json, const struct ist_transport *t)
{
    struct isthmus_reach reach;
    ist_json_begin_object(json, NULL);
    ist_json_string(json, "name", t->name);
    ist_json_string(json, "version", is_loaded(t) ? t->ops.version : NULL);
    ist_json_string(json, "file", t->file);
    ist_json_string(json, "state", verdict(t));
    ist_json_string(json, "reason", t->why[0] != '\0' ? t->why : NULL);
    if (is_loaded(t)) scopes_json(json, "scopes", t->ops.scopes);
    if (t->state == IST_TRANSPORT_OPEN) {
        kinds_json(json, "memory_alloc", t->traits.kinds_alloc);
        kinds_json(json, "memory_expose", t->traits.kinds_expose);
        kinds_json(json, "memory_attach", t->traits.kinds_attach);
        kinds_json(json, "memory_local", t->traits.kinds_local);
        ist_json_bool(json, "shared_channels", t->traits.shared_channels != 0);
        ist_json_bool(json, "sparse", (t->traits.traits & ISTHMUS_TRAIT_SPARSE) != 0);
        json_library(json, t);
        json_devices(json, t);
    }
    if (reach_self(t, &reach)) {
        ist_json_begin_object(json, "self");
        ist_json_number(json, "latency_ns", reach.latency_ns);
        ist_json_number(json, "bandwidth_bytes_per_s", reach.bandwidth_bytes_per_s);
        caps_json(json, "capabilities", reach.caps);
        ist_json_string(json, "atomics_domain", domain_name(reach.atomics_domain));
        ist_json_string(json, "visible_to", visibility_name(reach.visibility));
        ist_json_end_object(json);
    }
    ist_json_end_object(json);
}

void plugins_json(struct ist_json *json)
{
    ist_json_begin_array(json, "transports");
    for (uint32_t i = 0; i < ist_registry.n; i++) json_transport(json, &ist_registry.list[i]);
    ist_json_end_array(json);
    ist_json_string(json, "searched", ist_registry.searched);
    ist_json_string(json, "transports_error", problem[0] != '\0' ? problem : NULL);
}
