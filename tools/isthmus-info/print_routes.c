/* tools/isthmus-info/print_routes.c: the matrix of a job, what its letters mean, and why other transports are not in
 * it. Up to 37 PEs the matrix has a blank between columns, up to 73 none; above that it is printed as numbers of
 * pairs. */
#include "tools/isthmus-info/info.h"
#include "tools/isthmus-info/routes.h"
#include "tools/isthmus-info/words.h"

#include "core/topo/topo.h"

#include <string.h>

enum { COLUMNS = 80, MARGIN = 6, LABEL_COLUMN = 14 };

static char letter_of(uint8_t kind)
{
    static const char letters[MAX_KINDS + 1] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return kind < MAX_KINDS ? letters[kind] : '-';
}

static int count_hosts(const struct routes *routes)
{
    int n = 0;
    for (int pe = 0; pe < routes->n_pes; pe++) {
        int before = 0;
        while (before < pe && !ist_host_id_equal(&routes->hosts[before].id, &routes->hosts[pe].id)) before++;
        n += before == pe;
    }
    return n;
}

/* ---- the matrix ---- */

/* PE numbers above the columns, one digit a line, so that they fit into one column each. */
static void print_column_heads(int n_pes, int width)
{
    int power = 1;
    while (power * 10 < n_pes) power *= 10;
    for (; power > 0; power /= 10) {
        printf("%*s", MARGIN + (width == 1), "");
        for (int to = 0; to < n_pes; to++)
            printf("%*c", width, to >= power || power == 1 ? '0' + to / power % 10 : ' ');
        putchar('\n');
    }
}

static void print_matrix(const struct routes *routes, size_t memory)
{
    int width = MARGIN + 2 * routes->n_pes <= COLUMNS ? 2 : 1;
    print_column_heads(routes->n_pes, width);
    for (int from = 0; from < routes->n_pes; from++) {
        printf("%*d%s", MARGIN, from, width == 1 ? " " : "");
        for (int to = 0; to < routes->n_pes; to++)
            printf("%*c", width, letter_of(*routes_entry(routes, memory, from, to)));
        putchar('\n');
    }
}

static size_t count_pairs(const struct routes *routes, uint8_t kind)
{
    size_t n = 0, all = routes->n_memories * (size_t)routes->n_pes * (size_t)routes->n_pes;
    for (size_t i = 0; i < all; i++) n += routes->matrix[i] == kind;
    return n;
}

static void print_pairs(const struct routes *routes)
{
    printf("  too many PEs for a matrix; --json has all pairs\n");
    for (uint32_t kind = 0; kind < routes->n_kinds; kind++)
        printf("  %c: %zu pairs\n", letter_of((uint8_t)kind), count_pairs(routes, (uint8_t)kind));
}

/* Where the heap is, if not on the host: PEs in a row on one device are printed together. */
static void print_heap(const struct routes *routes)
{
    char kind[WORDS_BYTES];
    if (routes->n_memories == 1) return;
    kinds_text(1u << routes->memories[1], kind);
    printf("The heap, in %s memory\n", kind);
    for (int pe = 0, end; pe < routes->n_pes; pe = end) {
        end = pe + 1;
        while (end < routes->n_pes && routes->hosts[end].heap_device == routes->hosts[pe].heap_device) end++;
        if (end == pe + 1)
            printf("  PE %d on device %d\n", pe, routes->hosts[pe].heap_device);
        else
            printf("  PE %d to %d on device %d\n", pe, end - 1, routes->hosts[pe].heap_device);
    }
}

static void print_hosts(const struct routes *routes)
{
    for (int pe = 0, end; pe < routes->n_pes; pe = end) {
        end = pe + 1;
        while (end < routes->n_pes && ist_host_id_equal(&routes->hosts[pe].id, &routes->hosts[end].id)) end++;
        if (end == pe + 1)
            printf("  PE %d on %s\n", pe, routes->hosts[pe].name);
        else
            printf("  PE %d to %d on %s\n", pe, end - 1, routes->hosts[pe].name);
    }
}

/* ---- what it means ---- */

static void print_kind(char letter, const struct route_kind *kind)
{
    char text[480], atomics[160];
    const char *how = "by calls into the transport";
    if (kind->how[0] != '\0')
        how = kind->how;
    else if (kind->is_aliased)
        how = "by load and store";
    else if ((kind->caps & ISTHMUS_CAP_ALIAS) != 0 && kind->atomics_domain == ISTHMUS_DOMAIN_NIC)
        how = "by calls into the transport, because ISTHMUS_ATOMICS is nic";
    else if (kind->caps & ISTHMUS_CAP_ALIAS)
        how = "by calls into the transport, because ISTHMUS_ALIAS is off";
    if (kind->atomics[0] != '\0')
        snprintf(atomics, sizeof atomics, "%s, executed by the %s%s", kind->atomics, domain_name(kind->atomics_domain),
                 kind->atomics_domain == ISTHMUS_DOMAIN_NIC
                     ? " (of 64 bits; narrower ones by the CPU: ISTHMUS_ATOMICS=nic)"
                     : "");
    else
        snprintf(atomics, sizeof atomics, "none: no transport executes them");
    snprintf(text, sizeof text, "%s, %s; about %u ns and %s/s; atomics: %s; visible to %s", kind->carrier, how,
             kind->latency_ns, human_bytes(kind->bandwidth_bytes_per_s), atomics, visibility_name(kind->visibility));
    printf("  %c  ", letter);
    print_filled(5, 5, text);
}

static void print_reason(const struct routes *routes, const struct route_reason *reason)
{
    char text[REASON_BYTES + 80];
    uint64_t all = (uint64_t)routes->n_pes * (uint64_t)routes->n_pes;
    if (reason->n_pairs == all)
        snprintf(text, sizeof text, "%s", reason->text);
    else if (reason->n_pairs == 1)
        snprintf(text, sizeof text, "%s (PE %d to PE %d)", reason->text, reason->pe, reason->peer);
    else
        snprintf(text, sizeof text, "%s (PE %d to PE %d and %u more pairs)", reason->text, reason->pe, reason->peer,
                 reason->n_pairs - 1);
    printf("  %-11s ", reason->transport);
    print_filled(LABEL_COLUMN, LABEL_COLUMN, text);
}

/* "0, 4 and 14 more": as many as fit into half a line. */
static void users_text(const struct routes *routes, uint32_t device, char *out, size_t room)
{
    size_t used = 0;
    uint32_t n_named = 0, n = 0;
    for (uint32_t i = 0; i < routes->n_uses; i++) n += routes->uses[i].device == device;
    *out = '\0';
    for (uint32_t i = 0; i < routes->n_uses && used < COLUMNS / 2; i++) {
        if (routes->uses[i].device != device) continue;
        used += (size_t)snprintf(out + used, room - used, "%s%d", n_named++ > 0 ? ", " : "", routes->uses[i].pe);
    }
    if (n > n_named) snprintf(out + used, room - used, " and %u more", n - n_named);
}

static void print_device(const struct routes *routes, uint32_t index)
{
    const struct route_device *device = &routes->devices[index];
    char users[COLUMNS], text[sizeof *device + COLUMNS + 16];
    users_text(routes, index, users, sizeof users);
    snprintf(text, sizeof text, "PE %s: %s: %s (%s)", users, device->name, device->what, device->why);
    printf("  %-11s ", device->transport);
    print_filled(LABEL_COLUMN, LABEL_COLUMN, text);
}

void routes_text(const struct routes *routes)
{
    int n_hosts = count_hosts(routes);
    printf("Routes between %d PE%s on %d host%s%s\n", routes->n_pes, routes->n_pes == 1 ? "" : "s", n_hosts,
           n_hosts == 1 ? "" : "s", routes->n_pes == 1 ? "; isthmus-run -n 4 isthmus-info --routes shows more" : "");
    if (n_hosts > 1) print_hosts(routes);
    if (MARGIN + 1 + routes->n_pes <= COLUMNS) {
        printf("%*s columns: to PE, rows: from PE\n", MARGIN, "");
        print_matrix(routes, 0);
    } else {
        print_pairs(routes);
    }
    print_heap(routes);
    if (routes->n_memories > 1 && MARGIN + 1 + routes->n_pes <= COLUMNS) print_matrix(routes, 1);
    for (uint32_t kind = 0; kind < routes->n_kinds; kind++) print_kind(letter_of((uint8_t)kind), &routes->kinds[kind]);
    if (count_pairs(routes, NO_ROUTE) > 0) printf("  -  no transport reaches that PE\n");
    if (routes->n_devices > 0) printf("Through\n");
    for (uint32_t i = 0; i < routes->n_devices; i++) print_device(routes, i);
    printf("Not taken\n");
    for (uint32_t i = 0; i < routes->n_reasons; i++) print_reason(routes, &routes->reasons[i]);
    if (routes->n_reasons == 0) printf("  none: there is no other transport\n");
}

/* ---- JSON ---- */

static void json_kind(struct ist_json *json, const struct route_kind *kind)
{
    ist_json_begin_object(json, NULL);
    ist_json_string(json, "transport", kind->carrier);
    ist_json_string(json, "atomics", kind->atomics[0] != '\0' ? kind->atomics : NULL);
    ist_json_string(json, "atomics_domain", domain_name(kind->atomics_domain));
    ist_json_bool(json, "load_and_store", kind->is_aliased != 0);
    ist_json_string(json, "how", kind->how[0] != '\0' ? kind->how : NULL);
    ist_json_number(json, "latency_ns", kind->latency_ns);
    ist_json_number(json, "bandwidth_bytes_per_s", kind->bandwidth_bytes_per_s);
    caps_json(json, "capabilities", kind->caps);
    ist_json_string(json, "visible_to", visibility_name(kind->visibility));
    ist_json_end_object(json);
}

static void json_row(struct ist_json *json, const struct routes *routes, const char *key, size_t memory, int pe)
{
    ist_json_begin_array(json, key);
    for (int to = 0; to < routes->n_pes; to++) {
        uint8_t kind = *routes_entry(routes, memory, pe, to);
        if (kind == NO_ROUTE)
            ist_json_null(json, NULL);
        else
            ist_json_number(json, NULL, kind);
    }
    ist_json_end_array(json);
}

static void json_pe(struct ist_json *json, const struct routes *routes, int pe)
{
    ist_json_begin_object(json, NULL);
    ist_json_integer(json, "pe", pe);
    ist_json_string(json, "host", routes->hosts[pe].name);
    json_row(json, routes, "routes", 0, pe);
    if (routes->n_memories > 1) {
        ist_json_integer(json, "heap_device", routes->hosts[pe].heap_device);
        json_row(json, routes, "heap_routes", 1, pe);
    }
    ist_json_end_object(json);
}

static void json_use(struct ist_json *json, const struct routes *routes, const struct route_use *use)
{
    const struct route_device *device = &routes->devices[use->device];
    ist_json_begin_object(json, NULL);
    ist_json_integer(json, "pe", use->pe);
    ist_json_string(json, "transport", device->transport);
    ist_json_string(json, "name", device->name);
    ist_json_string(json, "what", device->what);
    ist_json_string(json, "why", device->why);
    ist_json_end_object(json);
}

static void json_reason(struct ist_json *json, const struct route_reason *reason)
{
    ist_json_begin_object(json, NULL);
    ist_json_string(json, "transport", reason->transport);
    ist_json_string(json, "reason", reason->text);
    ist_json_integer(json, "first_pe", reason->pe);
    ist_json_integer(json, "first_peer", reason->peer);
    ist_json_number(json, "pairs", reason->n_pairs);
    ist_json_end_object(json);
}

/* "routes" of a PE, and "heap_routes" to a heap that is not on the host, are numbers of "kinds", by target PE; null: no
 * route. */
void routes_json(struct ist_json *json, const struct routes *routes)
{
    ist_json_begin_object(json, "routes");
    ist_json_integer(json, "n_pes", routes->n_pes);
    kinds_json(json, "heap_memory", 1u << routes->memories[routes->n_memories - 1]);
    ist_json_begin_array(json, "kinds");
    for (uint32_t i = 0; i < routes->n_kinds; i++) json_kind(json, &routes->kinds[i]);
    ist_json_end_array(json);
    ist_json_begin_array(json, "pes");
    for (int pe = 0; pe < routes->n_pes; pe++) json_pe(json, routes, pe);
    ist_json_end_array(json);
    ist_json_begin_array(json, "devices");
    for (uint32_t i = 0; i < routes->n_uses; i++) json_use(json, routes, &routes->uses[i]);
    ist_json_end_array(json);
    ist_json_begin_array(json, "not_taken");
    for (uint32_t i = 0; i < routes->n_reasons; i++) json_reason(json, &routes->reasons[i]);
    ist_json_end_array(json);
    ist_json_end_object(json);
}
