/* core/coll/doubling.c: see algorithms.h. */
#include "core/coll/algorithms.h"

#include "core/coll/wire.h"

/* The members in the rounds, numbered 0 .. n-1 with n a power of two: the pairs first. */
struct cube {
    struct ist_team *team;
    struct ist_slot *slots; /* of this call's turn */
    uint64_t sequence;
    int n, n_pairs, my_number; /* my_number -1: the right one of a pair */
};

static struct cube enter(struct ist_team *team)
{
    struct cube cube = {.team = team, .n = 1, .sequence = ++team->doubling_sequence};
    while (cube.n * 2 <= team->n_pes) cube.n *= 2;
    cube.n_pairs = team->n_pes - cube.n;
    cube.slots = team->area->doubling[cube.sequence % 2];
    cube.my_number = team->my_pe >= 2 * cube.n_pairs ? team->my_pe - cube.n_pairs
                     : team->my_pe % 2 == 0          ? team->my_pe / 2
                                                     : -1;
    return cube;
}

static int member_of(const struct cube *cube, int number)
{
    return number < cube->n_pairs ? 2 * number : number + cube->n_pairs;
}

static bool is_in_pair(const struct cube *cube) { return cube->team->my_pe < 2 * cube->n_pairs; }

static const void *receive(const struct cube *cube, const struct ist_slot *slot)
{
    ist_wait_at_least(&slot->sequence, cube->sequence);
    return slot->data;
}

static void send(const struct cube *cube, struct ist_slot *slot, const void *data, size_t length_bytes, int to,
                 const char *routine)
{
    ist_wire_slot(cube->team, slot, data, length_bytes, cube->sequence, to, routine);
}

void ist_doubling_reduce(struct ist_team *team, void *inout, const struct ist_vector *vector, const char *routine)
{
    struct cube cube = enter(team);
    size_t bytes = vector->length_bytes;
    if (cube.my_number < 0) {
        send(&cube, &team->area->fold, inout, bytes, team->my_pe - 1, routine);
        memcpy(inout, receive(&cube, &team->area->result), bytes);
        return;
    }
    if (is_in_pair(&cube)) vector->combine(inout, inout, receive(&cube, &team->area->fold), vector->nelems);
    for (int distance = 1, round = 0; distance < cube.n; distance *= 2, round++) {
        int partner = cube.my_number ^ distance;
        struct ist_slot *slot = &cube.slots[round];
        send(&cube, slot, inout, bytes, member_of(&cube, partner), routine);
        const void *theirs = receive(&cube, slot);
        if (partner < cube.my_number)
            vector->combine(inout, theirs, inout, vector->nelems);
        else
            vector->combine(inout, inout, theirs, vector->nelems);
    }
    if (is_in_pair(&cube)) send(&cube, &team->area->result, inout, bytes, team->my_pe + 1, routine);
}

/* `total` combines all members of the subcube, `before` those of it before this one. */
void ist_doubling_scan(struct ist_team *team, void *before, const void *mine, const struct ist_vector *vector,
                       const char *routine)
{
    struct cube cube = enter(team);
    size_t bytes = vector->length_bytes;
    unsigned char total[IST_SLOT_BYTES] __attribute__((aligned(16)));
    if (cube.my_number < 0) {
        send(&cube, &team->area->fold, mine, bytes, team->my_pe - 1, routine);
        memcpy(before, receive(&cube, &team->area->result), bytes);
        return;
    }
    memcpy(total, mine, bytes);
    if (is_in_pair(&cube)) vector->combine(total, mine, receive(&cube, &team->area->fold), vector->nelems);
    bool is_first = true; /* of its subcube: `before` holds nothing */
    for (int distance = 1, round = 0; distance < cube.n; distance *= 2, round++) {
        int partner = cube.my_number ^ distance;
        struct ist_slot *slot = &cube.slots[round];
        send(&cube, slot, total, bytes, member_of(&cube, partner), routine);
        const void *theirs = receive(&cube, slot);
        if (partner > cube.my_number) {
            vector->combine(total, total, theirs, vector->nelems);
            continue;
        }
        if (is_first)
            memcpy(before, theirs, bytes);
        else
            vector->combine(before, theirs, before, vector->nelems);
        is_first = false;
        vector->combine(total, theirs, total, vector->nelems);
    }
    if (!is_in_pair(&cube)) return;
    if (is_first)
        memcpy(total, mine, bytes);
    else
        vector->combine(total, before, mine, vector->nelems);
    send(&cube, &team->area->result, total, bytes, team->my_pe + 1, routine);
}

static uint64_t reduce_word(struct ist_team *team, uint64_t mine, enum ist_combine_op op, const char *routine)
{
    struct ist_vector vector = {ist_combine_of(op, IST_U64), 1, sizeof mine};
    uint64_t all[IST_SLOT_BYTES / sizeof mine] = {mine};
    if (team->n_pes > 1) ist_doubling_reduce(team, all, &vector, routine);
    return all[0];
}

uint64_t ist_doubling_max(struct ist_team *team, uint64_t mine, const char *routine)
{
    return reduce_word(team, mine, IST_MAX, routine);
}

uint64_t ist_doubling_sum(struct ist_team *team, uint64_t mine, const char *routine)
{
    return reduce_word(team, mine, IST_SUM, routine);
}

uint64_t ist_doubling_sum_before(struct ist_team *team, uint64_t mine, const char *routine)
{
    struct ist_vector vector = {ist_combine_of(IST_SUM, IST_U64), 1, sizeof mine};
    uint64_t own[IST_SLOT_BYTES / sizeof mine] = {mine}, before[IST_SLOT_BYTES / sizeof mine] = {0};
    if (team->n_pes > 1) ist_doubling_scan(team, before, own, &vector, routine);
    return before[0];
}
