/* Collectives on the world and, where the routine takes a team or an active set, on the PEs with odd or even
 * numbers. */
#include "check_rows.h"
#include "values.h"

#include <string.h>

enum { NELEMS = 3, DST = 2, SST = 3 };

/* Half of a row's memory belongs to each team; the elements begin after a guard. */
static size_t elements_room(void) { return (size_t)(world.n * NELEMS * SST) * 16; }
static size_t room(void) { return 2 * (GUARD_BYTES + elements_room() + GUARD_BYTES); }
static size_t begin_of(const struct item *item, int team) { return (size_t)team * item->room_bytes / 2 + GUARD_BYTES; }

static bool row_is(const struct item *item, const char *check)
{
    size_t length = strlen(check);
    return strncmp(item->row->check, check, length) == 0 && (item->row->check[length] | ' ') == ' ';
}

static int teams_of(const struct item *item) { return (item->row->flags & (ROW_TEAM | ROW_SET)) != 0 ? 2 : 1; }
static int world_pe(const struct face_team *team, int pe) { return team->start + pe * team->stride; }

/* What member `pe` has in its source. */
static void source_fill(const struct item *item, int team, int pe, void *elements)
{
    uint64_t seed = random_of(seed_of(item, world_pe(&lane.team[team], pe)), (uint64_t)team);
    size_t n = elements_room() / 16;
    if (strcmp(item->op, "prod") == 0)
        elements_fill_units(item->row->type, elements, n, seed);
    else
        elements_fill(item->row->type, elements, n, seed);
}

static void prepare(struct item *item)
{
    for (int team = 0; team < teams_of(item); team++)
        source_fill(item, team, lane.team[team].my_pe, item->source + begin_of(item, team));
}

/* How many elements member `pe` gives to a collect: none, some. */
static size_t collect_nelems(int pe) { return (size_t)(pe + 1) % NELEMS; }

/* ---- the model ---- */

static unsigned char *source_of(const struct item *item, int team, int pe)
{
    static __thread unsigned char elements[64 * NELEMS * SST * 16];
    CHECK_THAT(world.n <= 64, "the model has room for 64 PEs");
    source_fill(item, team, pe, elements);
    return elements;
}

/* Elements `from` on, of members 0 to last, combined. */
static void model_combine(struct item *item, int team, size_t from, int last)
{
    struct row_type type = item->row->type;
    struct number combined[NELEMS];
    unsigned char elements[NELEMS * 16];
    for (int pe = 0; pe <= last; pe++) {
        const unsigned char *source = source_of(item, team, pe) + from * type.size;
        for (size_t i = 0; i < NELEMS; i++) {
            struct number next = number_get(type, source + i * type.size);
            combined[i] = pe == 0 ? next : number_combine(type, item->op, combined[i], next);
        }
    }
    for (size_t i = 0; i < NELEMS; i++)
        number_put(type, elements + i * type.size, last < 0 ? (struct number){0} : combined[i]);
    image_elements(item, begin_of(item, team), NELEMS, elements);
}

static void model_move(struct item *item, int team)
{
    const struct face_team *t = &lane.team[team];
    size_t size = item->row->type.size, at = begin_of(item, team), me = (size_t)t->my_pe, collected = 0;
    bool strided = row_is(item, "alltoalls");
    for (int pe = 0; pe < t->n; pe++) {
        const unsigned char *source = source_of(item, team, pe);
        size_t block = (size_t)pe * NELEMS;
        if (row_is(item, "fcollect")) image_elements(item, at + block * size, NELEMS, source);
        if (row_is(item, "alltoall")) image_elements(item, at + block * size, NELEMS, source + me * NELEMS * size);
        for (size_t i = 0; strided && i < NELEMS; i++)
            image_elements(item, at + (block + i) * DST * size, 1, source + (me * NELEMS + i) * SST * size);
        if (!row_is(item, "collect")) continue;
        image_elements(item, at + collected * size, collect_nelems(pe), source);
        collected += collect_nelems(pe);
    }
}

static void model(struct item *item, int team)
{
    const struct face_team *t = &lane.team[team];
    size_t at = begin_of(item, team);
    bool spares_root = (item->row->flags & ROW_SET) != 0;
    if (row_is(item, "broadcast")) {
        if (!spares_root || t->my_pe != t->n - 1) image_elements(item, at, NELEMS, source_of(item, team, t->n - 1));
    } else if (row_is(item, "reduce")) {
        model_combine(item, team, 0, t->n - 1);
    } else if (row_is(item, "reducescatter")) {
        model_combine(item, team, (size_t)t->my_pe * NELEMS, t->n - 1);
    } else if (row_is(item, "inscan")) {
        model_combine(item, team, 0, t->my_pe);
    } else if (row_is(item, "exscan")) {
        model_combine(item, team, 0, t->my_pe - 1);
    } else {
        model_move(item, team);
    }
}

/* ---- the calls ---- */

static struct row_call call_on(const struct item *item, int team)
{
    const struct face_team *t = &lane.team[team];
    struct row_call c = call_to(item, world.right);
    c.team = t->handle;
    c.set_start = t->start, c.set_log_stride = t->stride - 1, c.set_size = t->n; /* strides are 1 and 2 */
    c.dest = item->dest + begin_of(item, team), c.source = item->source + begin_of(item, team);
    c.nelems = row_is(item, "collect") ? collect_nelems(t->my_pe) : NELEMS;
    c.dst = DST, c.sst = SST;
    c.root = t->n - 1;
    if (item->sync != NULL) {
        c.sync = item->sync + (size_t)team * face.sync_longs;
        c.work = item->work + (size_t)team * face.work_elements * 16;
    }
    return c;
}

static void call_collective(struct item *item, struct row_call *c)
{
    call(item, c);
    if ((item->row->flags & ROW_RETURNS) != 0) CHECK_THAT(c->returned == 0, "returned %lld", c->returned);
    if ((item->row->flags & ROW_STREAM) != 0) face.complete();
}

/* dest is filled on return, and no PE writes to it later. Other PEs may already be writing what belongs to the next
 * team. */
static void act(struct item *item)
{
    image_clear(item);
    for (int team = 0; team < teams_of(item); team++) {
        struct row_call c = call_on(item, team);
        call_collective(item, &c);
        model(item, team);
        image_compare_until(item, (size_t)(team + 1) * item->room_bytes / 2);
    }
}

static void check_sync_arrays(struct item *item)
{
    for (size_t i = 0; item->sync != NULL && i < 2 * face.sync_longs; i++)
        if (item->sync[i] != face.sync_value) fail("pSync[%zu] is %ld after the call", i, item->sync[i]);
}

static void verify(struct item *item)
{
    image_compare(item);
    check_sync_arrays(item);
}

/* Barriers and syncs: a barrier completes what was stored before it. */
static void act_meet(struct item *item)
{
    bool completes = strstr(item->row->name, "barrier") != NULL;
    for (int team = 0; team < teams_of(item); team++) {
        const struct face_team *t = &lane.team[team];
        int right = world_pe(t, (t->my_pe + 1) % t->n), left = world_pe(t, (t->my_pe + t->n - 1) % t->n);
        uint64_t mine = seed_of(item, world.me), wanted = seed_of(item, left), *word = NULL;
        word = (uint64_t *)(void *)(item->dest + begin_of(item, team));
        face.store(word, &mine, sizeof mine, right);
        struct row_call c = call_on(item, team);
        call_collective(item, &c);
        if (completes) CHECK_THAT(*(volatile uint64_t *)word == wanted, "a store from before the barrier is not there");
    }
}

static void verify_meet(struct item *item)
{
    image_clear(item);
    for (int team = 0; team < teams_of(item); team++) {
        const struct face_team *t = &lane.team[team];
        uint64_t wanted = seed_of(item, world_pe(t, (t->my_pe + t->n - 1) % t->n));
        memcpy(item->image + begin_of(item, team), &wanted, sizeof wanted);
    }
    image_compare(item);
    check_sync_arrays(item);
}

#define COLLECTIVE_CHECK(name)           \
    {                                    \
        name, prepare, act, verify, room \
    }

const struct check collective_checks[] = {
    {"meet", NULL, act_meet, verify_meet, room},
    COLLECTIVE_CHECK("broadcast"),
    COLLECTIVE_CHECK("collect"),
    COLLECTIVE_CHECK("fcollect"),
    COLLECTIVE_CHECK("alltoall"),
    COLLECTIVE_CHECK("alltoalls"),
    COLLECTIVE_CHECK("reduce"),
    COLLECTIVE_CHECK("reducescatter"),
    COLLECTIVE_CHECK("inscan"),
    COLLECTIVE_CHECK("exscan"),
    {NULL, NULL, NULL, NULL, NULL},
};
