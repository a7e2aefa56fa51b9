/* core/coll/reduce.c: reductions and scans.
 * doubling: a few bytes, in pairs. central: the last PE to come computes for all, for PEs that share processors. owner: each
 * PE computes one part of the elements for all PEs, reading every source and writing every destination where it lies: no
 * element crosses more often than it has to, and all PEs get the bits that one PE has computed. Nobody else touches the
 * part, so dest may be source. hosts: the same inside each host, by as many PEs as every host has, and each of them reduces
 * its part with those of the other hosts before it hands it out. */
#include "core/base/fatal.h"
#include "core/coll/algorithms.h"
#include "core/coll/choose.h"
#include "core/coll/doubling.h"
#include "core/coll/sync.h"
#include "core/coll/wire.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 8 << 10 /* stays in the first cache while all sources go by */, CENTRAL_BYTES = 4 << 10 };

/* Room for one block of elements of any type. */
struct block {
    unsigned char bytes[BLOCK_BYTES];
} __attribute__((aligned(64)));

static const void *part(const void *base, size_t offset_bytes) { return (const char *)base + offset_bytes; }

/* A block of a member's source: where it lies, if it can be loaded, else a copy in `room`. */
static const void *source_of(struct ist_team *team, const void *source, size_t length_bytes, int pe, void *room,
                             const char *routine)
{
    if (pe == team->my_pe) return source;
    if (team->is_aliased) return ist_wire_alias(team, source, length_bytes, pe, routine);
    ist_wire_get(team, room, source, length_bytes, pe, routine);
    return room;
}

static void to_dest_of(struct ist_team *team, void *dest, const void *block, size_t length_bytes, int pe,
                       const char *routine)
{
    void *at = pe == team->my_pe  ? dest
               : team->is_aliased ? ist_wire_alias(team, dest, length_bytes, pe, routine)
                                  : NULL;
    if (at == NULL)
        ist_put(&ist_ctx_default, dest, block, length_bytes, ist_team_to_world(team, pe), routine);
    else if (at != block)
        memcpy(at, block, length_bytes);
}

/* out = the sources of all members at offset, in the order of the members. out may be this PE's own source only if it is
 * the first or the second member: a later one would lose its source before its turn. */
static void combine_all(struct ist_team *team, const struct ist_reduction *r, void *out, size_t offset_bytes,
                        size_t nelems, const char *routine)
{
    struct block first, next;
    size_t length = nelems * r->size_bytes;
    const void *source = part(r->source, offset_bytes);
    const void *a = source_of(team, source, length, 0, &first, routine);
    if (team->n_pes == 1) memcpy(out, a, length);
    for (int pe = 1; pe < team->n_pes; pe++) {
        r->combine(out, a, source_of(team, source, length, pe, &next, routine), nelems);
        a = out;
    }
}

/* ---- reduce ---- */

/* As many elements at a time as a slot holds. */
static void reduce_doubling(struct ist_team *team, const struct ist_reduction *r, const char *routine)
{
    unsigned char value[IST_SLOT_BYTES] __attribute__((aligned(16)));
    size_t at_once = IST_SLOT_BYTES / r->size_bytes;
    for (size_t first = 0; first < r->nelems; first += at_once) {
        size_t n = r->nelems - first < at_once ? r->nelems - first : at_once, offset = first * r->size_bytes;
        struct ist_vector vector = {r->combine, n, n * r->size_bytes};
        memcpy(value, part(r->source, offset), vector.length_bytes);
        ist_doubling_reduce(team, value, &vector, routine);
        memcpy((char *)r->dest + offset, value, vector.length_bytes);
    }
}

static void reduce_for_all(struct ist_team *team, const struct ist_reduction *r, size_t first, size_t nelems,
                           const char *routine)
{
    struct block result;
    size_t offset = first * r->size_bytes, length = nelems * r->size_bytes;
    bool in_place = r->dest == r->source;
    void *out = in_place ? (void *)&result : (char *)r->dest + offset;
    combine_all(team, r, out, offset, nelems, routine);
    for (int i = 0; i < team->n_pes; i++)
        to_dest_of(team, (char *)r->dest + offset, out, length, ist_wire_further(team, i), routine);
}

/* The elements that number `me` of n computes: parts differ by one at most. */
static void part_of(size_t nelems, int n, int number, size_t *first, size_t *end)
{
    size_t share = nelems / (size_t)n, rest = nelems % (size_t)n, me = (size_t)number;
    *first = share * me + (me < rest ? me : rest);
    *end = *first + share + (me < rest);
}

static void reduce_owner(struct ist_team *team, const struct ist_reduction *r, const char *routine)
{
    size_t first, end, at_once = BLOCK_BYTES / r->size_bytes;
    part_of(r->nelems, team->n_pes, team->my_pe, &first, &end);
    ist_sync(team, routine); /* all sources are ready */
    for (; first < end; first += at_once)
        reduce_for_all(team, r, first, end - first < at_once ? end - first : at_once, routine);
    ist_wire_drain(team, routine);
    ist_sync(team, routine); /* all parts are there, and nobody reads my source any more */
}

static void reduce_central(struct ist_team *team, const struct ist_reduction *r, const char *routine)
{
    struct ist_central central;
    bool is_last = ist_central_arrive(team, &team->area->central, ++team->central_sequence, &central, routine);
    if (is_last) reduce_for_all(team, r, 0, r->nelems, routine);
    ist_central_leave(&central, is_last);
}

/* ---- reduce through hosts ---- */

enum { SHARED_FROM_BYTES = 16 << 10 }; /* what more than one PE of a host works on */

/* My part of what the members of this host have together, to my dest. */
static void reduce_inside(struct ist_team *inner, const struct ist_reduction *r, size_t first, size_t end,
                          const char *routine)
{
    struct block result;
    size_t at_once = BLOCK_BYTES / r->size_bytes;
    for (; first < end; first += at_once) {
        size_t n = end - first < at_once ? end - first : at_once, offset = first * r->size_bytes;
        char *dest = (char *)r->dest + offset;
        bool is_in_place = r->dest == r->source;
        void *out = is_in_place ? (void *)&result : dest;
        combine_all(inner, r, out, offset, n, routine);
        if (is_in_place) memcpy(dest, out, n * r->size_bytes);
    }
}

static void reduce_part(const struct ist_hosts *hosts, const struct ist_reduction *r, size_t first, size_t end,
                        const char *routine)
{
    struct ist_team *inner = hosts->inner;
    size_t length = (end - first) * r->size_bytes;
    char *mine = (char *)r->dest + first * r->size_bytes;
    struct ist_reduction between = {mine, mine, end - first, r->size_bytes, r->combine};
    reduce_inside(inner, r, first, end, routine);
    ist_run_reduce(hosts->outer, &between, 0, routine);
    for (int i = 1; i < inner->n_pes; i++) to_dest_of(inner, mine, mine, length, ist_wire_further(inner, i), routine);
}

static void reduce_hosts(const struct ist_hosts *hosts, const struct ist_reduction *r, const char *routine)
{
    size_t first, end;
    int n_workers = r->nelems * r->size_bytes < SHARED_FROM_BYTES ? 1 : hosts->least;
    ist_sync(hosts->inner, routine); /* all sources are ready */
    if (hosts->my_number < n_workers) {
        part_of(r->nelems, n_workers, hosts->my_number, &first, &end);
        if (first < end) reduce_part(hosts, r, first, end, routine);
        ist_wire_drain(hosts->inner, routine);
    }
    ist_sync(hosts->inner, routine); /* all parts are there, and nobody reads my source any more */
}

/* ---- the choice ---- */

static uint64_t cost_of_slots(const struct ist_shape *shape, uint64_t rounds)
{
    uint64_t n_slots = (shape->length_bytes + IST_SLOT_BYTES - 1) / IST_SLOT_BYTES;
    return n_slots * rounds * ist_cost_flag(shape);
}

static uint64_t cost_doubling(const struct ist_shape *shape) { return cost_of_slots(shape, (uint64_t)shape->rounds); }

/* Everybody is scheduled in once to come and once to go. */
static uint64_t cost_central(const struct ist_shape *shape)
{
    uint64_t n = (uint64_t)shape->team->n_pes;
    if (!shape->team->is_aliased || shape->length_bytes > CENTRAL_BYTES) return IST_NEVER;
    return (shape->is_crowded ? IST_COST_SWITCH_NS : 3 * IST_COST_FLAG_NS) + n * IST_COST_FLAG_NS / 2 +
           2 * n * ist_cost_copy(shape, shape->length_bytes);
}

/* Reads from other hosts come one after the other; those of shared memory overlap. */
static uint64_t cost_of_parts(const struct ist_shape *shape, uint64_t n, uint64_t rounds)
{
    uint64_t reads = n * ist_cost_flag(shape);
    return 2 * rounds * ist_cost_flag(shape) + 2 * ist_cost_copy(shape, shape->length_bytes) +
           (shape->team->is_aliased ? reads / 4 : reads);
}

static uint64_t cost_owner(const struct ist_shape *shape)
{
    return cost_of_parts(shape, (uint64_t)shape->team->n_pes, (uint64_t)shape->rounds);
}

static uint64_t cost_hosts(const struct ist_shape *shape)
{
    if (shape->hosts == NULL) return IST_NEVER;
    uint64_t n = (uint64_t)shape->hosts->n_hosts, rounds = (uint64_t)ist_rounds_of(shape->hosts->n_hosts);
    uint64_t in_slots = cost_of_slots(shape, rounds), in_parts = cost_of_parts(shape, n, rounds);
    return 2 * ist_cost_inside(shape, shape->length_bytes) + (in_slots < in_parts ? in_slots : in_parts);
}

static const struct ist_algorithm reductions[] = {
    {"doubling", cost_doubling}, {"central", cost_central}, {"owner", cost_owner}, {"hosts", cost_hosts}};
enum { DOUBLING, CENTRAL, OWNER, HOSTS, N_REDUCTIONS };

void ist_run_reduce(struct ist_team *team, const struct ist_reduction *r, int forced, const char *routine)
{
    switch (ist_choose_algorithm(reductions, N_REDUCTIONS, forced, team, r->nelems * r->size_bytes, routine)) {
    case DOUBLING: reduce_doubling(team, r, routine); break;
    case CENTRAL: reduce_central(team, r, routine); break;
    case HOSTS: reduce_hosts(team->hosts, r, routine); break;
    default: reduce_owner(team, r, routine);
    }
}

/* ---- reducescatter ---- */

/* The result goes to memory of its own first, where dest lies in the source that others still read. */
void ist_run_reducescatter(struct ist_team *team, const struct ist_reduction *r, const char *routine)
{
    size_t length = r->nelems * r->size_bytes, offset = (size_t)team->my_pe * length;
    size_t at_once = BLOCK_BYTES / r->size_bytes;
    uintptr_t dest = (uintptr_t)r->dest, source = (uintptr_t)r->source;
    bool overlaps = dest < source + length * (size_t)team->n_pes && source < dest + length;
    char *out = overlaps ? malloc(length) : r->dest;
    if (out == NULL && length > 0) ist_die(routine, ist_fail(ISTHMUS_ERR_NO_MEMORY, "no memory for %zu bytes", length));
    ist_sync(team, routine);
    for (size_t first = 0; first < r->nelems; first += at_once) {
        size_t n = r->nelems - first < at_once ? r->nelems - first : at_once;
        combine_all(team, r, out + first * r->size_bytes, offset + first * r->size_bytes, n, routine);
    }
    ist_sync(team, routine);
    if (!overlaps) return;
    if (length > 0) memcpy(r->dest, out, length);
    free(out);
}

/* ---- scan ---- */

static void scan_slot(struct ist_team *team, const struct ist_reduction *r, bool is_inclusive, size_t first, size_t n,
                      const char *routine)
{
    struct ist_vector vector = {r->combine, n, n * r->size_bytes};
    unsigned char before[IST_SLOT_BYTES] __attribute__((aligned(16))) = {0};
    unsigned char mine[IST_SLOT_BYTES] __attribute__((aligned(16)));
    void *dest = (char *)r->dest + first * r->size_bytes;
    memcpy(mine, part(r->source, first * r->size_bytes), vector.length_bytes);
    ist_doubling_scan(team, before, mine, &vector, routine);
    if (!is_inclusive)
        memcpy(dest, before, vector.length_bytes);
    else if (team->my_pe == 0)
        memcpy(dest, mine, vector.length_bytes);
    else
        r->combine(dest, before, mine, n);
}

static void scan_doubling(struct ist_team *team, const struct ist_reduction *r, bool is_inclusive, const char *routine)
{
    size_t at_once = IST_SLOT_BYTES / r->size_bytes;
    for (size_t first = 0; first < r->nelems; first += at_once)
        scan_slot(team, r, is_inclusive, first, r->nelems - first < at_once ? r->nelems - first : at_once, routine);
}

/* One block for all PEs: what goes to a PE is known when its source has been read. Two sums in turn: the one up to a PE,
 * and the one that goes to it when the scan is exclusive. */
static void scan_for_all(struct ist_team *team, const struct ist_reduction *r, bool is_inclusive, size_t first,
                         size_t nelems, const char *routine)
{
    struct block sums[2], room;
    size_t offset = first * r->size_bytes, length = nelems * r->size_bytes;
    char *dest = (char *)r->dest + offset;
    memset(&sums[0], 0, length);
    for (int pe = 0; pe < team->n_pes; pe++) {
        struct block *sum = &sums[pe % 2], *next = &sums[(pe + 1) % 2];
        const void *source = source_of(team, part(r->source, offset), length, pe, &room, routine);
        if (pe == 0)
            memcpy(next, source, length);
        else
            r->combine(next, sum, source, nelems);
        to_dest_of(team, dest, is_inclusive ? next : sum, length, pe, routine);
    }
}

static void scan_owner(struct ist_team *team, const struct ist_reduction *r, bool is_inclusive, const char *routine)
{
    size_t first, end, at_once = BLOCK_BYTES / r->size_bytes;
    part_of(r->nelems, team->n_pes, team->my_pe, &first, &end);
    ist_sync(team, routine);
    for (; first < end; first += at_once)
        scan_for_all(team, r, is_inclusive, first, end - first < at_once ? end - first : at_once, routine);
    ist_wire_drain(team, routine);
    ist_sync(team, routine);
}

static const struct ist_algorithm scans[] = {{"doubling", cost_doubling}, {"owner", cost_owner}};
enum { SCAN_DOUBLING, SCAN_OWNER, N_SCANS };

void ist_run_scan(struct ist_team *team, const struct ist_reduction *r, bool is_inclusive, int forced,
                  const char *routine)
{
    if (ist_choose_algorithm(scans, N_SCANS, forced, team, r->nelems * r->size_bytes, routine) == SCAN_DOUBLING)
        scan_doubling(team, r, is_inclusive, routine);
    else
        scan_owner(team, r, is_inclusive, routine);
}
