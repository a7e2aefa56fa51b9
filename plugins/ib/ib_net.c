/* plugins/ib/ib_net.c: through which adapter this PE goes, what UCX is told of it, and what people are told.
 * The adapters are ib_verbs.c, the rules ib_select.c. UCX keeps every interface that is no adapter: peers without one are reached
 * by TCP, and UCX prefers an adapter where both ends have one. */
#include "plugins/ib/ib.h"
#include "plugins/ib/ib_config.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *start;
    size_t room, length; /* length: as it would be with enough room */
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *fmt, ...)
{
    size_t used = text->length < text->room ? text->length : text->room;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text->start + used, text->room - used, fmt, args);
    va_end(args);
    text->length += n > 0 ? (size_t)n : 0;
}

static bool user_decides(void) { return ib_ucp_is_set("UCX_NET_DEVICES"); }

/* ---- which one ---- */

/* The PEs of this host; a core that has no such service tells of this one only. */
static isthmus_status find_local_pes(isthmus_tr *tr, const struct isthmus_local_pe **list, uint32_t *n)
{
    static const struct isthmus_local_pe nowhere = {.pe = -1, .numa_node = -1};
    const struct isthmus_services *s = tr->services;
    if (IB_HAS_SERVICE(s, local_pes)) return s->local_pes(s->core, list, n);
    *list = &nowhere;
    *n = 1;
    return ISTHMUS_OK;
}

static void measure(const struct ib_net *net, const struct isthmus_local_pe *pes, uint32_t n_pes, uint32_t *distances)
{
    const struct ib_selection *selection = &net->selection;
    for (uint32_t pe = 0; pe < n_pes; pe++)
        for (uint32_t i = 0; i < selection->n; i++)
            distances[(size_t)pe * selection->n + i] = ib_numa_distance("/sys", pes[pe].numa_node,
                                                                        net->ports.list[selection->ports[i]].numa_node);
}

static uint32_t place_of(const isthmus_tr *tr, const struct isthmus_local_pe *pes, uint32_t n_pes)
{
    for (uint32_t i = 0; i < n_pes; i++)
        if (pes[i].pe == tr->services->my_pe) return i;
    return 0;
}

/* For all PEs of the host, of which only the own one's is kept. */
static isthmus_status share(isthmus_tr *tr)
{
    struct ib_net *net = tr->net;
    const struct isthmus_local_pe *pes;
    isthmus_status status = find_local_pes(tr, &pes, &net->n_sharers);
    if (status != ISTHMUS_OK) return status;
    uint32_t n_pes = net->n_sharers, me = place_of(tr, pes, n_pes);
    uint32_t *distances = calloc((size_t)n_pes * net->selection.n, sizeof *distances);
    uint32_t *shares = calloc(n_pes, sizeof *shares);
    if (distances != NULL && shares != NULL) {
        measure(net, pes, n_pes, distances);
        ib_share(&net->selection, distances, n_pes, shares);
        net->mine = (int32_t)net->selection.ports[shares[me]];
        net->my_node = pes[me].numa_node;
        net->my_distance = distances[(size_t)me * net->selection.n + shares[me]];
    } else {
        status = tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory to share out adapters");
    }
    free(distances);
    free(shares);
    return status;
}

isthmus_status ib_net_open(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    struct ib_net *net = tr->net = calloc(1, sizeof *net);
    if (net == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the adapters");
    net->mine = net->gid_index = -1;
    ib_ports_read(&net->ports);
    for (uint32_t i = 0; i < net->ports.n; i++) net->n_active += net->ports.list[i].is_active;
    net->request = s->config(s->core, "HCA");
    if (net->request != NULL && net->request[0] == '\0') net->request = NULL;
    isthmus_status status = ib_select(s, &net->ports, net->request, &net->selection);
    if (status != ISTHMUS_OK || net->selection.n == 0 || user_decides()) return status;
    net->mine = (int32_t)net->selection.ports[0];
    if (net->selection.n > 1) status = share(tr);
    return status == ISTHMUS_OK ? ib_gid_choose(s, &net->ports.list[net->mine], &net->gid_index) : status;
}

void ib_net_close(struct ib_net *net) { free(net); }

/* ---- what UCX is told ---- */

/* Interfaces are listed once for each address; of two that are alike UCX takes one. */
static void add_interfaces(struct text *out)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        bool is_up = (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_RUNNING) != 0;
        if (is_up && i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET)
            add(out, "%s%s", out->length > 0 ? "," : "", i->ifa_name);
    }
    freeifaddrs(all);
}

static isthmus_status narrow(const isthmus_tr *tr, ucp_config_t *config)
{
    const struct isthmus_services *s = tr->services;
    const struct ib_net *net = tr->net;
    char names[2048];
    struct text out = {.start = names, .room = sizeof names};
    add(&out, "%s", net->mine >= 0 ? net->ports.list[net->mine].name : "");
    add_interfaces(&out);
    if (out.length >= out.room)
        return s->fail(s->core, ISTHMUS_ERR_LIMIT,
                       "the names of this host's interfaces take %zu bytes, there is room for %zu; set UCX_NET_DEVICES",
                       out.length, out.room);
    const struct ib_key key = {
        .name = "NET_DEVICES", .value = names, .why = "PEs share the adapters of a host", .is_needed = true};
    return ib_config_set(s, config, &key);
}

static bool goes_through_software(const struct ib_net *net)
{
    for (uint32_t i = 0; i < net->ports.n; i++)
        if (net->ports.list[i].is_software && (user_decides() || net->mine == (int32_t)i)) return true;
    return false;
}

isthmus_status ib_net_configure(const isthmus_tr *tr, ucp_config_t *config)
{
    const struct isthmus_services *s = tr->services;
    const struct ib_net *net = tr->net;
    bool is_choice = net->n_active > (net->mine >= 0 ? 1u : 0u);
    char index[12];
    snprintf(index, sizeof index, "%d", net->gid_index);
    const struct ib_key software = {
        .name = "UD_ETH_DGID_CHECK",
        .value = goes_through_software(net) ? "n" : NULL,
        .why =
            "UCX 1.13 takes the kind of a datagram from a field that Soft-RoCE does not fill, and drops all of them; "
            "the device itself has compared their addresses",
        .variables = {"UCX_UD_VERBS_ETH_DGID_CHECK", "UCX_UD_ETH_DGID_CHECK"},
    };
    const struct ib_key gid = {
        .name = "IB_GID_INDEX",
        .value = net->gid_index >= 0 ? index : NULL,
        .why = "a GID was chosen by its address",
        .variables = {"UCX_IB_GID_INDEX"},
    };
    isthmus_status status = is_choice && !user_decides() ? narrow(tr, config) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = ib_config_set(s, config, &software);
    return status == ISTHMUS_OK ? ib_config_set(s, config, &gid) : status;
}

/* ---- what people are told ---- */

static const char *link_name(enum ib_link link)
{
    switch (link) {
    case IB_LINK_INFINIBAND: return "InfiniBand";
    case IB_LINK_ETHERNET: return "RoCE";
    default: return "other link";
    }
}

static const char *atomics_name(enum ib_atomics atomics)
{
    switch (atomics) {
    case IB_ATOMICS_ADAPTER: return "by the adapter";
    case IB_ATOMICS_SYSTEM: return "by the adapter, together with processors";
    default: return "none";
    }
}

static const struct ib_gid *best_gid(const struct ib_port *port)
{
    const struct ib_gid *best = NULL;
    for (uint32_t i = 0; i < port->n_gids; i++) {
        const struct ib_gid *gid = &port->gids[i];
        bool is_better = best == NULL || gid->type > best->type ||
                         (gid->type == best->type && gid->is_ipv4 > best->is_ipv4);
        if (is_better) best = gid;
    }
    return best;
}

static void write_gid(struct text *out, const struct ib_port *port)
{
    const struct ib_gid *gid = best_gid(port);
    if (gid == NULL || port->link != IB_LINK_ETHERNET) return;
    add(out, " v%d", gid->type == IB_GID_ROCE_2 ? 2 : 1);
    if (gid->is_ipv4) add(out, " at %u.%u.%u.%u", gid->raw[12], gid->raw[13], gid->raw[14], gid->raw[15]);
    add(out, " (GID %u)", gid->index);
}

static void write_what(struct text *out, const struct ib_port *port)
{
    add(out, "%s%s", port->is_software ? "Soft-" : "", link_name(port->link));
    write_gid(out, port);
    add(out, ", %s", port->is_active ? "up" : "down");
    if (port->is_active) add(out, ", %g Gb/s", port->rate_mbit_per_s / 1000.0);
    if (port->numa_node >= 0) add(out, ", NUMA node %d", port->numa_node);
    add(out, ", atomics: %s", atomics_name(port->atomics));
}

static void write_why_mine(struct text *out, const struct ib_net *net)
{
    if (net->selection.n == 1) {
        add(out, "%s", net->request != NULL ? "ISTHMUS_HCA wants it" : "the only one for this PE to choose");
        return;
    }
    if (net->selection.is_dealt) {
        add(out, "ISTHMUS_HCA deals it to this PE");
        return;
    }
    add(out, "%u ports for %u PE%s, ", net->selection.n, net->n_sharers, net->n_sharers == 1 ? "" : "s");
    if (net->my_node < 0)
        add(out, "and this PE is bound to no NUMA node");
    else if (net->my_distance >= IB_FAR)
        add(out, "at an unknown distance from NUMA node %d of this PE", net->my_node);
    else
        add(out, "at distance %u from NUMA node %d of this PE", net->my_distance, net->my_node);
}

static const char *why_not(const struct ib_net *net, uint32_t index)
{
    if (!net->ports.list[index].is_active) return "its link is down";
    if (user_decides()) return "UCX_NET_DEVICES decides";
    for (uint32_t i = 0; i < net->selection.n; i++)
        if (net->selection.ports[i] == index) return "in the share of other PEs";
    if (net->request != NULL) return "ISTHMUS_HCA does not want it";
    return "of another link, or much slower, than the others";
}

static uint32_t count_devices(isthmus_tr *tr) { return tr->net->ports.n; }

static void describe_device(isthmus_tr *tr, uint32_t index, struct isthmus_device *out)
{
    struct ib_net *net = tr->net;
    const struct ib_port *port = &net->ports.list[index];
    struct ib_port_text *kept = &net->texts[index];
    struct text what = {.start = kept->what, .room = sizeof kept->what};
    struct text why = {.start = kept->why, .room = sizeof kept->why};
    bool is_mine = net->mine == (int32_t)index;
    write_what(&what, port);
    if (is_mine)
        write_why_mine(&why, net);
    else
        add(&why, "%s", why_not(net, index));
    const struct isthmus_device device = {
        .struct_size = out->struct_size,
        .is_used = is_mine,
        .name = port->name,
        .what = kept->what,
        .why = kept->why,
    };
    ib_write_out(out, &device, sizeof device);
}

const struct isthmus_devices ib_devices = {
    .struct_size = sizeof(struct isthmus_devices),
    .count = count_devices,
    .describe = describe_device,
};
