/* plugins/ofi/ofi.c: a transport on libfabric, for the fabrics that have a provider there (Slingshot, EFA, Omni-Path,
 * TCP): the exported table, which reads as a table of contents, open, close, cards and reach. It needs nothing of
 * Isthmus but the installed headers. */
#include "ofi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TIMEOUT_USUAL_S = 20, LATENCY_SELF_NS = 50, BANDWIDTH_BYTES_PER_S = 2000000000 };

/* ---- life ---- */

static isthmus_status make_card(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    struct ofi_card *card = &tr->card;
    struct stat namespace;
    card->magic = OFI_MAGIC_CARD;
    card->version = OFI_VERSION_WIRE;
    card->pid = getpid();
    if (stat("/proc/thread-self/ns/pid", &namespace) == 0) card->pid_namespace = namespace.st_ino;
    snprintf(card->provider, sizeof card->provider, "%s", tr->info->fabric_attr->prov_name);
    snprintf(card->library, sizeof card->library, "%s", ofi_library_version());
    if (getrandom(&card->token, sizeof card->token, 0) != (ssize_t)sizeof card->token)
        return s->fail(s->core, ISTHMUS_ERR_IO, "no random number for this PE's card: getrandom failed");
    card->checksum = ofi_checksum(card, offsetof(struct ofi_card, checksum));
    return ISTHMUS_OK;
}

/* Takes a transport whose opening has failed, too. */
static void ofi_close(isthmus_tr *tr)
{
    ofi_endpoint_close(tr);
    pthread_mutex_destroy(&tr->lock);
    pthread_cond_destroy(&tr->changed);
    free(tr);
}

static isthmus_status ofi_open(const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_status status = ofi_library_load(services);
    if (status != ISTHMUS_OK) return status;
    isthmus_tr *tr = calloc(1, sizeof *tr);
    if (tr == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    const char *timeout = services->config(services->core, "TIMEOUT");
    tr->services = services;
    tr->timer_fd = tr->sleep_fd = tr->kick_fd = -1;
    tr->timeout_s = timeout != NULL && atoi(timeout) > 0 ? atoi(timeout) : TIMEOUT_USUAL_S;
    pthread_mutex_init(&tr->lock, NULL);
    pthread_cond_init(&tr->changed, NULL);
    status = ofi_provider_choose(tr);
    if (status == ISTHMUS_OK) status = ofi_endpoint_open(tr);
    if (status == ISTHMUS_OK) status = make_card(tr);
    if (status != ISTHMUS_OK) {
        ofi_close(tr);
        return status;
    }
    services->log(services->core, ISTHMUS_LOG_INFO, "libfabric %s, provider %s, version %u.%u", ofi_library_version(),
                  tr->info->fabric_attr->prov_name, FI_MAJOR(tr->info->fabric_attr->prov_version),
                  FI_MINOR(tr->info->fabric_attr->prov_version));
    *out = tr;
    return ISTHMUS_OK;
}

/* Memory of devices that the adapter does not reach is copied by the PE that has it, at the request of others. */
static uint32_t kinds_of(const isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    bool has_devices = ISTHMUS_HAS(s, scopes) && (s->scopes & ISTHMUS_SCOPE_DEVICE) != 0 && ISTHMUS_HAS(s, memory_copy);
    uint32_t devices = 1u << ISTHMUS_MEM_CUDA | 1u << ISTHMUS_MEM_ZE | 1u << ISTHMUS_MEM_HIP;
    return 1u << ISTHMUS_MEM_HOST | (has_devices ? devices : 0);
}

static isthmus_status ofi_describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    bool needs_pages = !tr->is_software || (tr->info->domain_attr->mr_mode & (FI_MR_ALLOCATED | FI_MR_MMU_NOTIFY)) != 0;
    uint32_t kinds = kinds_of(tr);
    const struct isthmus_traits traits = {
        .kinds_expose = kinds,
        .kinds_attach = kinds,
        .kinds_local = kinds,
        .card_max_bytes = sizeof(struct ofi_card),
        .key_max_bytes = sizeof(struct ofi_key),
        .shared_channels = 1,
        .traits = ISTHMUS_TRAIT_ANY_LOCAL | ISTHMUS_TRAIT_PATHS_AT_ONCE | (needs_pages ? 0 : ISTHMUS_TRAIT_SPARSE),
    };
    isthmus_write_out(out, &traits, sizeof traits);
    return ISTHMUS_OK;
}

/* ---- peers ---- */

static isthmus_status ofi_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    const struct isthmus_services *s = tr->services;
    size_t room = *length_bytes;
    *length_bytes = sizeof tr->card;
    if (room < sizeof tr->card)
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "a card takes %zu bytes, there is room for %zu", sizeof tr->card,
                       room);
    memcpy(buf, &tr->card, sizeof tr->card);
    return ISTHMUS_OK;
}

static isthmus_status read_card(const struct isthmus_services *s, const struct isthmus_peer *peer,
                                struct ofi_card *card)
{
    if (peer->card_bytes != sizeof *card)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the card of PE %d has %zu bytes instead of %zu", peer->pe,
                       peer->card_bytes, sizeof *card);
    memcpy(card, peer->card, sizeof *card);
    if (card->magic != OFI_MAGIC_CARD || card->version != OFI_VERSION_WIRE)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the card of PE %d is of version %u; this plugin reads version %d",
                       peer->pe, card->version, OFI_VERSION_WIRE);
    if (card->checksum != ofi_checksum(card, offsetof(struct ofi_card, checksum)) ||
        card->address_bytes > sizeof card->address)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the card of PE %d is damaged", peer->pe);
    return ISTHMUS_OK;
}

static const char *agent(const struct ofi_card *card)
{
    return card->has_atomics ? "provider of libfabric" : "processor";
}

static isthmus_status check_provider(const isthmus_tr *tr, const struct isthmus_peer *peer, const struct ofi_card *card)
{
    const struct isthmus_services *s = tr->services;
    bool is_here = memcmp(peer->host->bytes, s->host->bytes, sizeof s->host->bytes) == 0;
    if (strncmp(card->provider, tr->card.provider, sizeof card->provider) != 0 ||
        card->address_format != tr->card.address_format)
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE,
                       "PE %d on %s uses provider %.32s of libfabric, this PE %s; set ISTHMUS_OFI_PROVIDER", peer->pe,
                       peer->host_name, card->provider, tr->card.provider);
    if (card->has_atomics != tr->card.has_atomics)
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE,
                       "atomics of PE %d on %s are executed by its %s, this PE's by its %s", peer->pe, peer->host_name,
                       agent(card), agent(&tr->card));
    if (!is_here && !tr->leaves_host)
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE, "provider %s does not leave this host", tr->card.provider);
    return ISTHMUS_OK;
}

/* Its device executes atomics on such memory. What an adapter has written there the device sees once its PE has
 * flushed such writes; staged data is there before the reply. */
static void reach_device(const isthmus_tr *tr, uint32_t kind, struct isthmus_reach *reach)
{
    bool has_atomics = ISTHMUS_HAS(tr->services, memory_amo);
    reach->caps = 0;
    reach->atomics_domain = has_atomics ? ISTHMUS_DOMAIN_GPU : ISTHMUS_DOMAIN_NONE;
    if (tr->has_hmem && (tr->kinds_staged >> kind & 1) == 0) {
        reach->visibility = ISTHMUS_VISIBLE_OWNER;
        reach->how = tr->how_device;
        return;
    }
    reach->latency_ns *= 2;
    reach->bandwidth_bytes_per_s /= 2;
    reach->how = "staged through host memory by messages";
}

static isthmus_status ofi_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    struct ofi_card card;
    isthmus_status status = read_card(tr->services, peer, &card);
    if (status == ISTHMUS_OK) status = check_provider(tr, peer, &card);
    if (status != ISTHMUS_OK) return status;
    bool is_self = peer->pe == tr->services->my_pe;
    bool wakes = tr->announces && tr->event_fd >= 0 && !tr->has_atomics; /* a provider's atomic makes no event there */
    struct isthmus_reach reach = {
        .latency_ns = is_self ? LATENCY_SELF_NS : tr->latency_ns,
        .bandwidth_bytes_per_s = BANDWIDTH_BYTES_PER_S,
        .caps = is_self ? ISTHMUS_CAP_ALIAS | ISTHMUS_CAP_ORDERED | ISTHMUS_CAP_NO_TARGET
                : wakes ? ISTHMUS_CAP_WAKES
                        : 0,
        .atomics_domain = tr->has_atomics ? ISTHMUS_DOMAIN_NIC : ISTHMUS_DOMAIN_CPU,
        .visibility = ISTHMUS_VISIBLE_EVERYONE,
        .how = is_self && tr->why_no_atomics[0] != '\0' ? tr->why_no_atomics : tr->how,
    };
    if (ISTHMUS_HAS(peer, kind)) reach_device(tr, peer->kind, &reach); /* another kind than the host's, which is 0 */
    isthmus_write_out(out, &reach, sizeof reach);
    return ISTHMUS_OK;
}

/* ---- more ---- */

static void describe_library(isthmus_tr *tr, struct isthmus_library_info *out)
{
    (void)tr;
    const struct isthmus_library_info info = {
        .name = "libfabric",
        .version = ofi_library_version(),
        .file = ofi_library_file(),
    };
    isthmus_write_out(out, &info, sizeof info);
}

static const struct isthmus_library library = {
    .struct_size = sizeof(struct isthmus_library),
    .describe = describe_library,
};

static const void *ofi_extension(isthmus_tr *tr, const char *name)
{
    (void)tr;
    return strcmp(name, "library.1") == 0 ? &library : NULL;
}

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof(struct isthmus_transport),
    .abi_minor = ISTHMUS_ABI_MINOR,
    .name = "ofi",
    .version = PLUGIN_VERSION,
    .scopes = ISTHMUS_SCOPE_NETWORK, /* on one host there is always something better */
    .probe = ofi_probe,
    .open = ofi_open,
    .close = ofi_close,
    .describe = ofi_describe,
    .card = ofi_card,
    .reach = ofi_reach,
    .path_open = ofi_path_open,
    .path_close = ofi_path_close,
    .expose = ofi_expose,
    .attach = ofi_attach,
    .detach = ofi_detach,
    .register_local = ofi_register,
    .unregister_local = ofi_unregister,
    .channel_open = ofi_channel_open,
    .channel_close = ofi_channel_close,
    .progress = ofi_progress,
    .arm = ofi_arm,
    .extension = ofi_extension,
};
