/* core/coll/broadcast.c: one PE's data to all.
 * tree: blocks go down a binomial tree whose edges span powers of two, so that each flag has one writer, whatever the
 * root.
 * pull: only flags go down the tree, and all read from the root at once.
 * hosts: down a tree of the hosts' leaders, each of whose hosts reads a chunk from its leader while the next one
 * arrives. */
#include "core/coll/algorithms.h"
#include "core/coll/cost.h"
#include "core/coll/sync.h"
#include "core/coll/wire.h"

enum { CHUNK_BYTES = 256 << 10 }; /* a PE passes the first chunk on while the second one is under way to it */

struct broadcast {
    struct ist_team *team;
    char *dest;
    const char *source;
    size_t length_bytes;
    int root, flags;
    const char *routine;
};

static int log2_of(int n) { return 31 - __builtin_clz((unsigned)n); }

/* Distance of this PE from the root, going up. */
static int distance_of(const struct broadcast *b)
{
    int distance = b->team->my_pe - b->root;
    return distance >= 0 ? distance : distance + b->team->n_pes;
}

static int pe_at(const struct broadcast *b, int distance)
{
    int pe = b->root + distance;
    return pe < b->team->n_pes ? pe : pe - b->team->n_pes;
}

static void wait_for_parent(const struct broadcast *b, uint64_t sequence)
{
    int distance = distance_of(b);
    if (distance > 0) ist_wait_for_data(&b->team->area->broadcast[log2_of(distance)].value, sequence);
}

/* PE at distance d has the children d + 2^k with 2^k > d. */
static void tell_children(const struct broadcast *b, const void *from, void *to, size_t length_bytes, uint64_t sequence)
{
    struct ist_team *team = b->team;
    int distance = distance_of(b);
    int k = distance > 0 ? log2_of(distance) + 1 : 0;
    for (; distance + (1 << k) < team->n_pes; k++) {
        int child = pe_at(b, distance + (1 << k));
        ist_wire_put(team, to, from, length_bytes, child, b->routine);
        ist_wire_flag(team, &team->area->broadcast[k].value, sequence, child, b->routine);
    }
}

static void copy_at_root(const struct broadcast *b)
{
    if (b->flags != IST_BROADCAST_NOT_TO_ROOT && b->dest != b->source && b->length_bytes > 0)
        ist_copy_here(b->dest, b->source, b->length_bytes, b->routine);
}

/* From the parent to the children, for the part [done, done + length). */
static void pass_on(const struct broadcast *b, size_t done, size_t length_bytes)
{
    uint64_t sequence = ++b->team->broadcast_sequence;
    bool is_root = b->team->my_pe == b->root;
    wait_for_parent(b, sequence);
    tell_children(b, (is_root ? b->source : b->dest) + done, b->dest + done, length_bytes, sequence);
}

static size_t chunk_after(const struct broadcast *b, size_t done)
{
    size_t left = b->length_bytes - done;
    return left < CHUNK_BYTES ? left : CHUNK_BYTES;
}

static void down_the_tree(const struct broadcast *b)
{
    size_t done = 0;
    do {
        size_t length = b->team->is_aliased ? b->length_bytes : chunk_after(b, done);
        pass_on(b, done, length);
        done += length;
    } while (done < b->length_bytes);
    ist_wire_reuse(b->team, b->routine);
    if (b->team->my_pe == b->root) copy_at_root(b);
}

/* Only flags go down; the data is read from the root, whose source it is. */
static void read_part(const struct broadcast *b, size_t done, size_t length_bytes)
{
    uint64_t sequence = ++b->team->broadcast_sequence;
    wait_for_parent(b, sequence);
    tell_children(b, NULL, NULL, 0, sequence);
    if (b->team->my_pe != b->root)
        ist_wire_get(b->team, b->dest + done, b->source + done, length_bytes, b->root, b->routine);
}

static void pull(const struct broadcast *b)
{
    read_part(b, 0, b->length_bytes);
    if (b->team->my_pe == b->root) copy_at_root(b);
    ist_sync(b->team, b->routine); /* the root's source may be overwritten once all have read it */
}

/* On its host the root acts as leader: the leader reads from it, as the others do, before it sends. */
static void through_leaders(const struct broadcast *b, const struct ist_hosts *hosts)
{
    int root_host = hosts->host_of[b->root];
    bool is_at_root = hosts->my_host == root_host;
    bool is_root_leader = hosts->members[hosts->first[root_host]] == b->root;
    struct broadcast inner = *b, outer = *b;
    inner.team = hosts->inner;
    inner.root = is_at_root ? ist_team_from_world(hosts->inner, ist_team_to_world(b->team, b->root)) : 0;
    inner.source = is_at_root ? b->source : b->dest;
    outer.team = hosts->outer;
    outer.root = root_host;
    outer.source = is_root_leader ? b->source : b->dest;
    size_t done = 0;
    do {
        size_t length = chunk_after(b, done);
        if (is_at_root) read_part(&inner, done, length);
        if (ist_hosts_leads(hosts)) pass_on(&outer, done, length);
        if (!is_at_root) read_part(&inner, done, length);
        done += length;
    } while (done < b->length_bytes);
    if (ist_hosts_leads(hosts)) ist_wire_reuse(outer.team, b->routine);
    ist_sync(inner.team, b->routine); /* all have read this PE's data */
    if (b->team->my_pe == b->root) copy_at_root(b);
}

/* The root copies for its children and, as it gets the data too, for itself. */
static uint64_t cost_tree(const struct ist_shape *shape)
{
    uint64_t rounds = (uint64_t)shape->rounds;
    return rounds * ist_cost_flag(shape) + (rounds + 1) * ist_cost_copy(shape, shape->length_bytes);
}

static uint64_t cost_pull(const struct ist_shape *shape)
{
    if (!shape->is_aliased) return IST_NEVER;
    return 2 * (uint64_t)shape->rounds * ist_cost_flag(shape) + ist_cost_copy(shape, shape->length_bytes);
}

static uint64_t cost_hosts(const struct ist_shape *shape)
{
    if (shape->hosts == NULL) return IST_NEVER;
    uint64_t rounds = (uint64_t)ist_rounds_of(shape->hosts->n_hosts);
    return rounds * IST_COST_MESSAGE_NS + (rounds + 1) * ist_cost_copy(shape, shape->length_bytes) +
           ist_cost_inside(shape->length_bytes);
}

static const struct ist_algorithm algorithms[] = {{"tree", cost_tree}, {"pull", cost_pull}, {"hosts", cost_hosts}};
enum { TREE, PULL, HOSTS, N_ALGORITHMS };

void ist_run_broadcast(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int root, int flags,
                       int forced, const char *routine)
{
    struct broadcast b = {team, dest, source, length_bytes, root, flags, routine};
    const struct ist_work work = {dest, source, length_bytes};
    switch (ist_choose_algorithm(algorithms, N_ALGORITHMS, forced, team, &work, routine)) {
    case PULL: pull(&b); break;
    case HOSTS: through_leaders(&b, team->hosts); break;
    default: down_the_tree(&b);
    }
}
