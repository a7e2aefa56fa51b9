/* tools/isthmus-check-transport/case_peers.c: cards, reach, paths; peers that are not there. */
#include "cases.h"

#include <pthread.h>
#include <string.h>

enum { GUARD = 0xa5, EXTENT_BYTES = 64 << 10, RANDOM_CARDS = 200, FREE_CALLS = 50 };

static const uint32_t LOST = CT_CODE(ISTHMUS_ERR_PEER_LOST) | CT_CODE(ISTHMUS_ERR_UNREACHABLE);

void ct_case_card_room(struct ct_process *p)
{
    struct ct_blob card;
    uint8_t room[CT_BLOB_ROOM];
    ct_open(p);
    ct_write_card(p, &card);
    for (size_t n = 0; n < card.n_bytes; n++) {
        size_t length = n;
        memset(room, GUARD, sizeof room);
        CT_ERROR(p->t->card(p->tr, room, &length), CT_CODE(ISTHMUS_ERR_LIMIT));
        CT_CHECK(length >= card.n_bytes && length <= p->traits.card_max_bytes,
                 "with room for %zu bytes it returned %zu as the number needed, but it writes %u", n, length,
                 card.n_bytes);
        for (size_t i = n; i < sizeof room; i++)
            CT_CHECK(room[i] == GUARD, "with room for %zu bytes it wrote byte %zu", n, i);
    }
    size_t exact = card.n_bytes;
    memset(room, GUARD, sizeof room);
    CT_OK(p->t->card(p->tr, room, &exact));
    for (size_t i = exact; i < sizeof room; i++)
        CT_CHECK(room[i] == GUARD, "with room for more it returned %zu bytes and wrote byte %zu", exact, i);
    ct_close(p);
}

static void check_reach(const struct isthmus_reach *r)
{
    CT_CHECK(r->latency_ns > 0, "latency_ns is 0; valid: 1 and more");
    CT_CHECK(r->bandwidth_bytes_per_s > 0, "bandwidth_bytes_per_s is 0; valid: 1 and more");
    CT_CHECK(r->atomics_domain <= ISTHMUS_DOMAIN_GPU, "atomics_domain is %u; valid: 0 to %d", r->atomics_domain,
             ISTHMUS_DOMAIN_GPU);
    CT_CHECK(r->visibility <= ISTHMUS_VISIBLE_EVERYONE, "visibility is %u; valid: 0 to %d", r->visibility,
             ISTHMUS_VISIBLE_EVERYONE);
}

/* All but `how`, whose address may differ. */
static void check_same(const struct isthmus_reach *a, const struct isthmus_reach *b, int pe, const char *what)
{
    CT_CHECK(a->caps == b->caps, "process %d: caps is %#llx and %#llx %s", pe, (unsigned long long)a->caps,
             (unsigned long long)b->caps, what);
    CT_CHECK(a->atomics_domain == b->atomics_domain, "process %d: atomics_domain is %u and %u %s", pe,
             a->atomics_domain, b->atomics_domain, what);
    CT_CHECK(a->visibility == b->visibility, "process %d: visibility is %u and %u %s", pe, a->visibility, b->visibility,
             what);
    CT_CHECK(a->latency_ns == b->latency_ns && a->bandwidth_bytes_per_s == b->bandwidth_bytes_per_s,
             "process %d: latency_ns is %u and %u, bandwidth_bytes_per_s %llu and %llu %s", pe, a->latency_ns,
             b->latency_ns, (unsigned long long)a->bandwidth_bytes_per_s, (unsigned long long)b->bandwidth_bytes_per_s,
             what);
}

/* Each process sends the others the reach that it reports of them. A card lies at any address. */
void ct_case_reach_is_steady(struct ct_process *p)
{
    struct ct_blob opinions[CT_MAX_PROCESSES];
    ct_open(p);
    ct_exchange_cards(p);
    for (int pe = 0; pe < p->n; pe++) {
        check_reach(&p->reach[pe]);
        for (int i = 0; i < 10; i++) {
            uint8_t moved[CT_BLOB_ROOM + 16];
            struct isthmus_peer peer = p->peers[pe];
            memcpy(moved + i, peer.card, peer.card_bytes);
            peer.card = moved + i;
            struct isthmus_reach again = {.struct_size = sizeof again};
            CT_OK(p->t->reach(p->tr, &peer, &again));
            check_same(&p->reach[pe], &again, pe, "in two calls");
        }
    }
    ct_exchange(p, p->reach, sizeof p->reach[0] * (size_t)p->n, opinions);
    for (int pe = 0; pe < p->n; pe++) {
        struct isthmus_reach theirs[CT_MAX_PROCESSES];
        memcpy(theirs, opinions[pe].bytes, sizeof theirs[0] * (size_t)p->n);
        check_same(&p->reach[pe], &theirs[p->pe], pe, "in what the two processes report of each other");
    }
    ct_meet(p);
    ct_close(p);
}

void ct_case_reach_is_free(struct ct_process *p)
{
    struct isthmus_reach reach = {.struct_size = sizeof reach};
    ct_open(p);
    ct_exchange_cards(p);
    struct ct_census before = ct_census_take();
    for (int i = 0; i < FREE_CALLS; i++)
        for (int pe = 0; pe < p->n; pe++) CT_OK(p->t->reach(p->tr, &p->peers[pe], &reach));
    ct_census_compare(&before, &(struct ct_slack){2, 0}, "50 times reach");
    ct_meet(p);
    ct_close(p);
}

/* Process 2 leaves before any process has opened a path to it; the others never open one. */
void ct_case_path_on_demand(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    struct ct_blob keys[CT_MAX_PROCESSES];
    ct_open(p);
    ct_exchange_cards(p);
    ct_extent_make(p, &extent, EXTENT_BYTES, 0);
    ct_extent_expose(p, &extent);
    ct_exchange(p, extent.key, extent.key_bytes, keys);
    if (p->pe == 2) {
        ct_extent_close(p, &extent);
        ct_close(p);
    }
    ct_meet(p);
    if (p->pe < 2) {
        int other = 1 - p->pe;
        void *alias = NULL;
        uint64_t value = 77, got = 0;
        CT_OK(p->t->path_open(p->tr, &p->peers[other], &p->path[other]));
        CT_OK(p->t->attach(p->path[other], keys[other].bytes, keys[other].n_bytes, &extent.rmem[other], &alias));
        ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &channel);
        struct ct_target at = {p, &channel, &extent, other};
        ct_put(&at, 8, &value, sizeof value);
        ct_quiet(p, &channel);
        ct_get(&at, 8, &got, sizeof got);
        CT_CHECK(got == value, "%llu was put, %llu came back", (unsigned long long)value, (unsigned long long)got);
        ct_channel_close(p, &channel);
    }
    ct_meet(p);
    if (p->pe < 2) ct_extent_detach(p, &extent);
    ct_meet(p);
    if (p->pe == 2) return;
    ct_extent_close(p, &extent);
    ct_close(p);
}

/* One of the threads that open paths at once. */
struct opener {
    struct ct_process *p;
    struct ct_extent *extent;
    const struct ct_blob *key;
    pthread_barrier_t *start;
    int pe;
    pthread_t thread;
};

static void *open_one(void *arg)
{
    struct opener *o = arg;
    struct ct_process *p = o->p;
    void *alias = NULL;
    pthread_barrier_wait(o->start);
    CT_OK(p->t->path_open(p->tr, &p->peers[o->pe], &p->path[o->pe]));
    CT_OK(p->t->attach(p->path[o->pe], o->key->bytes, o->key->n_bytes, &o->extent->rmem[o->pe], &alias));
    o->extent->alias[o->pe] = alias;
    return NULL;
}

static void open_all(struct ct_process *p, struct ct_extent *extent, const struct ct_blob *keys)
{
    struct opener openers[CT_MAX_PROCESSES];
    pthread_barrier_t start;
    CT_NEED(pthread_barrier_init(&start, NULL, (unsigned)p->n) == 0, "pthread_barrier_init failed for %d threads",
            p->n);
    for (int pe = 0; pe < p->n; pe++) {
        openers[pe] = (struct opener){.p = p, .extent = extent, .key = &keys[pe], .start = &start, .pe = pe};
        ct_thread_start(&openers[pe].thread, open_one, &openers[pe]);
    }
    for (int pe = 0; pe < p->n; pe++) pthread_join(openers[pe].thread, NULL);
    pthread_barrier_destroy(&start);
}

void ct_case_paths_at_once(struct ct_process *p)
{
    static struct ct_extent extent;
    static struct ct_blob keys[CT_MAX_PROCESSES];
    struct ct_channel channel;
    ct_open(p);
    if ((p->traits.traits & ISTHMUS_TRAIT_PATHS_AT_ONCE) == 0) ct_skip("%s opens one path at a time", p->t->name);
    ct_exchange_cards(p);
    ct_extent_make(p, &extent, EXTENT_BYTES, 0);
    ct_extent_expose(p, &extent);
    ct_exchange(p, extent.key, extent.key_bytes, keys);
    open_all(p, &extent, keys);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &channel);
    for (int pe = 0; pe < p->n; pe++) {
        const struct ct_target at = {p, &channel, &extent, pe};
        uint64_t value = (uint64_t)(p->pe + 1) << 32 | (uint64_t)pe;
        ct_put(&at, 8 * (uint64_t)p->pe, &value, sizeof value);
    }
    ct_quiet(p, &channel);
    ct_meet(p);
    for (int pe = 0; pe < p->n; pe++) {
        uint64_t expected = (uint64_t)(pe + 1) << 32 | (uint64_t)p->pe, got = ct_extent_load(&extent, 8 * (uint64_t)pe);
        CT_CHECK(got == expected, "process %d has put %#llx here, %#llx is there", pe, (unsigned long long)expected,
                 (unsigned long long)got);
    }
    ct_meet(p);
    ct_end(p, &extent, &channel);
}

void ct_case_reach_other_host(struct ct_process *p)
{
    ct_open(p);
    if ((p->t->scopes & ISTHMUS_SCOPE_NETWORK) != 0) ct_skip("%s reaches other hosts", p->t->name);
    struct ct_blob card;
    struct isthmus_peer peer;
    ct_write_card(p, &card);
    ct_describe_peer(p, p->pe + 1, card.bytes, card.n_bytes, &peer);
    for (size_t i = 0; i < sizeof p->host.bytes; i++) {
        struct isthmus_host_id other = p->host;
        struct isthmus_reach reach, untouched;
        other.bytes[i] ^= 1;
        peer.host = &other;
        memset(&reach, GUARD, sizeof reach);
        reach.struct_size = sizeof reach;
        untouched = reach;
        CT_ERROR(p->t->reach(p->tr, &peer, &reach), CT_CODE(ISTHMUS_ERR_UNREACHABLE));
        CT_CHECK(memcmp(&reach, &untouched, sizeof reach) == 0,
                 "reach failed and wrote to *out; valid: *out as it was");
    }
    ct_close(p);
}

/* An altered card that it accepts must reach no memory; the true one must still work. */
static void try_card(struct ct_process *p, int pe, const void *card, size_t card_bytes)
{
    struct isthmus_peer peer;
    struct isthmus_reach reach = {.struct_size = sizeof reach};
    ct_describe_peer(p, pe, card, card_bytes, &peer);
    ct_forget_failure();
    isthmus_status status = p->t->reach(p->tr, &peer, &reach);
    if (status != ISTHMUS_OK) {
        CT_CHECK(ct_failure_text()[0] != '\0', "%s without a text: services->fail() was not called",
                 ct_status_name(status));
        return;
    }
    isthmus_path *path = NULL;
    if (card_bytes == p->cards[pe].n_bytes && memcmp(card, p->cards[pe].bytes, card_bytes) == 0) return;
    status = p->t->path_open(p->tr, &peer, &path);
    if (status == ISTHMUS_OK) p->t->path_close(path); /* the error appears later, at attach */
}

void ct_case_damaged_card(struct ct_process *p)
{
    uint8_t card[CT_BLOB_ROOM];
    uint64_t state = ct_seed() + (uint64_t)p->pe;
    ct_open(p);
    ct_exchange_cards(p);
    int pe = 1 - p->pe;
    size_t n_bytes = p->cards[pe].n_bytes;
    if (n_bytes == 0) ct_skip("%s has an empty card", p->t->name);
    for (size_t cut = 0; cut < n_bytes; cut++) try_card(p, pe, p->cards[pe].bytes, cut);
    for (int i = 0; i < RANDOM_CARDS; i++) {
        memcpy(card, p->cards[pe].bytes, n_bytes);
        if (i % 2 == 0) ct_pattern_fill(card, n_bytes, ct_random(&state));
        card[ct_random(&state) % n_bytes] ^= (uint8_t)(1u << ct_random(&state) % 8);
        try_card(p, pe, card, n_bytes);
    }
    CT_OK(p->t->path_open(p->tr, &p->peers[pe], &p->path[pe]));
    ct_meet(p);
    ct_close(p);
}

/* Process 1 ends, by itself or as if killed; process 0 then tries to reach it. */
static void try_path_to(struct ct_process *p)
{
    isthmus_path *path = (isthmus_path *)(void *)p;
    CT_ERROR(p->t->path_open(p->tr, &p->peers[1], &path), LOST);
    CT_CHECK(path == (isthmus_path *)(void *)p, "path_open failed and wrote to *out; valid: *out as it was");
}

void ct_case_path_to_dead_peer(struct ct_process *p)
{
    ct_open(p);
    ct_exchange_cards(p);
    if (p->pe == 1) ct_leave(p);
    ct_meet(p); /* it is dead now */
    try_path_to(p);
    ct_close(p);
}

void ct_case_path_to_closed_peer(struct ct_process *p)
{
    ct_open(p);
    ct_exchange_cards(p);
    if (p->pe == 1) ct_close(p);
    ct_meet(p);
    if (p->pe == 0) {
        try_path_to(p);
        ct_close(p);
    }
}

static void expect_done_or_lost(isthmus_status status, const char *slot)
{
    CT_RULE(slot, "for a peer that has ended: OK, PEER_LOST or IO, and no other code",
            status == ISTHMUS_OK || status == ISTHMUS_ERR_PEER_LOST || status == ISTHMUS_ERR_IO, "%s",
            ct_status_name(status));
}

/* What a PE does that leaves after others: it commits words of notify(), which went to a peer that has ended since. */
void ct_case_notified_peer_dies(struct ct_process *p)
{
    static struct ct_extent extent;
    static struct ct_channel channel;
    ct_begin(p, &extent, EXTENT_BYTES, &channel);
    const struct isthmus_data_ops *ops = &channel.ops;
    if (ops->notify == NULL) ct_skip("%s has no notify", p->t->name);
    ct_enter("ops.notify()");
    if (p->pe == 0) CT_OK_OF("notify", ops->notify(channel.chan, p->path[1], extent.rmem[1], 0, 1));
    ct_meet(p);
    if (p->pe == 1) ct_leave(p);
    ct_meet(p);
    ct_enter("ops.remote_commit()");
    for (int i = 0; i < 1000; i++) (void)ct_progress(p); /* a connection that has ended is seen as such */
    expect_done_or_lost(ops->remote_commit(channel.chan, p->path[1]), "remote_commit");
    p->t->channel_close(channel.chan);
    ct_extent_detach(p, &extent);
    ct_extent_close(p, &extent);
    ct_close(p);
}

void ct_case_peer_dies(struct ct_process *p)
{
    static struct ct_extent extent;
    static struct ct_channel channel;
    static uint8_t buffer[EXTENT_BYTES];
    ct_begin(p, &extent, EXTENT_BYTES, &channel);
    ct_enter("ops.put()");
    if (p->pe == 1) ct_leave(p);
    ct_meet(p);
    const struct isthmus_data_ops *ops = &channel.ops;
    for (int i = 0; i < 20; i++) {
        expect_done_or_lost(ops->put(channel.chan, p->path[1], extent.rmem[1], 0, buffer, NULL, sizeof buffer), "put");
        expect_done_or_lost(ops->get(channel.chan, p->path[1], extent.rmem[1], 0, buffer, NULL, sizeof buffer), "get");
        isthmus_amo_fn add = ops->amo_entry(channel.chan, ISTHMUS_AMO_ADD, ISTHMUS_BITS64, ISTHMUS_AMO_FETCHING);
        if (add != NULL)
            expect_done_or_lost(add(channel.chan, p->path[1], extent.rmem[1], 0, 1, 0, buffer), "amo_entry");
        expect_done_or_lost(ops->fence(channel.chan, p->path[1]), "fence");
        expect_done_or_lost(ops->local_complete(channel.chan, NULL), "local_complete");
        expect_done_or_lost(ops->remote_commit(channel.chan, NULL), "remote_commit");
    }
    /* the others are reached as before */
    struct ct_target own = {p, &channel, &extent, 0};
    ct_put(&own, 0, buffer, sizeof buffer);
    p->t->channel_close(channel.chan);
    ct_extent_detach(p, &extent);
    ct_extent_close(p, &extent);
    ct_close(p);
}
