/* Teams and contexts are created and destroyed. */
#include "differential.h"

struct team teams[TEAMS];

/* The team of each PE's contexts; -1: there is none. The handles are this PE's. */
static int context_team[PES_MAX][CONTEXTS];
static shmem_ctx_t contexts[CONTEXTS];

int team_number(const struct team *team, int world_pe)
{
    for (int i = 0; i < team->n; i++)
        if (team->member[i] == world_pe) return i;
    return -1;
}

void start_teams(void)
{
    teams[0] = (struct team){.is_live = true, .n = n_pes, .handle = SHMEM_TEAM_WORLD};
    for (int i = 0; i < n_pes; i++) teams[0].member[i] = i;
    for (int i = 0; i < n_pes; i++)
        for (int k = 1; k < CONTEXTS; k++) context_team[i][k] = -1;
    contexts[0] = SHMEM_CTX_DEFAULT;
}

int any_team(void)
{
    int team = (int)pick(TEAMS);
    while (!teams[team].is_live) team = (team + 1) % TEAMS;
    return team;
}

void pick_context(struct step *s)
{
    s->context = (int)pick(CONTEXTS);
    while (context_team[s->actor][s->context] < 0) s->context = (s->context + 1) % CONTEXTS;
    const struct team *team = &teams[context_team[s->actor][s->context]];
    s->target = team->member[pick((size_t)team->n)];
}

shmem_ctx_t context_of(const struct step *s) { return contexts[s->context]; }

int target_number(const struct step *s) { return team_number(&teams[context_team[s->actor][s->context]], s->target); }

void complete_all(void)
{
    for (int k = 0; k < CONTEXTS; k++)
        if (context_team[my_pe][k] >= 0) shmem_ctx_quiet(contexts[k]);
}

/* ---- teams ---- */

static bool is_member(const struct step *s) { return team_number(&teams[s->team], my_pe) >= 0; }

/* A triplet of the parent, mostly a valid one: s->value start, s->cond stride as unsigned, s->nelems size, s->root the
 * index. */
static bool plan_split(struct step *s)
{
    s->team = any_team();
    for (s->root = 1; s->root < TEAMS && teams[s->root].is_live; s->root++) {}
    int n = teams[s->team].n, start = (int)pick((size_t)n), stride = (int)pick((size_t)n + 2) - n / 2;
    s->value = (uint64_t)start, s->cond = (uint64_t)(int64_t)stride, s->nelems = 1 + pick((size_t)n);
    int last = start + (int)(s->nelems - 1) * stride;
    s->way = last >= 0 && last < n && (stride != 0 || s->nelems == 1);
    return s->root < TEAMS && (s->way || chance(4));
}

static void run_split(struct step *s)
{
    shmem_team_t made = SHMEM_TEAM_WORLD;
    if (!is_member(s)) return;
    int result = shmem_team_split_strided(teams[s->team].handle, (int)s->value, (int)(int64_t)s->cond, (int)s->nelems,
                                          NULL, 0, &made);
    if ((result == 0) != (s->way != 0)) mismatch(s, "split of a triplet gives %d", result);
    teams[s->root].handle = made;
}

static void apply_split(struct step *s)
{
    struct team *made = &teams[s->root];
    if (!s->way) return;
    made->is_live = true;
    made->n = (int)s->nelems;
    for (int i = 0; i < made->n; i++)
        made->member[i] = teams[s->team].member[(int)s->value + i * (int)(int64_t)s->cond];
    int number = team_number(made, my_pe);
    if (team_number(&teams[s->team], my_pe) >= 0 && (made->handle != SHMEM_TEAM_INVALID) != (number >= 0))
        mismatch(s, "only members have a handle");
    if (number >= 0) compare_value(s, "number in the team", (uint64_t)shmem_team_my_pe(made->handle), (uint64_t)number);
}

/* The contexts of a team are destroyed with it, after their operations have completed. */
static bool plan_destroy(struct step *s)
{
    s->team = any_team();
    for (int i = 0; s->team != 0 && i < teams[s->team].n; i++) claims_settle(teams[s->team].member[i]);
    return s->team != 0;
}

static void run_destroy(struct step *s)
{
    if (!is_member(s)) return;
    complete_all();
    shmem_team_destroy(teams[s->team].handle);
}

static void apply_destroy(struct step *s)
{
    teams[s->team].is_live = false;
    for (int i = 0; i < n_pes; i++)
        for (int k = 1; k < CONTEXTS; k++)
            if (context_team[i][k] == s->team) context_team[i][k] = -1;
}

void end_teams(void)
{
    struct step step = {.kind = &team_steps[1]};
    for (step.team = 1; step.team < TEAMS; step.team++)
        if (teams[step.team].is_live) run_destroy(&step), apply_destroy(&step);
}

/* ---- contexts ---- */

static bool plan_create(struct step *s)
{
    s->team = any_team();
    for (s->context = 1; s->context < CONTEXTS && context_team[s->actor][s->context] >= 0; s->context++) {}
    s->way = (int)pick(3);
    return s->context < CONTEXTS && team_number(&teams[s->team], s->actor) >= 0;
}

static void run_create(struct step *s)
{
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED};
    if (!takes_part_alone(s)) return;
    int result = s->team == 0 ? shmem_ctx_create(options[s->way], &contexts[s->context])
                              : shmem_team_create_ctx(teams[s->team].handle, options[s->way], &contexts[s->context]);
    if (result != 0) mismatch(s, "no context: %d", result);
}

static void apply_create(struct step *s) { context_team[s->actor][s->context] = s->team; }

static bool plan_end_context(struct step *s)
{
    s->context = 1 + (int)pick(CONTEXTS - 1);
    return context_team[s->actor][s->context] >= 0;
}

static void run_end_context(struct step *s)
{
    if (takes_part_alone(s)) shmem_ctx_destroy(contexts[s->context]);
}

static void apply_end_context(struct step *s) { context_team[s->actor][s->context] = -1; }

const struct step_kind team_steps[] = {
    {"team_split", 4, plan_split, run_split, apply_split},
    {"team_destroy", 3, plan_destroy, run_destroy, apply_destroy},
    {"context_create", 4, plan_create, run_create, apply_create},
    {"context_destroy", 2, plan_end_context, run_end_context, apply_end_context},
    {NULL, 0, NULL, NULL, NULL},
};
