/* tools/isthmus-perf/measure.c: see measure.h. The library's batches and the bare ones take turns, so that both see the
 * same machine; a barrier precedes each, in which the PEs wait that do not take part. */
#include "tools/isthmus-perf/measure.h"
#include "tools/isthmus-perf/bare.h"
#include "tools/isthmus-perf/doubles.h"
#include "tools/isthmus-perf/facts.h"
#include "tools/isthmus-perf/limit_gpu.h"
#include "tools/isthmus-perf/limits.h"
#include "tools/isthmus-perf/start.h"

#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROUNDS = 3, MOST_REPS = 1 << 20, PAGE_BYTES = 4096 };
static const uint64_t blocks_max_bytes = UINT64_C(256) << 20; /* of what a collective receives */
static const double batch_ns = 200e3;                         /* long enough that the clock does not count */

static struct {
    const struct options *options;
    int my_pe, n_pes;
    char *private_source, *private_dest, *symmetric_source, *dest;
    uint64_t *stream_flags;
    struct limit_job job;
    bool has_streams;
    char double_name[NAME_BYTES];
} bench;

static struct pe_facts own_facts;               /* symmetric: peers get it */
_Alignas(64) static uint64_t flags[FLAG_WORDS]; /* symmetric, on the host wherever the heap is */
static struct result measured;                  /* symmetric: PE 0 gets it from the PE that has measured */

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
        if ((options->operations & UINT64_C(1) << i) == 0 || !operations[i].has_blocks) continue;
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
    bench.job = (struct limit_job){.dest_bytes = dest_bytes(options), .private_bytes = largest_size(options)};
    facts_gather(&own_facts);
    bench.dest = shmem_calloc(bench.job.dest_bytes, 1);
    bench.symmetric_source = shmem_calloc(bench.job.dest_bytes, 1);
    bench.stream_flags = shmem_calloc(FLAG_WORDS, sizeof *bench.stream_flags);
    bench.private_source = private_block(bench.job.private_bytes);
    bench.private_dest = private_block(bench.job.private_bytes);
    bool has_all = bench.dest != NULL && bench.symmetric_source != NULL && bench.stream_flags != NULL &&
                   bench.private_source != NULL && bench.private_dest != NULL;
    if (!start_on_all(has_all)) return false;
    bench.job.is_on_device = shmem_ptr(bench.dest, bench.my_pe) == NULL;
    bench.job.is_flags_aliased = start_on_all(reach_flags());
    bool is_open = bench.job.is_on_device && limit_gpu_open(bench.dest, bench.job.dest_bytes) == NULL;
    bench.has_streams = start_on_all(is_open && limit_gpu_has_streams());
    doubles_find(bench.double_name, sizeof bench.double_name);
    return true;
}

void measure_close(void)
{
    limit_close();
    shmem_barrier_all();
    shmem_free(bench.stream_flags);
    shmem_free(bench.symmetric_source);
    shmem_free(bench.dest);
    free(bench.private_source);
    free(bench.private_dest);
}

bool measure_has_room(const struct operation *operation, uint64_t size_bytes)
{
    return !operation->has_blocks || size_bytes * (uint64_t)bench.n_pes <= blocks_max_bytes;
}

bool measure_is_on_device(void) { return bench.job.is_on_device; }

bool measure_can(const struct operation *operation) { return !operation->is_on_stream || bench.has_streams; }

const char *measure_double(void) { return bench.double_name; }

/* ---- one measurement ---- */

struct measurement {
    const struct operation *operation;
    struct place place;
    int lead;        /* the PE that measures */
    bool takes_part; /* this PE */
    long reps, n_rounds;
    struct limit limit;      /* agreed between the PEs */
    struct case_facts facts; /* valid on PEs that take part */
};

/* Collective. Nanoseconds of one operation, by the library or bare; of a PE that does not take part 0. Where all take
 * part, those of the slowest PE: the root of a broadcast waits for no other, and is ahead of them. */
static double time_batch(const struct measurement *c, bool is_bare)
{
    static double mine_ns, slowest_ns;
    bool is_together = c->operation->is_together;
    shmem_barrier_all();
    if (is_bare) {
        mine_ns = limit_time(&c->limit, is_together, c->takes_part, c->reps);
    } else if (c->takes_part) {
        double start_ns = limit_now_ns();
        c->operation->call(&c->place, c->reps);
        mine_ns = (limit_now_ns() - start_ns) / (double)c->reps;
    }
    if (!c->takes_part) return 0;
    if (!is_together) return mine_ns;
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
                          .stream_flags = bench.stream_flags,
                          .private_dest = bench.private_dest};
    if (bench.options->memory == MEMORY_DEVICE) place.source = bench.symmetric_source;
    if (c->operation->is_together)
        place.alias = bench.job.is_flags_aliased ? shmem_ptr(bench.symmetric_source, to) : NULL;
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
    c->facts.is_on_device = bench.job.is_on_device;
    c->facts.double_name = bench.double_name;
    c->facts.is_together = c->operation->is_together;
    c->facts.alias_setting = getenv("ISTHMUS_ALIAS");
    c->facts.check_setting = getenv("ISTHMUS_CHECK");
}

/* Collective. The first batch over a network connects the PEs. */
static void choose_limit(struct measurement *c)
{
    bool is_same_host = c->facts.mine.first_pe_of_host == c->facts.peer.first_pe_of_host;
    limit_choose(&bench.job, c->operation, &c->place, c->lead, c->takes_part, is_same_host, &c->limit);
    c->reps = 1;
    if (c->limit.batch != NULL && c->limit.kind == LIMIT_NETWORK) (void)time_batch(c, true);
    c->facts.no_limit = c->limit.reason;
    bool is_stand_in = c->limit.place.is_stand_in;
    c->facts.more = is_stand_in ? "the way to memory of devices" : c->operation->more[c->limit.kind];
    c->facts.is_more_unbounded = is_stand_in || (c->limit.kind == LIMIT_DEVICE && c->operation->is_no_copy);
}

/* Collective. Repetitions until a batch is long enough, then the number of batches that the time permits. */
static void settle(struct measurement *c)
{
    double seconds = bench.options->seconds, call_ns = 0, bare_ns;
    double enough_ns = seconds * 1e9 / (2 * LEAST_ROUNDS) < batch_ns ? seconds * 1e9 / (2 * LEAST_ROUNDS) : batch_ns;
    for (c->reps = 1;;) {
        call_ns = time_batch(c, false);
        bool is_enough = call_ns * (double)c->reps >= enough_ns || c->reps >= MOST_REPS;
        if (start_share(is_enough, c->lead) != 0) break;
        c->reps *= 4;
    }
    bare_ns = c->limit.batch != NULL ? time_batch(c, true) : 0;
    double rounds = seconds * 1e9 / ((call_ns + bare_ns) * (double)c->reps + 1);
    int most = bench.options->repeat, least = most < LEAST_ROUNDS ? most : LEAST_ROUNDS;
    c->n_rounds = start_share(rounds > most ? most : rounds < least ? least : (long)rounds, c->lead);
}

/* Collective. Each goes first every other time. */
static void take_turns(struct measurement *c)
{
    static double call_ns[MAX_REPEAT], bare_ns[MAX_REPEAT];
    for (long round = 0; round < c->n_rounds; round++)
        for (int half = 0; half < 2; half++) {
            bool is_call = (round + half) % 2 == 0;
            if (is_call)
                call_ns[round] = time_batch(c, false);
            else if (c->limit.batch != NULL)
                bare_ns[round] = time_batch(c, true);
        }
    measured.call = figure_of(call_ns, (int)c->n_rounds);
    measured.limit = c->limit.batch != NULL ? figure_of(bare_ns, (int)c->n_rounds) : (struct figure){0};
    const char *failure = limit_failure(&c->limit);
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
    if (c->operation->bare != bare_put || c->limit.batch != bare_put || mine < 0 || peer < 0 || mine == peer) return;
    for (int i = 0; i < ROUNDS; i++) {
        double start_ns = limit_now_ns();
        bare_near_put(&c->place, c->reps);
        ns[i] = (limit_now_ns() - start_ns) / (double)c->reps;
    }
    c->facts.near_ns = figure_of(ns, ROUNDS).median_ns;
}

static void describe(const struct measurement *c, uint64_t size_bytes)
{
    snprintf(measured.operation, sizeof measured.operation, "%s", c->operation->name);
    snprintf(measured.memory, sizeof measured.memory, "%s", memory_names[bench.options->memory]);
    snprintf(measured.transport, sizeof measured.transport, "%s", c->facts.transport);
    snprintf(measured.limit_name, sizeof measured.limit_name, "%s%s", c->limit.batch != NULL ? c->limit.name : "",
             c->limit.batch != NULL && c->limit.place.is_stand_in ? " in host memory" : "");
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
