/* plugins/ofi/ofi_provider.c: which provider of libfabric this PE uses, and what that provider needs and offers. */
#include "ofi.h"

#include <isthmus/interfaces.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libfabric does not report whether an adapter or a processor executes an access, which decides how a short put goes
 * and whether a write wakes its target, or an atomic, which is printed. In the order of preference; an unknown provider
 * is between the two groups. */
struct provider {
    const char *name;
    bool is_software, has_adapter_atomics;
    uint32_t latency_ns;
};

enum { LATENCY_UNKNOWN_NS = 4000 };

static const struct provider providers[] = {
    {"cxi", false, true, 1800},
    {"efa", false, false, 9000},
    {"opx", false, false, 1500},
    {"psm2", false, false, 1500},
    {"verbs;ofi_rxm", false, false, 3500},
    {"psm3", false, false, 21000}, /* not for Omni-Path: over RoCE, where ib is, or over TCP */
    {"shm", true, false, 1000},
    {"tcp;ofi_rxm", true, false, 21000},
    {"tcp", true, false, 21000},
    {"net", true, false, 22000},
    {"net;ofi_rxm", true, false, 23000},
    {"sockets", true, false, 60000},
    {"udp;ofi_rxd", true, false, 25000000}}; /* measured: its own ping-pong takes 12 to 27 ms a message */

enum { N_PROVIDERS = sizeof providers / sizeof *providers };

uint64_t ofi_checksum(const void *bytes, size_t n_bytes) /* FNV-1a */
{
    const uint8_t *b = bytes;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n_bytes; i++) sum = (sum ^ b[i]) * 0x100000001b3u;
    return sum;
}

isthmus_status ofi_fail(const isthmus_tr *tr, const char *call, ssize_t error)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status code = error == -FI_ENOMEM   ? ISTHMUS_ERR_NO_MEMORY
                          : error == -FI_EACCES ? ISTHMUS_ERR_PERMISSION
                                                : ISTHMUS_ERR_IO;
    return s->fail(s->core, code, "%s of libfabric %s, provider %s: %s", call, ofi_library_version(),
                   tr->info != NULL ? tr->info->fabric_attr->prov_name : "unknown", ofi_library_error(error));
}

static const struct provider *find(const char *name)
{
    for (size_t i = 0; i < N_PROVIDERS; i++)
        if (strcmp(providers[i].name, name) == 0) return &providers[i];
    return NULL;
}

static size_t n_adapters(void)
{
    size_t n = 0;
    while (n < N_PROVIDERS && !providers[n].is_software) n++;
    return n;
}

/* The smaller, the better. Providers of one host alone come last: they do not reach every PE. */
static size_t rank_of(const struct fi_info *info)
{
    const struct provider *p = find(info->fabric_attr->prov_name);
    if (p == NULL) return n_adapters();
    size_t index = (size_t)(p - providers);
    if (strcmp(p->name, "shm") == 0) return N_PROVIDERS + 1;
    return p->is_software ? index + 1 : index;
}

/* ---- the list ---- */

/* What is requested of a provider. */
struct wish {
    uint64_t caps, delivery, order;
};

/* What this plugin needs of a provider. Every mode of registration is served (ofi_region.c). */
static struct fi_info *make_hints(const struct wish *wish)
{
    struct fi_info *hints = ofi_library.fi_dupinfo(NULL);
    if (hints == NULL) return NULL;
    hints->caps = wish->caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT |
                                  FI_MR_RAW | FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT;
    if ((wish->caps & FI_HMEM) != 0) hints->domain_attr->mr_mode |= FI_MR_HMEM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS | wish->order;
    hints->tx_attr->op_flags = wish->delivery;
    return hints;
}

/* A plus sign stands for the semicolon in libfabric's names, which shells and lists take for an end. */
static int list(const struct wish *wish, const char *provider, struct fi_info **out)
{
    struct fi_info *hints = make_hints(wish);
    if (hints == NULL) return -FI_ENOMEM;
    char *name = hints->fabric_attr->prov_name = provider != NULL ? strdup(provider) : NULL;
    for (char *plus = name; plus != NULL && (plus = strchr(plus, '+')) != NULL;) *plus = ';';
    int error = ofi_library_list(hints, out);
    ofi_library.fi_freeinfo(hints);
    return error;
}

/* Which of the list are wanted. */
struct choice {
    const char *domain, *interface; /* NULL: the user names none */
    struct ifaddrs *interfaces;     /* of this host; NULL: none is known */
};

static bool is_at(const struct fi_info *info, const struct ifaddrs *interface)
{
    uint8_t mine[16], its[16];
    bool has_address = info->src_addr != NULL &&
                       (info->addr_format == FI_SOCKADDR_IN || info->addr_format == FI_SOCKADDR_IN6);
    size_t n_bytes = has_address ? isthmus_address_bytes_(info->src_addr, mine) : 0;
    if (n_bytes == 0) return true;
    return isthmus_address_bytes_(interface->ifa_addr, its) == n_bytes && memcmp(mine, its, n_bytes) == 0;
}

/* Domains of software providers have the names of interfaces. An adapter's is of the usual rank. */
static enum isthmus_interface_rank interface_rank_of(const struct choice *choice, const struct fi_info *info)
{
    enum isthmus_interface_rank best = ISTHMUS_INTERFACE_UNFIT;
    bool is_interface = false;
    for (const struct ifaddrs *i = choice->interfaces; i != NULL; i = i->ifa_next) {
        if (info->domain_attr->name == NULL || strcmp(info->domain_attr->name, i->ifa_name) != 0) continue;
        is_interface = true;
        enum isthmus_interface_rank rank = isthmus_interface_rank(choice->interface, i);
        if (is_at(info, i) && rank < best) best = rank;
    }
    return is_interface ? best : ISTHMUS_INTERFACE_USUAL;
}

static bool is_wanted(const struct choice *choice, const struct fi_info *info)
{
    const char *name = info->domain_attr->name;
    if (choice->domain != NULL) return name != NULL && strcmp(name, choice->domain) == 0;
    return choice->interface == NULL || interface_rank_of(choice, info) != ISTHMUS_INTERFACE_UNFIT;
}

static bool is_better(const struct choice *choice, const struct fi_info *a, const struct fi_info *b)
{
    if (ofi_link_is_down(a) != ofi_link_is_down(b)) return ofi_link_is_down(b);
    if (rank_of(a) != rank_of(b)) return rank_of(a) < rank_of(b);
    return interface_rank_of(choice, a) < interface_rank_of(choice, b);
}

/* One whose link is down comes last. Of equal rank the first one: libfabric lists faster interfaces first. One that
 * leaves the host goes before a bridge of containers, and that before loopback. */
static struct fi_info *best_of(struct fi_info *all, const struct choice *choice)
{
    struct fi_info *best = NULL;
    for (struct fi_info *i = all; i != NULL; i = i->next)
        if (is_wanted(choice, i) && (best == NULL || is_better(choice, i, best))) best = i;
    return best;
}

/* ---- what it needs and offers ---- */

static void learn(isthmus_tr *tr, const struct wish *wish)
{
    const struct fi_info *info = tr->info;
    const char *name = info->fabric_attr->prov_name;
    const struct provider *known = find(name);
    tr->is_software = known != NULL && known->is_software;
    tr->emulates_atomics = known != NULL && !known->has_adapter_atomics;
    tr->latency_ns = known != NULL ? known->latency_ns : LATENCY_UNKNOWN_NS;
    tr->resends = strstr(name, "ofi_rxd") != NULL; /* the layer that makes datagrams reliable */
    tr->leaves_host = strcmp(name, "shm") != 0;
    tr->has_rma = (wish->caps & FI_RMA) != 0;
    tr->has_hmem = (wish->caps & FI_HMEM) != 0;
    tr->needs_flush = (wish->order & FI_ORDER_RAW) != 0;
    tr->access_bytes = info->ep_attr->max_msg_size;
    if (tr->needs_flush && info->ep_attr->max_order_raw_size < tr->access_bytes)
        tr->access_bytes = info->ep_attr->max_order_raw_size;
    tr->announces = tr->is_software && info->domain_attr->cq_data_size >= 4;
    tr->needs_local_mr = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    tr->inject_bytes = info->tx_attr->inject_size;
    tr->put_message_bytes = tr->is_software || !tr->has_rma ? OFI_DATA_BYTES : 0;
    const char *domain = info->domain_attr->name != NULL ? info->domain_attr->name : "its device";
    snprintf(tr->how, sizeof tr->how, "by provider %s on %s%s%s", name, domain, tr->share,
             tr->has_rma ? "" : ", all as messages");
    snprintf(tr->how_device, sizeof tr->how_device, "direct, by provider %s on %s%s", name, domain, tr->share);
}

static const char *text_of(const struct isthmus_services *s, const char *key)
{
    const char *text = s->config(s->core, key);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static isthmus_status refuse(const isthmus_tr *tr, const char *provider, const struct choice *choice, int error)
{
    const struct isthmus_services *s = tr->services;
    const char *domain = choice->domain != NULL ? choice->domain : choice->interface;
    if (error != 0 && error != -FI_ENODATA) return ofi_fail(tr, "fi_getinfo", error);
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                   "libfabric %s has no %s%s%s%s with endpoints that need no connection (FI_EP_RDM) and messages in "
                   "order (FI_ORDER_SAS); fi_info lists what it has",
                   ofi_library_version(), provider != NULL ? "provider " : "provider", provider != NULL ? provider : "",
                   domain != NULL ? " on " : "", domain != NULL ? domain : "");
}

static bool is_on(const struct isthmus_services *s, const char *key)
{
    const char *text = text_of(s, key);
    return text == NULL || strcmp(text, "0") != 0;
}

static bool is_adapter(const struct fi_info *info) { return rank_of(info) <= n_adapters(); }

static bool suits(const struct fi_info *info, const struct wish *wish)
{
    return wish->order == 0 || info->ep_attr->max_order_raw_size > 0;
}

/* Returns the same domain with atomics, which are requested only where they are to be used; NULL: it has none. */
static struct fi_info *find_with_atomics(const struct wish *wish, const struct fi_info *chosen)
{
    struct fi_info *all = NULL;
    struct wish with = *wish;
    with.caps |= FI_ATOMIC;
    if (list(&with, chosen->fabric_attr->prov_name, &all) != 0) return NULL;
    const struct fi_info *same = best_of(all, &(struct choice){.domain = chosen->domain_attr->name});
    struct fi_info *copy = same != NULL && suits(same, wish) ? ofi_library.fi_dupinfo(same) : NULL;
    ofi_library.fi_freeinfo(all);
    return copy;
}

/* Keeps the domain of this PE, of a list that has been made. */
static isthmus_status take(isthmus_tr *tr, const struct wish *wish, const struct fi_info *all,
                           const struct fi_info *best)
{
    const struct isthmus_services *s = tr->services;
    bool is_named = text_of(s, "DOMAIN") != NULL;
    isthmus_status status = is_adapter(best) ? ofi_domain_choose(tr, all, best, is_named, &best) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) return status;
    const char *atomics = text_of(s, "ATOMICS");
    tr->wants_atomics = atomics != NULL && strcmp(atomics, "nic") == 0;
    if (tr->wants_atomics && (wish->caps & FI_RMA) != 0) tr->info = find_with_atomics(wish, best);
    if (tr->info == NULL) tr->info = ofi_library.fi_dupinfo(best);
    if (tr->info == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the description of a domain");
    learn(tr, wish);
    return ofi_slingshot_authorize(s, &tr->slingshot, tr->info);
}

/* Returns true if this PE may have memory of a device, which an adapter could access. */
static bool wants_hmem(const struct isthmus_services *s)
{
    return ISTHMUS_HAS(s, scopes) && (s->scopes & ISTHMUS_SCOPE_DEVICE) != 0 && ISTHMUS_HAS(s, memory_copy) &&
           is_on(s, "HMEM");
}

/* The adapter of that list accesses memory of devices in some form of the same provider, perhaps not in the one that
 * goes first for the host's. Software providers would copy it as this plugin does. */
static isthmus_status take_with_hmem(isthmus_tr *tr, const char *provider, const struct choice *choice)
{
    static const struct wish wishes[] = {{FI_MSG | FI_RMA | FI_HMEM, FI_DELIVERY_COMPLETE, 0},
                                         {FI_MSG | FI_RMA | FI_HMEM, FI_TRANSMIT_COMPLETE, FI_ORDER_RAW}};
    enum { N_WISHES = sizeof wishes / sizeof *wishes };
    isthmus_status status = ISTHMUS_OK;
    for (size_t i = 0; i < N_WISHES && tr->info == NULL && status == ISTHMUS_OK; i++) {
        struct fi_info *all = NULL;
        if (list(&wishes[i], provider, &all) != 0) continue;
        const struct fi_info *best = best_of(all, choice);
        bool is_chosen = best != NULL && suits(best, &wishes[i]) && !ofi_link_is_down(best);
        if (is_chosen) status = take(tr, &wishes[i], all, best);
        ofi_library.fi_freeinfo(all);
    }
    return status;
}

/* A provider with remote memory access goes before one for messages only; best is one whose completions follow the
 * delivery, then one whose reads show it. The provider is chosen without regard to memory of devices; what it offers
 * for that is listed afterwards, and only for a job that may have some: each list takes time. */
static isthmus_status choose(isthmus_tr *tr, const struct choice *choice)
{
    static const struct wish wishes[] = {{FI_MSG | FI_RMA, FI_DELIVERY_COMPLETE, 0},
                                         {FI_MSG | FI_RMA, FI_TRANSMIT_COMPLETE, FI_ORDER_RAW},
                                         {FI_MSG, 0, 0}};
    enum { N_WISHES = sizeof wishes / sizeof *wishes };
    const struct isthmus_services *s = tr->services;
    const char *provider = text_of(s, "PROVIDER");
    bool wants_rma = is_on(s, "RMA");
    isthmus_status status = ISTHMUS_OK;
    int error = 0;
    for (size_t i = 0; i < N_WISHES && tr->info == NULL && status == ISTHMUS_OK; i++) {
        struct fi_info *all = NULL;
        bool has_rma = (wishes[i].caps & FI_RMA) != 0;
        if (has_rma && !wants_rma) continue;
        error = list(&wishes[i], provider, &all);
        if (error != 0) continue;
        const struct fi_info *best = best_of(all, choice);
        bool is_chosen = best != NULL && suits(best, &wishes[i]);
        if (is_chosen && has_rma && is_adapter(best) && wants_hmem(s))
            status = take_with_hmem(tr, best->fabric_attr->prov_name, choice);
        if (is_chosen && tr->info == NULL && status == ISTHMUS_OK) status = take(tr, &wishes[i], all, best);
        ofi_library.fi_freeinfo(all);
    }
    return tr->info != NULL || status != ISTHMUS_OK ? status : refuse(tr, provider, choice, error);
}

isthmus_status ofi_provider_choose(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    struct choice choice = {.domain = text_of(s, "DOMAIN"), .interface = text_of(s, "INTERFACE")};
    if (getifaddrs(&choice.interfaces) != 0) choice.interfaces = NULL;
    isthmus_status status = choose(tr, &choice);
    if (choice.interfaces != NULL) freeifaddrs(choice.interfaces);
    return status;
}
