/* plugins/ib/ib_net.c: the ports that this PE uses, and UCX's configuration for them. ib_describe.c describes them to
 * users. The adapters are ib_verbs.c, the rules ib_select.c. UCX keeps every interface that is no adapter: peers
 * without one are reached by TCP, and UCX prefers an adapter where both sides have one. */
#include "plugins/ib/ib.h"
#include "plugins/ib/ib_config.h"
#include "plugins/ib/ib_text.h"

#include <isthmus/interfaces.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RAILS_SINCE_MINOR = 14 }; /* UCX 1.13 puts and gets over one port only */

bool ib_net_user_decides(void) { return ib_ucp_is_set("UCX_NET_DEVICES"); }

bool ib_net_is_slow(const struct ib_net *net)
{
    for (uint32_t i = 0; i < net->ports.n; i++)
        if (net->ports.list[i].is_active && net->ports.list[i].link != IB_LINK_OTHER) return false;
    return net->n_active > 0;
}

/* ---- which one ---- */

/* All PEs of this host, each with where the memory is that it moves. */
struct sharers {
    struct ib_origin *origins;
    uint32_t *distances; /* [pe * selection->n + port] */
    uint32_t *shares;    /* the port of each, as an index of the selection's list */
    uint32_t n, me;
};

static isthmus_status make_room(const struct isthmus_services *s, struct sharers *out, uint32_t n, uint32_t n_ports)
{
    out->n = n;
    out->origins = calloc(n, sizeof *out->origins);
    out->distances = calloc((size_t)n * n_ports, sizeof *out->distances);
    out->shares = calloc(n, sizeof *out->shares);
    if (out->origins != NULL && out->distances != NULL && out->shares != NULL) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the shares of adapters");
}

static void free_room(const struct sharers *sharers)
{
    free(sharers->origins);
    free(sharers->distances);
    free(sharers->shares);
}

static isthmus_status find_by_places(const isthmus_tr *tr, struct sharers *out)
{
    const struct isthmus_services *s = tr->services;
    const struct isthmus_local_place *list;
    uint32_t n;
    isthmus_status status = s->local_places(s->core, &list, &n);
    if (status == ISTHMUS_OK) status = make_room(s, out, n, tr->net->selection.n);
    for (uint32_t i = 0; i < n && status == ISTHMUS_OK; i++) {
        const struct isthmus_local_place *place = isthmus_local_place_at(list, i);
        ib_origin_find(tr->net->sysfs, place->numa_node, place->pci_address, &out->origins[i]);
        if (place->pe == s->my_pe) out->me = i;
    }
    return status;
}

/* For a core without local_places; without local_pes too, finds this PE only. */
static isthmus_status find_by_nodes(const isthmus_tr *tr, struct sharers *out)
{
    const struct isthmus_services *s = tr->services;
    const struct isthmus_local_pe nowhere = {.pe = s->my_pe, .numa_node = -1}, *list = &nowhere;
    uint32_t n = 1;
    isthmus_status status = ISTHMUS_HAS(s, local_pes) ? s->local_pes(s->core, &list, &n) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = make_room(s, out, n, tr->net->selection.n);
    for (uint32_t i = 0; i < n && status == ISTHMUS_OK; i++) {
        ib_origin_find(tr->net->sysfs, list[i].numa_node, NULL, &out->origins[i]);
        if (list[i].pe == s->my_pe) out->me = i;
    }
    return status;
}

static void measure(const struct ib_net *net, const struct sharers *sharers)
{
    const struct ib_selection *selection = &net->selection;
    for (uint32_t pe = 0; pe < sharers->n; pe++)
        for (uint32_t i = 0; i < selection->n; i++)
            sharers->distances[(size_t)pe * selection->n + i] = ib_distance(net->sysfs, &sharers->origins[pe],
                                                                            &net->ports.list[selection->ports[i]]);
}

static enum ib_use use_of(const struct ib_selection *selection, uint32_t owner, bool is_farther)
{
    if (owner != IB_NONE) return IB_USE_OTHER_PE;
    if (selection->is_dealt) return IB_USE_NOT_DEALT;
    return is_farther ? IB_USE_FARTHER : IB_USE_TOO_MANY;
}

/* The outcome for this PE. */
static void keep(struct ib_net *net, const struct sharers *sharers)
{
    const struct ib_selection *selection = &net->selection;
    uint32_t owners[IB_MAX_PORTS], me = sharers->me, own = sharers->shares[me];
    const uint32_t *distances = sharers->distances + (size_t)me * selection->n;
    ib_share_rails(selection, sharers->distances, sharers->n, net->most_rails, sharers->shares, owners);
    net->n_sharers = sharers->n;
    net->mine = (int32_t)selection->ports[own];
    net->origin = sharers->origins[me];
    for (uint32_t i = 0; i < selection->n; i++) {
        enum ib_use use = use_of(selection, owners[i], distances[i] > distances[own]);
        if (owners[i] == me) use = IB_USE_RAIL;
        net->uses[selection->ports[i]] = use;
        net->distances[selection->ports[i]] = distances[i];
    }
    net->uses[net->mine] = IB_USE_OWN; /* other PEs may have it too, and a list may name it twice */
}

/* For all PEs of the host, of which only this one's share is kept. */
static isthmus_status share(isthmus_tr *tr)
{
    struct sharers sharers = {.n = 0};
    isthmus_status status = ISTHMUS_HAS(tr->services, local_places) ? find_by_places(tr, &sharers)
                                                                    : find_by_nodes(tr, &sharers);
    if (status == ISTHMUS_OK) {
        measure(tr->net, &sharers);
        ib_share(&tr->net->selection, sharers.distances, sharers.n, sharers.shares);
        keep(tr->net, &sharers);
    }
    free_room(&sharers);
    return status;
}

/* UCX takes one index of GIDs for all ports: those of further ports have to be the same. */
static isthmus_status choose_gids(isthmus_tr *tr)
{
    struct ib_net *net = tr->net;
    isthmus_status status = ib_gid_choose(tr->services, &net->ports.list[net->mine], &net->gid_index);
    for (uint32_t i = 0; i < net->ports.n && status == ISTHMUS_OK && net->gid_index >= 0; i++) {
        int32_t index = -1;
        if (net->uses[i] != IB_USE_RAIL) continue;
        isthmus_status found = ib_gid_choose(tr->services, &net->ports.list[i], &index);
        if (found != ISTHMUS_OK || index != net->gid_index) net->uses[i] = IB_USE_OTHER_GID;
    }
    for (uint32_t i = 0; i < net->ports.n; i++) net->n_rails += ib_net_has(net, i);
    return status;
}

/* With ports and selection at hand. */
static isthmus_status choose(isthmus_tr *tr)
{
    struct ib_net *net = tr->net;
    net->mine = (int32_t)net->selection.ports[0];
    net->uses[net->mine] = IB_USE_OWN;
    isthmus_status status = net->selection.n > 1 ? share(tr) : ISTHMUS_OK;
    return status == ISTHMUS_OK ? choose_gids(tr) : status;
}

static const char *text_of(const struct isthmus_services *s, const char *key)
{
    const char *text = s->config(s->core, key);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

isthmus_status ib_net_open(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    struct ib_net *net = tr->net = calloc(1, sizeof *net);
    if (net == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the adapters");
    const char *sysfs = text_of(s, "SYSFS");
    net->sysfs = sysfs != NULL ? sysfs : "/sys";
    net->mine = net->gid_index = -1;
    net->request = text_of(s, "HCA");
    ib_ports_read(sysfs, &net->ports);
    for (uint32_t i = 0; i < net->ports.n; i++) net->n_active += net->ports.list[i].is_active;
    net->most_rails = tr->settings.n_rails;
    isthmus_status status = ib_select(s, &net->ports, net->request, &net->selection);
    if (status != ISTHMUS_OK || net->selection.n == 0 || ib_net_user_decides()) return status;
    return choose(tr);
}

void ib_net_close(struct ib_net *net) { free(net); }

bool ib_net_is_shared(const char *reason, const char *host_name, char address[IB_IPV4_BYTES])
{
    static const char mark[] = "dest_addr=";
    struct sockaddr_storage to = {.ss_family = AF_INET};
    struct ifaddrs *all;
    char own[IB_HOST_NAME_BYTES] = "";
    const char *at = strstr(reason, mark);
    if (at == NULL || gethostname(own, sizeof own - 1) != 0 || strcmp(own, host_name) == 0) return false;
    snprintf(address, IB_IPV4_BYTES, "%.*s", (int)strspn(at + strlen(mark), "0123456789."), at + strlen(mark));
    if (inet_pton(AF_INET, address, &((struct sockaddr_in *)&to)->sin_addr) != 1 || getifaddrs(&all) != 0) return false;
    bool is_shared = isthmus_address_is_shared(all, (const struct sockaddr *)&to);
    freeifaddrs(all);
    return is_shared;
}

/* ---- the configuration of UCX ---- */

static bool has_address(const struct ifaddrs *i)
{
    bool is_up = (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_RUNNING) != 0;
    return is_up && i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET;
}

/* Those of the best rank, and loopback, over which UCX connects PEs of one host. Interfaces are listed once for each
 * address; of two that are alike UCX takes one. Returns how many were left out. */
static size_t add_interfaces(const char *choice, struct ib_text *out)
{
    struct ifaddrs *all;
    enum isthmus_interface_rank best = ISTHMUS_INTERFACE_UNFIT;
    size_t n_left_out = 0;
    if (getifaddrs(&all) != 0) return 0;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
        if (has_address(i) && isthmus_interface_rank(choice, i) < best) best = isthmus_interface_rank(choice, i);
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (!has_address(i)) continue;
        enum isthmus_interface_rank rank = isthmus_interface_rank(choice, i);
        if (rank != ISTHMUS_INTERFACE_UNFIT && (rank == best || rank == ISTHMUS_INTERFACE_LOOPBACK))
            ib_text_add(out, "%s%s", out->length > 0 ? "," : "", i->ifa_name);
        else
            n_left_out++;
    }
    freeifaddrs(all);
    return n_left_out;
}

/* is_choice: there are more ports than this PE takes. Otherwise UCX finds all by itself, unless an interface is to be
 * left out: versions before 1.16 would connect to the bridges of containers. */
static isthmus_status narrow(const isthmus_tr *tr, ucp_config_t *config, bool is_choice)
{
    const struct isthmus_services *s = tr->services;
    const struct ib_net *net = tr->net;
    const char *choice = text_of(s, "INTERFACE");
    char names[2048];
    struct ib_text out = {.start = names, .room = sizeof names};
    for (uint32_t i = 0; i < net->ports.n; i++)
        if (ib_net_has(net, i)) ib_text_add(&out, "%s%s", out.length > 0 ? "," : "", net->ports.list[i].name);
    size_t length = out.length, n_left_out = add_interfaces(choice, &out);
    if (choice != NULL && out.length == length)
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "no network interface fits ISTHMUS_INTERFACE '%s'", choice);
    if (!is_choice && (n_left_out == 0 || net->ports.is_unknown)) return ISTHMUS_OK;
    if (out.length >= out.room)
        return s->fail(
            s->core, ISTHMUS_ERR_LIMIT,
            "the names of this host's interfaces take %zu bytes, but there is room for %zu; set UCX_NET_DEVICES",
            out.length, out.room);
    const struct ib_config_key key = {.name = "NET_DEVICES",
                                      .value = names,
                                      .why = is_choice ? "PEs share the adapters of a host"
                                                       : "the other interfaces do not connect hosts of this job",
                                      .is_needed = true};
    return ib_config_set(s, config, &key);
}

static bool goes_through_software(const struct ib_net *net)
{
    for (uint32_t i = 0; i < net->ports.n; i++)
        if (net->ports.list[i].is_software && (ib_net_user_decides() || ib_net_has(net, i))) return true;
    return false;
}

/* With one port UCX has nothing to spread, whatever the keys are. */
static isthmus_status set_rails(const isthmus_tr *tr, ucp_config_t *config)
{
    const struct isthmus_services *s = tr->services;
    char number[12];
    snprintf(number, sizeof number, "%u", tr->net->n_rails);
    const struct ib_config_key puts = {
        .name = "MAX_RMA_RAILS",
        .value = tr->net->n_rails > 1 ? number : NULL,
        .why = "this PE has several ports",
        .variables = {"UCX_MAX_RMA_RAILS", "UCX_MAX_RMA_LANES"},
        .since_minor = RAILS_SINCE_MINOR,
    };
    const struct ib_config_key messages = {
        .name = "MAX_RNDV_RAILS",
        .value = puts.value,
        .why = puts.why,
        .variables = {"UCX_MAX_RNDV_RAILS", "UCX_MAX_RNDV_LANES"},
    };
    isthmus_status status = ib_config_set(s, config, &puts);
    return status == ISTHMUS_OK ? ib_config_set(s, config, &messages) : status;
}

/* For its keepalive UCX adds a lane of datagrams to each endpoint over an adapter, which each flush and each progress
 * serves too. The job's signs of life have a shorter period and include each PE that this one connects to; where they
 * are switched off, the lane stays. */
static isthmus_status set_keepalive(const isthmus_tr *tr, ucp_config_t *config)
{
    const struct isthmus_services *s = tr->services;
    const char *pulse_timeout = s->config(s->core, "PULSE_TIMEOUT");
    bool has_pulses = pulse_timeout == NULL || strtoul(pulse_timeout, NULL, 10) != 0;
    const struct ib_config_key key = {
        .name = "KEEPALIVE_INTERVAL",
        .value = tr->net->n_active > 0 && has_pulses ? "inf" : NULL,
        .why = "the lane for it delays each operation, and the job's own signs of life come more often",
        .variables = {"UCX_KEEPALIVE_INTERVAL"},
    };
    return ib_config_set(s, config, &key);
}

isthmus_status ib_net_configure(const isthmus_tr *tr, ucp_config_t *config)
{
    const struct isthmus_services *s = tr->services;
    const struct ib_net *net = tr->net;
    bool is_choice = net->n_active > net->n_rails;
    char index[12];
    snprintf(index, sizeof index, "%d", net->gid_index);
    const struct ib_config_key software = {
        .name = "UD_ETH_DGID_CHECK",
        .value = goes_through_software(net) ? "n" : NULL,
        .why =
            "UCX 1.13 takes the kind of a datagram from a field that Soft-RoCE does not fill, and drops all of them; "
            "the device itself has compared their addresses",
        .variables = {"UCX_UD_VERBS_ETH_DGID_CHECK", "UCX_UD_ETH_DGID_CHECK"},
    };
    const struct ib_config_key gid = {
        .name = "IB_GID_INDEX",
        .value = net->gid_index >= 0 ? index : NULL,
        .why = "a GID was chosen by its address",
        .variables = {"UCX_IB_GID_INDEX"},
    };
    isthmus_status status = !ib_net_user_decides() ? narrow(tr, config, is_choice) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = set_rails(tr, config);
    if (status == ISTHMUS_OK) status = set_keepalive(tr, config);
    if (status == ISTHMUS_OK) status = ib_config_set(s, config, &software);
    return status == ISTHMUS_OK ? ib_config_set(s, config, &gid) : status;
}
