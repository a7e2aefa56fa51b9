/* plugins/ofi/ofi_domain.c: which domain of an adapters' provider this PE uses: the PEs of a host share its adapters,
 * the nearest to each one's device or processors (isthmus/adapters.h). Each PE computes the shares of all. */
#include "ofi.h"

#include <isthmus/adapters.h>
#include <stdio.h>
#include <string.h>

struct candidates {
    const struct fi_info *list[ISTHMUS_ADAPTERS_MOST]; /* by name: in the same order in every PE */
    uint32_t n;
};

/* ---- which domains there are ---- */

static const char *name_of(const struct fi_info *info)
{
    return info->domain_attr->name != NULL ? info->domain_attr->name : "";
}

static size_t speed_of(const struct fi_info *info)
{
    return info->nic != NULL && info->nic->link_attr != NULL ? info->nic->link_attr->speed : 0;
}

bool ofi_link_is_down(const struct fi_info *info)
{
    return info->nic != NULL && info->nic->link_attr != NULL && info->nic->link_attr->state == FI_LINK_DOWN;
}

static bool is_alike(const struct fi_info *a, const struct fi_info *b)
{
    const char *fabric_a = a->fabric_attr->name, *fabric_b = b->fabric_attr->name;
    bool is_same_fabric = fabric_a != NULL && fabric_b != NULL ? strcmp(fabric_a, fabric_b) == 0 : fabric_a == fabric_b;
    return is_same_fabric && strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) == 0;
}

/* A domain is listed more than once where it has several kinds of addresses: the first counts. */
static void add(struct candidates *c, const struct fi_info *info)
{
    uint32_t at = c->n;
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(name_of(c->list[i]), name_of(info)) == 0) return;
    if (c->n == ISTHMUS_ADAPTERS_MOST) return;
    for (; at > 0 && strverscmp(name_of(c->list[at - 1]), name_of(info)) > 0; at--) c->list[at] = c->list[at - 1];
    c->list[at] = info;
    c->n++;
}

/* A slow adapter beside fast ones is there for something else. One of unknown speed (0) stays. */
static void drop_slow(struct candidates *c)
{
    size_t fastest = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++)
        if (speed_of(c->list[i]) > fastest) fastest = speed_of(c->list[i]);
    for (uint32_t i = 0; i < c->n; i++)
        if (speed_of(c->list[i]) == 0 || speed_of(c->list[i]) >= fastest / 2) c->list[n++] = c->list[i];
    c->n = n;
}

static isthmus_status collect(isthmus_tr *tr, const struct fi_info *all, const struct fi_info *best,
                              struct candidates *out)
{
    const struct isthmus_services *s = tr->services;
    const char *devices = ofi_slingshot_devices();
    for (const struct fi_info *i = all; i != NULL; i = i->next)
        if (is_alike(i, best) && !ofi_link_is_down(i) && ofi_slingshot_permits(&tr->slingshot, name_of(i))) add(out, i);
    drop_slow(out);
    if (out->n > 0) return ISTHMUS_OK;
    if (!tr->slingshot.is_set)
        return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                       "the link of %s is down; bring it up, or name another provider in ISTHMUS_OFI_PROVIDER",
                       name_of(best));
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                   "SLINGSHOT_DEVICES permits this job the devices %s, of which libfabric lists none that is up",
                   devices);
}

/* ---- the share of this PE ---- */

static void place_of(const char *sysfs, const struct fi_info *info, struct isthmus_place *out)
{
    char address[32];
    bool is_known = info->nic != NULL && info->nic->bus_attr != NULL && info->nic->bus_attr->bus_type == FI_BUS_PCI;
    if (is_known) {
        const struct fi_pci_attr *pci = &info->nic->bus_attr->attr.pci;
        snprintf(address, sizeof address, "%04x:%02x:%02x.%x", pci->domain_id, pci->bus_id, pci->device_id,
                 pci->function_id);
    }
    (void)isthmus_place_of_device(sysfs, is_known ? address : NULL, -1, out);
}

/* Fills the row of one PE. */
static void measure(const char *sysfs, const struct isthmus_local_place *pe, const struct isthmus_place *adapters,
                    uint32_t n_adapters, uint32_t *row)
{
    struct isthmus_place mine;
    (void)isthmus_place_of_device(sysfs, pe->pci_address, pe->numa_node, &mine);
    for (uint32_t i = 0; i < n_adapters; i++) row[i] = isthmus_place_distance(sysfs, &mine, &adapters[i]);
}

/* isthmus-info has 63 characters for all of it. */
static void describe(isthmus_tr *tr, const struct candidates *c, uint32_t distance)
{
    static const char *const near[] = {
        [ISTHMUS_SAME_SWITCH] = "at its GPU's PCIe switch",
        [ISTHMUS_SAME_ROOT_PORT] = "at its GPU's PCIe root port",
        [ISTHMUS_SAME_HOST_BRIDGE] = "at its GPU's PCIe host bridge",
    };
    if (distance <= ISTHMUS_SAME_HOST_BRIDGE)
        snprintf(tr->share, sizeof tr->share, " of %u, %s", c->n, near[distance]);
    else if (distance < ISTHMUS_FAR)
        snprintf(tr->share, sizeof tr->share, " of %u, at distance %u", c->n, distance);
    else
        snprintf(tr->share, sizeof tr->share, " of %u", c->n);
}

static isthmus_status share(isthmus_tr *tr, const struct candidates *c, const struct fi_info **out)
{
    const struct isthmus_services *s = tr->services;
    const struct isthmus_local_place *list;
    const char *sysfs = s->config(s->core, "SYSFS");
    struct isthmus_place adapters[ISTHMUS_ADAPTERS_MOST];
    uint32_t n, me = 0;
    isthmus_status status = s->local_places(s->core, &list, &n);
    if (status != ISTHMUS_OK) return status;
    if (sysfs == NULL || sysfs[0] == '\0') sysfs = "/sys";
    uint32_t *distances = calloc((size_t)n * c->n, sizeof *distances), *shares = calloc(n, sizeof *shares);
    if (distances == NULL || shares == NULL) {
        free(distances);
        free(shares);
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the shares of adapters");
    }
    for (uint32_t i = 0; i < c->n; i++) place_of(sysfs, c->list[i], &adapters[i]);
    for (uint32_t i = 0; i < n; i++) {
        const struct isthmus_local_place *pe = isthmus_local_place_at(list, i);
        measure(sysfs, pe, adapters, c->n, distances + (size_t)i * c->n);
        if (pe->pe == s->my_pe) me = i;
    }
    isthmus_adapters_share(distances, c->n, n, shares);
    *out = c->list[shares[me]];
    describe(tr, c, distances[(size_t)me * c->n + shares[me]]);
    free(distances);
    free(shares);
    return ISTHMUS_OK;
}

/* ---- the choice ---- */

static isthmus_status check_named(const isthmus_tr *tr, const struct fi_info *named)
{
    const struct isthmus_services *s = tr->services;
    if (ofi_slingshot_permits(&tr->slingshot, name_of(named))) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_INVALID,
                   "ISTHMUS_OFI_DOMAIN is '%s', but SLINGSHOT_DEVICES permits this job the devices %s", name_of(named),
                   ofi_slingshot_devices());
}

isthmus_status ofi_domain_choose(isthmus_tr *tr, const struct fi_info *all, const struct fi_info *best, bool is_named,
                                 const struct fi_info **out)
{
    struct candidates c = {.n = 0};
    isthmus_status status = ISTHMUS_OK;
    if (strcmp(best->fabric_attr->prov_name, "cxi") == 0) status = ofi_slingshot_read(tr->services, &tr->slingshot);
    if (status != ISTHMUS_OK) return status;
    *out = best;
    if (is_named) return check_named(tr, best);
    status = collect(tr, all, best, &c);
    if (status != ISTHMUS_OK) return status;
    *out = c.list[0];
    return c.n > 1 && ISTHMUS_HAS(tr->services, local_places) ? share(tr, &c, out) : ISTHMUS_OK;
}
