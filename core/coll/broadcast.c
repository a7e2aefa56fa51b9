/* core/coll/broadcast.c: one PE's data to all.
 * tree: blocks go down a binomial tree whose edges span powers of two, so that each flag has one writer, whatever the root.
 * pull: only flags go down the tree, and all read from the root at once. */
#include "core/coll/algorithms.h"
#include "core/coll/choose.h"
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
    if (distance > 0) ist_wait_at_least(&b->team->area->broadcast[log2_of(distance)].value, sequence);
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
        memcpy(b->dest, b->source, b->length_bytes);
}

static void down_the_tree(const struct broadcast *b)
{
    struct ist_team *team = b->team;
    bool is_root = team->my_pe == b->root;
    size_t done = 0;
    do {
        size_t left = b->length_bytes - done, length = team->is_aliased || left < CHUNK_BYTES ? left : CHUNK_BYTES;
        uint64_t sequence = ++team->broadcast_sequence;
        wait_for_parent(b, sequence);
        tell_children(b, (is_root ? b->source : b->dest) + done, b->dest + done, length, sequence);
        done += length;
    } while (done < b->length_bytes);
    ist_wire_drain(team, b->routine); /* what was passed on may be overwritten from now on */
    if (is_root) copy_at_root(b);
}

static void pull(const struct broadcast *b)
{
    struct ist_team *team = b->team;
    uint64_t sequence = ++team->broadcast_sequence;
    wait_for_parent(b, sequence);
    tell_children(b, NULL, NULL, 0, sequence);
    if (team->my_pe == b->root)
        copy_at_root(b);
    else
        ist_wire_get(team, b->dest, b->source, b->length_bytes, b->root, b->routine);
    ist_sync(team, b->routine); /* the root's source may be overwritten when all have read it */
}

/* The root copies for its children and, as it gets the data too, for itself. */
static uint64_t cost_tree(const struct ist_shape *shape)
{
    uint64_t rounds = (uint64_t)shape->rounds;
    return rounds * ist_cost_flag(shape) + (rounds + 1) * ist_cost_copy(shape, shape->length_bytes);
}

static uint64_t cost_pull(const struct ist_shape *shape)
{
    if (!shape->team->is_aliased) return IST_NEVER;
    return 2 * (uint64_t)shape->rounds * ist_cost_flag(shape) + ist_cost_copy(shape, shape->length_bytes);
}

static const struct ist_algorithm algorithms[] = {{"tree", cost_tree}, {"pull", cost_pull}};
enum { TREE, PULL, N_ALGORITHMS };

void ist_run_broadcast(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int root, int flags,
                       int forced, const char *routine)
{
    struct broadcast b = {team, dest, source, length_bytes, root, flags, routine};
    if (ist_choose_algorithm(algorithms, N_ALGORITHMS, forced, team, length_bytes) == PULL)
        pull(&b);
    else
        down_the_tree(&b);
}
