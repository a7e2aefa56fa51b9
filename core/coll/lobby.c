/* core/coll/lobby.c: see split.h.
 * An id names a word of the PE that made it. The member with place 0, the host, writes its PE there, where the guests
 * read it. The guests add themselves to a list: the host has its head, each guest the link to the guest before it. When
 * the list is complete the host alone walks it. From then on the host leads: it writes one word on each guest, which
 * waits for that in its own memory, acts and replies. So each member receives the list in parts, then an index of the
 * table of teams to reserve, until one is free on all. A PE's memory for one team is a room; a PE has several, so that
 * teams made by several threads do not wait for one another. */
#include "core/coll/split.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/ops/amo.h"
#include "core/ops/checker.h"
#include "core/ops/order.h"
#include "core/ops/rma.h"
#include "core/sync/wait.h"
#include "core/team/internal_area.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An id: number of the use of the word, the word, the PE. The word holds the number of the use, and below it OPEN,
 * a PE + 1, or DONE. */
enum { PE_BITS = 32, WORD_BITS = 8, NUMBER_MOST = (1 << 24) - 1 };
#define OPEN UINT64_C(0)
#define DONE UINT64_C(0xffffffff)
#define NO_PLACE DONE /* in a claim: that PE has no memory to take part */

/* A PE and its room, as stored in the words that others read; 0: none. */
enum { NAME_PE_BITS = 26 };
_Static_assert(IST_LOBBY_ROOMS <= 32, "a name has to be less than DONE");

static struct {
    pthread_mutex_t ids, rooms;
    pthread_cond_t room_left;
    uint32_t number, taken; /* taken: rooms, as bits */
} local = {.ids = PTHREAD_MUTEX_INITIALIZER, .rooms = PTHREAD_MUTEX_INITIALIZER, .room_left = PTHREAD_COND_INITIALIZER};

/* A host's message to its guests: one of these, or the index to reserve; and in the high half the number of the
 * message. */
enum { PART, RETRY, ANEW, GO, MISFIT, FULL, NO_MEMORY };
#define WORD(what) (UINT32_MAX - (uint32_t)(what))

struct visit { /* of one team_init, on one PE */
    uint64_t number, *word;
    int id_pe;           /* of the word */
    uint32_t host, name; /* place 0; this PE */
    struct ist_lobby_room *room;
    int n, place, *members; /* members: by place; so far n_known of them */
    int n_known;
    uint32_t *names; /* of the guests, on the host */
    int n_guests;
    uint32_t n_told, n_tries; /* messages; indices that were tried */
    int index;                /* reserved; -1: none */
    struct ist_team *team;
    const char *routine;
};

static struct ist_lobby *lobby(void) { return &ist_internal_area()->lobby; }

static int pe_of(uint32_t name) { return (int)(name & ((1u << NAME_PE_BITS) - 1)) - 1; }
static struct ist_lobby_room *room_of(uint32_t name) { return &lobby()->rooms[name >> NAME_PE_BITS]; }

/* ---- rooms ---- */

static void enter_room(struct visit *visit)
{
    pthread_mutex_lock(&local.rooms);
    while (local.taken == (1u << IST_LOBBY_ROOMS) - 1) ist_clock_wait(&local.room_left, &local.rooms, NULL);
    uint32_t number = (uint32_t)__builtin_ctz(~local.taken);
    local.taken |= 1u << number;
    pthread_mutex_unlock(&local.rooms);
    visit->name = number << NAME_PE_BITS | (uint32_t)(ist_team_world.my_pe + 1);
    visit->room = &lobby()->rooms[number];
    *visit->room = (struct ist_lobby_room){
        .claim = (uint64_t)visit->n << PE_BITS | (visit->members != NULL ? (uint64_t)visit->place : NO_PLACE),
        .proposal = (uint64_t)ist_team_free_index(IST_TEAMS_PREDEFINED),
    };
}

/* No more messages: a guest's last message and all replies have arrived. */
static void leave_room(const struct visit *visit)
{
    pthread_mutex_lock(&local.rooms);
    local.taken &= ~(1u << (visit->name >> NAME_PE_BITS));
    pthread_cond_signal(&local.room_left);
    pthread_mutex_unlock(&local.rooms);
}

/* ---- words of other PEs ---- */

static uint64_t look(const struct visit *visit, uint64_t *word, int pe)
{
    const struct ist_amo fetch = {.op = ISTHMUS_AMO_FETCH, .size = 8};
    return ist_amo(&ist_ctx_default, word, fetch, ISTHMUS_AMO_FETCHING, pe, visit->routine);
}

static uint64_t update(const struct visit *visit, uint64_t *word, uint32_t op, uint64_t operand, int pe)
{
    const struct ist_amo amo = {.op = op, .size = 8, .operand = operand};
    return ist_amo(&ist_ctx_default, word, amo, ISTHMUS_AMO_FETCHING, pe, visit->routine);
}

/* Returns false if it was not open. */
static bool take_word(const struct visit *visit)
{
    uint64_t open = visit->number << PE_BITS | OPEN;
    const struct ist_amo amo = {
        .op = ISTHMUS_AMO_COMPARE_SWAP, .size = 8, .operand = visit->number << PE_BITS | visit->name, .compare = open};
    return ist_amo(&ist_ctx_default, visit->word, amo, ISTHMUS_AMO_FETCHING, visit->id_pe, visit->routine) == open;
}

/* ---- ids ---- */

void ist_lobby_init(void) { local.number = local.taken = 0; }

isthmus_status ist_lobby_new_id(uint64_t *id)
{
    isthmus_status status = ISTHMUS_ERR_LIMIT;
    pthread_mutex_lock(&local.ids);
    for (uint64_t i = 0; i < IST_LOBBY_WORDS && local.number < NUMBER_MOST && status != ISTHMUS_OK; i++) {
        uint64_t *word = &lobby()->words[i];
        uint64_t held = ist_load_acquire(word); /* acquire: pairs with the host's update when all are done */
        if (held != 0 && (held & DONE) != DONE) continue;
        uint64_t number = ++local.number;
        ist_store_release(word, number << PE_BITS | OPEN);
        *id = number << (PE_BITS + WORD_BITS) | i << PE_BITS | (uint64_t)ist_team_world.my_pe;
        status = ISTHMUS_OK;
    }
    pthread_mutex_unlock(&local.ids);
    return status == ISTHMUS_OK
               ? status
               : ist_fail(
                     status,
                     "%d unique ids of teams are unused already, which is the limit; make a team from each id, and "
                     "one id per team",
                     (int)IST_LOBBY_WORDS);
}

static isthmus_status read_id(uint64_t id, struct visit *visit)
{
    uint64_t pe = id & DONE, i = id >> PE_BITS & ((1 << WORD_BITS) - 1);
    visit->number = id >> (PE_BITS + WORD_BITS);
    if (visit->number == 0 || i >= IST_LOBBY_WORDS || pe >= (uint64_t)ist_team_world.n_pes)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "uniqueid is 0x%llx, which is invalid; valid: an id of nvshmemx_team_get_uniqueid",
                        (unsigned long long)id);
    visit->id_pe = (int)pe;
    visit->word = &lobby()->words[i];
    return ISTHMUS_OK;
}

/* ---- finding the members ---- */

/* Returns false if the id was used, or is in use by another team. */
static bool find_host(struct visit *visit)
{
    struct ist_spin spin = {0};
    uint64_t held, state;
    if (visit->place == 0) {
        visit->host = visit->name;
        return take_word(visit);
    }
    for (;; ist_spin_once(&spin)) {
        held = look(visit, visit->word, visit->id_pe), state = held & DONE;
        if (held >> PE_BITS != visit->number || state != OPEN) break;
    }
    ist_spin_end(&spin);
    visit->host = (uint32_t)state;
    return held >> PE_BITS == visit->number && state != DONE;
}

static void line_up(const struct visit *visit)
{
    struct ist_lobby_room *host = room_of(visit->host);
    int pe = pe_of(visit->host);
    visit->room->link = update(visit, &host->head, ISTHMUS_AMO_SWAP, visit->name, pe);
    ist_quiet(&ist_ctx_default, visit->routine); /* a host that sees the count sees the link */
    (void)update(visit, &host->n_here, ISTHMUS_AMO_ADD, 1, pe);
}

/* Returns GO, or how the meeting ends. */
static uint32_t take_place(struct visit *visit, int pe, uint64_t claim)
{
    uint64_t place = claim & DONE;
    if (place == NO_PLACE) return WORD(NO_MEMORY);
    if (claim >> PE_BITS != (uint64_t)visit->n || place >= (uint64_t)visit->n || visit->members[place] >= 0) {
        (void)ist_fail(
            ISTHMUS_ERR_INVALID,
            "PE %d passed pe_idx_in_team %llu and npes %llu, which contradict the other PEs; pass each index from 0 "
            "to npes - 1 once",
            pe, (unsigned long long)place, (unsigned long long)(claim >> PE_BITS));
        return WORD(MISFIT);
    }
    visit->members[place] = pe;
    return WORD(GO);
}

/* On the host: afterwards all guests are in the list. */
static void await_guests(const struct visit *visit)
{
    ist_wait_at_least(&visit->room->n_here, (uint64_t)visit->n - 1);
    (void)update(visit, visit->word, ISTHMUS_AMO_SWAP, visit->number << PE_BITS | DONE, visit->id_pe);
}

/* On the host: the names of all guests and their PEs by place, and the highest proposal of an index. Returns GO, or how
 * the meeting ends. */
static uint32_t read_list(struct visit *visit, uint64_t *proposal)
{
    uint32_t end = take_place(visit, ist_team_world.my_pe, visit->room->claim);
    *proposal = visit->room->proposal;
    await_guests(visit);
    for (uint64_t next = ist_load_acquire(&visit->room->head); next != 0 && visit->n_guests < ist_team_world.n_pes;) {
        uint64_t read[3]; /* claim, link, proposal */
        uint32_t name = visit->names[visit->n_guests++] = (uint32_t)next;
        ist_get(&ist_ctx_default, read, &room_of(name)->claim, sizeof read, pe_of(name), visit->routine);
        uint32_t one = take_place(visit, pe_of(name), read[0]);
        if (one < end) end = one; /* NO_MEMORY before MISFIT before GO */
        next = read[1];
        if (read[2] > *proposal) *proposal = read[2];
    }
    visit->n_known = visit->n;
    return end;
}

/* On a host that has no memory for the list. */
static uint32_t turn_away(const struct visit *visit)
{
    const uint64_t message = UINT64_C(1) << PE_BITS | WORD(NO_MEMORY);
    await_guests(visit);
    for (uint32_t name = (uint32_t)ist_load_acquire(&visit->room->head), next; name != 0; name = next) {
        struct ist_lobby_room *room = room_of(name); /* the guest leaves it when it is told */
        next = (uint32_t)ist_g(&ist_ctx_default, &room->link, 8, pe_of(name), visit->routine);
        ist_p(&ist_ctx_default, &room->told, message, sizeof message, pe_of(name), visit->routine);
    }
    ist_quiet(&ist_ctx_default, visit->routine);
    return WORD(NO_MEMORY);
}

/* ---- what each member does on the host's message ---- */

/* Returns false if there is no memory. */
static bool take_part(struct visit *visit)
{
    int n_left = visit->n - visit->n_known, n = n_left < IST_LOBBY_PART ? n_left : IST_LOBBY_PART;
    if (n > 0)
        ist_get(&ist_ctx_default, visit->members + visit->n_known, room_of(visit->host)->part,
                (size_t)n * sizeof *visit->members, pe_of(visit->host), visit->routine);
    visit->n_known += n;
    if (visit->n_known < visit->n || visit->team != NULL) return true;
    return ist_team_new(visit->n, 0, 1, visit->members, &visit->team) == ISTHMUS_OK;
}

/* Teams that are made at the same time may block each other, each with an index on another PE. Their next proposals
 * differ, so that they do not collide again. */
static void propose(struct visit *visit, int index)
{
    enum { SPREAD = 8 };
    uint32_t mixed = ((uint32_t)visit->number * 31 + (uint32_t)visit->id_pe + ++visit->n_tries) * 0x9e3779b1u;
    visit->room->proposal = (uint64_t)ist_team_free_index(index + 1 + (int)(mixed >> 29) % SPREAD);
}

/* Cleared at once: no PE uses it before all have reserved it. */
static bool reserve(struct visit *visit, int index)
{
    bool is_mine = ist_team_reserve(index) == IST_TEAM_FREE;
    propose(visit, index);
    visit->index = is_mine ? index : -1;
    if (!is_mine) return false;
    ist_team_clear(visit->team, index, visit->routine);
    return true;
}

static bool give_back(struct visit *visit)
{
    if (visit->index >= 0) ist_team_unreserve(visit->index);
    visit->index = -1;
    return true;
}

static bool propose_anew(struct visit *visit)
{
    visit->room->proposal = (uint64_t)ist_team_free_index(IST_TEAMS_PREDEFINED);
    return true;
}

/* Returns false if it failed here. */
static bool act(struct visit *visit, uint32_t told)
{
    if (told == WORD(PART)) return take_part(visit);
    if (told == WORD(RETRY)) return give_back(visit);
    return told == WORD(ANEW) ? propose_anew(visit) : reserve(visit, (int)told);
}

/* ---- the host leads ---- */

static void tell(struct visit *visit, uint32_t word)
{
    uint64_t message = (uint64_t)++visit->n_told << PE_BITS | word;
    visit->room->answers = 0;
    ist_quiet(&ist_ctx_default, visit->routine); /* a guest that sees the word sees the part */
    for (int i = 0; i < visit->n_guests; i++)
        ist_p(&ist_ctx_default, &room_of(visit->names[i])->told, message, sizeof message, pe_of(visit->names[i]),
              visit->routine);
}

/* All members act; returns true if all succeeded. A reply counts 1, and one more above PE_BITS if its member failed. */
static bool lead(struct visit *visit, uint32_t word)
{
    tell(visit, word);
    bool worked = act(visit, word);
    struct ist_spin spin = {0};
    uint64_t answers;
    while (((answers = ist_load_acquire(&visit->room->answers)) & DONE) < (uint64_t)visit->n_guests)
        ist_spin_once(&spin); /* acquire: pairs with the guests' updates */
    ist_spin_end(&spin);
    return worked && answers >> PE_BITS == 0;
}

static bool hand_out_list(struct visit *visit)
{
    bool worked = true;
    for (int done = 0; done < visit->n && worked; done += IST_LOBBY_PART) {
        int n = visit->n - done < IST_LOBBY_PART ? visit->n - done : IST_LOBBY_PART;
        memcpy(visit->room->part, visit->members + done, (size_t)n * sizeof *visit->members);
        worked = lead(visit, WORD(PART));
    }
    return worked;
}

static uint64_t highest_proposal(const struct visit *visit)
{
    uint64_t highest = visit->room->proposal;
    for (int i = 0; i < visit->n_guests; i++) {
        uint32_t name = visit->names[i];
        uint64_t theirs = ist_g(&ist_ctx_default, &room_of(name)->proposal, 8, pe_of(name), visit->routine);
        if (theirs > highest) highest = theirs;
    }
    return highest;
}

/* A proposal of -1, the highest of all: that PE has none left, or indices that were skipped are free again. */
static uint32_t find_index(struct visit *visit, uint64_t proposal)
{
    enum { ROUNDS_MOST = 16 };
    bool has_collided = true;
    for (int round = 0; round < ROUNDS_MOST && has_collided; round++) {
        has_collided = false;
        for (; proposal < ist_team_limit; proposal = highest_proposal(visit)) {
            if (lead(visit, (uint32_t)proposal)) return WORD(GO);
            (void)lead(visit, WORD(RETRY));
            has_collided = true;
        }
        (void)lead(visit, WORD(ANEW));
        proposal = highest_proposal(visit);
    }
    return WORD(FULL);
}

/* Out: the result. */
static uint32_t host(struct visit *visit)
{
    uint64_t proposal;
    if (visit->members == NULL || visit->names == NULL) return turn_away(visit);
    uint32_t end = read_list(visit, &proposal);
    if (end == WORD(GO)) end = hand_out_list(visit) ? find_index(visit, proposal) : WORD(NO_MEMORY);
    tell(visit, end);
    ist_quiet(&ist_ctx_default, visit->routine);
    return end;
}

/* ---- a guest follows ---- */

static bool is_end(uint32_t told) { return told <= WORD(GO) && told >= WORD(NO_MEMORY); }

static uint32_t guest(struct visit *visit)
{
    line_up(visit);
    for (;;) {
        ist_wait_at_least(&visit->room->told, (uint64_t)++visit->n_told << PE_BITS);
        uint32_t told = (uint32_t)(ist_load_relaxed(&visit->room->told) & DONE);
        if (is_end(told)) return told;
        uint64_t answer = act(visit, told) ? 1 : UINT64_C(1) << PE_BITS | 1;
        ist_quiet(&ist_ctx_default, visit->routine); /* a host that sees the reply sees the proposal */
        (void)update(visit, &room_of(visit->host)->answers, ISTHMUS_AMO_ADD, answer, pe_of(visit->host));
    }
}

/* ---- a team ---- */

static isthmus_status status_of(const struct visit *visit, uint32_t end)
{
    if (end == WORD(GO)) return ISTHMUS_OK;
    if (end == WORD(FULL))
        return ist_fail(ISTHMUS_ERR_LIMIT,
                        "%s: a PE of the team has ISTHMUS_TEAMS_MAX (%u) live teams; destroy some, or raise that limit",
                        visit->routine, ist_team_limit);
    if (end == WORD(NO_MEMORY))
        return ist_fail(ISTHMUS_ERR_NO_MEMORY,
                        "%s: a PE of the team has no memory for a team of %d PEs; start fewer PEs on its host",
                        visit->routine, visit->n);
    if (visit->place == 0) return ISTHMUS_ERR_INVALID; /* take_place has reported why */
    return ist_fail(
        ISTHMUS_ERR_INVALID,
        "PEs passed one uniqueid with values that contradict each other; pass one npes, and each index from 0 to npes "
        "- 1 once");
}

static isthmus_status finish(struct visit *visit, uint32_t end, const struct ist_team_options *options,
                             struct ist_team **out)
{
    isthmus_status status = status_of(visit, end);
    if (status != ISTHMUS_OK) {
        (void)give_back(visit);
        if (visit->team != NULL) ist_team_delete(visit->team);
        return status;
    }
    if (options != NULL) visit->team->options = *options;
    ist_team_register(visit->team, visit->index);
    if (ist_check_on) visit->team->made_by = ist_caller();
    ist_team_made(visit->team, visit->routine);
    *out = visit->team;
    return ISTHMUS_OK;
}

static isthmus_status meet(struct visit *visit, uint64_t id, const struct ist_team_options *options,
                           struct ist_team **out)
{
    for (int i = 0; i < visit->n && visit->members != NULL; i++) visit->members[i] = -1;
    enter_room(visit);
    bool is_found = find_host(visit);
    uint32_t end = !is_found ? 0 : visit->place == 0 ? host(visit) : guest(visit);
    leave_room(visit);
    if (!is_found)
        return ist_fail(ISTHMUS_ERR_INVALID, "uniqueid is 0x%llx, which was used before; valid: a new id for each team",
                        (unsigned long long)id);
    return finish(visit, end, options, out);
}

isthmus_status ist_lobby_make_team(uint64_t id, int n, int place, const struct ist_team_options *options,
                                   struct ist_team **out, const char *routine)
{
    struct visit visit = {.n = n, .place = place, .index = -1, .routine = routine};
    *out = NULL;
    if (n < 1 || n > ist_team_world.n_pes || place < 0 || place >= n)
        return ist_fail(
            ISTHMUS_ERR_INVALID,
            "pe_idx_in_team is %d and npes is %d; valid: npes from 1 to %d, pe_idx_in_team from 0 to npes - 1", place,
            n, ist_team_world.n_pes);
    isthmus_status status = read_id(id, &visit);
    if (status != ISTHMUS_OK) return status;
    visit.members = calloc((size_t)n, sizeof *visit.members);
    if (place == 0) visit.names = calloc((size_t)ist_team_world.n_pes, sizeof *visit.names);
    ist_collective_now = (struct ist_collective){routine, -1, 0}; /* of a team that is not there yet */
    status = meet(&visit, id, options, out);                      /* without memory too: the others wait */
    free(visit.members);
    free(visit.names);
    return status;
}
