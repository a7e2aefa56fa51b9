/* plugins/ib/ib_select.c: which ports of a host are used, and by which of its PEs. See ib_hca.h.
 * Functions of their arguments only: each PE computes this for all PEs of its host. */
#include "plugins/ib/ib_hca.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- without ISTHMUS_HCA: the ports that belong together ---- */

/* `left_out`: by port; NULL: none. */
static const struct ib_port *fastest(const struct ib_ports *ports, const bool *left_out)
{
    const struct ib_port *best = NULL;
    for (uint32_t i = 0; i < ports->n; i++) {
        const struct ib_port *port = &ports->list[i];
        if (!port->is_active || (left_out != NULL && left_out[i])) continue;
        if (best == NULL || port->rate_mbit_per_s > best->rate_mbit_per_s) best = port;
    }
    return best;
}

/* Ports of two kinds of link do not reach one another; a slow one beside fast ones is there for something else. */
static bool is_of_use(const struct ib_port *port, const struct ib_port *best)
{
    return port->is_active && port->link == best->link && port->rate_mbit_per_s >= best->rate_mbit_per_s / 2;
}

static void add(struct ib_selection *out, uint32_t port, uint32_t count)
{
    for (uint32_t i = 0; i < out->n && !out->is_dealt; i++)
        if (out->ports[i] == port) return;
    if (out->n == IB_MAX_PORTS) return;
    out->ports[out->n] = port;
    out->counts[out->n++] = count;
}

static void select_usual(const struct ib_ports *ports, const bool *left_out, struct ib_selection *out)
{
    const struct ib_port *best = fastest(ports, left_out);
    for (uint32_t i = 0; best != NULL && i < ports->n; i++)
        if ((left_out == NULL || !left_out[i]) && is_of_use(&ports->list[i], best)) add(out, i, 1);
}

/* ---- the entries of ISTHMUS_HCA ---- */

/* name, name:port or name:port:count; port 0: all. */
struct hca_entry {
    char name[IB_ADAPTER_BYTES];
    uint32_t port, count;
    bool has_count;
};

struct hca_request {
    const struct isthmus_services *services;
    const struct ib_ports *ports;
    const char *text; /* all of it, for messages */
};

static isthmus_status fail_text(const struct hca_request *r, const char *entry)
{
    return r->services->fail(
        r->services->core, ISTHMUS_ERR_INVALID,
        "ISTHMUS_HCA is '%s', where '%s' cannot be read; accepted: round_robin, or a comma list of name, name:port or "
        "name:port:count, or ^ and such a list to exclude",
        r->text, entry);
}

/* Digits and no more, 1 to 65535. */
static bool read_number(const char *text, uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)text[0])) return false;
    unsigned long value = strtoul(text, &end, 10);
    if (*end != '\0' || value == 0 || value > 65535) return false;
    *out = (uint32_t)value;
    return true;
}

static isthmus_status read_entry(const struct hca_request *r, const char *text, struct hca_entry *out)
{
    char copy[IB_ADAPTER_BYTES + 16], *rest = copy;
    size_t length = strlen(text);
    *out = (struct hca_entry){.count = 1};
    if (length >= sizeof copy) return fail_text(r, text);
    memcpy(copy, text, length + 1);
    const char *name = strsep(&rest, ":"), *port = strsep(&rest, ":"), *count = strsep(&rest, ":");
    if (name[0] == '\0' || strlen(name) >= sizeof out->name || rest != NULL) return fail_text(r, text);
    memcpy(out->name, name, strlen(name) + 1);
    out->has_count = count != NULL;
    if (port != NULL && !read_number(port, &out->port)) return fail_text(r, text);
    if (count != NULL && !read_number(count, &out->count)) return fail_text(r, text);
    return ISTHMUS_OK;
}

/* The beginning of names, up to where a number begins or ends: mlx5 is one of mlx5_0, mlx5_1 is none of mlx5_10. */
static bool begins(const char *adapter, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(adapter, name, length) != 0) return false;
    return !isdigit((unsigned char)name[length - 1]) || !isdigit((unsigned char)adapter[length]);
}

static bool names_one(const struct ib_ports *ports, const char *name)
{
    for (uint32_t i = 0; i < ports->n; i++)
        if (strcmp(ports->list[i].adapter, name) == 0) return true;
    return false;
}

static bool matches(const struct ib_port *port, const struct hca_entry *entry, bool is_whole_name)
{
    if (entry->port != 0 && port->number != entry->port) return false;
    return is_whole_name ? strcmp(port->adapter, entry->name) == 0 : begins(port->adapter, entry->name);
}

static isthmus_status fail_missing(const struct hca_request *r, const char *text)
{
    const struct isthmus_services *s = r->services;
    const char *names[2 * IB_MAX_PORTS];
    size_t n = 0, used = 0;
    char all[256] = "none";
    for (uint32_t i = 0; i < r->ports->n; i++) {
        const struct ib_port *port = &r->ports->list[i];
        names[n++] = port->name;
        names[n++] = port->adapter;
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s%s", i > 0 ? ", " : "", port->name,
                                     port->is_active ? "" : " (down)");
    }
    const char *near = ISTHMUS_HAS(s, nearest_name) ? s->nearest_name(s->core, text, names, n) : NULL;
    return s->fail(s->core, ISTHMUS_ERR_INVALID,
                   "ISTHMUS_HCA names '%s', but this host has no such adapter%s%s%s; it has: %s", text,
                   near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "", all);
}

/* The ports that an entry names, as marks; at least one. */
static isthmus_status find(const struct hca_request *r, const char *text, const struct hca_entry *entry, bool *marks)
{
    bool is_whole_name = names_one(r->ports, entry->name), any = false;
    for (uint32_t i = 0; i < r->ports->n; i++) {
        marks[i] = matches(&r->ports->list[i], entry, is_whole_name);
        any = any || marks[i];
    }
    return any ? ISTHMUS_OK : fail_missing(r, text);
}

/* Only active ports can be used. One that is down is skipped if its adapter has others. */
static isthmus_status take(const struct hca_request *r, const char *text, const struct hca_entry *entry,
                           const bool *marks, struct ib_selection *out)
{
    const struct isthmus_services *s = r->services;
    uint32_t n_before = out->n;
    bool any = false;
    for (uint32_t i = 0; i < r->ports->n; i++) {
        if (!marks[i] || !r->ports->list[i].is_active) continue;
        add(out, i, entry->count);
        any = true;
    }
    if (any || out->n > n_before) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_INVALID,
                   "ISTHMUS_HCA names '%s', whose link is down; bring it up, or name another adapter", text);
}

/* Calls `each` for the entries of a list. */
typedef isthmus_status each_fn(const struct hca_request *r, const char *text, const struct hca_entry *entry, void *arg);

static isthmus_status for_each(const struct hca_request *r, const char *list, each_fn *each, void *arg)
{
    isthmus_status status = ISTHMUS_OK;
    char *copy = strdup(list), *rest = copy;
    if (copy == NULL) return r->services->fail(r->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for ISTHMUS_HCA");
    for (char *text; status == ISTHMUS_OK && (text = strsep(&rest, ", ")) != NULL;) {
        struct hca_entry entry;
        if (text[0] == '\0') continue;
        status = read_entry(r, text, &entry);
        if (status == ISTHMUS_OK) status = each(r, text, &entry, arg);
    }
    free(copy);
    return status;
}

static isthmus_status note_count(const struct hca_request *r, const char *text, const struct hca_entry *entry,
                                 void *arg)
{
    (void)r, (void)text;
    struct ib_selection *out = arg;
    out->is_dealt = out->is_dealt || entry->has_count;
    return ISTHMUS_OK;
}

static isthmus_status take_named(const struct hca_request *r, const char *text, const struct hca_entry *entry,
                                 void *arg)
{
    bool marks[IB_MAX_PORTS];
    isthmus_status status = find(r, text, entry, marks);
    return status == ISTHMUS_OK ? take(r, text, entry, marks, arg) : status;
}

static isthmus_status leave_out(const struct hca_request *r, const char *text, const struct hca_entry *entry, void *arg)
{
    bool marks[IB_MAX_PORTS], *left_out = arg;
    isthmus_status status = find(r, text, entry, marks);
    for (uint32_t i = 0; status == ISTHMUS_OK && i < r->ports->n; i++) left_out[i] = left_out[i] || marks[i];
    return status;
}

isthmus_status ib_select(const struct isthmus_services *services, const struct ib_ports *ports, const char *text,
                         struct ib_selection *out)
{
    const struct hca_request r = {services, ports, text};
    bool left_out[IB_MAX_PORTS] = {false};
    isthmus_status status = ISTHMUS_OK;
    *out = (struct ib_selection){.n = 0};
    if (text == NULL || text[0] == '\0') {
        select_usual(ports, NULL, out);
    } else if (strcmp(text, "round_robin") == 0) {
        out->is_dealt = true;
        select_usual(ports, NULL, out);
    } else if (text[0] == '^') {
        status = for_each(&r, text + 1, leave_out, left_out);
        if (status == ISTHMUS_OK) select_usual(ports, left_out, out);
    } else {
        status = for_each(&r, text, note_count, out);
        if (status == ISTHMUS_OK) status = for_each(&r, text, take_named, out);
        if (status == ISTHMUS_OK && out->n == 0) status = fail_text(&r, text);
    }
    return status;
}

/* ---- UCX_NET_DEVICES ---- */

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
    }
    return false;
}

const struct ib_port *ib_port_in_list(const struct ib_ports *ports, const char *list)
{
    bool leaves_out = list[0] == '^', has_all = !leaves_out && has_word(list, "all");
    for (uint32_t i = 0; i < ports->n; i++)
        if (ports->list[i].is_active && (has_all || has_word(list + leaves_out, ports->list[i].name) != leaves_out))
            return &ports->list[i];
    return NULL;
}

/* ---- sharing ---- */

static void deal(const struct ib_selection *selection, uint32_t n_pes, uint32_t *out)
{
    uint32_t port = 0, dealt = 0;
    for (uint32_t pe = 0; pe < n_pes; pe++) {
        if (dealt == selection->counts[port]) {
            port = (port + 1) % selection->n;
            dealt = 0;
        }
        out[pe] = port;
        dealt++;
    }
}

void ib_share(const struct ib_selection *selection, const uint32_t *distances, uint32_t n_pes, uint32_t *out)
{
    if (selection->is_dealt) {
        deal(selection, n_pes, out);
        return;
    }
    isthmus_adapters_share(distances, selection->n, n_pes, out);
}

/* ---- rails ---- */

/* Returns a port that no PE has, as near to this PE as its own port; IB_NONE if there is no such port. */
static uint32_t find_spare(uint32_t n_ports, const uint32_t *distances_of_pe, uint32_t own, const uint32_t *owners)
{
    uint32_t best = IB_NONE;
    for (uint32_t port = 0; port < n_ports; port++) {
        if (owners[port] != IB_NONE || distances_of_pe[port] > distances_of_pe[own]) continue;
        if (best == IB_NONE || distances_of_pe[port] < distances_of_pe[best]) best = port;
    }
    return best;
}

void ib_share_rails(const struct ib_selection *selection, const uint32_t *distances, uint32_t n_pes,
                    uint32_t most_rails, const uint32_t *shares, uint32_t *owners)
{
    for (uint32_t port = 0; port < selection->n; port++) owners[port] = IB_NONE;
    for (uint32_t pe = n_pes; pe-- > 0;) owners[shares[pe]] = pe;
    for (uint32_t round = 1; round < most_rails && !selection->is_dealt; round++)
        for (uint32_t pe = 0; pe < n_pes; pe++) {
            uint32_t port = find_spare(selection->n, distances + (size_t)pe * selection->n, shares[pe], owners);
            if (port != IB_NONE) owners[port] = pe;
        }
}
