/* tools/isthmus-perf/measure.c: see measure.h. The library's batches and the bare ones take turns, so that both see the
 * same machine; a barrier precedes each, in which the PEs wait that do not take part. */
#include "tools/isthmus-perf/measure.h"
#include "tools/isthmus-perf/bare.h"
#include "tools/isthmus-perf/doubles.h"
#include "tools/isthmus-perf/facts.h"
#include "tools/isthmus-perf/limit_gpu.h"
#include "tools/isthmus-perf/limit_ucp.h"
#include "tools/isthmus-perf/start.h"

#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_ROUNDS = 3, MOST_REPS = 1 << 20, PAGE_BYTES = 4096 };
static const uint64_t blocks_max_bytes = UINT64_C(256) << 20; /* of what a collective receives */
static const double batch_ns = 200e3;                         /* long enough that the clock does not count */

static struct {
    const struct options *options;
    int my_pe, n_pes;
    char *private_source, *private_dest, *symmetric_source, *dest;
    bool is_on_device, is_flags_aliased, has_streams;
    char double_name[NAME_BYTES];
} bench;

static struct pe_facts own_facts;               /* symmetric: peers get it */
_Alignas(64) static uint64_t flags[FLAG_WORDS]; /* symmetric, on the host wherever the heap is */
static struct result measured;                  /* symmetric: PE 0 gets it from the PE that has measured */

/* ---- what all PEs have to agree on ---- */

/* Collective. Returns the value of PE `lead`. */
static long share(long value, int lead)
{
    static long mine, all;
    mine = value;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &all, &mine, 1, lead);
    value = all;
    shmem_sync_all(); /* before the next call writes it */
    return value;
}

/* ---- buffers ---- */

static uint64_t largest_size(const struct options *options)
{
    uint64_t largest = 8;
    for (int i = 0; i < options->n_sizes; i++)
        if (options->sizes[i] > largest) largest = options->sizes[i];
    return largest;
}

/* The bytes that all chosen operations need of dest. */
static uint64_t dest_bytes(const struct options *options)
{
    uint64_t most = largest_size(options);
    for (int i = 0; i < n_operations; i++) {
        if ((options->operations & UINT32_C(1) << i) == 0 || !operations[i].has_blocks) continue;
        for (int size = 0; size < options->n_sizes; size++) {
            uint64_t n_bytes = options->sizes[size] * (uint64_t)bench.n_pes;
            if (measure_has_room(&operations[i], options->sizes[size]) && n_bytes > most) most = n_bytes;
        }
    }
    return most;
}

static char *private_block(uint64_t n_bytes)
{
    char *block = aligned_alloc(PAGE_BYTES, (n_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    if (block != NULL) memset(block, 0, n_bytes);
    return block;
}

/* Where PEs have partners whose flags they cannot write, nothing bare can synchronize them. */
static bool reach_flags(void)
{
    for (long step = 1; step < bench.n_pes; step *= 2)
        if (shmem_ptr(flags, (int)((bench.my_pe + step) % bench.n_pes)) == NULL) return false;
    return true;
}

bool measure_open(const struct options *options)
{
    bench.options = options;
    bench.my_pe = shmem_my_pe();
    bench.n_pes = shmem_n_pes();
    uint64_t size = largest_size(options), all = dest_bytes(options);
    facts_gather(&own_facts);
    bench.dest = shmem_calloc(all, 1);
    bench.symmetric_source = shmem_calloc(all, 1);
    bench.private_source = private_block(size);
    bench.private_dest = private_block(size);
    bool has_all = bench.dest != NULL && bench.symmetric_source != NULL && bench.private_source != NULL &&
                   bench.private_dest != NULL;
    if (!start_on_all(has_all)) return false;
    bench.is_on_device = shmem_ptr(bench.dest, bench.my_pe) == NULL;
    bench.is_flags_aliased = start_on_all(reach_flags());
    bench.has_streams = start_on_all(bench.is_on_device && limit_gpu_open(bench.dest) == NULL);
    doubles_find(bench.double_name, sizeof bench.double_name);
    return true;
}

void measure_close(void)
{
    limit_ucp_close();
    limit_gpu_close();
    shmem_barrier_all();
    shmem_free(bench.symmetric_source);
    shmem_free(bench.dest);
    free(bench.private_source);
    free(bench.private_dest);
}

bool measure_has_room(const struct operation *operation, uint64_t size_bytes)
{
    return !operation->has_blocks || size_bytes * (uint64_t)bench.n_pes <= blocks_max_bytes;
}

bool measure_is_on_device(void) { return bench.is_on_device; }

bool measure_can(const struct operation *operation) { return !operation->is_on_stream || bench.has_streams; }

const char *measure_double(void) { return bench.double_name; }

/* ---- one measurement ---- */

struct measurement {
    const struct operation *operation;
    struct place place;
    int lead;        /* the PE that measures */
    bool takes_part; /* this PE */
    long reps, n_rounds;
    perf_batch *bare; /* NULL: there is no limit; agreed between the PEs */
    const char *bare_name;
    bool is_ucp;             /* bare is one of limit_ucp.h, in which the peer takes part too */
    bool is_gpu;             /* bare is one of limit_gpu.h */
    struct case_facts facts; /* valid on the PE that measures */
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Collective. Nanoseconds of one operation; of a PE that does not take part 0. Where all take part, those of the
 * slowest PE: the root of a broadcast waits for no other, and is ahead of them. */
static double time_batch(const struct measurement *c, perf_batch *batch)
{
    static double mine_ns, slowest_ns;
    shmem_barrier_all();
    bool is_served = c->is_ucp && batch == c->bare;
    if (is_served && bench.my_pe == c->place.to) limit_ucp_serve();
    if (!c->takes_part) return 0;
    double start_ns = now_ns();
    batch(&c->place, c->reps);
    mine_ns = (now_ns() - start_ns) / (double)c->reps;
    if (is_served) limit_ucp_end_serving(c->place.to);
    if (!c->operation->is_together) return mine_ns;
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &slowest_ns, &mine_ns, 1);
    return slowest_ns;
}

static struct place place_of(const struct measurement *c, int from, int to, uint64_t size_bytes)
{
    struct place place = {.my_pe = bench.my_pe,
                          .n_pes = bench.n_pes,
                          .from = from,
                          .to = to,
                          .size_bytes = size_bytes > 0 ? size_bytes : sizeof(long),
                          .source = bench.private_source,
                          .whole_source = bench.symmetric_source,
                          .dest = bench.dest,
                          .flags = flags,
                          .private_dest = bench.private_dest};
    if (bench.options->memory == MEMORY_DEVICE) place.source = bench.symmetric_source;
    if (c->operation->is_together)
        place.alias = bench.is_flags_aliased ? shmem_ptr(bench.symmetric_source, to) : NULL;
    else if (c->takes_part)
        place.alias = shmem_ptr(bench.dest, to);
    return place;
}

static void find_facts(struct measurement *c)
{
    const char *name = shmemx_transport_name(c->place.to);
    c->facts.mine = own_facts;
    shmem_getmem(&c->facts.peer, &own_facts, sizeof own_facts, c->place.to);
    snprintf(c->facts.transport, sizeof c->facts.transport, "%s", name != NULL ? name : "");
    c->facts.is_aliased = c->place.alias != NULL;
    c->facts.is_on_device = bench.is_on_device;
    c->facts.more = c->operation->more;
    c->facts.double_name = bench.double_name;
    c->facts.is_together = c->operation->is_together;
    c->facts.alias_setting = getenv("ISTHMUS_ALIAS");
    c->facts.check_setting = getenv("ISTHMUS_CHECK");
}

/* ---- the limit of one measurement ---- */

enum limit_kind { LIMIT_NONE, LIMIT_PROCESSOR, LIMIT_DEVICE, LIMIT_NETWORK };

/* A copy by the device's driver, on the PE that calls. Returns false after it has set the reason. */
static bool find_device(struct measurement *c)
{
    if (c->operation->is_together || limit_gpu_batch(c->operation->transfer) == NULL) {
        c->facts.no_limit = "no bare one in memory of a device is built in";
        return false;
    }
    c->facts.no_limit = limit_gpu_open(bench.dest);
    if (c->facts.no_limit != NULL) return false;
    c->place.alias = limit_gpu_alias(bench.dest, c->place.to);
    if (c->place.alias == NULL) c->facts.no_limit = "this PE's device does not reach the peer's memory";
    return c->place.alias != NULL;
}

/* Sets the reason if there is none. */
static enum limit_kind kind_of_limit(struct measurement *c)
{
    const struct operation *operation = c->operation;
    bool is_same_host = c->facts.mine.first_pe_of_host == c->facts.peer.first_pe_of_host;
    bool is_of_flags = operation->bare == bare_flags; /* which are on the host wherever the heap is */
    if (is_of_flags && bench.is_flags_aliased) return LIMIT_PROCESSOR;
    if (bench.is_on_device && !is_of_flags)
        return find_device(c) ? LIMIT_DEVICE : LIMIT_NONE;
    else if (operation->needs_alias && c->place.alias == NULL)
        c->facts.no_limit = "a bare one needs loads and stores between all PEs";
    else if (c->place.alias != NULL || is_same_host)
        return LIMIT_PROCESSOR;
    else if (operation->transfer != TRANSFER_NONE)
        return LIMIT_NETWORK;
    else
        c->facts.no_limit = "no bare one over a network is built in";
    return LIMIT_NONE;
}

/* Collective. */
static void use_network(struct measurement *c)
{
    c->facts.no_limit = limit_ucp_open(c->lead, c->place.to, largest_size(bench.options));
    if (c->facts.no_limit != NULL) return;
    c->bare = limit_ucp_batch(c->operation->transfer);
    c->bare_name = "bare UCP";
    c->is_ucp = true;
}

/* Collective. */
static void choose_limit(struct measurement *c)
{
    long kind = c->takes_part ? kind_of_limit(c) : LIMIT_NONE;
    if (!c->operation->is_together)
        kind = share(kind, c->lead);
    else if (!start_on_all(kind == LIMIT_PROCESSOR))
        kind = LIMIT_NONE;
    if (kind == LIMIT_NETWORK) use_network(c);
    if (kind == LIMIT_DEVICE) {
        c->bare = limit_gpu_batch(c->operation->transfer);
        c->bare_name = limit_gpu_name();
        c->is_gpu = true;
    }
    if (kind != LIMIT_PROCESSOR) return;
    c->bare = c->operation->bare;
    c->bare_name = c->operation->bare_name;
}

/* Collective. Repetitions until a batch is long enough, then the number of batches that the time permits. */
static void settle(struct measurement *c)
{
    double seconds = bench.options->seconds, call_ns = 0, bare_ns;
    double enough_ns = seconds * 1e9 / (2 * LEAST_ROUNDS) < batch_ns ? seconds * 1e9 / (2 * LEAST_ROUNDS) : batch_ns;
    for (c->reps = 1;;) {
        call_ns = time_batch(c, c->operation->call);
        bool is_enough = call_ns * (double)c->reps >= enough_ns || c->reps >= MOST_REPS;
        if (share(is_enough, c->lead) != 0) break;
        c->reps *= 4;
    }
    bare_ns = c->bare != NULL ? time_batch(c, c->bare) : 0;
    double rounds = seconds * 1e9 / ((call_ns + bare_ns) * (double)c->reps + 1);
    int most = bench.options->repeat, least = most < LEAST_ROUNDS ? most : LEAST_ROUNDS;
    c->n_rounds = share(rounds > most ? most : rounds < least ? least : (long)rounds, c->lead);
}

/* Collective. Each goes first every other time. */
static void take_turns(struct measurement *c)
{
    static double call_ns[MAX_REPEAT], bare_ns[MAX_REPEAT];
    for (long round = 0; round < c->n_rounds; round++)
        for (int half = 0; half < 2; half++) {
            bool is_call = (round + half) % 2 == 0;
            if (is_call)
                call_ns[round] = time_batch(c, c->operation->call);
            else if (c->bare != NULL)
                bare_ns[round] = time_batch(c, c->bare);
        }
    measured.call = figure_of(call_ns, (int)c->n_rounds);
    measured.limit = c->bare != NULL ? figure_of(bare_ns, (int)c->n_rounds) : (struct figure){0};
    const char *failure = c->is_ucp ? limit_ucp_failure() : c->is_gpu ? limit_gpu_failure() : NULL;
    if (failure == NULL) return;
    measured.limit = (struct figure){0};
    c->facts.no_limit = failure;
}

/* Between NUMA nodes: the same copy within this one. Only this PE takes part. */
static void measure_near(struct measurement *c)
{
    enum { ROUNDS = 5 };
    double ns[ROUNDS];
    int mine = c->facts.mine.numa_node, peer = c->facts.peer.numa_node;
    if (c->operation->bare != bare_put || c->bare != bare_put || mine < 0 || peer < 0 || mine == peer) return;
    for (int i = 0; i < ROUNDS; i++) {
        double start_ns = now_ns();
        bare_near_put(&c->place, c->reps);
        ns[i] = (now_ns() - start_ns) / (double)c->reps;
    }
    c->facts.near_ns = figure_of(ns, ROUNDS).median_ns;
}

static void describe(const struct measurement *c, uint64_t size_bytes)
{
    snprintf(measured.operation, sizeof measured.operation, "%s", c->operation->name);
    snprintf(measured.memory, sizeof measured.memory, "%s", memory_names[bench.options->memory]);
    snprintf(measured.transport, sizeof measured.transport, "%s", c->facts.transport);
    snprintf(measured.limit_name, sizeof measured.limit_name, "%s", c->bare != NULL ? c->bare_name : "");
    measured.from = c->operation->is_together ? 0 : c->place.from;
    measured.to = c->operation->is_together ? -1 : c->place.to;
    measured.size_bytes = size_bytes;
    verdict_write(&measured, &c->facts);
}

void measure(const struct operation *operation, int from, int to, uint64_t size_bytes, struct result *out)
{
    struct measurement c = {.operation = operation, .lead = operation->is_together ? 0 : from};
    c.takes_part = operation->is_together || bench.my_pe == c.lead;
    if (operation->is_together) to = (bench.my_pe + 1) % bench.n_pes;
    c.place = place_of(&c, from, to, size_bytes);
    if (c.takes_part) find_facts(&c);
    choose_limit(&c);
    settle(&c);
    take_turns(&c);
    if (bench.my_pe == c.lead) {
        measure_near(&c);
        describe(&c, size_bytes);
    }
    shmem_barrier_all();
    if (bench.my_pe == 0) shmem_getmem(out, &measured, sizeof measured, c.lead);
    shmem_barrier_all();
}
