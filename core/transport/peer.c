/* core/transport/peer.c: first use of a peer. See peer.h.
 * Each peer has a lock: a connection takes a millisecond or, to a lost peer, seconds, and threads that use other peers
 * first continue meanwhile, as far as the transport allows it (ISTHMUS_TRAIT_PATHS_AT_ONCE). Readers of a resolved peer
 * take no lock: its pointer is published with release after everything that it points to. */
#include "core/transport/peer_priv.h"

#include "core/base/atomic.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/transport/choose.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ist_peer_table ist_peer_table = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct ist_attached ist_no_segments[IST_SEGMENTS_IN_BLOCK];

isthmus_status ist_peers_init(ist_boot *boot, const char *card_key, bool use_alias)
{
    ist_peer_table.by_pe = calloc((size_t)boot->n_pes, sizeof *ist_peer_table.by_pe);
    if (ist_peer_table.by_pe == NULL) {
        ist_peers_fini();
        return ist_fail_memory("the table of %d PEs", boot->n_pes);
    }
    ist_peer_table.boot = boot;
    ist_peer_table.my_pe = boot->pe;
    ist_peer_table.n_pes = boot->n_pes;
    ist_peer_table.use_alias = use_alias;
    ist_peer_table.are_mixed = false;
    ist_peer_table.n_mixed_late = 0;
    memset(ist_peer_table.n_published, 0, sizeof ist_peer_table.n_published);
    snprintf(ist_peer_table.card_key, sizeof ist_peer_table.card_key, "%s", card_key);
    return ISTHMUS_OK;
}

/* ---- what peers leave out ---- */

struct ist_left_out {
    struct ist_left_out *next;
    uint32_t segment;
    struct ist_blob spans; /* which follow */
};

static isthmus_status keep_left_out(struct ist_peer *peer)
{
    for (uint32_t s = 0; s < peer->card.n_segments; s++) {
        const struct ist_card_segment *theirs = &peer->card.segments[s];
        const uint32_t n_bytes = theirs->left_out.length_bytes;
        if (n_bytes == 0) continue;
        struct ist_left_out *made = malloc(sizeof *made + n_bytes);
        if (made == NULL) return ist_fail_memory("what PE %d leaves out", peer->card.pe);
        memcpy(made + 1, theirs->left_out.bytes, n_bytes);
        *made = (struct ist_left_out){peer->left_out, theirs->id, {made + 1, n_bytes}};
        peer->left_out = made;
    }
    return ISTHMUS_OK;
}

bool ist_peer_leaves_out(const struct ist_peer *peer, uint32_t segment, uint64_t offset_bytes, size_t length_bytes)
{
    for (const struct ist_left_out *at = peer->left_out; at != NULL; at = at->next)
        if (at->segment == segment && ist_spans_touch(&at->spans, offset_bytes, length_bytes)) return true;
    return false;
}

static void peer_free(struct ist_peer *peer)
{
    while (peer->left_out != NULL) {
        struct ist_left_out *first = peer->left_out;
        peer->left_out = first->next;
        free(first);
    }
    for (uint32_t b = 0; b < IST_SEGMENT_BLOCKS; b++)
        if (peer->blocks[b] != ist_no_segments) free(peer->blocks[b]);
    ist_card_fini(&peer->card);
    pthread_mutex_destroy(&peer->lock);
    free(peer);
}

/* ---- cards ---- */

/* Of another executable, or of another build of an object. */
static uint32_t other_layouts_of(const struct ist_card *card)
{
    uint32_t others = 0;
    for (uint32_t s = 0; s < card->n_segments; s++) {
        const struct ist_card_segment *theirs = &card->segments[s];
        if (theirs->id < IST_CARD_MAX_SEGMENTS &&
            !ist_layout_is_equal(&ist_segments.list[theirs->id].layout, &theirs->layout))
            others |= 1u << theirs->id;
    }
    return others;
}

static bool has_other_layout(const struct ist_peer *peer, uint32_t id)
{
    return id < IST_CARD_MAX_SEGMENTS && (peer->other_layouts >> id & 1) != 0;
}

static isthmus_status read_card(int pe, struct ist_peer **out)
{
    void *bytes;
    size_t n_bytes;
    int cancel = ist_cancel_disable();
    isthmus_status status = ist_peer_table.boot->ops->get(ist_peer_table.boot, pe, ist_peer_table.card_key, &bytes,
                                                          &n_bytes);
    ist_cancel_restore(cancel);
    if (status != ISTHMUS_OK) return status;
    struct ist_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        free(bytes);
        return ist_fail_memory("PE %d", pe);
    }
    pthread_mutex_init(&peer->lock, NULL);
    for (uint32_t b = 0; b < IST_SEGMENT_BLOCKS; b++) peer->blocks[b] = ist_no_segments;
    status = ist_card_read(bytes, n_bytes, &peer->card);
    if (status == ISTHMUS_OK && peer->card.pe != pe)
        status = ist_fail(
            ISTHMUS_ERR_VERSION,
            "the card of PE %d has the number %d; start the job again, with one version of Isthmus on all PEs", pe,
            peer->card.pe);
    if (status == ISTHMUS_OK) status = keep_left_out(peer);
    if (status != ISTHMUS_OK) {
        peer_free(peer);
        return status;
    }
    peer->other_layouts = other_layouts_of(&peer->card);
    *out = peer;
    return ISTHMUS_OK;
}

/* Threads that read the same card at once get one peer: that of the first. */
static struct ist_peer *enter(int pe, struct ist_peer *made)
{
    pthread_mutex_lock(&ist_peer_table.lock);
    struct ist_peer *first = ist_peer_table.by_pe[pe];
    if (first == NULL)
        ist_store_release(&ist_peer_table.by_pe[pe], made); /* pairs with the acquires in get_card, ist_peer_known */
    pthread_mutex_unlock(&ist_peer_table.lock);
    if (first == NULL) return made;
    peer_free(made);
    return first;
}

static isthmus_status get_card(int pe, struct ist_peer **out)
{
    struct ist_peer *peer = ist_load_acquire(&ist_peer_table.by_pe[pe]);
    if (peer == NULL) {
        isthmus_status status = read_card(pe, &peer);
        if (status != ISTHMUS_OK) return status;
        peer = enter(pe, peer);
    }
    *out = peer;
    return ISTHMUS_OK;
}

isthmus_status ist_peer_card(int pe, const struct ist_card **out)
{
    struct ist_peer *peer = NULL;
    *out = NULL;
    if (ist_peer_table.by_pe == NULL) return ISTHMUS_ERR_INVALID; /* a start that failed before there were peers */
    isthmus_status status = get_card(pe, &peer);
    if (status == ISTHMUS_OK) *out = &peer->card;
    return status;
}

isthmus_status ist_peer_has_layout(int pe, uint32_t id, bool *out)
{
    struct ist_peer *peer = NULL;
    isthmus_status status = get_card(pe, &peer);
    if (status == ISTHMUS_OK) *out = !has_other_layout(peer, id);
    return status;
}

/* ---- resolving ---- */

static isthmus_status fail_unreachable(const struct ist_card *card, uint32_t kind, const struct ist_choice *choice)
{
    char reasons[800] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < ist_registry.n && used < sizeof reasons; i++)
        used += (size_t)snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", i > 0 ? "; " : "",
                                 ist_registry.list[i].name, choice->offers[i].why_not);
    return ist_fail(ISTHMUS_ERR_UNREACHABLE, "no transport reaches %sPE %d on %s: %s",
                    kind == ISTHMUS_MEM_HOST ? "" : "memory of devices of ", card->pe, card->host_name,
                    used > 0 ? reasons : "there is no transport plugin");
}

isthmus_status ist_peer_why_unreachable(const struct ist_peer *peer, uint32_t segment)
{
    struct ist_choice choice;
    uint32_t kind = ist_peer_segment(peer, segment)->kind;
    ist_choose(&peer->card, kind, &choice);
    return fail_unreachable(&peer->card, kind, &choice);
}

isthmus_status ist_peer_check(int pe)
{
    const struct ist_card *card;
    struct ist_choice choice;
    isthmus_status status = ist_peer_card(pe, &card);
    if (status != ISTHMUS_OK) return status;
    ist_choose(card, ISTHMUS_MEM_HOST, &choice);
    return choice.carrier != IST_NO_TRANSPORT ? ISTHMUS_OK : fail_unreachable(card, ISTHMUS_MEM_HOST, &choice);
}

/* A segment that this PE made later is in no card: the peers' are as long, and of its kind. The caller has the peer's
 * lock, because the segments leave the card when the peer is resolved. */
static void describe_segment(const struct ist_peer *peer, uint32_t id, struct ist_outlook *out)
{
    const struct isthmus_mem *mine = &ist_segments.list[id].mem;
    const struct ist_attached *attached = ist_peer_segment(peer, id);
    *out = (struct ist_outlook){.carrier = IST_NO_TRANSPORT};
    if (id >= ist_segments.n_at_start) {
        out->length_bytes = mine->length_bytes;
        out->kind = mine->kind;
    } else if (peer->is_resolved) {
        out->length_bytes = attached->length_bytes;
        out->kind = attached->kind;
    }
    for (uint32_t s = 0; s < peer->card.n_segments && !peer->is_resolved; s++) {
        if (peer->card.segments[s].id != id) continue;
        out->length_bytes = peer->card.segments[s].length_bytes;
        out->kind = peer->card.segments[s].kind;
    }
}

isthmus_status ist_peer_outlook(int pe, uint32_t id, uint64_t offset_bytes, struct ist_outlook *out)
{
    struct ist_peer *peer = NULL;
    struct ist_choice choice;
    isthmus_status status = get_card(pe, &peer);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&peer->lock);
    describe_segment(peer, id, out);
    if (has_other_layout(peer, id) || ist_peer_leaves_out(peer, id, offset_bytes, 1)) out->length_bytes = 0;
    pthread_mutex_unlock(&peer->lock);
    if (out->length_bytes == 0) return ISTHMUS_OK;
    ist_choose(&peer->card, out->kind, &choice);
    out->carrier = choice.carrier;
    if (choice.carrier == IST_NO_TRANSPORT) return ISTHMUS_OK;
    bool is_aliased = (choice.offers[choice.carrier].reach.caps & ISTHMUS_CAP_ALIAS) != 0 && ist_peer_table.use_alias;
    out->is_mapped = is_aliased ||
                     (out->kind != ISTHMUS_MEM_HOST && ist_registry.list[choice.carrier].extensions.has_memory);
    return ISTHMUS_OK;
}

void ist_path_begin(struct ist_transport *t)
{
    if ((t->traits.traits & ISTHMUS_TRAIT_PATHS_AT_ONCE) == 0) ist_cold_begin(t);
}

void ist_path_end(struct ist_transport *t)
{
    if ((t->traits.traits & ISTHMUS_TRAIT_PATHS_AT_ONCE) == 0) ist_cold_end(t);
}

static isthmus_status open_path(struct ist_peer *peer, uint32_t index, uint32_t card_slot)
{
    if (peer->paths[index] != NULL) return ISTHMUS_OK;
    struct ist_transport *t = &ist_registry.list[index];
    const struct ist_card_transport *part = &peer->card.transports[card_slot];
    struct isthmus_peer target = {
        .struct_size = sizeof target,
        .pe = peer->card.pe,
        .host = &peer->card.host,
        .host_name = peer->card.host_name,
        .card = part->card.bytes,
        .card_bytes = part->card.length_bytes,
    };
    /* Called before the path opens: a peer that is lost just now may never reply. */
    if ((t->ops.scopes & ISTHMUS_SCOPE_NETWORK) != 0)
        ist_life_report(&(struct ist_life_event){.kind = IST_LIFE_CONNECT, .peer = &peer->card});
    ist_path_begin(t);
    isthmus_status status = t->ops.path_open(t->handle, &target, &peer->paths[index]);
    ist_path_end(t);
    return status;
}

static bool has_own_way_for_atomics(const struct ist_attached *attached)
{
    return attached->atomics != attached->carrier && attached->atomics != IST_NO_TRANSPORT;
}

uint32_t ist_peer_segment_id(const struct ist_peer *peer, const struct ist_attached *segment)
{
    uint32_t id = 0;
    while (id < IST_MAX_SEGMENTS - 1 && ist_peer_segment(peer, id) != segment) id++;
    return id;
}

/* Opens the path, and attaches what the peer's card has a key for. */
static isthmus_status attach_first(const struct ist_way *way, const struct ist_card_segment *theirs,
                                   const struct ist_offer *offer)
{
    isthmus_status status = open_path(way->peer, way->transport, offer->card_slot);
    if (status != ISTHMUS_OK) return status;
    bool is_whole = theirs->kind == ISTHMUS_MEM_HOST && way->peer->card.transports[offer->card_slot].is_sparse;
    uint64_t length_bytes = is_whole ? theirs->length_bytes : theirs->first_bytes;
    if (length_bytes == 0) return ISTHMUS_OK; /* it has not grown yet */
    return ist_way_attach(way, &theirs->keys[offer->card_slot], 0, length_bytes);
}

/* Allocates the block that holds this segment of the peer. */
static isthmus_status need_block(struct ist_peer *peer, uint32_t id)
{
    struct ist_attached **block = &peer->blocks[id / IST_SEGMENTS_IN_BLOCK];
    if (*block != ist_no_segments) return ISTHMUS_OK;
    struct ist_attached *made = calloc(IST_SEGMENTS_IN_BLOCK, sizeof *made);
    if (made == NULL) return ist_fail_memory("segments of PE %d", peer->card.pe);
    ist_store_release(block, made); /* pairs with the acquire in ist_peer_segment() */
    return ISTHMUS_OK;
}

/* Unreachable device memory is reported when it is used: host memory may be enough for the program. */
static isthmus_status attach_segment(struct ist_peer *peer, const struct ist_card_segment *theirs)
{
    struct ist_choice choice;
    isthmus_status status = need_block(peer, theirs->id);
    if (status != ISTHMUS_OK) return status;
    struct ist_attached *attached = ist_peer_segment(peer, theirs->id);
    bool is_on_host = theirs->kind == ISTHMUS_MEM_HOST;
    ist_choose(&peer->card, theirs->kind, &choice);
    if (choice.carrier == IST_NO_TRANSPORT && is_on_host) return fail_unreachable(&peer->card, theirs->kind, &choice);
    attached->length_bytes = theirs->length_bytes;
    attached->kind = theirs->kind;
    attached->carrier = choice.carrier;
    attached->atomics = choice.atomics;
    if (choice.carrier == IST_NO_TRANSPORT) return ISTHMUS_OK;

    struct ist_way ways[] = {ist_way_of_data(peer, theirs->id), ist_way_of_atomics(peer, theirs->id)};
    size_t n_ways = has_own_way_for_atomics(attached) ? 2 : 1;
    ist_device_view_open(&ways[0], theirs->first_bytes);
    for (size_t i = 0; i < n_ways && status == ISTHMUS_OK; i++)
        status = attach_first(&ways[i], theirs, &choice.offers[ways[i].transport]);
    return status;
}

intptr_t ist_peer_delta(const struct ist_peer *peer, uint32_t id)
{
    const struct ist_attached *attached = ist_peer_segment(peer, id);
    const struct ist_attached_extent *extent = attached->extents;
    const struct isthmus_mem *mine = &ist_segments.list[id].mem;
    bool is_whole = extent != NULL && extent->length_bytes == attached->length_bytes &&
                    ist_segments.list[id].left_out.length_bytes == 0;
    if (!is_whole || extent->alias == NULL || mine->length_bytes == 0) return ISTHMUS_NO_ALIAS;
    return (intptr_t)((uintptr_t)extent->alias - (uintptr_t)mine->addr);
}

static void detach_segment(struct ist_peer *peer, uint32_t id)
{
    struct ist_way data = ist_way_of_data(peer, id), atomics = ist_way_of_atomics(peer, id);
    ist_way_detach(&data);
    ist_way_detach(&atomics);
    ist_device_view_close(&data);
}

static void close_peer(struct ist_peer *peer)
{
    for (uint32_t s = 0; s < IST_MAX_SEGMENTS; s++) detach_segment(peer, s);
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        if (peer->paths[i] == NULL) continue;
        ist_cold_begin(&ist_registry.list[i]);
        ist_registry.list[i].ops.path_close(peer->paths[i]);
        ist_cold_end(&ist_registry.list[i]);
        peer->paths[i] = NULL;
    }
}

static bool is_aliased(const struct ist_attached *attached)
{
    const struct ist_attached_extent *first = attached->checked != NULL ? attached->checked : attached->extents;
    return first != NULL && first->alias != NULL;
}

static void note_mixed(struct ist_peer *peer)
{
    const struct ist_attached *first = NULL;
    for (uint32_t s = 0; s < IST_MAX_SEGMENTS && !ist_peer_is_mixed(peer); s++) {
        const struct ist_attached *attached = ist_peer_segment(peer, s);
        if (attached->length_bytes == 0) continue;
        if (first == NULL) first = attached;
        if (!has_own_way_for_atomics(attached) && attached->carrier == first->carrier &&
            attached->atomics == first->atomics && is_aliased(attached) == is_aliased(first))
            continue;
        ist_store_relaxed(&peer->is_mixed, 1);
        ist_store_relaxed(&ist_peer_table.are_mixed, true);
    }
}

static isthmus_status resolve(int pe, struct ist_peer *peer)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t s = 0; s < peer->card.n_segments && status == ISTHMUS_OK; s++) {
        const struct ist_card_segment *theirs = &peer->card.segments[s];
        if (theirs->length_bytes > 0 && !has_other_layout(peer, theirs->id)) status = attach_segment(peer, theirs);
    }
    if (status == ISTHMUS_OK) status = ist_device_views_catch_up(peer);
    if (status != ISTHMUS_OK) {
        close_peer(peer);
        return status;
    }
    note_mixed(peer);
    ist_card_trim(&peer->card);
    /* Release: pairs with the acquire in isthmus_alias_; a thread that reads the delta uses what it points to. */
    ist_store_release(&ist_rows[pe].delta[1], ist_peer_delta(peer, IST_SEGMENT_HEAP));
    ist_store_release(&ist_rows[pe].delta[2], ist_peer_delta(peer, IST_SEGMENT_STATIC));
    ist_store_release(&peer->is_resolved, true); /* pairs with the acquire in ist_peer_known() */
    return ISTHMUS_OK;
}

/* ---- late segments ---- */

static isthmus_status attach_late(struct ist_peer *peer, uint32_t id, uint32_t number)
{
    struct ist_card card;
    char key[96];
    void *bytes;
    size_t n_bytes;
    ist_late_key(key, sizeof key, ist_peer_table.card_key, number);
    isthmus_status status = ist_peer_table.boot->ops->get(ist_peer_table.boot, peer->card.pe, key, &bytes, &n_bytes);
    if (status == ISTHMUS_OK) status = ist_card_read(bytes, n_bytes, &card);
    if (status != ISTHMUS_OK) return status;
    bool fits = card.n_segments == 1 && card.segments[0].id == id && card.n_transports == peer->card.n_transports;
    status = fits ? attach_segment(peer, &card.segments[0])
                  : ist_fail(ISTHMUS_ERR_VERSION,
                             "PE %d has not published %s under the key '%s'; use one version of Isthmus on all PEs",
                             peer->card.pe, ist_segments.list[id].name, key);
    ist_card_fini(&card);
    return status;
}

/* Called with the peer's lock held. Another thread may show a segment meanwhile, or hide one: it takes this lock in
 * ist_peers_detach() after that. */
static isthmus_status catch_up(struct ist_peer *peer)
{
    /* Acquires: pair with ist_segment_show_late(). First the count: what changes after it is for the next call. */
    const uint32_t changes = ist_load_acquire(&ist_segments.late_changes), n = ist_load_acquire(&ist_segments.n);
    for (uint32_t id = ist_segments.n_at_start; id < n; id++) {
        const uint32_t number = ist_load_acquire(&ist_segments.list[id].late_number);
        if (number == 0 || ist_peer_segment(peer, id)->length_bytes != 0) continue;
        isthmus_status status = attach_late(peer, id, number);
        if (status != ISTHMUS_OK) return status;
    }
    bool was_mixed = ist_peer_is_mixed(peer);
    note_mixed(peer);
    if (ist_peer_is_mixed(peer) && !was_mixed)
        (void)__atomic_fetch_add(&ist_peer_table.n_mixed_late, 1, __ATOMIC_RELEASE);
    ist_store_release(&peer->late_changes, changes); /* pairs with the acquire in ist_peer_get */
    return ISTHMUS_OK;
}

void ist_peers_detach(uint32_t segment)
{
    for (int pe = 0; pe < ist_peer_table.n_pes; pe++) {
        struct ist_peer *peer = ist_load_acquire(&ist_peer_table.by_pe[pe]);
        if (peer == NULL) continue;
        pthread_mutex_lock(&peer->lock);
        if (peer->is_resolved && ist_peer_segment(peer, segment)->length_bytes != 0) {
            detach_segment(peer, segment);
            ist_peer_segment(peer, segment)->length_bytes = 0;
        }
        pthread_mutex_unlock(&peer->lock);
    }
}

static isthmus_status reach(int pe, struct ist_peer **out)
{
    isthmus_status status = get_card(pe, out);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&(*out)->lock);
    if (!(*out)->is_resolved) status = resolve(pe, *out);
    if (status == ISTHMUS_OK) status = catch_up(*out);
    pthread_mutex_unlock(&(*out)->lock);
    return status;
}

isthmus_status ist_peer_get(int pe, const struct ist_peer **out)
{
    const struct ist_peer *known = ist_peer_known(pe);
    isthmus_status status = ISTHMUS_OK;
    /* Acquire: pairs with the release in catch_up(). */
    if (known == NULL || ist_load_acquire(&known->late_changes) != ist_load_relaxed(&ist_segments.late_changes)) {
        struct ist_peer *peer = NULL;
        int cancel = ist_cancel_disable();
        status = reach(pe, &peer);
        ist_cancel_restore(cancel);
        known = peer;
    }
    if (status == ISTHMUS_OK) *out = known;
    return status;
}

const struct ist_peer *ist_peer_known(int pe)
{
    const struct ist_peer *peer = ist_load_acquire(&ist_peer_table.by_pe[pe]); /* pairs with the release in enter() */
    return peer != NULL && ist_load_acquire(&peer->is_resolved) ? peer : NULL; /* and this one with that in resolve() */
}

const char *ist_peers_card_key(void) { return ist_peer_table.card_key; }

bool ist_peers_are_mixed(void) { return ist_load_relaxed(&ist_peer_table.are_mixed); }

uint32_t ist_peers_n_mixed_late(void) { return ist_load_acquire(&ist_peer_table.n_mixed_late); }

bool ist_peers_use_alias(void) { return ist_peer_table.use_alias; }

void ist_peers_fini(void)
{
    for (int pe = 0; pe < ist_peer_table.n_pes; pe++) {
        struct ist_peer *peer = ist_peer_table.by_pe[pe];
        if (peer == NULL) continue;
        close_peer(peer);
        peer_free(peer);
    }
    free(ist_peer_table.by_pe);
    ist_peer_table.by_pe = NULL;
    ist_peer_table.boot = NULL;
    ist_peer_table.n_pes = 0;
}
