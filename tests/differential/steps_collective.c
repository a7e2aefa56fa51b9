/* Collectives on random teams, with dest that no PE has used in this epoch. */
#include "differential.h"

enum collective { BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, SUM, PROD, MAX, XOR, INSCAN, EXSCAN, COLLECTIVES };

typedef uint32_t element; /* of all of them */

/* Elements that dest and source of each member have. */
static size_t dest_elements(const struct step *s, size_t n)
{
    if (s->way == ALLTOALLS) return n * s->nelems * s->dst;
    return s->way == COLLECT || s->way == FCOLLECT || s->way == ALLTOALL ? n * s->nelems : s->nelems;
}

static size_t source_elements(const struct step *s, size_t n)
{
    return s->way == ALLTOALLS ? n * s->nelems * s->sst : s->way == ALLTOALL ? n * s->nelems : s->nelems;
}

/* How many elements member i gives to a collect. */
static size_t collect_nelems(const struct step *s, int i) { return (s->nelems + (size_t)i * 7) % (s->nelems + 1); }

/* Only reductions and scans may work in place. */
static bool in_place(const struct step *s) { return s->way >= SUM && s->dest == s->source; }

static bool plan(struct step *s)
{
    const struct team *team = &teams[s->team = any_team()];
    s->way = (int)pick(COLLECTIVES);
    s->nelems = pick(chance(6) ? 500 : 30);
    s->dst = 1 + pick(3), s->sst = 1 + pick(3);
    s->root = (int)pick((size_t)team->n);
    size_t dest_bytes = dest_elements(s, (size_t)team->n) * sizeof(element);
    size_t source_bytes = source_elements(s, (size_t)team->n) * sizeof(element);
    if (dest_bytes > MEMORY_BYTES / 3 || source_bytes > MEMORY_BYTES / 3) return false;
    s->dest = any_offset(dest_bytes, sizeof(element));
    s->source = s->way >= SUM && chance(3) ? s->dest : any_offset(source_bytes, sizeof(element));
    if (!in_place(s) && s->dest < s->source + source_bytes && s->source < s->dest + dest_bytes) return false;
    for (int i = 0; i < team->n; i++) {
        int member = team->member[i];
        if (!claim_fresh(member, s->dest, dest_bytes, member)) return false;
        if (!in_place(s) && !claim_read(member, s->source, source_bytes, member)) return false;
    }
    for (int i = 0; i < team->n; i++) claims_hand_over(team->member[i], s->dest, dest_bytes, team->member[i]);
    return true;
}

static int call(const struct step *s, shmem_team_t team, int me)
{
    element *dest = (element *)(void *)(memory + s->dest);
    const element *source = (const element *)(const void *)(memory + s->source);
    switch (s->way) {
    case BROADCAST: return shmem_uint32_broadcast(team, dest, source, s->nelems, s->root);
    case COLLECT: return shmem_uint32_collect(team, dest, source, collect_nelems(s, me));
    case FCOLLECT: return shmem_uint32_fcollect(team, dest, source, s->nelems);
    case ALLTOALL: return shmem_uint32_alltoall(team, dest, source, s->nelems);
    case ALLTOALLS: return shmem_uint32_alltoalls(team, dest, source, (ptrdiff_t)s->dst, (ptrdiff_t)s->sst, s->nelems);
    case SUM: return shmem_uint32_sum_reduce(team, dest, source, s->nelems);
    case PROD: return shmem_uint32_prod_reduce(team, dest, source, s->nelems);
    case MAX: return shmem_uint32_max_reduce(team, dest, source, s->nelems);
    case XOR: return shmem_uint32_xor_reduce(team, dest, source, s->nelems);
    case INSCAN: return shmem_uint32_sum_inscan(team, dest, source, s->nelems);
    default: return shmem_uint32_sum_exscan(team, dest, source, s->nelems);
    }
}

static void run(struct step *s)
{
    int me = team_number(&teams[s->team], my_pe);
    if (me < 0) return;
    int result = call(s, teams[s->team].handle, me);
    if (result != 0) mismatch(s, "collective %d returns %d", s->way, result);
}

/* ---- the model ---- */

static element combine(int way, element a, element b)
{
    switch (way) {
    case PROD: return a * b;
    case MAX: return a > b ? a : b;
    case XOR: return a ^ b;
    default: return a + b;
    }
}

/* Members first to last combined, or nothing. */
static void combine_all(const struct step *s, element (*source)[MEMORY_BYTES / sizeof(element)], int last,
                        element *dest)
{
    for (size_t i = 0; i < s->nelems; i++) {
        dest[i] = 0;
        for (int m = 0; m <= last; m++) dest[i] = m == 0 ? source[0][i] : combine(s->way, dest[i], source[m][i]);
    }
}

static void gather(const struct step *s, const struct team *team, int me,
                   element (*source)[MEMORY_BYTES / sizeof(element)], element *dest)
{
    size_t collected = 0, mine = (size_t)me * s->nelems;
    for (int m = 0; m < team->n; m++) {
        size_t block = (size_t)m * s->nelems, n_collected = collect_nelems(s, m);
        for (size_t i = 0; i < s->nelems; i++) {
            if (s->way == COLLECT && i < n_collected) dest[collected++] = source[m][i];
            if (s->way == FCOLLECT) dest[block + i] = source[m][i];
            if (s->way == ALLTOALL) dest[block + i] = source[m][mine + i];
            if (s->way == ALLTOALLS) dest[(block + i) * s->dst] = source[m][(mine + i) * s->sst];
        }
    }
}

static void apply_to(const struct step *s, const struct team *team, int me,
                     element (*source)[MEMORY_BYTES / sizeof(element)], element *dest)
{
    switch (s->way) {
    case BROADCAST: memcpy(dest, source[s->root], s->nelems * sizeof *dest); break;
    case COLLECT:
    case FCOLLECT:
    case ALLTOALL:
    case ALLTOALLS: gather(s, team, me, source, dest); break;
    case INSCAN: combine_all(s, source, me, dest); break;
    case EXSCAN: combine_all(s, source, me - 1, dest); break;
    default: combine_all(s, source, team->n - 1, dest);
    }
}

static void apply(struct step *s)
{
    static element source[PES_MAX][MEMORY_BYTES / sizeof(element)];
    const struct team *team = &teams[s->team];
    for (int m = 0; m < team->n; m++) /* all of them before any dest changes */
        memcpy(source[m], model[team->member[m]] + s->source, source_elements(s, (size_t)team->n) * sizeof(element));
    for (int m = 0; m < team->n; m++)
        apply_to(s, team, m, source, (element *)(void *)(model[team->member[m]] + s->dest));
    int me = team_number(team, my_pe);
    size_t dest_bytes = dest_elements(s, (size_t)team->n) * sizeof(element);
    if (me >= 0 && memcmp(memory + s->dest, model[my_pe] + s->dest, dest_bytes) != 0)
        mismatch(s, "collective %d on team %d of %d: dest is not what the model has", s->way, s->team, team->n);
}

const struct step_kind collective_steps[] = {
    {"collective", 14, plan, run, apply},
    {NULL, 0, NULL, NULL, NULL},
};
