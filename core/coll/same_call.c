/* core/coll/same_call.c: see sync.h. */
#include "core/coll/sync.h"

#include "core/base/fatal.h"
#include "core/check/check.h"
#include "core/coll/wire.h"

#include <stdio.h>

/* What a PE is about to do. Two records in turn: no PE overwrites one before all have compared it, because they
 * synchronise for the next one in between. */
struct record {
    char routine[48];
    uint64_t length_bytes, any_length, dest, source; /* dest and source: segment and offset */
    int64_t other[IST_SAME_ARGUMENTS];
};
_Static_assert(2 * sizeof(struct record) <= sizeof((struct ist_team_area *)0)->check, "two records in turn");

static struct record *record_of(struct ist_team *team)
{
    return (struct record *)(void *)team->area->check + team->check_sequence % 2;
}

static void read_record(struct ist_team *team, int pe, struct record *out, const char *routine)
{
    ist_wire_get(team, out, record_of(team), sizeof *out, pe, routine);
}

/* A PE without data may pass any address. */
static bool is_equal(const struct record *a, const struct record *b)
{
    bool any_place = a->length_bytes == 0 || b->length_bytes == 0;
    return strcmp(a->routine, b->routine) == 0 && (a->any_length != 0 || a->length_bytes == b->length_bytes) &&
           (any_place || (a->dest == b->dest && a->source == b->source)) &&
           memcmp(a->other, b->other, sizeof a->other) == 0;
}

/* Both are in the routine of `call`, so that its argument names apply to both. */
static const char *difference(const struct ist_transfer *call, const struct ist_same_argument *others,
                              const struct record *one, const struct record *rest, char *out, size_t room)
{
    *out = '\0';
    for (int i = 0; others != NULL && i < IST_SAME_ARGUMENTS; i++)
        if (one->other[i] != rest->other[i])
            snprintf(out, room, "%s is %lld there and %lld on the others", others[i].name, (long long)one->other[i],
                     (long long)rest->other[i]);
    if (*out != '\0') return out;
    if (call->any_length || one->length_bytes == rest->length_bytes)
        snprintf(out, room, "%s lies elsewhere in symmetric memory there",
                 one->dest == rest->dest ? "source"
                 : one->source != 0      ? "dest"
                                         : "the block");
    else
        snprintf(out, room, "%llu bytes there, %llu bytes on the others", (unsigned long long)one->length_bytes,
                 (unsigned long long)rest->length_bytes);
    return out;
}

/* The odd one out is the PE that differs from most of the others. */
static _Noreturn void report(const struct ist_transfer *call, const struct ist_same_argument *others)
{
    struct ist_team *team = call->team;
    const char *routine = call->routine;
    struct record mine, other, odd;
    int n_like_me = 0, pe_like_me = -1, pe_unlike_me = -1;
    char text[160];
    if (team->my_pe != 0) ist_fatal_yield(); /* all have seen it, on every host: the first member reports */
    read_record(team, team->my_pe, &mine, routine);
    for (int pe = 0; pe < team->n_pes; pe++) {
        read_record(team, pe, &other, routine);
        if (is_equal(&mine, &other)) {
            n_like_me++;
            pe_like_me = pe;
        } else if (pe_unlike_me < 0) {
            pe_unlike_me = pe;
            odd = other;
        }
    }
    if (pe_unlike_me < 0)
        ist_misuse(
            routine,
            "the PEs of the team are in different collectives; all of them call its collectives in the same order");
    bool i_am_odd = 2 * n_like_me < team->n_pes || (2 * n_like_me == team->n_pes && pe_like_me > pe_unlike_me);
    int pe = ist_team_to_world(team, i_am_odd ? team->my_pe : pe_unlike_me);
    const struct record *one = i_am_odd ? &mine : &odd, *rest = i_am_odd ? &odd : &mine;
    if (strcmp(one->routine, rest->routine) != 0)
        ist_misuse(routine,
                   "PE %d is in %s, the others in %s; all PEs of a team call its collectives in the same order", pe,
                   one->routine, rest->routine);
    ist_misuse(routine, "PE %d passes other arguments than the others: %s; valid: the same on all PEs", pe,
               difference(call, others, one, rest, text, sizeof text));
}

void ist_check_same_call(const struct ist_transfer *call, const struct ist_same_argument others[IST_SAME_ARGUMENTS])
{
    struct ist_team *team = call->team;
    struct record next;
    ist_check_enter();
    team->check_sequence++;
    struct record *mine = record_of(team);
    *mine = (struct record){.length_bytes = call->length_bytes,
                            .any_length = call->any_length,
                            .dest = call->length_bytes > 0 ? ist_check_place(call->dest) : 0,
                            .source = call->length_bytes > 0 ? ist_check_place(call->source) : 0};
    for (int i = 0; others != NULL && i < IST_SAME_ARGUMENTS; i++) mine->other[i] = others[i].value;
    snprintf(mine->routine, sizeof mine->routine, "%s", call->routine);
    ist_sync(team, call->routine);
    read_record(team, (team->my_pe + 1) % team->n_pes, &next, call->routine);
    ist_check_leave();
    if (!is_equal(mine, &next)) report(call, others);
}
