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

static int log2_of(int n) { return 31 - __builtin_clz((unsigned)n); }

/* Distance of this PE from the root, going up. */
static int distance_of(const struct ist_transfer *t)
{
    int distance = t->team->my_pe - t->pe;
    return distance >= 0 ? distance : distance + t->team->n_pes;
}

static int pe_at(const struct ist_transfer *t, int distance)
{
    int pe = t->pe + distance;
    return pe < t->team->n_pes ? pe : pe - t->team->n_pes;
}

static void wait_for_parent(const struct ist_transfer *t, uint64_t sequence)
{
    int distance = distance_of(t);
    if (distance > 0) ist_wait_for_data(&t->team->area->broadcast[log2_of(distance)].value, sequence);
}

/* PE at distance d has the children d + 2^k with 2^k > d. */
static void tell_children(const struct ist_transfer *t, const void *from, void *to, size_t length_bytes,
                          uint64_t sequence)
{
    struct ist_team *team = t->team;
    int distance = distance_of(t);
    int k = distance > 0 ? log2_of(distance) + 1 : 0;
    for (; distance + (1 << k) < team->n_pes; k++) {
        int child = pe_at(t, distance + (1 << k));
        ist_wire_put(team, to, from, length_bytes, child, t->routine);
        ist_wire_flag(team, &team->area->broadcast[k].value, sequence, child, t->routine);
    }
}

static void copy_at_root(const struct ist_transfer *t, int flags)
{
    if (flags != IST_BROADCAST_NOT_TO_ROOT && t->dest != t->source && t->length_bytes > 0)
        ist_copy_here(t->dest, t->source, t->length_bytes, t->routine);
}

/* From the parent to the children, for the part [done, done + length). */
static void pass_on(const struct ist_transfer *t, size_t done, size_t length_bytes)
{
    uint64_t sequence = ++t->team->broadcast_sequence;
    bool is_root = t->team->my_pe == t->pe;
    wait_for_parent(t, sequence);
    tell_children(t, (is_root ? t->source : t->dest) + done, t->dest + done, length_bytes, sequence);
}

static size_t chunk_after(const struct ist_transfer *t, size_t done)
{
    size_t left = t->length_bytes - done;
    return left < CHUNK_BYTES ? left : CHUNK_BYTES;
}

static void down_the_tree(const struct ist_transfer *t, int flags)
{
    size_t done = 0;
    do {
        size_t length = t->team->is_aliased ? t->length_bytes : chunk_after(t, done);
        pass_on(t, done, length);
        done += length;
    } while (done < t->length_bytes);
    ist_wire_reuse(t->team, t->routine);
    if (t->team->my_pe == t->pe) copy_at_root(t, flags);
}

/* Only flags go down; the data is read from the root, whose source it is. */
static void read_part(const struct ist_transfer *t, size_t done, size_t length_bytes)
{
    uint64_t sequence = ++t->team->broadcast_sequence;
    wait_for_parent(t, sequence);
    tell_children(t, NULL, NULL, 0, sequence);
    if (t->team->my_pe != t->pe)
        ist_wire_get(t->team, t->dest + done, t->source + done, length_bytes, t->pe, t->routine);
}

static void pull(const struct ist_transfer *t, int flags)
{
    read_part(t, 0, t->length_bytes);
    if (t->team->my_pe == t->pe) copy_at_root(t, flags);
    ist_sync(t->team, t->routine); /* the root's source may be overwritten once all have read it */
}

/* On its host the root acts as leader: the leader reads from it, as the others do, before it sends. */
static void through_leaders(const struct ist_transfer *t, const struct ist_hosts *hosts, int flags)
{
    int root_host = hosts->host_of[t->pe];
    bool is_at_root = hosts->my_host == root_host;
    bool is_root_leader = hosts->members[hosts->first[root_host]] == t->pe;
    struct ist_transfer inner = *t, outer = *t;
    inner.team = hosts->inner;
    inner.pe = is_at_root ? ist_team_from_world(hosts->inner, ist_team_to_world(t->team, t->pe)) : 0;
    inner.source = is_at_root ? t->source : t->dest;
    outer.team = hosts->outer;
    outer.pe = root_host;
    outer.source = is_root_leader ? t->source : t->dest;
    size_t done = 0;
    do {
        size_t length = chunk_after(t, done);
        if (is_at_root) read_part(&inner, done, length);
        if (ist_hosts_leads(hosts)) pass_on(&outer, done, length);
        if (!is_at_root) read_part(&inner, done, length);
        done += length;
    } while (done < t->length_bytes);
    if (ist_hosts_leads(hosts)) ist_wire_reuse(outer.team, t->routine);
    ist_sync(inner.team, t->routine); /* all have read this PE's data */
    if (t->team->my_pe == t->pe) copy_at_root(t, flags);
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

void ist_run_broadcast(const struct ist_transfer *t, int flags, int forced)
{
    switch (ist_choose_algorithm(algorithms, N_ALGORITHMS, forced, t)) {
    case PULL: pull(t, flags); break;
    case HOSTS: through_leaders(t, t->team->hosts, flags); break;
    default: down_the_tree(t, flags);
    }
}
