/* tests/doubles/ofi/info.c: the functions that libfabric exports, and fabrics. */
#include "ofi_double.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) const char isthmus_double[] = "no hardware"; /* for isthmus-perf */

static const struct mode modes[] = {
#define MODE(...) {__VA_ARGS__},
#include "modes.def"
};

void double_broken(const char *where, const char *format, ...)
{
    va_list list;
    fprintf(stderr, "double of libfabric: %s: ", where);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    abort();
}

const struct mode *double_mode(void)
{
    const char *name = getenv("OFI_DOUBLE");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (name == NULL || strcmp(modes[i].name, name) == 0) return &modes[i];
    double_broken(__func__, "OFI_DOUBLE is '%s', which is no row of modes.def", name);
}

uint64_t double_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void double_enter(struct double_domain *domain)
{
    RULE(!atomic_flag_test_and_set(&domain->is_entered),
         "two threads are in one domain, which FI_THREAD_DOMAIN forbids");
    pthread_mutex_lock(&domain->lock);
}

void double_leave(struct double_domain *domain)
{
    pthread_mutex_unlock(&domain->lock);
    atomic_flag_clear(&domain->is_entered);
}

/* OFI_DOUBLE_VERSION, as 1.22: of this process's library. Those of two versions do not understand each other. */
uint32_t fi_version(void)
{
    unsigned major = FI_MAJOR_VERSION, minor = FI_MINOR_VERSION;
    const char *text = getenv("OFI_DOUBLE_VERSION");
    if (text != NULL && sscanf(text, "%u.%u", &major, &minor) != 2)
        double_broken(__func__, "OFI_DOUBLE_VERSION is '%s'", text);
    return FI_VERSION(major, minor);
}

const char *fi_strerror(int error) { return error > 0 && error < FI_ERRNO_OFFSET ? strerror(error) : "Other error"; }

/* ---- struct fi_info ---- */

static void *copy_of(const void *bytes, size_t n_bytes)
{
    void *copy = calloc(1, n_bytes);
    if (copy != NULL && bytes != NULL) memcpy(copy, bytes, n_bytes);
    return copy;
}

static char *text_of(const char *text) { return text != NULL ? strdup(text) : NULL; }

static struct fid_nic *nic_of(const struct fi_pci_attr *pci, enum fi_link_state link)
{
    struct fid_nic *nic = copy_of(NULL, sizeof *nic);
    nic->bus_attr = copy_of(NULL, sizeof *nic->bus_attr);
    nic->bus_attr->bus_type = FI_BUS_PCI;
    nic->bus_attr->attr.pci = *pci;
    nic->link_attr = copy_of(NULL, sizeof *nic->link_attr);
    nic->link_attr->state = link;
    return nic;
}

struct fi_info *fi_dupinfo(const struct fi_info *from)
{
    struct fi_info *info = copy_of(from, sizeof *info);
    if (info == NULL) return NULL;
    info->next = NULL;
    info->tx_attr = copy_of(from != NULL ? from->tx_attr : NULL, sizeof *info->tx_attr);
    info->rx_attr = copy_of(from != NULL ? from->rx_attr : NULL, sizeof *info->rx_attr);
    info->ep_attr = copy_of(from != NULL ? from->ep_attr : NULL, sizeof *info->ep_attr);
    info->domain_attr = copy_of(from != NULL ? from->domain_attr : NULL, sizeof *info->domain_attr);
    info->fabric_attr = copy_of(from != NULL ? from->fabric_attr : NULL, sizeof *info->fabric_attr);
    info->domain_attr->name = text_of(info->domain_attr->name);
    info->fabric_attr->name = text_of(info->fabric_attr->name);
    info->fabric_attr->prov_name = text_of(info->fabric_attr->prov_name);
    if (info->domain_attr->auth_key != NULL)
        info->domain_attr->auth_key = copy_of(info->domain_attr->auth_key, info->domain_attr->auth_key_size);
    if (info->nic != NULL) info->nic = nic_of(&info->nic->bus_attr->attr.pci, info->nic->link_attr->state);
    return info;
}

void fi_freeinfo(struct fi_info *info)
{
    while (info != NULL) {
        struct fi_info *next = info->next;
        if (info->nic != NULL) free(info->nic->bus_attr);
        if (info->nic != NULL) free(info->nic->link_attr);
        free(info->nic);
        free(info->domain_attr->auth_key);
        free(info->domain_attr->name);
        free(info->fabric_attr->name);
        free(info->fabric_attr->prov_name);
        free(info->tx_attr);
        free(info->rx_attr);
        free(info->ep_attr);
        free(info->domain_attr);
        free(info->fabric_attr);
        free(info);
        info = next;
    }
}

/* The provider offers what the caller wishes, or is not in the list. */
static bool suits(const struct mode *mode, const struct fi_info *hints)
{
    bool wants_order = ((hints->tx_attr->msg_order | hints->rx_attr->msg_order) & FI_ORDER_SAS) != 0;
    bool wants_delivery = (hints->tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0;
    bool wants_reads_behind = (hints->tx_attr->msg_order & FI_ORDER_RAW) != 0;
    const char *provider = hints->fabric_attr->prov_name;
    return (hints->caps & ~mode->caps & (FI_MSG | FI_RMA | FI_HMEM | FI_ATOMIC)) == 0 &&
           (mode->mr_mode & ~hints->domain_attr->mr_mode) == 0 && (mode->has_order || !wants_order) &&
           (mode->has_delivery ? !wants_reads_behind : !wants_delivery) &&
           (hints->ep_attr->type == FI_EP_RDM || hints->ep_attr->type == FI_EP_UNSPEC) &&
           (provider == NULL || strcmp(provider, mode->provider) == 0);
}

static struct fi_info *describe(const struct mode *mode, const struct fi_info *hints, const char *domain)
{
    struct fi_info *info = fi_dupinfo(NULL);
    info->caps = hints->caps;
    info->mode = hints->mode & FI_CONTEXT;
    info->ep_attr->type = FI_EP_RDM;
    info->ep_attr->max_msg_size = mode->max_bytes;
    info->ep_attr->max_order_raw_size = mode->has_delivery ? 0 : mode->max_bytes / 2;
    info->domain_attr->name = text_of(domain);
    info->domain_attr->mr_mode = mode->mr_mode | ((hints->caps & FI_HMEM) != 0 ? FI_MR_HMEM : 0);
    info->domain_attr->mr_key_size = mode->key_bytes;
    info->domain_attr->threading = FI_THREAD_DOMAIN;
    info->domain_attr->control_progress = info->domain_attr->data_progress = mode->has_thread ? FI_PROGRESS_AUTO
                                                                                              : FI_PROGRESS_MANUAL;
    info->tx_attr->inject_size = mode->inject_bytes;
    info->tx_attr->op_flags = hints->tx_attr->op_flags;
    info->tx_attr->msg_order = info->rx_attr->msg_order = FI_ORDER_SAS | (mode->has_delivery ? 0 : FI_ORDER_RAW);
    info->fabric_attr->name = text_of("double");
    info->fabric_attr->prov_name = text_of(mode->provider);
    return info;
}

/* OFI_DOUBLE_ADAPTERS: a list such as cxi0@0000:3b:00.0,cxi1@0000:af:00.0-: domains, where their adapters are, and a
 * minus sign after those whose link is down. Returns the end of the list. */
static struct fi_info **describe_adapters(const struct mode *mode, const struct fi_info *hints, const char *text,
                                          struct fi_info **end)
{
    char name[16];
    unsigned domain, bus, device, function;
    int length;
    for (; sscanf(text, "%15[^@]@%x:%x:%x.%x%n", name, &domain, &bus, &device, &function, &length) == 5;
         text += length + (text[length] == ',')) {
        enum fi_link_state link = text[length] == '-' ? FI_LINK_DOWN : FI_LINK_UP;
        length += link == FI_LINK_DOWN;
        *end = describe(mode, hints, name);
        (*end)->nic = nic_of(&(struct fi_pci_attr){(uint16_t)domain, (uint8_t)bus, (uint8_t)device, (uint8_t)function},
                             link);
        end = &(*end)->next;
    }
    return end;
}

/* OFI_DOUBLE_PROVIDERS: names with commas between them, in the order of the list; all behave as the mode, whose own
 * has the adapters. Without: that one alone. */
static struct fi_info *describe_all(const struct mode *mode, const struct fi_info *hints)
{
    const char *adapters = getenv("OFI_DOUBLE_ADAPTERS"), *names = getenv("OFI_DOUBLE_PROVIDERS");
    struct fi_info *first = NULL, **end = &first;
    if (names == NULL || hints->fabric_attr->prov_name != NULL) names = mode->provider;
    for (size_t length; *names != '\0'; names += length, names += *names == ',') {
        length = strcspn(names, ",");
        char *name = strndup(names, length);
        if (adapters != NULL && strcmp(name, mode->provider) == 0) {
            end = describe_adapters(mode, hints, adapters, end);
            free(name);
            continue;
        }
        *end = describe(mode, hints, "double0");
        free((*end)->fabric_attr->prov_name);
        (*end)->fabric_attr->prov_name = name;
        end = &(*end)->next;
    }
    return first;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
               struct fi_info **out)
{
    const struct mode *mode = double_mode();
    (void)version, (void)node, (void)service, (void)flags;
    if (!suits(mode, hints)) return -FI_ENODATA;
    *out = describe_all(mode, hints);
    return *out != NULL ? 0 : -FI_ENODATA;
}

/* ---- domains ---- */

/* OFI_DOUBLE_REPORT: what the adapter did, for tests that need to see that it did. */
static void report(const struct double_domain *domain)
{
    if (getenv("OFI_DOUBLE_REPORT") == NULL) return;
    fprintf(stderr, "double of libfabric: %llu accesses of memory of devices\n",
            (unsigned long long)domain->n_device_accesses);
    fprintf(stderr, "double of libfabric: %llu atomics\n", (unsigned long long)domain->n_atomics);
}

static void report_opened(const struct fi_domain_attr *attr)
{
    if (getenv("OFI_DOUBLE_REPORT") == NULL) return;
    char key[64] = "none";
    for (size_t i = 0; i < attr->auth_key_size && i < 16; i++) snprintf(key + 2 * i, 3, "%02x", attr->auth_key[i]);
    fprintf(stderr, "double of libfabric: domain %s, key %s, class %#x\n", attr->name, key, attr->tclass);
}

static int close_domain(struct fid *fid)
{
    struct double_domain *domain = container_of(fid, struct double_domain, fid.fid);
    report(domain);
    RULE(domain->n_open == 0, "the domain is closed before %d objects in it", domain->n_open);
    pthread_mutex_destroy(&domain->lock);
    free(domain);
    return 0;
}

static int close_av(struct fid *fid)
{
    struct double_av *av = container_of(fid, struct double_av, fid.fid);
    av->domain->n_open--;
    free(av);
    return 0;
}

/* The value is an index: a table. */
static int insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *out, uint64_t flags, void *context)
{
    struct double_domain *domain = container_of(fid, struct double_av, fid)->domain;
    (void)flags, (void)context;
    RULE(count == 1, "the double inserts one address at a time");
    double_enter(domain);
    RULE(domain->n_peers < PEERS_MOST, "more than %d addresses", PEERS_MOST);
    memcpy(domain->peers[domain->n_peers], addr, NAME_BYTES);
    *out = domain->n_peers++;
    double_leave(domain);
    return 1;
}

static int open_av(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = close_av};
    static struct fi_ops_av av_ops = {.size = sizeof av_ops, .insert = insert};
    struct double_domain *domain = container_of(fid, struct double_domain, fid);
    struct double_av *av = calloc(1, sizeof *av);
    (void)attr;
    if (av == NULL) return -FI_ENOMEM;
    av->domain = domain;
    av->fid.fid = (struct fid){.fclass = FI_CLASS_AV, .context = context, .ops = &ops};
    av->fid.ops = &av_ops;
    domain->n_open++;
    *out = &av->fid;
    return 0;
}

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = close_domain, .control = double_domain_control};
    static struct fi_ops_domain domain_ops = {
        .size = sizeof domain_ops, .av_open = open_av, .cq_open = double_cq_open, .endpoint = double_endpoint};
    struct double_domain *domain = calloc(1, sizeof *domain);
    (void)fabric;
    if (domain == NULL) return -FI_ENOMEM;
    domain->mode = double_mode();
    report_opened(info->domain_attr);
    domain->has_hmem = (info->caps & FI_HMEM) != 0;
    domain->has_atomics = (info->caps & FI_ATOMIC) != 0;
    domain->seed = (unsigned)double_now_ns();
    pthread_mutex_init(&domain->lock, NULL);
    atomic_flag_clear(&domain->is_entered);
    domain->fid.fid = (struct fid){.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &ops};
    domain->fid.ops = &domain_ops;
    domain->fid.mr = &double_mr_ops;
    *out = &domain->fid;
    return 0;
}

/* ---- fabrics ---- */

static int close_fabric(struct fid *fid)
{
    free(container_of(fid, struct fid_fabric, fid));
    return 0;
}

/* The caller may sleep on the descriptor: there is nothing to read, and nothing that only a call would move. */
static int try_wait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    struct double_cq *cq = container_of(fids[0], struct double_cq, fid.fid);
    uint64_t events;
    (void)fabric;
    RULE(count == 1 && cq->event_fd >= 0, "fi_trywait of a queue without a wait object");
    double_enter(cq->domain);
    bool is_busy = cq->n > 0 || (!cq->domain->mode->has_thread && double_is_busy(cq->ep));
    if (!is_busy && cq->domain->mode->has_thread) (void)!read(cq->event_fd, &events, sizeof events);
    double_leave(cq->domain);
    return is_busy ? -FI_EAGAIN : FI_SUCCESS;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = close_fabric};
    static struct fi_ops_fabric fabric_ops = {
        .size = sizeof fabric_ops, .domain = open_domain, .eq_open = double_eq_open, .trywait = try_wait};
    struct fid_fabric *fabric = calloc(1, sizeof *fabric);
    (void)attr;
    if (fabric == NULL) return -FI_ENOMEM;
    fabric->fid = (struct fid){.fclass = FI_CLASS_FABRIC, .context = context, .ops = &ops};
    fabric->ops = &fabric_ops;
    *out = fabric;
    return 0;
}
