/* core/stream/collective.c: see stream_priv.h: collectives in streams as kernels of the transport. The kernels
 * themselves: plugins/common/kernels/coll_kernel.h. */
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/stream/stream_priv.h"
#include "core/sync/spin.h"
#include "core/transport/device_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct isthmus_collective_member member;

static struct {
    uint32_t most;   /* members of a team with kernels */
    uint64_t words;  /* of flags of a team: of its collectives in streams, and then of those that the host calls */
    uint64_t *flags; /* on the device, by the index of teams */
    uint64_t *stop;  /* a word of the host; set: kernels stop */
    void *stop_view; /* its address for kernels */
    member *by_pe;   /* what this PE has found, by world PE */
    uint32_t forced; /* a bit for each ISTHMUS_COLLECTIVE_ whose algorithm a variable names: no kernel's */
} collectives;

static isthmus_tr *tr(void) { return ist_streams.transport->handle; }

/* ---- life ---- */

enum { MOST_FLAG_BYTES = 64 << 20 };

/* The same on all PEs, as the variables are. No variable is for reducescatter. */
static uint32_t find_forced(const struct ist_config *config)
{
    const struct {
        const char *name;
        uint32_t what;
        int choice; /* 0: auto */
    } choices[] = {{"ISTHMUS_COLL_BARRIER", ISTHMUS_COLLECTIVE_SYNC, config->barrier},
                   {"ISTHMUS_COLL_BROADCAST", ISTHMUS_COLLECTIVE_BROADCAST, config->broadcast},
                   {"ISTHMUS_COLL_FCOLLECT", ISTHMUS_COLLECTIVE_FCOLLECT, config->fcollect},
                   {"ISTHMUS_COLL_ALLTOALL", ISTHMUS_COLLECTIVE_ALLTOALL, config->alltoall},
                   {"ISTHMUS_COLL_REDUCE", ISTHMUS_COLLECTIVE_REDUCE, config->reduce}};
    uint32_t forced = 0;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (choices[i].choice == 0) continue;
        forced |= 1u << choices[i].what;
        ist_info("%s names an algorithm that kernels do not have: these collectives are no kernels", choices[i].name);
    }
    return forced;
}

uint64_t ist_collectives_prepare(const struct ist_config *config, int n_pes)
{
    const struct ist_extensions *has = &ist_streams.transport->extensions;
    if (!has->has_collectives || config->check || !config->device_direct) return 0;
    isthmus_status status = has->collectives.prepare(tr());
    if (status != ISTHMUS_OK) {
        ist_info("collectives in streams go through the processors: %s", ist_fail_text());
        return 0;
    }
    ist_streams.collectives = &has->collectives;
    collectives.forced = find_forced(config);
    collectives.most = (uint32_t)n_pes < IST_COLLECTIVE_MEMBERS ? (uint32_t)n_pes : IST_COLLECTIVE_MEMBERS;
    collectives.words = 2 * has->collectives.flag_words(tr(), collectives.most);
    uint64_t n_teams = ist_teams_max(config), bytes = n_teams * collectives.words * sizeof(uint64_t);
    if (bytes <= MOST_FLAG_BYTES) return bytes;
    ist_streams.collectives = NULL;
    ist_info("collectives in streams go through the processors: their flags would take %" PRIu64
             " bytes of the device for %" PRIu64 " teams, more than %u; lower ISTHMUS_TEAMS_MAX",
             bytes, n_teams, MOST_FLAG_BYTES);
    return 0;
}

isthmus_status ist_collectives_open(uint64_t offset_bytes, int n_pes)
{
    void *stop = NULL;
    if (ist_streams.collectives == NULL) return ISTHMUS_OK;
    collectives.flags = (void *)((char *)ist_streams.mem.addr + offset_bytes);
    collectives.by_pe = calloc((size_t)n_pes, sizeof *collectives.by_pe);
    if (collectives.by_pe == NULL) return ist_fail_memory("where %d PEs are for kernels", n_pes);
    isthmus_status status = ist_streams.kernels->host_alloc(tr(), sizeof(uint64_t), &stop, &collectives.stop_view);
    collectives.stop = stop;
    return status;
}

void ist_collectives_free(void)
{
    if (collectives.stop != NULL) ist_streams.kernels->host_free(tr(), collectives.stop);
    free(collectives.by_pe);
    collectives.by_pe = NULL;
    ist_collectives_forget();
}

void ist_collectives_forget(void)
{
    free(collectives.by_pe);
    memset(&collectives, 0, sizeof collectives);
}

void ist_streams_leave(void)
{
    if (collectives.stop != NULL) ist_store_release(collectives.stop, 1);
}

/* ---- teams ---- */

static uint64_t *flags_of(int index) { return collectives.flags + (uint64_t)index * collectives.words; }

void ist_collective_clear(int index, const char *routine)
{
    static const uint64_t zeroes[1024];
    if (ist_streams.collectives == NULL) return;
    for (uint64_t done = 0, n; done < collectives.words; done += n) {
        n = collectives.words - done < 1024 ? collectives.words - done : 1024;
        isthmus_status status = ist_streams.memory->copy(tr(), flags_of(index) + done, zeroes, n * sizeof *zeroes);
        if (status != ISTHMUS_OK) ist_die(routine, status);
    }
}

static bool reach(int world_pe, const char *routine)
{
    const struct ist_peer *peer;
    isthmus_status status = ist_peer_get(world_pe, &peer);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    member found = {ist_device_delta(peer, IST_SEGMENT_DEVICE), ist_device_delta(peer, IST_SEGMENT_STREAMS)};
    collectives.by_pe[world_pe] = found;
    return ((found.data_delta | found.flags_delta) & ISTHMUS_NO_ALIAS) == 0;
}

bool ist_collectives_reach(const struct ist_team *team, const char *routine)
{
    bool all = ist_streams.collectives != NULL && (uint32_t)team->n_pes <= collectives.most;
    for (int i = 0; all && i < team->n_pes; i++) all = reach(ist_team_to_world(team, i), routine);
    return all;
}

/* ---- launches ---- */

/* The rest of `what` is set. */
static void address(const struct ist_team *team, member members[IST_COLLECTIVE_MEMBERS],
                    struct isthmus_collective *what)
{
    for (int i = 0; i < team->n_pes; i++) members[i] = collectives.by_pe[ist_team_to_world(team, i)];
    what->struct_size = sizeof *what;
    what->n = team->n_pes;
    what->me = team->my_pe;
    what->flags = flags_of(team->index);
    what->members = members;
    what->member_bytes = sizeof *members;
    what->stop = collectives.stop_view;
    what->most = collectives.most;
}

/* Ends the job on failure: other members have enqueued theirs. */
static void launch(void *stream, struct ist_team *team, struct isthmus_collective *what, const char *routine)
{
    member members[IST_COLLECTIVE_MEMBERS];
    address(team, members, what);
    team->has_launched = true;
    isthmus_status status = ist_streams.collectives->enqueue(tr(), stream, what);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

/* Apart from those in streams, which may be under way. */
static void run(struct ist_team *team, struct isthmus_collective *what, const char *routine)
{
    member members[IST_COLLECTIVE_MEMBERS];
    struct ist_spin spin = {0};
    uint64_t ticket = 0;
    address(team, members, what);
    what->flags += collectives.words / 2;
    isthmus_status status = ist_streams.collectives->start(tr(), what, &ticket);
    while (status == ISTHMUS_OK && (status = ist_streams.collectives->test(tr(), ticket)) == ISTHMUS_ERR_AGAIN) {
        ist_spin_once(&spin);
        status = ISTHMUS_OK;
    }
    ist_spin_end(&spin);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

bool ist_collective_is_forced(uint32_t what) { return (collectives.forced >> what & 1) != 0; }

void ist_collective_sync(void *stream, struct ist_team *team, const char *routine)
{
    struct isthmus_collective what = {.what = ISTHMUS_COLLECTIVE_SYNC};
    if (team->n_pes > 1) launch(stream, team, &what, routine);
}

/* ---- what the kernel computes with ---- */

static const struct {
    uint8_t number, bytes;
} numbers[IST_COMBINE_TYPES] = {
    [IST_S8] = {ISTHMUS_NUMBER_SIGNED, 1},    [IST_S16] = {ISTHMUS_NUMBER_SIGNED, 2},
    [IST_S32] = {ISTHMUS_NUMBER_SIGNED, 4},   [IST_S64] = {ISTHMUS_NUMBER_SIGNED, 8},
    [IST_U8] = {ISTHMUS_NUMBER_UNSIGNED, 1},  [IST_U16] = {ISTHMUS_NUMBER_UNSIGNED, 2},
    [IST_U32] = {ISTHMUS_NUMBER_UNSIGNED, 4}, [IST_U64] = {ISTHMUS_NUMBER_UNSIGNED, 8},
    [IST_F16] = {ISTHMUS_NUMBER_HALF, 2},     [IST_BF16] = {ISTHMUS_NUMBER_BFLOAT, 2},
    [IST_F32] = {ISTHMUS_NUMBER_FLOAT, 4},    [IST_F64] = {ISTHMUS_NUMBER_FLOAT, 8},
    [IST_C32] = {ISTHMUS_NUMBER_COMPLEX, 8},  [IST_C64] = {ISTHMUS_NUMBER_COMPLEX, 16},
};

static const uint8_t combines[IST_COMBINE_OPS] = {
    [IST_SUM] = ISTHMUS_COMBINE_SUM, [IST_PROD] = ISTHMUS_COMBINE_PROD, [IST_MIN] = ISTHMUS_COMBINE_MIN,
    [IST_MAX] = ISTHMUS_COMBINE_MAX, [IST_AND] = ISTHMUS_COMBINE_AND,   [IST_OR] = ISTHMUS_COMBINE_OR,
    [IST_XOR] = ISTHMUS_COMBINE_XOR,
};

static bool is_reduction(const struct ist_stream_call *call)
{
    return call->collective == ISTHMUS_COLLECTIVE_REDUCE || call->collective == ISTHMUS_COLLECTIVE_REDUCESCATTER;
}

/* A sum of complex numbers is one of their parts. Returns false for a type that no device has: long double. */
static bool describe_numbers(const struct ist_stream_call *call, struct isthmus_collective *what)
{
    what->op = combines[call->op];
    what->number = numbers[call->type].number;
    what->size_bytes = numbers[call->type].bytes;
    if (what->number != ISTHMUS_NUMBER_COMPLEX || call->op != IST_SUM) return what->size_bytes != 0;
    what->number = ISTHMUS_NUMBER_FLOAT;
    what->size_bytes /= 2;
    return true;
}

/* Bytes of a source, or of a block; ends the job as the call by the host would. */
static size_t length_of(const struct ist_stream_call *call)
{
    const struct ist_transfer *t = &call->transfer;
    if (!is_reduction(call)) return t->length_bytes;
    return ist_require_length(t->routine, "nreduce", call->nelems, ist_combine_size(call->type));
}

/* Both buffers are in the heap of the device. Ends the job if one is not symmetric. */
static bool is_in_heap(const struct ist_stream_call *call, size_t length_bytes)
{
    const struct ist_transfer *t = &call->transfer;
    size_t n = (size_t)t->team->n_pes;
    bool has_dests = call->collective == ISTHMUS_COLLECTIVE_FCOLLECT || call->collective == ISTHMUS_COLLECTIVE_ALLTOALL;
    bool has_sources = call->collective == ISTHMUS_COLLECTIVE_ALLTOALL ||
                       call->collective == ISTHMUS_COLLECTIVE_REDUCESCATTER;
    size_t dest_bytes = ist_require_length(t->routine, "nelems", length_bytes, has_dests ? n : 1);
    size_t source_bytes = ist_require_length(t->routine, "nelems", length_bytes, has_sources ? n : 1);
    int dest = ist_require_symmetric(t->routine, "dest", t->dest, dest_bytes, 1);
    int source = ist_require_symmetric(t->routine, "source", t->source, source_bytes, 1);
    return dest == IST_SEGMENT_DEVICE && source == IST_SEGMENT_DEVICE;
}

/* An element may be anywhere for a processor; kernels load it whole. */
static bool is_aligned(const struct ist_stream_call *call, const struct isthmus_collective *what)
{
    uintptr_t bytes = what->size_bytes < sizeof(uint64_t) ? what->size_bytes : sizeof(uint64_t);
    return !is_reduction(call) || ((uintptr_t)what->dest | (uintptr_t)what->source) % bytes == 0;
}

/* A wrong root is left to the host, which reports it. A length of 0 is a no-op on all members. */
static bool describe(const struct ist_stream_call *call, struct isthmus_collective *out)
{
    const struct ist_transfer *t = &call->transfer;
    const struct ist_team *team = t->team;
    struct isthmus_collective what = {.what = call->collective, .root = t->pe, .dest = t->dest, .source = t->source};
    if (!team->has_kernels || ist_collective_is_forced(call->collective)) return false;
    if (t->pe < 0 || t->pe >= team->n_pes) return false;
    if (is_reduction(call) && !describe_numbers(call, &what)) return false;
    what.length_bytes = length_of(call);
    if (what.length_bytes > 0 && (!is_in_heap(call, what.length_bytes) || !is_aligned(call, &what))) return false;
    *out = what;
    return true;
}

bool ist_collective_enqueue(void *stream, struct ist_stream_call *call)
{
    struct isthmus_collective what;
    if (!describe(call, &what)) return false;
    if (what.length_bytes > 0) launch(stream, call->transfer.team, &what, call->transfer.routine);
    return true;
}

/* What this PE has put into its own source, by a channel of the transport, comes before the kernel. */
bool ist_collective_run(const struct ist_coll_call *host)
{
    struct isthmus_collective what;
    const struct ist_stream_call call = {
        .transfer = *host->t, .collective = host->what, .nelems = host->nelems, .op = host->op, .type = host->type};
    if (ist_streams.collectives->start == NULL || !describe(&call, &what)) return false;
    if (what.length_bytes == 0) return true;
    ist_quiet(&ist_ctx_default, host->t->routine);
    run(host->t->team, &what, host->t->routine);
    return true;
}
