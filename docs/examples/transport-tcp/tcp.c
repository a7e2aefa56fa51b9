/* tcp.c: a transport over plain TCP sockets: the exported table, which reads as a table of contents, open and close. */
#include "tcp.h"

#include <errno.h>
#include <isthmus/interfaces.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

uint64_t tcp_checksum(const void *bytes, size_t n_bytes) /* FNV-1a */
{
    const uint8_t *b = bytes;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n_bytes; i++) sum = (sum ^ b[i]) * 0x100000001b3u;
    return sum;
}

/* ---- life ---- */

/* The addresses at which other hosts reach this PE. Without any, only PEs on its own host reach it. */
static void collect_addresses(const struct isthmus_services *s, struct tcp_card *card)
{
    struct ifaddrs *all = NULL;
    const char *choice = s->config(s->core, "INTERFACE");
    if (getifaddrs(&all) != 0) return;
    for (const struct ifaddrs *a = all; a != NULL && card->n_addresses < TCP_MAX_ADDRESSES; a = a->ifa_next) {
        if (a->ifa_addr == NULL || a->ifa_addr->sa_family != AF_INET) continue;
        if (isthmus_interface_rank(choice, a) != ISTHMUS_INTERFACE_USUAL) continue;
        struct sockaddr_in address;
        memcpy(&address, a->ifa_addr, sizeof address);
        card->addresses[card->n_addresses++] = address.sin_addr.s_addr;
    }
    freeifaddrs(all);
}

static isthmus_status make_card(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    tr->card.magic = TCP_MAGIC_CARD;
    tr->card.version = TCP_VERSION_WIRE;
    if (getrandom(tr->card.secret, sizeof tr->card.secret, 0) != (ssize_t)sizeof tr->card.secret)
        return s->fail(s->core, ISTHMUS_ERR_IO, "getrandom: %s", strerror(errno));
    collect_addresses(s, &tr->card);
    isthmus_status status = tcp_server_open(tr);
    tr->card.checksum = tcp_checksum(&tr->card, offsetof(struct tcp_card, checksum));
    return status;
}

static isthmus_status tcp_open(const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_tr *tr = calloc(1, sizeof *tr);
    if (tr == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    const char *timeout = services->config(services->core, "TIMEOUT");
    tr->services = services;
    tr->channel.tr = tr;
    tr->timeout_s = timeout != NULL && atoi(timeout) > 0 ? atoi(timeout) : TCP_DEFAULT_TIMEOUT_S;
    pthread_mutex_init(&tr->extents_lock, NULL);
    pthread_mutex_init(&tr->paths_lock, NULL);
    isthmus_status status = make_card(tr);
    if (status != ISTHMUS_OK) {
        free(tr);
        return status;
    }
    *out = tr;
    return ISTHMUS_OK;
}

static void tcp_close(isthmus_tr *tr)
{
    tcp_server_close(tr->server);
    free(tr);
}

static isthmus_status tcp_describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    (void)tr;
    const struct isthmus_traits traits = {
        .kinds_expose = 1u << ISTHMUS_MEM_HOST,
        .kinds_attach = 1u << ISTHMUS_MEM_HOST,
        .kinds_local = 1u << ISTHMUS_MEM_HOST,
        .card_max_bytes = sizeof(struct tcp_card),
        .key_max_bytes = sizeof(struct tcp_key),
        .shared_channels = 1,
        .traits = ISTHMUS_TRAIT_SPARSE, /* nothing is registered: an extent is two numbers */
    };
    isthmus_write_out(out, &traits, sizeof traits);
    return ISTHMUS_OK;
}

/* ---- peers ---- */

static isthmus_status tcp_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
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

static isthmus_status check_card(const struct isthmus_services *s, const struct isthmus_peer *peer)
{
    struct tcp_card card; /* the peer's may lie at any address */
    if (peer->card_bytes != sizeof card)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the card of PE %d has %zu bytes instead of %zu", peer->pe,
                       peer->card_bytes, sizeof card);
    memcpy(&card, peer->card, sizeof card);
    if (card.magic != TCP_MAGIC_CARD || card.version != TCP_VERSION_WIRE)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the card of PE %d is of version %u; this plugin reads version %d",
                       peer->pe, card.version, TCP_VERSION_WIRE);
    if (card.checksum != tcp_checksum(&card, offsetof(struct tcp_card, checksum)) ||
        card.n_addresses > TCP_MAX_ADDRESSES)
        return s->fail(s->core, ISTHMUS_ERR_VERSION, "the card of PE %d is damaged", peer->pe);
    return ISTHMUS_OK;
}

/* Symmetrical: both PEs check both cards, so that they return the same result. */
static isthmus_status tcp_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status status = check_card(s, peer);
    if (status != ISTHMUS_OK) return status;
    struct tcp_card card;
    memcpy(&card, peer->card, sizeof card);
    bool is_here = memcmp(peer->host->bytes, s->host->bytes, sizeof s->host->bytes) == 0;
    if (!is_here && (card.n_addresses == 0 || tr->card.n_addresses == 0))
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE, "%s has no network but the loopback interface",
                       card.n_addresses == 0 ? peer->host_name : "this host");
    const struct isthmus_reach reach = {
        .latency_ns = 20000,
        .bandwidth_bytes_per_s = 1000000000,
        .caps = ISTHMUS_CAP_ORDERED | (peer->pe != tr->services->my_pe ? ISTHMUS_CAP_WAKES : 0),
        .atomics_domain = ISTHMUS_DOMAIN_CPU,
        .visibility = ISTHMUS_VISIBLE_EVERYONE,
    };
    isthmus_write_out(out, &reach, sizeof reach);
    return ISTHMUS_OK;
}

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof(struct isthmus_transport),
    .abi_minor = ISTHMUS_ABI_MINOR,
    .name = "tcp",
    .version = TCP_VERSION,
    .scopes = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST | ISTHMUS_SCOPE_NETWORK,
    .open = tcp_open,
    .close = tcp_close,
    .describe = tcp_describe,
    .card = tcp_card,
    .reach = tcp_reach,
    .path_open = tcp_path_open,
    .path_close = tcp_path_close,
    .expose = tcp_expose,
    .attach = tcp_attach,
    .detach = tcp_detach,
    .unregister_local = tcp_unregister,
    .channel_open = tcp_channel_open,
    .channel_close = tcp_channel_close,
    .progress = tcp_progress,
    .arm = tcp_arm,
};
