/* core/stream/meeting.c: see meeting.h. */
#include "core/stream/meeting.h"

#include "core/base/fatal.h"
#include "core/coll/doubling.h"
#include "core/coll/wire.h"
#include "core/heap/heap.h"
#include "core/stream/direct.h"
#include "core/stream/item.h"
#include "core/stream/stream_priv.h"
#include "core/transport/choose.h"

enum { FLAGS_BYTES = IST_TEAM_ROUNDS * sizeof(uint64_t) };

static bool has_flags; /* written at start only */

static isthmus_tr *tr(void) { return ist_streams.transport->handle; }

/* ---- flags ---- */

uint64_t ist_meetings_bytes(const struct ist_config *config) { return ist_teams_max(config) * FLAGS_BYTES; }

/* Of that team, on this PE; those of a peer have the same place in its segment. */
static uint64_t *flags_of(int index)
{
    return (uint64_t *)ist_streams.mem.addr + IST_ITEM_WORDS + (size_t)index * IST_TEAM_ROUNDS;
}

/* A word that holds already shows that the platform does it. ISTHMUS_CHECK looks at meetings where processors do them. */
void ist_meetings_open(const struct ist_config *config)
{
    const struct isthmus_stream *ops = ist_streams.ops;
    const struct isthmus_stream_word holds = {.word = ist_streams.mem.addr, .value = 0};
    has_flags = !config->check && ops->struct_size > offsetof(struct isthmus_stream, words) && ops->words != NULL &&
                ops->words(tr(), NULL, &holds, 1) == ISTHMUS_OK;
}

isthmus_status ist_meetings_expose(void)
{
    if (!ist_streams_are_on() || !has_flags) return ISTHMUS_OK;
    const struct isthmus_mem *mem = &ist_streams.mem;
    return ist_segment_expose(IST_SEGMENT_STREAMS, "flags of streams", mem, mem->length_bytes);
}

void ist_meeting_clear(int index, const char *routine)
{
    static const uint64_t zeroes[IST_TEAM_ROUNDS];
    if (!ist_streams_are_on() || !has_flags) return;
    isthmus_status status = ist_streams.memory->copy(tr(), flags_of(index), zeroes, sizeof zeroes);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

/* ---- may a team meet so? ---- */

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

void ist_meeting_agree(struct ist_team *team, const char *routine)
{
    if (ist_heap.segment != IST_SEGMENT_DEVICE || !team->is_on_one_host || team->meets_in_streams) return;
    team->meets_in_streams = ist_doubling_max(team, !are_reached(team, routine), routine) == 0;
}

/* ---- meeting ---- */

bool ist_meeting_sync(void *stream, struct ist_stream_call *call)
{
    struct ist_team *team = call->team;
    struct isthmus_stream_word list[2 * IST_TEAM_ROUNDS];
    uint32_t n = 0;
    if (!team->meets_in_streams) return false;
    uint64_t *flag = flags_of(team->index), sequence = ++team->stream_sequence;
    for (int distance = 1; distance < team->n_pes; distance *= 2, flag++) {
        int world_pe = ist_team_to_world(team, ist_wire_further(team, distance));
        struct ist_access access = {call->routine, "flag", flag, sizeof *flag, sizeof *flag, world_pe};
        struct ist_target target;
        ist_target_find(&ist_ctx_default, &access, &target);
        list[n++] = (struct isthmus_stream_word){target.extent->rmem, target.offset_bytes, NULL, sequence};
        list[n++] = (struct isthmus_stream_word){.word = flag, .value = sequence};
    }
    isthmus_status status = n > 0 ? ist_streams.ops->words(tr(), stream, list, n) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) ist_die(call->routine, status);
    return true;
}

bool ist_meeting_barrier(void *stream, struct ist_stream_call *call)
{
    struct ist_stream_call quiet = {.routine = call->routine, .run = ist_run_quiet};
    if (!call->team->meets_in_streams) return false;
    if (!ist_direct_quiet(stream, &quiet)) ist_item_post(stream, &quiet, NULL);
    return ist_meeting_sync(stream, call);
}
