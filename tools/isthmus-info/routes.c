/* tools/isthmus-info/routes.c: see routes.h.
 * Each PE gets its own row from the core, by the peers' cards and without connecting to them, and publishes the answer
 * through the bootstrap, so that a broken transport cannot keep the report from being made. */
#include "tools/isthmus-info/routes.h"

#include "tools/isthmus-info/info.h"

#include "core/heap/heap.h"
#include "core/runtime.h"
#include "core/topo/topo.h"
#include "core/transport/choose.h"
#include "core/transport/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char key[] = "isthmus-info.routes";

enum { WIRE_MAGIC = 0x69737275 };

/* A PE publishes this, then kinds, reasons, devices, and for each kind of memory one number of a kind per PE. All PEs
 * run this program. */
struct wire_head {
    uint32_t magic, n_pes, n_memories, n_kinds, n_reasons, n_devices;
    struct route_host host;
};

/* ---- kinds and reasons: lists without doubles ---- */

/* NO_ROUTE if there is no room for one more kind: it then looks like no route, but 52 kinds are many. */
static uint8_t add_kind(struct routes *routes, const struct route_kind *kind)
{
    for (uint32_t i = 0; i < routes->n_kinds; i++)
        if (memcmp(&routes->kinds[i], kind, sizeof *kind) == 0) return (uint8_t)i;
    if (routes->n_kinds == MAX_KINDS) return NO_ROUTE;
    routes->kinds[routes->n_kinds] = *kind;
    return (uint8_t)routes->n_kinds++;
}

static isthmus_status add_reason(struct routes *routes, const struct route_reason *reason)
{
    for (uint32_t i = 0; i < routes->n_reasons; i++) {
        struct route_reason *known = &routes->reasons[i];
        if (strcmp(known->transport, reason->transport) != 0 || strcmp(known->text, reason->text) != 0) continue;
        known->n_pairs += reason->n_pairs;
        return ISTHMUS_OK;
    }
    struct route_reason *grown = realloc(routes->reasons, (routes->n_reasons + 1) * sizeof *grown);
    if (grown == NULL) return ist_fail_memory("%u reasons", routes->n_reasons + 1);
    routes->reasons = grown;
    grown[routes->n_reasons++] = *reason;
    return ISTHMUS_OK;
}

/* ---- devices ---- */

static isthmus_status add_device(struct routes *routes, const struct route_device *device, int pe)
{
    uint32_t i = 0;
    while (i < routes->n_devices && memcmp(&routes->devices[i], device, sizeof *device) != 0) i++;
    struct route_use *uses = realloc(routes->uses, (routes->n_uses + 1) * sizeof *uses);
    if (uses != NULL) routes->uses = uses;
    struct route_device *devices = realloc(routes->devices, (routes->n_devices + 1) * sizeof *devices);
    if (devices != NULL) routes->devices = devices;
    if (uses == NULL || devices == NULL) return ist_fail_memory("%u devices", routes->n_devices + 1);
    if (i == routes->n_devices) devices[routes->n_devices++] = *device;
    uses[routes->n_uses++] = (struct route_use){.pe = pe, .device = i};
    return ISTHMUS_OK;
}

static isthmus_status add_devices_of(struct routes *row, const struct ist_transport *t)
{
    const struct isthmus_devices *devices = transport_devices(t);
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; devices != NULL && i < devices->count(t->handle) && status == ISTHMUS_OK; i++) {
        struct isthmus_device device = {.struct_size = sizeof device};
        struct route_device told;
        devices->describe(t->handle, i, &device);
        if (!device.is_used) continue;
        memset(&told, 0, sizeof told); /* compared as bytes */
        snprintf(told.transport, sizeof told.transport, "%s", t->name);
        snprintf(told.name, sizeof told.name, "%s", device.name);
        snprintf(told.what, sizeof told.what, "%s", device.what);
        snprintf(told.why, sizeof told.why, "%s", device.why);
        status = add_device(row, &told, row->pe);
    }
    return status;
}

/* ---- this PE's row ---- */

static struct route_kind kind_of(const struct ist_choice *choice, uint32_t memory)
{
    const struct isthmus_reach *reach = &choice->offers[choice->carrier].reach;
    struct route_kind kind;
    memset(&kind, 0, sizeof kind); /* compared as bytes */
    snprintf(kind.carrier, sizeof kind.carrier, "%s", ist_registry.list[choice->carrier].name);
    if (choice->atomics != IST_NO_TRANSPORT)
        snprintf(kind.atomics, sizeof kind.atomics, "%s", ist_registry.list[choice->atomics].name);
    if (reach->how != NULL) snprintf(kind.how, sizeof kind.how, "%s", reach->how);
    kind.latency_ns = reach->latency_ns;
    kind.bandwidth_bytes_per_s = reach->bandwidth_bytes_per_s;
    kind.caps = reach->caps;
    kind.visibility = reach->visibility;
    kind.atomics_domain = ist_home_of_kind(memory);
    kind.is_aliased = (reach->caps & ISTHMUS_CAP_ALIAS) != 0 && ist_peers_use_alias();
    return kind;
}

static isthmus_status add_reasons(struct routes *row, int peer, const struct ist_choice *choice)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < ist_registry.n && status == ISTHMUS_OK; i++) {
        if (i == choice->carrier || i == choice->atomics || choice->offers[i].why_not[0] == '\0') continue;
        struct route_reason reason = {.pe = row->pe, .peer = peer, .n_pairs = 1};
        snprintf(reason.transport, sizeof reason.transport, "%s", ist_registry.list[i].name);
        snprintf(reason.text, sizeof reason.text, "%s", choice->offers[i].why_not);
        status = add_reason(row, &reason);
    }
    return status;
}

/* Into *entry, the route to memory of that kind of the peer with this card. */
static isthmus_status ask_about(struct routes *row, const struct ist_card *card, uint32_t memory, uint8_t *entry)
{
    struct ist_choice choice;
    ist_choose(card, memory, &choice);
    if (choice.carrier != IST_NO_TRANSPORT) {
        struct route_kind kind = kind_of(&choice, memory);
        *entry = add_kind(row, &kind);
    }
    return add_reasons(row, card->pe, &choice);
}

/* `row->matrix` has n_memories * n_pes entries here: this PE's rows. */
static isthmus_status ask_about_peer(struct routes *row, int peer)
{
    const struct ist_card *card;
    isthmus_status status = ist_peer_card(peer, &card);
    if (status != ISTHMUS_OK) {
        struct route_reason reason = {.transport = "(any)", .pe = row->pe, .peer = peer, .n_pairs = 1};
        snprintf(reason.text, sizeof reason.text, "%s", ist_fail_text());
        return add_reason(row, &reason);
    }
    for (uint32_t m = 0; m < row->n_memories && status == ISTHMUS_OK; m++)
        status = ask_about(row, card, row->memories[m], &row->matrix[m * (uint32_t)row->n_pes + (uint32_t)peer]);
    return status;
}

static void list_memories(struct routes *routes)
{
    routes->n_memories = ist_device_heap.kind == ISTHMUS_MEM_HOST ? 1 : 2;
    routes->memories[0] = ISTHMUS_MEM_HOST;
    routes->memories[1] = ist_device_heap.kind;
}

static isthmus_status make_row(struct routes *row)
{
    isthmus_status status = ISTHMUS_OK;
    list_memories(row);
    size_t n_entries = row->n_memories * (size_t)row->n_pes;
    row->matrix = malloc(n_entries);
    if (row->matrix == NULL) return ist_fail_memory("the routes to %d PEs", row->n_pes);
    memset(row->matrix, NO_ROUTE, n_entries);
    for (int peer = 0; peer < row->n_pes && status == ISTHMUS_OK; peer++) status = ask_about_peer(row, peer);
    for (uint32_t i = 0; i < ist_registry.n && status == ISTHMUS_OK; i++)
        status = add_devices_of(row, &ist_registry.list[i]);
    return status;
}

/* ---- publish and collect ---- */

static isthmus_status publish(const struct routes *row, bool is_examined)
{
    ist_boot *boot = ist_runtime.boot;
    size_t kinds_bytes = row->n_kinds * sizeof *row->kinds, reasons_bytes = row->n_reasons * sizeof *row->reasons;
    size_t devices_bytes = row->n_devices * sizeof *row->devices;
    size_t matrix_bytes = row->n_memories * (size_t)row->n_pes;
    size_t n_bytes = sizeof(struct wire_head) + kinds_bytes + reasons_bytes + devices_bytes + matrix_bytes;
    struct wire_head head = {.magic = WIRE_MAGIC,
                             .n_pes = (uint32_t)row->n_pes,
                             .n_memories = row->n_memories,
                             .n_kinds = row->n_kinds,
                             .n_reasons = row->n_reasons,
                             .n_devices = row->n_devices,
                             .host = {.id = ist_registry.host, .heap_device = -1, .is_examined = is_examined}};
    if (row->n_memories > 1) head.host.heap_device = ist_device_heap.device;
    snprintf(head.host.name, sizeof head.host.name, "%s", ist_host_name());
    char *bytes = malloc(n_bytes), *at = bytes;
    if (bytes == NULL) return ist_fail_memory("the routes of PE %d", row->pe);
    at = (char *)mempcpy(at, &head, sizeof head);
    at = (char *)mempcpy(at, row->kinds, kinds_bytes);
    if (reasons_bytes > 0) at = (char *)mempcpy(at, row->reasons, reasons_bytes);
    if (devices_bytes > 0) at = (char *)mempcpy(at, row->devices, devices_bytes);
    memcpy(at, row->matrix, matrix_bytes);
    isthmus_status status = boot->ops->put(boot, key, bytes, n_bytes);
    free(bytes);
    return status;
}

static isthmus_status read_row(struct routes *out, int pe, const char *bytes, size_t n_bytes)
{
    struct wire_head head;
    uint8_t renumbered[MAX_KINDS];
    if (n_bytes < sizeof head)
        return ist_fail(ISTHMUS_ERR_VERSION, "PE %d runs another version of isthmus-info; use one version on all hosts",
                        pe);
    memcpy(&head, bytes, sizeof head);
    size_t rest = n_bytes - sizeof head, wanted = 0;
    if (head.n_kinds <= MAX_KINDS && head.n_reasons <= rest / sizeof(struct route_reason) &&
        head.n_devices <= rest / sizeof(struct route_device))
        wanted = head.n_kinds * sizeof(struct route_kind) + head.n_reasons * sizeof(struct route_reason) +
                 head.n_devices * sizeof(struct route_device) + (size_t)head.n_memories * head.n_pes;
    if (head.magic != WIRE_MAGIC || head.n_pes != (uint32_t)out->n_pes || head.n_memories != out->n_memories ||
        wanted != rest)
        return ist_fail(ISTHMUS_ERR_VERSION, "PE %d runs another version of isthmus-info; use one version on all hosts",
                        pe);
    bytes += sizeof head;
    out->hosts[pe] = head.host;
    out->hosts[pe].name[HOST_NAME_BYTES - 1] = '\0';
    for (uint32_t i = 0; i < head.n_kinds; i++, bytes += sizeof(struct route_kind)) {
        struct route_kind kind;
        memcpy(&kind, bytes, sizeof kind);
        renumbered[i] = add_kind(out, &kind);
    }
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < head.n_reasons && status == ISTHMUS_OK; i++, bytes += sizeof(struct route_reason)) {
        struct route_reason reason;
        memcpy(&reason, bytes, sizeof reason);
        status = add_reason(out, &reason);
    }
    for (uint32_t i = 0; i < head.n_devices && status == ISTHMUS_OK; i++, bytes += sizeof(struct route_device)) {
        struct route_device device;
        memcpy(&device, bytes, sizeof device);
        status = add_device(out, &device, pe);
    }
    for (size_t i = 0; i < out->n_memories * (size_t)out->n_pes && status == ISTHMUS_OK; i++) {
        uint8_t kind = (uint8_t)bytes[i];
        size_t memory = i / (size_t)out->n_pes, to = i % (size_t)out->n_pes;
        *routes_entry(out, memory, pe, (int)to) = kind < head.n_kinds ? renumbered[kind] : NO_ROUTE;
    }
    return status;
}

static isthmus_status collect(struct routes *out)
{
    ist_boot *boot = ist_runtime.boot;
    size_t n = (size_t)out->n_pes;
    list_memories(out);
    out->matrix = calloc(n * out->n_memories, n);
    out->hosts = calloc(n, sizeof *out->hosts);
    if (out->matrix == NULL || out->hosts == NULL) return ist_fail_memory("the routes between %zu PEs", n);
    isthmus_status status = ISTHMUS_OK;
    for (int pe = 0; pe < out->n_pes && status == ISTHMUS_OK; pe++) {
        void *bytes;
        size_t n_bytes;
        status = boot->ops->get(boot, pe, key, &bytes, &n_bytes);
        if (status != ISTHMUS_OK) break;
        status = read_row(out, pe, bytes, n_bytes);
        free(bytes);
    }
    return status;
}

static void free_lists(struct routes *routes)
{
    free(routes->matrix);
    free(routes->hosts);
    free(routes->reasons);
    free(routes->devices);
    free(routes->uses);
}

isthmus_status routes_start(struct routes *out)
{
    memset(out, 0, sizeof *out);
    isthmus_status status = ist_init("isthmus-info", IST_FACE_SHMEM, IST_THREAD_SINGLE);
    if (status != ISTHMUS_OK) return status;
    out->pe = ist_runtime.boot->pe;
    out->n_pes = ist_runtime.boot->n_pes;
    return ISTHMUS_OK;
}

isthmus_status routes_gather(bool is_examined, struct routes *out)
{
    ist_boot *boot = ist_runtime.boot;
    struct routes row = {.pe = boot->pe, .n_pes = boot->n_pes};
    isthmus_status status = make_row(&row);
    if (status == ISTHMUS_OK) status = publish(&row, is_examined);
    isthmus_status met = boot->ops->exchange(boot); /* after a failure too: the others wait here */
    if (status == ISTHMUS_OK) status = met;
    if (status == ISTHMUS_OK && out->pe == 0) status = collect(out);
    if (status != ISTHMUS_OK) fprintf(stderr, "isthmus-info: PE %d: %s\n", boot->pe, ist_fail_text());
    free_lists(&row);
    return status;
}

void routes_end(struct routes *routes)
{
    ist_boot *boot = ist_runtime.boot;
    free_lists(routes);
    if (boot->ops->exchange(boot) != ISTHMUS_OK) fprintf(stderr, "isthmus-info: %s\n", ist_fail_text());
}
