/* plugins/ib/rc/rc_port.c: the port whose adapter executes atomics (ISTHMUS_ATOMICS=nic), and how its packets are
 * addressed: as UCX does it, for one network carries both. */
#include "plugins/ib/rc/rc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROCE_2_TRAFFIC_CLASS = 106 }; /* UCX's: networks without loss have a queue for it */

/* Reads a number that UCX gets too, which has refused text that is none. "auto", and what is out of range: `usual`. */
static int32_t setting(const isthmus_tr *tr, const char *variable, const char *key, int base, int32_t usual)
{
    const struct isthmus_services *s = tr->services;
    const char *text = ib_ucp_variable(variable);
    char *end;
    if (text == NULL) text = s->config(s->core, key);
    unsigned long value = text != NULL ? strtoul(text, &end, base) : 0;
    return text != NULL && end != text && value <= INT16_MAX ? (int32_t)value : usual;
}

static bool is_roce_2(const struct ib_port *port, uint32_t gid_index)
{
    for (uint32_t i = 0; i < port->n_gids; i++)
        if (port->gids[i].index == gid_index) return port->gids[i].type == IB_GID_ROCE_2;
    return false;
}

static struct ib_qp_settings settings_of(const isthmus_tr *tr, const struct ib_port *port)
{
    const struct ib_gid *best = ib_gid_best(port);
    int32_t gid = best != NULL && port->link == IB_LINK_ETHERNET ? (int32_t)best->index : 0;
    if (tr->net->gid_index >= 0) gid = tr->net->gid_index;
    gid = setting(tr, "UCX_IB_GID_INDEX", "GID_INDEX", 10, gid);
    int32_t class = is_roce_2(port, (uint32_t)gid) ? ROCE_2_TRAFFIC_CLASS : 0;
    return (struct ib_qp_settings){
        .gid_index = (uint32_t)gid,
        .service_level = (uint8_t)setting(tr, "UCX_IB_SL", "SL", 10, 0),
        .traffic_class = (uint8_t)setting(tr, "UCX_IB_TRAFFIC_CLASS", "TRAFFIC_CLASS", 10, class),
        .partition = setting(tr, "UCX_IB_PKEY", "PKEY", 16, IB_ANY_PARTITION),
    };
}

/* The port that UCX is configured to use, or the first one in the user's UCX_NET_DEVICES; NULL: none. */
static const struct ib_port *port_of(const struct ib_net *net)
{
    const char *devices = ib_ucp_variable("UCX_NET_DEVICES");
    if (net->mine >= 0) return &net->ports.list[net->mine];
    return devices != NULL ? ib_port_in_list(&net->ports, devices) : NULL;
}

static const char *why_no_atomics(const struct ib_net *net, const struct ib_port *port)
{
    if (port != NULL) return "has no atomics";
    if (net->n_active > 0) return "UCX_NET_DEVICES names no adapter that is up";
    return net->ports.n > 0 ? "no adapter of this host is up" : "the network is TCP, which has no atomics by adapters";
}

/* How many queue pairs each worker of this PE may have. Half of the adapter's are left to UCX, and half of the rest are
 * the counterparts of those that peers have. */
static isthmus_status share_qps(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    uint32_t n_qps = ib_adapter_max_qps(tr->adapter), n_local = (uint32_t)s->n_local_pes;
    uint32_t n_ports = tr->net->mine >= 0 ? tr->net->selection.n : 1, n_workers = tr->settings.n_workers;
    uint32_t n_sharers = n_local > n_ports ? (n_local + n_ports - 1) / n_ports : 1;
    tr->most_qps = n_qps / 4 / n_sharers / n_workers;
    if (tr->most_qps > 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_LIMIT,
                   "it has %u queue pairs, and %u PEs with %u workers each need 4 for each worker (ISTHMUS_IB_WORKERS)",
                   n_qps, n_sharers, n_workers);
}

static void keep_why(isthmus_tr *tr, const struct ib_port *port)
{
    const char *why = tr->services->fail_text(tr->services->core);
    snprintf(tr->why_no_adapter, sizeof tr->why_no_adapter, "%s: %.110s", port->name,
             strncmp(why, "ib: ", 4) == 0 ? why + 4 : why);
    ib_adapter_close(tr->adapter);
    tr->adapter = NULL;
}

/* Without an adapter the transport works but for these atomics, and reach() reports that: the core decides whether the
 * job can start. */
isthmus_status ib_rc_open(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    const char *wanted = s->config(s->core, "ATOMICS");
    if (wanted == NULL || strcmp(wanted, "nic") != 0) return ISTHMUS_OK;
    const struct ib_port *port = port_of(tr->net);
    if (port == NULL || port->atomics == IB_ATOMICS_NONE) {
        snprintf(tr->why_no_adapter, sizeof tr->why_no_adapter, "%s%s%s", port != NULL ? port->name : "",
                 port != NULL ? " " : "", why_no_atomics(tr->net, port));
        return ISTHMUS_OK;
    }
    struct ib_qp_settings settings = settings_of(tr, port);
    if (ib_adapter_open(s, port, &settings, &tr->adapter) != ISTHMUS_OK || share_qps(tr) != ISTHMUS_OK) {
        keep_why(tr, port);
        return ISTHMUS_OK;
    }
    bool pins = tr->is_on_demand && !ib_adapter_has_on_demand(tr->adapter);
    const char *why = ib_adapter_why_not_masked(tr->adapter);
    s->log(s->core, ISTHMUS_LOG_INFO, "%s executes atomics of 64 bits on this PE's host memory%s", port->name,
           pins ? ", which is pinned for them although ISTHMUS_IB_REGISTRATION is on_demand: it executes none there"
                : "");
    s->log(s->core, ISTHMUS_LOG_INFO, "%s: set, swap, and, or, xor of 64 bits take %s%s", port->name,
           why == NULL ? "one round trip, as the others, to adapters that have masked atomics too"
                       : "two round trips or more: ",
           why == NULL ? "" : why);
    return ISTHMUS_OK;
}
