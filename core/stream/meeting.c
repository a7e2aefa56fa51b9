/* core/stream/meeting.c: see stream.h. */
#include "core/stream/stream.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/coll/algorithms.h"
#include "core/coll/wire.h"
#include "core/heap/heap.h"
#include "core/stream/stream_priv.h"
#include "core/transport/choose.h"

/* Of one team: of streams, then of kernels. */
enum { TEAM_WORDS = IST_TEAM_ROUNDS + IST_TEAM_DEVICE_WORDS, TEAM_BYTES = TEAM_WORDS * sizeof(uint64_t) };

/* Written at start only. */
static bool has_flags;     /* streams use theirs */
static bool is_for_others; /* ISTHMUS_COLL_BARRIER names an algorithm of the processors */

static isthmus_tr *tr(void) { return ist_streams.transport->handle; }

/* ---- flags ---- */

uint64_t ist_meetings_bytes(const struct ist_config *config) { return ist_teams_max(config) * TEAM_BYTES; }

/* The flags of that team on this PE; a peer's have the same place in its segment. */
static uint64_t *flags_of(int index)
{
    return (uint64_t *)ist_streams.mem.addr + IST_ITEM_WORDS + (size_t)index * TEAM_WORDS;
}

uint64_t *ist_meeting_kernel_flags(int index) { return flags_of(index) + IST_TEAM_ROUNDS; }

/* Waiting for a word that holds already shows that the platform supports it. ISTHMUS_CHECK checks barriers and syncs on
 * processors. */
void ist_meetings_open(const struct ist_config *config)
{
    const struct isthmus_stream_word holds = {.word = ist_streams.mem.addr, .value = 0};
    isthmus_status status = ist_streams.ops->words(tr(), NULL, &holds, 1);
    has_flags = !config->check && status == ISTHMUS_OK;
    is_for_others = config->barrier == IST_BARRIER_CENTRAL || config->barrier == IST_BARRIER_HOSTS;
    if (status != ISTHMUS_OK) ist_info("synchronization in streams goes through the processors: %s", ist_fail_text());
}

isthmus_status ist_meetings_expose(void)
{
    const struct isthmus_mem *mem = &ist_streams.mem;
    if (mem->length_bytes == 0) return ISTHMUS_OK;
    return ist_segment_expose(IST_SEGMENT_STREAMS, "flags of streams and kernels", mem, mem->length_bytes);
}

void ist_meeting_clear(int index, const char *routine)
{
    static const uint64_t zeroes[TEAM_WORDS];
    if (ist_streams.mem.length_bytes == 0) return;
    isthmus_status status = ist_streams.memory->copy(tr(), flags_of(index), zeroes, sizeof zeroes);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    ist_collective_clear(index, routine);
}

/* Waits for other work of the program's streams, too: a platform reports nothing less. */
void ist_meeting_end(const struct ist_team *team, const char *routine)
{
    isthmus_status status = team->has_launched ? ist_streams.ops->complete(tr()) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

/* ---- which teams can synchronise in streams ---- */

static bool is_reached(int world_pe, const char *routine)
{
    struct ist_choice choice;
    const struct ist_card *card;
    isthmus_status status = ist_peer_card(world_pe, &card);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    ist_choose(card, ist_streams.kind, &choice);
    return choice.carrier == ist_streams.number;
}

static bool are_reached(const struct ist_team *team, const char *routine)
{
    bool all = ist_streams_are_on() && has_flags && team->is_on_one_host;
    for (int pe = 0; all && pe < team->n_pes; pe++) all = is_reached(ist_team_to_world(team, pe), routine);
    return all;
}

/* What a team can do in streams; each includes those before it. */
enum { NOTHING, MEETINGS, KERNELS };

static uint64_t most_of(const struct ist_team *team, const char *routine)
{
    if (!are_reached(team, routine)) return NOTHING;
    return ist_collectives_reach(team, routine) ? KERNELS : MEETINGS;
}

/* A part of the world has what the world has, and nothing more, unless the world is too large for kernels. */
void ist_meeting_agree(struct ist_team *team, const char *routine)
{
    bool is_settled = team->meets_in_streams && (team->has_kernels || ist_team_world.n_pes <= IST_COLLECTIVE_MEMBERS);
    if (ist_heap.segment != IST_SEGMENT_DEVICE || !team->is_on_one_host || is_settled) return;
    uint64_t lacking = ist_doubling_max(team, KERNELS - most_of(team, routine), routine);
    team->meets_in_streams = KERNELS - lacking >= MEETINGS;
    team->has_kernels = lacking == 0;
}

/* ---- synchronisation ----
 * By a kernel; or by words, in rounds, which is what ISTHMUS_COLL_BARRIER calls dissemination; or not in the stream. */

static bool is_met_by_kernel(const struct ist_team *team)
{
    return team->has_kernels && !ist_collective_is_forced(ISTHMUS_COLLECTIVE_SYNC);
}

/* list[0] is kept for a caller that needs a word before those of the synchronisation; returns the length with it. */
enum { LIST_MOST = 1 + 2 * IST_TEAM_ROUNDS };

static uint32_t list_words(struct ist_team *team, const char *routine, struct isthmus_stream_word list[LIST_MOST])
{
    uint32_t n = 1;
    uint64_t *flag = flags_of(team->index), sequence = ++team->stream_sequence;
    for (int distance = 1; distance < team->n_pes; distance *= 2, flag++) {
        int world_pe = ist_team_to_world(team, ist_wire_further(team, distance));
        struct ist_transfer t = ist_transfer_put(&ist_ctx_default, flag, NULL, sizeof *flag, world_pe, routine);
        t.align_bytes = sizeof *flag;
        t.far_name = "flag";
        struct ist_target target;
        ist_target_find(&t, &target);
        list[n++] = (struct isthmus_stream_word){target.extent->rmem, target.offset_bytes, NULL, sequence};
        list[n++] = (struct isthmus_stream_word){.word = flag, .value = sequence};
    }
    return n;
}

static void put_words(void *stream, const struct isthmus_stream_word *list, uint32_t n, const char *routine)
{
    isthmus_status status = n > 0 ? ist_streams.ops->words(tr(), stream, list, n) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

bool ist_meeting_sync(void *stream, struct ist_stream_call *call)
{
    struct ist_team *team = call->transfer.team;
    const char *routine = call->transfer.routine;
    struct isthmus_stream_word list[LIST_MOST];
    if (!team->meets_in_streams || is_for_others) return false;
    if (is_met_by_kernel(team)) {
        ist_collective_sync(stream, team, routine);
        return true;
    }
    uint32_t n = list_words(team, routine, list);
    put_words(stream, list + 1, n - 1, routine);
    return true;
}

/* If quiet takes the host, its end and the synchronisation are one launch, behind the host function. */
bool ist_meeting_barrier(void *stream, struct ist_stream_call *call)
{
    struct ist_team *team = call->transfer.team;
    const char *routine = call->transfer.routine;
    struct ist_stream_call quiet = {.transfer.routine = routine, .run = ist_run_quiet};
    struct isthmus_stream_word list[LIST_MOST];
    if (!team->meets_in_streams || is_for_others) return false;
    bool is_quiet = ist_direct_quiet(stream, &quiet);
    if (is_met_by_kernel(team)) {
        if (!is_quiet) ist_item_post(stream, &quiet, NULL);
        ist_collective_sync(stream, team, routine);
        return true;
    }
    uint32_t n = list_words(team, routine, list);
    if (is_quiet)
        put_words(stream, list + 1, n - 1, routine);
    else
        ist_item_post_before(stream, &quiet, list, n);
    return true;
}
