/* plugins/common/p2p_open.c: see p2p.h. A transport between GPUs is opened: the device that this PE uses, and the peers
 * that it reaches. */
#include "plugins/common/p2p_priv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CARD_VERSION = 2, CARD_ACCESS = 1, CARD_ATOMICS = 2 };

/* Guesses that order the transports: a copy is a launch, and far from a store. */
enum { LATENCY_SELF_NS = 3000, LATENCY_PEER_NS = 4000 };
static const uint64_t bandwidth_self = 1000000000000u, bandwidth_peer = 200000000000u;

/* A PE's card lists the devices that it can access, so both sides compute the same result, even if each sees only
 * some. */
struct card {
    uint32_t version, kind;
    struct fd_pass_address address;
    uint8_t uuid[P2P_UUID_BYTES];
    uint32_t n_near, reserved;
    struct {
        uint8_t uuid[P2P_UUID_BYTES];
        uint32_t flags, reserved;
    } near[P2P_MAX_DEVICES];
};

/* ---- which library, which device ---- */

isthmus_status p2p_library(const struct isthmus_services *services, const char *hardware, const char *const *nodes,
                           const char **name)
{
    const char *wish = services->config(services->core, "LIBRARY"), *first = nodes[0];
    *name = wish != NULL && *wish != '\0' ? wish : NULL;
    if (*name != NULL) return ISTHMUS_OK;
    while (*nodes != NULL && access(*nodes, F_OK) != 0) nodes++;
    if (*nodes != NULL) return ISTHMUS_OK;
    return services->fail(services->core, ISTHMUS_ERR_NO_DEVICE, "no %s on this host: %s does not exist", hardware,
                          first);
}

bool p2p_is_wanted(const struct isthmus_services *services, const char *key)
{
    static const char *const no[] = {"", "0", "n", "no", "f", "false", "off"};
    const char *value = services->config(services->core, key);
    if (value == NULL) return false;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (strcasecmp(value, no[i]) == 0) return false;
    return true;
}

/* This PE's place among those of its host; all of them count alike. */
static isthmus_status local_rank(const struct isthmus_services *s, int *rank)
{
    const struct isthmus_local_pe *list;
    uint32_t n, i = 0;
    *rank = s->my_pe;
    if (!ISTHMUS_HAS(s, local_pes)) return ISTHMUS_OK;
    isthmus_status status = s->local_pes(s->core, &list, &n);
    if (status != ISTHMUS_OK) return status;
    while (i < n && list[i].pe != s->my_pe) i++;
    *rank = (int)i;
    return ISTHMUS_OK;
}

/* The user's choice; else the program's current device; else the devices are shared out among the host's PEs. */
static isthmus_status choose_device(isthmus_tr *tr, int *ordinal)
{
    const struct isthmus_services *s = tr->services;
    const char *wish = s->config(s->core, "DEVICE");
    int n = 0, rank = 0;
    isthmus_status status = tr->driver->count(s, &n);
    if (status != ISTHMUS_OK) return status;
    if (wish != NULL && *wish != '\0') {
        char *end;
        long number = strtol(wish, &end, 10);
        if (*end != '\0' || number < 0 || number >= n)
            return s->fail(s->core, ISTHMUS_ERR_INVALID, "ISTHMUS_*_DEVICE is '%s'; valid: 0 to %d", wish, n - 1);
        *ordinal = (int)number;
        return ISTHMUS_OK;
    }
    *ordinal = tr->driver->current();
    if (*ordinal >= 0) return ISTHMUS_OK;
    status = local_rank(s, &rank);
    *ordinal = rank % n;
    return status;
}

/* ---- life ---- */

static isthmus_status open_parts(isthmus_tr *tr)
{
    isthmus_status status = choose_device(tr, &tr->ordinal);
    if (status == ISTHMUS_OK) status = tr->driver->open(tr->services, tr->ordinal, &tr->gpu);
    if (status == ISTHMUS_OK) status = tr->driver->stream_open(tr->gpu, &tr->copies.stream);
    if (status == ISTHMUS_OK) status = fd_pass_server_open(tr->services, &tr->server);
    if (status != ISTHMUS_OK) return status;
    tr->n_devices = tr->driver->survey(tr->gpu, tr->devices, P2P_MAX_DEVICES);
    bool is_unchecked = p2p_is_wanted(tr->services, "BYPASS_ACCESSIBILITY_CHECK");
    for (int i = 0; i < tr->n_devices; i++) {
        if (is_unchecked) tr->devices[i].can_access = true;
        if (tr->devices[i].is_used) tr->has_atomics = tr->driver->amo != NULL && tr->devices[i].has_atomics;
    }
    return ISTHMUS_OK;
}

isthmus_status p2p_open(const struct p2p_driver *driver, const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_tr *tr = calloc(1, sizeof *tr);
    if (tr == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    const char *timeout = services->config(services->core, "TIMEOUT");
    tr->driver = driver;
    tr->services = services;
    tr->timeout_s = timeout != NULL && atoi(timeout) > 0 ? (unsigned)atoi(timeout) : P2P_DEFAULT_TIMEOUT_S;
    pthread_mutex_init(&tr->copies.lock, NULL);
    pthread_mutex_init(&tr->amos.lock, NULL);
    pthread_mutex_init(&tr->runs.lock, NULL);
    isthmus_status status = open_parts(tr);
    if (status != ISTHMUS_OK) {
        p2p_close(tr);
        return status;
    }
    *out = tr;
    return ISTHMUS_OK;
}

static void side_close(isthmus_tr *tr, struct p2p_side *side)
{
    if (side->stream != NULL) tr->driver->stream_close(tr->gpu, side->stream);
    if (side->word != NULL) tr->driver->host_free(tr->gpu, side->word);
    pthread_mutex_destroy(&side->lock);
}

/* Also of one that was opened halfway. */
void p2p_close(isthmus_tr *tr)
{
    fd_pass_server_close(tr->server);
    side_close(tr, &tr->copies);
    side_close(tr, &tr->amos);
    p2p_runs_close(tr);
    if (tr->gpu != NULL) tr->driver->close(tr->gpu);
    free(tr);
}

isthmus_status p2p_describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    uint32_t own = 1u << tr->driver->kind;
    const struct isthmus_traits traits = {
        .kinds_alloc = own,
        .kinds_expose = own,
        .kinds_attach = own,
        .kinds_local = own | 1u << ISTHMUS_MEM_HOST,
        .card_max_bytes = sizeof(struct card),
        .key_max_bytes = 128,
        .shared_channels = 1,
        .traits = ISTHMUS_TRAIT_ANY_LOCAL, /* a copy engine needs addresses only */
    };
    isthmus_write_out(out, &traits, sizeof traits);
    return ISTHMUS_OK;
}

/* ---- peers ---- */

isthmus_status p2p_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    const struct isthmus_services *s = tr->services;
    struct card card = {
        .version = CARD_VERSION, .kind = tr->driver->kind, .address = *fd_pass_server_address(tr->server)};
    size_t room = *length_bytes;
    *length_bytes = sizeof card;
    if (room < sizeof card)
        return s->fail(s->core, ISTHMUS_ERR_LIMIT, "a card takes %zu bytes, but there is room for %zu", sizeof card,
                       room);
    for (int i = 0; i < tr->n_devices; i++) {
        const struct p2p_device *device = &tr->devices[i];
        if (device->is_used) memcpy(card.uuid, device->uuid, sizeof card.uuid);
        if (!device->can_access) continue;
        card.near[card.n_near].flags = CARD_ACCESS | (device->has_atomics ? CARD_ATOMICS : 0);
        memcpy(card.near[card.n_near++].uuid, device->uuid, sizeof device->uuid);
    }
    memcpy(buf, &card, sizeof card);
    return ISTHMUS_OK;
}

/* Returns the flags (CARD_) of the device with this uuid, or 0 if the PE of the card cannot access it. */
static uint32_t flags_of(const struct card *card, const uint8_t *uuid)
{
    for (uint32_t i = 0; i < card->n_near; i++)
        if (memcmp(card->near[i].uuid, uuid, P2P_UUID_BYTES) == 0) return card->near[i].flags;
    return 0;
}

static isthmus_status read_card(isthmus_tr *tr, const struct isthmus_peer *peer, struct card *out)
{
    const struct isthmus_services *s = tr->services;
    if (peer->card_bytes != sizeof *out)
        return s->fail(s->core, ISTHMUS_ERR_VERSION,
                       "the peer's card has %zu bytes instead of %zu; use one version of this plugin on all PEs",
                       peer->card_bytes, sizeof *out);
    memcpy(out, peer->card, sizeof *out);
    if (out->version != CARD_VERSION || out->kind != tr->driver->kind || out->n_near > P2P_MAX_DEVICES)
        return s->fail(
            s->core, ISTHMUS_ERR_VERSION,
            "the peer's card is of version %u, but this plugin reads version %d; use one version of it on all PEs",
            out->version, CARD_VERSION);
    return ISTHMUS_OK;
}

void p2p_card_address(const struct isthmus_peer *peer, struct fd_pass_address *out)
{
    memcpy(out, (const char *)peer->card + offsetof(struct card, address), sizeof *out);
}

static isthmus_status check_access(isthmus_tr *tr, const struct isthmus_peer *peer, const struct card *theirs,
                                   uint32_t *flags)
{
    const struct isthmus_services *s = tr->services;
    struct card mine;
    size_t room = sizeof mine;
    (void)p2p_card(tr, &mine, &room);
    *flags = flags_of(&mine, theirs->uuid) & flags_of(theirs, mine.uuid);
    if ((*flags & CARD_ACCESS) == 0)
        return s->fail(
            s->core, ISTHMUS_ERR_UNREACHABLE,
            "the %ss of PE %d and PE %d have no peer-to-peer access, or are hidden from each other's process",
            tr->driver->hardware, s->my_pe, peer->pe);
    return ISTHMUS_OK;
}

isthmus_status p2p_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    const struct isthmus_services *s = tr->services;
    uint32_t flags = 0;
    struct card card;
    isthmus_status status = read_card(tr, peer, &card);
    if (status == ISTHMUS_OK) status = fd_pass_reach(s, peer, &card.address);
    if (status == ISTHMUS_OK) status = check_access(tr, peer, &card, &flags);
    if (status != ISTHMUS_OK) return status;
    bool is_self = peer->pe == s->my_pe, has_atomics = tr->has_atomics && (flags & CARD_ATOMICS) != 0;
    const struct isthmus_reach reach = {
        .latency_ns = is_self ? LATENCY_SELF_NS : LATENCY_PEER_NS,
        .bandwidth_bytes_per_s = is_self ? bandwidth_self : bandwidth_peer,
        .caps = ISTHMUS_CAP_ORDERED | ISTHMUS_CAP_NO_TARGET,
        .atomics_domain = has_atomics ? ISTHMUS_DOMAIN_GPU : ISTHMUS_DOMAIN_NONE,
        .visibility = ISTHMUS_VISIBLE_EVERYONE,
    };
    isthmus_write_out(out, &reach, sizeof reach);
    return ISTHMUS_OK;
}

/* ---- progress ---- */

int32_t p2p_progress(isthmus_tr *tr) { return fd_pass_serve(tr->server); }

isthmus_status p2p_arm(isthmus_tr *tr, int32_t *event_fd)
{
    *event_fd = fd_pass_server_event_fd(tr->server);
    return ISTHMUS_OK;
}

isthmus_status p2p_counters(isthmus_tr *tr, uint64_t *values, const char *const **names, size_t *n)
{
    static const char *const all[] = {"copies", "atomics", "bytes_attached"};
    enum { N = sizeof all / sizeof *all };
    size_t room = *n;
    *n = N;
    if (room < N)
        return tr->services->fail(tr->services->core, ISTHMUS_ERR_LIMIT,
                                  "there are %d counters, but there is room for %zu", N, room);
    values[0] = __atomic_load_n(&tr->n_copies, __ATOMIC_RELAXED);
    values[1] = __atomic_load_n(&tr->n_amos, __ATOMIC_RELAXED);
    values[2] = __atomic_load_n(&tr->bytes_attached, __ATOMIC_RELAXED);
    *names = all;
    return ISTHMUS_OK;
}
