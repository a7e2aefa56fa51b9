/* core/coll/reduce.c: reductions and scans.
 * doubling: a few bytes, in pairs. central: the last PE to arrive computes for all, for PEs that share processors.
 * owner: each PE computes one part of the elements for all PEs, reading every source and writing every destination
 * where it lies: no element crosses more often than it has to, and all PEs get the bits that one PE has computed. No
 * other PE touches the part, so dest may be source. hosts: the same inside each host, by as many PEs as every host has,
 * and each of them reduces its part with those of the other hosts before it hands it out. */
#include "core/base/fatal.h"
#include "core/coll/algorithms.h"
#include "core/coll/cost.h"
#include "core/coll/sync.h"
#include "core/coll/wire.h"

#include <stdlib.h>

enum {
    BLOCK_BYTES = 8 << 10,          /* stays in the first cache while all sources go by */
    NETWORK_BLOCK_BYTES = 64 << 10, /* of sources that have to be fetched: a message's time counts */
    FETCHES = 8,                    /* blocks under way at a time; at least 2 */
    CENTRAL_BYTES = 4 << 10
};

/* Room for one block of elements of any type. */
struct block {
    unsigned char bytes[BLOCK_BYTES];
} __attribute__((aligned(64)));

/* Returns true if this PE loads and stores the members' sources and destinations in place. */
static bool is_direct(const struct ist_reduction *r) { return r->t.team->is_aliased && !r->is_on_device; }

/* ---- a block of all members ---- */

/* A PE's data for combining blocks: their length, and the room for sources that have to be fetched. */
struct bench {
    size_t at_once; /* elements */
    char *fetched;  /* FETCHES blocks; NULL: all sources are loaded where they lie */
    char *result;   /* one more, for a result that would overwrite a source */
    struct block here;
};

/* For parts of at most nelems elements. */
static void bench_init(struct bench *bench, const struct ist_reduction *r, size_t nelems)
{
    bench->at_once = (is_direct(r) ? BLOCK_BYTES : NETWORK_BLOCK_BYTES) / r->size_bytes;
    if (bench->at_once > nelems) bench->at_once = nelems;
    bench->fetched = NULL;
    bench->result = (char *)&bench->here;
    if (is_direct(r) || nelems == 0) return;
    size_t block_bytes = (bench->at_once * r->size_bytes + 63) & ~(size_t)63;
    bench->fetched = aligned_alloc(64, (FETCHES + 1) * block_bytes);
    if (bench->fetched == NULL) ist_die(r->t.routine, ist_fail_memory("blocks of %zu bytes", block_bytes));
    bench->result = bench->fetched + FETCHES * block_bytes;
}

static void bench_fini(struct bench *bench) { free(bench->fetched); }

/* The sources of members begin to end - 1, all at once; this PE's only if it cannot be loaded. */
static void fetch(const struct ist_reduction *r, char *fetched, const void *source, size_t length_bytes, int begin,
                  int end)
{
    struct ist_team *team = r->t.team;
    for (int pe = begin; pe < end; pe++)
        if (pe != team->my_pe || r->is_on_device)
            ist_get_nbi(&ist_ctx_default, fetched + (size_t)(pe - begin) * length_bytes, source, length_bytes,
                        ist_team_to_world(team, pe), r->t.routine);
    ist_local_complete(&ist_ctx_default, r->t.routine);
}

/* out = the sources of all members at offset, in the order of the members. out may be this PE's own source only if it
 * is the first or the second member: a later one would lose its source before its turn. */
static void combine_all(const struct ist_reduction *r, const struct bench *bench, void *out, size_t offset_bytes,
                        size_t nelems)
{
    struct ist_team *team = r->t.team;
    size_t length = nelems * r->size_bytes;
    const void *source = r->t.source + offset_bytes, *a = NULL;
    for (int pe = 0; pe < team->n_pes; pe++) {
        const void *b = source;
        if (bench->fetched != NULL && pe % FETCHES == 0) {
            int end = team->n_pes - pe < FETCHES ? team->n_pes : pe + FETCHES;
            fetch(r, bench->fetched, source, length, pe, end);
        }
        if (pe != team->my_pe || r->is_on_device)
            b = bench->fetched != NULL ? bench->fetched + (size_t)(pe % FETCHES) * length
                                       : ist_wire_alias(team, source, length, pe, IST_WIRE_READ, r->t.routine);
        if (a != NULL) r->combine(out, a, b, nelems);
        a = a != NULL ? out : b;
    }
    if (a != out) memcpy(out, a, length); /* alone on its host */
}

/* A block that this PE has computed, to the same place on all members. */
static void hand_out(const struct ist_reduction *r, void *dest, const void *block, size_t length_bytes)
{
    struct ist_team *team = r->t.team;
    if (dest != block) ist_copy_here(dest, block, length_bytes, r->t.routine);
    for (int i = 1; i < team->n_pes; i++) {
        int pe = ist_wire_further(team, i);
        if (is_direct(r))
            memcpy(ist_wire_alias(team, dest, length_bytes, pe, IST_WIRE_WRITE, r->t.routine), dest, length_bytes);
        else
            ist_wire_put(team, dest, dest, length_bytes, pe, r->t.routine);
    }
}

/* ---- reduce ---- */

/* As many elements at a time as a slot holds. */
static void reduce_doubling(const struct ist_reduction *r)
{
    struct ist_team *team = r->t.team;
    unsigned char value[IST_SLOT_BYTES] __attribute__((aligned(16)));
    size_t at_once = IST_SLOT_BYTES / r->size_bytes;
    for (size_t first = 0; first < r->nelems; first += at_once) {
        size_t n = r->nelems - first < at_once ? r->nelems - first : at_once, offset = first * r->size_bytes;
        struct ist_vector vector = {r->combine, n, n * r->size_bytes};
        ist_copy_here(value, r->t.source + offset, vector.length_bytes, r->t.routine);
        ist_doubling_reduce(team, value, &vector, r->t.routine);
        ist_copy_here(r->t.dest + offset, value, vector.length_bytes, r->t.routine);
    }
}

/* Writes the elements [first, end) of the result to my dest, and to all if is_for_all. */
static void reduce_part(const struct ist_reduction *r, size_t first, size_t end, bool is_for_all)
{
    struct bench bench;
    bench_init(&bench, r, end - first);
    for (; first < end; first += bench.at_once) {
        size_t n = end - first < bench.at_once ? end - first : bench.at_once, offset = first * r->size_bytes;
        char *dest = r->t.dest + offset, *out = r->t.dest == r->t.source || r->is_on_device ? bench.result : dest;
        combine_all(r, &bench, out, offset, n);
        if (is_for_all)
            hand_out(r, dest, out, n * r->size_bytes);
        else if (out != dest)
            ist_copy_here(dest, out, n * r->size_bytes, r->t.routine);
    }
    bench_fini(&bench);
}

/* The elements that number `me` of n computes: parts differ by one at most. */
static void part_of(size_t nelems, int n, int number, size_t *first, size_t *end)
{
    size_t share = nelems / (size_t)n, rest = nelems % (size_t)n, me = (size_t)number;
    *first = share * me + (me < rest ? me : rest);
    *end = *first + share + (me < rest);
}

static void reduce_owner(const struct ist_reduction *r)
{
    struct ist_team *team = r->t.team;
    size_t first, end;
    part_of(r->nelems, team->n_pes, team->my_pe, &first, &end);
    ist_sync(team, r->t.routine); /* all sources are ready */
    reduce_part(r, first, end, true);
    ist_wire_drain(team, r->t.routine);
    ist_sync(team, r->t.routine); /* all parts have arrived, and no PE reads my source any more */
}

static void reduce_central(const struct ist_reduction *r)
{
    struct ist_team *team = r->t.team;
    struct ist_central central;
    bool is_last = ist_central_arrive(team, &team->area->central, ++team->central_sequence, &central, r->t.routine);
    if (is_last) reduce_part(r, 0, r->nelems, true);
    ist_central_leave(&central, is_last);
}

/* ---- reduce through hosts ---- */

enum { SHARED_FROM_BYTES = 16 << 10 }; /* from here on several PEs of a host share the work */

static void reduce_through(const struct ist_reduction *r, const struct ist_hosts *hosts, size_t first, size_t end)
{
    char *mine = r->t.dest + first * r->size_bytes;
    struct ist_reduction inner = *r, between = *r;
    inner.t.team = hosts->inner;
    between.t.team = hosts->outer;
    between.t.dest = mine;
    between.t.source = mine;
    between.t.length_bytes = (end - first) * r->size_bytes;
    between.nelems = end - first;
    reduce_part(&inner, first, end, false);
    ist_run_reduce(&between, 0);
    hand_out(&inner, mine, mine, between.t.length_bytes);
}

static void reduce_hosts(const struct ist_reduction *r, const struct ist_hosts *hosts)
{
    size_t first, end;
    int n_workers = r->t.length_bytes < SHARED_FROM_BYTES ? 1 : hosts->least;
    ist_sync(hosts->inner, r->t.routine); /* all sources are ready */
    if (hosts->my_number < n_workers) {
        part_of(r->nelems, n_workers, hosts->my_number, &first, &end);
        if (first < end) reduce_through(r, hosts, first, end);
        ist_wire_drain(hosts->inner, r->t.routine);
    }
    ist_sync(hosts->inner, r->t.routine); /* all parts have arrived, and no PE reads my source any more */
}

/* ---- the choice ---- */

static uint64_t cost_of_slots(const struct ist_shape *shape, uint64_t rounds)
{
    uint64_t n_slots = (shape->length_bytes + IST_SLOT_BYTES - 1) / IST_SLOT_BYTES;
    return n_slots * rounds * ist_cost_flag(shape);
}

static uint64_t cost_doubling(const struct ist_shape *shape) { return cost_of_slots(shape, (uint64_t)shape->rounds); }

/* Every PE is scheduled in once to arrive and once to leave. */
static uint64_t cost_central(const struct ist_shape *shape)
{
    uint64_t n = (uint64_t)shape->team->n_pes;
    if (!shape->is_aliased || shape->length_bytes > CENTRAL_BYTES) return IST_NEVER;
    return (shape->is_crowded ? IST_COST_SWITCH_NS : 3 * IST_COST_FLAG_NS) + n * IST_COST_FLAG_NS / 2 +
           2 * n * ist_cost_copy(shape, shape->length_bytes);
}

/* Reads from other hosts wait for a reply, some at a time; those of shared memory overlap. */
static uint64_t cost_of_parts(const struct ist_shape *shape, uint64_t n, uint64_t rounds)
{
    uint64_t reads = n * ist_cost_flag(shape);
    return 2 * rounds * ist_cost_flag(shape) + 2 * ist_cost_copy(shape, shape->length_bytes) +
           (shape->is_aliased ? reads / 4 : reads);
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
    return 2 * ist_cost_inside(shape->length_bytes) + (in_slots < in_parts ? in_slots : in_parts);
}

static const struct ist_algorithm reductions[] = {
    {"doubling", cost_doubling}, {"central", cost_central}, {"owner", cost_owner}, {"hosts", cost_hosts}};
enum { DOUBLING, CENTRAL, OWNER, HOSTS, N_REDUCTIONS };

void ist_run_reduce(const struct ist_reduction *r, int forced)
{
    switch (ist_choose_algorithm(reductions, N_REDUCTIONS, forced, &r->t)) {
    case DOUBLING: reduce_doubling(r); break;
    case CENTRAL: reduce_central(r); break;
    case HOSTS: reduce_hosts(r, r->t.team->hosts); break;
    default: reduce_owner(r);
    }
}

/* ---- reducescatter ---- */

/* The result goes to memory of its own first, where dest lies in the source that others still read, or on a device. */
void ist_run_reducescatter(const struct ist_reduction *r)
{
    struct ist_team *team = r->t.team;
    size_t length = r->nelems * r->size_bytes, offset = (size_t)team->my_pe * length;
    struct bench bench;
    uintptr_t dest = (uintptr_t)r->t.dest, source = (uintptr_t)r->t.source;
    bool overlaps = dest < source + length * (size_t)team->n_pes && source < dest + length;
    bool is_apart = overlaps || r->is_on_device;
    char *out = is_apart ? malloc(length) : r->t.dest;
    if (out == NULL && length > 0) ist_die(r->t.routine, ist_fail_memory("%zu bytes", length));
    bench_init(&bench, r, r->nelems);
    ist_sync(team, r->t.routine);
    for (size_t first = 0; first < r->nelems; first += bench.at_once) {
        size_t n = r->nelems - first < bench.at_once ? r->nelems - first : bench.at_once;
        combine_all(r, &bench, out + first * r->size_bytes, offset + first * r->size_bytes, n);
    }
    ist_sync(team, r->t.routine);
    bench_fini(&bench);
    if (!is_apart) return;
    if (length > 0) ist_copy_here(r->t.dest, out, length, r->t.routine);
    free(out);
}

/* ---- scan ---- */

static void scan_slot(const struct ist_reduction *r, bool is_inclusive, size_t first, size_t n)
{
    struct ist_team *team = r->t.team;
    struct ist_vector vector = {r->combine, n, n * r->size_bytes};
    unsigned char before[IST_SLOT_BYTES] __attribute__((aligned(16))) = {0};
    unsigned char mine[IST_SLOT_BYTES] __attribute__((aligned(16)));
    size_t offset = first * r->size_bytes;
    ist_copy_here(mine, r->t.source + offset, vector.length_bytes, r->t.routine);
    ist_doubling_scan(team, before, mine, &vector, r->t.routine);
    if (is_inclusive && team->my_pe > 0) r->combine(mine, before, mine, n);
    ist_copy_here(r->t.dest + offset, is_inclusive ? mine : before, vector.length_bytes, r->t.routine);
}

static void scan_doubling(const struct ist_reduction *r, bool is_inclusive)
{
    size_t at_once = IST_SLOT_BYTES / r->size_bytes;
    for (size_t first = 0; first < r->nelems; first += at_once)
        scan_slot(r, is_inclusive, first, r->nelems - first < at_once ? r->nelems - first : at_once);
}

/* A block of a member's source: where it lies, if it can be loaded, else a copy in `room`. */
static const void *source_of(const struct ist_reduction *r, size_t offset_bytes, size_t length_bytes, int pe,
                             void *room)
{
    struct ist_team *team = r->t.team;
    const void *source = r->t.source + offset_bytes;
    if (pe == team->my_pe && !r->is_on_device) return source;
    if (is_direct(r)) return ist_wire_alias(team, source, length_bytes, pe, IST_WIRE_READ, r->t.routine);
    ist_wire_get(team, room, source, length_bytes, pe, r->t.routine);
    return room;
}

static void to_dest_of(const struct ist_reduction *r, size_t offset_bytes, const void *block, size_t length_bytes,
                       int pe)
{
    struct ist_team *team = r->t.team;
    void *dest = r->t.dest + offset_bytes;
    void *at = pe == team->my_pe && !r->is_on_device ? dest
               : is_direct(r) ? ist_wire_alias(team, dest, length_bytes, pe, IST_WIRE_WRITE, r->t.routine)
                              : NULL;
    if (at == NULL)
        ist_put(&ist_ctx_default, dest, block, length_bytes, ist_team_to_world(team, pe), r->t.routine);
    else if (at != block)
        memcpy(at, block, length_bytes);
}

/* One block for all PEs: a PE's result is known once its source has been read. Two sums in turn: the one up to a PE,
 * and the one that goes to it in an exclusive scan. */
static void scan_for_all(const struct ist_reduction *r, bool is_inclusive, size_t first, size_t nelems)
{
    struct ist_team *team = r->t.team;
    struct block sums[2], room;
    size_t offset = first * r->size_bytes, length = nelems * r->size_bytes;
    memset(&sums[0], 0, length);
    for (int pe = 0; pe < team->n_pes; pe++) {
        struct block *sum = &sums[pe % 2], *next = &sums[(pe + 1) % 2];
        const void *source = source_of(r, offset, length, pe, &room);
        if (pe == 0)
            memcpy(next, source, length);
        else
            r->combine(next, sum, source, nelems);
        to_dest_of(r, offset, is_inclusive ? next : sum, length, pe);
    }
}

static void scan_owner(const struct ist_reduction *r, bool is_inclusive)
{
    struct ist_team *team = r->t.team;
    size_t first, end, at_once = BLOCK_BYTES / r->size_bytes;
    part_of(r->nelems, team->n_pes, team->my_pe, &first, &end);
    ist_sync(team, r->t.routine);
    for (; first < end; first += at_once)
        scan_for_all(r, is_inclusive, first, end - first < at_once ? end - first : at_once);
    ist_wire_drain(team, r->t.routine);
    ist_sync(team, r->t.routine);
}

static const struct ist_algorithm scans[] = {{"doubling", cost_doubling}, {"owner", cost_owner}};
enum { SCAN_DOUBLING, SCAN_OWNER, N_SCANS };

void ist_run_scan(const struct ist_reduction *r, bool is_inclusive, int forced)
{
    if (ist_choose_algorithm(scans, N_SCANS, forced, &r->t) == SCAN_DOUBLING)
        scan_doubling(r, is_inclusive);
    else
        scan_owner(r, is_inclusive);
}
