/* plugins/ib/ib_describe.c: the ports of this host as text for isthmus-info (extension devices.1), and the reason why
 * this PE uses each or not. The choice is ib_net.c. */
#include "plugins/ib/ib.h"
#include "plugins/ib/ib_text.h"

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

static void write_gid(struct ib_text *out, const struct ib_port *port)
{
    const struct ib_gid *gid = ib_gid_best(port);
    if (gid == NULL || port->link != IB_LINK_ETHERNET) return;
    ib_text_add(out, " v%d", gid->type == IB_GID_ROCE_2 ? 2 : 1);
    if (gid->is_ipv4) ib_text_add(out, " at %u.%u.%u.%u", gid->raw[12], gid->raw[13], gid->raw[14], gid->raw[15]);
    ib_text_add(out, " (GID %u)", gid->index);
}

static void write_what(struct ib_text *out, const struct ib_port *port)
{
    ib_text_add(out, "%s%s", port->is_software ? "Soft-" : "", link_name(port->link));
    write_gid(out, port);
    ib_text_add(out, ", %s", port->is_active ? "up" : "down");
    if (port->is_active) ib_text_add(out, ", %g Gb/s", port->rate_mbit_per_s / 1000.0);
    if (port->place.numa_node >= 0) ib_text_add(out, ", NUMA node %d", port->place.numa_node);
    ib_text_add(out, ", atomics: %s", atomics_name(port->atomics));
    if (!port->is_ordered) ib_text_add(out, ", writes in any order");
}

static void write_why_own(struct ib_text *out, const struct ib_net *net)
{
    if (net->selection.n == 1) {
        ib_text_add(out, "%s", net->request != NULL ? "ISTHMUS_HCA wants it" : "the only one for this PE to choose");
        return;
    }
    if (net->selection.is_dealt) {
        ib_text_add(out, "ISTHMUS_HCA deals it to this PE");
        return;
    }
    ib_text_add(out, "%u ports for %u PE%s, ", net->selection.n, net->n_sharers, net->n_sharers == 1 ? "" : "s");
    ib_distance_describe(out, net->distances[net->mine], &net->origin);
}

/* Of a port that is among the selected ones. */
static void write_why_use(struct ib_text *out, const struct ib_net *net, uint32_t index)
{
    const char *own = net->ports.list[net->mine].name;
    switch (net->uses[index]) {
    case IB_USE_OWN: write_why_own(out, net); break;
    case IB_USE_RAIL: ib_text_add(out, "a further rail: as near as %s, and in no other PE's share", own); break;
    case IB_USE_OTHER_PE:
        ib_text_add(out, "in the share of other PEs, ");
        ib_distance_describe(out, net->distances[index], &net->origin);
        break;
    case IB_USE_FARTHER:
        ib_text_add(out, "farther than %s, ", own);
        ib_distance_describe(out, net->distances[index], &net->origin);
        break;
    case IB_USE_TOO_MANY: ib_text_add(out, "this PE has %u already (ISTHMUS_IB_RAILS)", net->n_rails); break;
    case IB_USE_NOT_DEALT: ib_text_add(out, "ISTHMUS_HCA deals it to no PE"); break;
    case IB_USE_OTHER_GID: ib_text_add(out, "it has no fitting address at GID %d", net->gid_index); break;
    case IB_USE_NOT_SELECTED: ib_text_add(out, "not selected"); break;
    }
}

static void write_why(struct ib_text *out, const struct ib_net *net, uint32_t index)
{
    if (!net->ports.list[index].is_active)
        ib_text_add(out, "its link is down");
    else if (ib_net_user_decides())
        ib_text_add(out, "UCX_NET_DEVICES decides");
    else if (net->uses[index] != IB_USE_NOT_SELECTED)
        write_why_use(out, net, index);
    else if (net->request != NULL)
        ib_text_add(out, "ISTHMUS_HCA does not want it");
    else
        ib_text_add(out, "of another link, or much slower, than the others");
}

static uint32_t count_devices(isthmus_tr *tr) { return tr->net->ports.n; }

static void describe_device(isthmus_tr *tr, uint32_t index, struct isthmus_device *out)
{
    struct ib_net *net = tr->net;
    const struct ib_port *port = &net->ports.list[index];
    struct ib_port_text *kept = &net->texts[index];
    struct ib_text what = {.start = kept->what, .room = sizeof kept->what};
    struct ib_text why = {.start = kept->why, .room = sizeof kept->why};
    write_what(&what, port);
    write_why(&why, net, index);
    const struct isthmus_device device = {
        .is_used = ib_net_has(net, index),
        .name = port->name,
        .what = kept->what,
        .why = kept->why,
    };
    isthmus_write_out(out, &device, sizeof device);
}

const struct isthmus_devices ib_devices = {
    .struct_size = sizeof(struct isthmus_devices),
    .count = count_devices,
    .describe = describe_device,
};
