/* core/coll/lobby.c: see lobby.h.
 * An id names a word of the PE that made it. The member with place 0, the host, writes its PE there, and so is found by the
 * others, which look there. They hang themselves into a list: the host has its head, each guest the link to the guest before
 * it. When the list is complete everybody walks it and knows all. No memory is needed that grows with the team. */
#include "core/coll/lobby.h"

#include "core/coll/split.h"
#include "core/heap/internal_area.h"
#include "core/ops/amo.h"
#include "core/ops/order.h"
#include "core/ops/rma.h"
#include "core/sync/wait.h"

#include <pthread.h>
#include <stdlib.h>

/* An id: number of the use of the word, the word, the PE. What the word holds: number of the use, and below it OPEN, a PE + 1,
 * or DONE. */
enum { PE_BITS = 32, WORD_BITS = 8, NUMBER_MOST = (1 << 24) - 1 };
#define OPEN UINT64_C(0)
#define DONE UINT64_C(0xffffffff)

static struct {
    pthread_mutex_t ids, teams;
    uint32_t number;
} local = {.ids = PTHREAD_MUTEX_INITIALIZER, .teams = PTHREAD_MUTEX_INITIALIZER};

struct visit { /* of one team_init, on one PE */
    uint64_t number, *word;
    int id_pe, host; /* who has the word; who is place 0 */
    int n, place;
    const char *routine;
};

static struct ist_lobby *lobby(void) { return &ist_internal_area()->lobby; }

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

static void set_word(const struct visit *visit, uint64_t state)
{
    (void)update(visit, visit->word, ISTHMUS_AMO_SWAP, visit->number << PE_BITS | state, visit->id_pe);
}

/* false: it was not open. */
static bool take_word(const struct visit *visit)
{
    uint64_t open = visit->number << PE_BITS | OPEN;
    const struct ist_amo amo = {.op = ISTHMUS_AMO_COMPARE_SWAP,
                                .size = 8,
                                .operand = visit->number << PE_BITS | ((uint64_t)visit->host + 1),
                                .compare = open};
    return ist_amo(&ist_ctx_default, visit->word, amo, ISTHMUS_AMO_FETCHING, visit->id_pe, visit->routine) == open;
}

static void wait_for_count(const struct visit *visit, uint64_t *count, int least)
{
    struct ist_spin spin = {0};
    while (look(visit, count, visit->host) < (uint64_t)least) ist_spin_once(&spin);
    ist_spin_end(&spin);
}

/* ---- ids ---- */

void ist_lobby_init(void) { local.number = 0; }

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
    return status == ISTHMUS_OK ? status
                                : ist_fail(status, "%d ids of teams wait for their use; an id serves for one team",
                                           (int)IST_LOBBY_WORDS);
}

static isthmus_status read_id(uint64_t id, struct visit *visit)
{
    uint64_t pe = id & DONE, i = id >> PE_BITS & ((1 << WORD_BITS) - 1);
    visit->number = id >> (PE_BITS + WORD_BITS);
    if (visit->number == 0 || i >= IST_LOBBY_WORDS || pe >= (uint64_t)ist_team_world.n_pes)
        return ist_fail(ISTHMUS_ERR_INVALID, "uniqueid is 0x%llx, which was not made for a team",
                        (unsigned long long)id);
    visit->id_pe = (int)pe;
    visit->word = &lobby()->words[i];
    return ISTHMUS_OK;
}

/* ---- meeting ---- */

/* false: the id was used, or is by another team. */
static bool find_host(struct visit *visit)
{
    struct ist_spin spin = {0};
    uint64_t held, state;
    if (visit->place == 0) {
        visit->host = ist_team_world.my_pe;
        return take_word(visit);
    }
    for (;; ist_spin_once(&spin)) {
        held = look(visit, visit->word, visit->id_pe), state = held & DONE;
        if (held >> PE_BITS != visit->number || state != OPEN) break;
    }
    ist_spin_end(&spin);
    visit->host = (int)state - 1;
    return held >> PE_BITS == visit->number && state != DONE;
}

/* Hang oneself into the host's list, and wait until everybody has. */
static void line_up(const struct visit *visit)
{
    struct ist_lobby *mine = lobby();
    if (visit->place > 0) {
        uint64_t me = (uint64_t)ist_team_world.my_pe + 1;
        mine->link = update(visit, &mine->head, ISTHMUS_AMO_SWAP, me, visit->host);
        ist_quiet(&ist_ctx_default, visit->routine); /* who sees the count sees the link */
        (void)update(visit, &mine->n_here, ISTHMUS_AMO_ADD, 1, visit->host);
    }
    int n_host = (int)(ist_g(&ist_ctx_default, &mine->claim, 8, visit->host, visit->routine) >> PE_BITS);
    wait_for_count(visit, &mine->n_here, n_host - 1);
}

/* Who is at which place. All read the same, and so come to the same result. */
static isthmus_status read_list(const struct visit *visit, int *members)
{
    struct ist_lobby *mine = lobby();
    isthmus_status status = ISTHMUS_OK;
    for (int i = 0; i < visit->n; i++) members[i] = -1;
    uint64_t next = (uint64_t)visit->host + 1;
    for (bool is_host = true; next != 0; is_host = false) {
        int pe = (int)next - 1;
        uint64_t claim = ist_g(&ist_ctx_default, &mine->claim, 8, pe, visit->routine), place = claim & DONE;
        bool fits = claim >> PE_BITS == (uint64_t)visit->n && place < (uint64_t)visit->n && members[place] < 0;
        if (fits)
            members[place] = pe;
        else
            status = ist_fail(ISTHMUS_ERR_INVALID,
                              "PE %d comes as number %llu of %llu, which does not fit to the others", pe,
                              (unsigned long long)place, (unsigned long long)(claim >> PE_BITS));
        next = ist_g(&ist_ctx_default, is_host ? &mine->head : &mine->link, 8, pe, visit->routine);
    }
    for (int i = 0; i < visit->n && status == ISTHMUS_OK; i++)
        if (members[i] < 0) status = ist_fail(ISTHMUS_ERR_INVALID, "nobody is number %d of %d", i, visit->n);
    return status;
}

/* Nobody goes on before all have read: the links are used again. */
static void part(const struct visit *visit)
{
    struct ist_lobby *mine = lobby();
    struct ist_spin spin = {0};
    int n_guests = (int)ist_load_acquire(&mine->n_here); /* of the host; acquire: pairs with the guests' updates */
    if (visit->place == 0) {
        ist_wait_at_least(&mine->n_read, (uint64_t)n_guests);
        mine->head = mine->n_here = mine->n_read = 0;
        set_word(visit, DONE);
        return;
    }
    (void)update(visit, &mine->n_read, ISTHMUS_AMO_ADD, 1, visit->host);
    uint64_t open = visit->number << PE_BITS | ((uint64_t)visit->host + 1);
    while (look(visit, visit->word, visit->id_pe) == open) ist_spin_once(&spin);
    ist_spin_end(&spin);
}

static isthmus_status meet(uint64_t id, struct visit *visit, int *members)
{
    isthmus_status status = read_id(id, visit);
    if (status != ISTHMUS_OK) return status;
    lobby()->claim = (uint64_t)visit->n << PE_BITS | (uint64_t)visit->place; /* before anybody is told of this PE */
    if (!find_host(visit))
        return ist_fail(ISTHMUS_ERR_INVALID, "uniqueid is 0x%llx, which was used before", (unsigned long long)id);
    line_up(visit);
    status = read_list(visit, members);
    part(visit);
    return status;
}

isthmus_status ist_lobby_make_team(uint64_t id, int n, int place, const struct ist_team_options *options,
                                   struct ist_team **out, const char *routine)
{
    struct visit visit = {.n = n, .place = place, .routine = routine};
    *out = NULL;
    if (n < 1 || n > ist_team_world.n_pes || place < 0 || place >= n)
        return ist_fail(ISTHMUS_ERR_INVALID, "number %d of %d PEs; valid: up to %d PEs, numbers from 0 to one less",
                        place, n, ist_team_world.n_pes);
    int *members = calloc((size_t)n, sizeof *members);
    if (members == NULL) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no memory for a team of %d PEs", n);
    pthread_mutex_lock(&local.teams);
    ist_collective_now = (struct ist_collective){routine, -1, 0}; /* of a team that is not there yet */
    isthmus_status status = meet(id, &visit, members);
    if (status == ISTHMUS_OK) status = ist_team_make(members, n, &lobby()->meeting, options, out, routine);
    pthread_mutex_unlock(&local.teams);
    free(members);
    return status;
}
