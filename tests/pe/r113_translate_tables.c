/* R112, R113: numbers and translations between teams that overlap, against a model, and back. */
#include "teams.h"

enum { TEAMS = 4 };

/* PE i of a team is start + i * stride of the world. */
static struct {
    int start, stride, size;
    shmem_team_t team;
} teams[TEAMS];

static int model_to_world(int t, int member)
{
    return member >= 0 && member < teams[t].size ? teams[t].start + member * teams[t].stride : -1;
}

static int model_from_world(int t, int world)
{
    for (int i = 0; i < teams[t].size; i++)
        if (world >= 0 && model_to_world(t, i) == world) return i;
    return -1;
}

/* A PE that is not a member has no handle, and every translation returns -1. */
static int model_translate(int from, int member, int to)
{
    if (model_from_world(from, pe.me) < 0 || model_from_world(to, pe.me) < 0) return -1;
    return model_from_world(to, model_to_world(from, member));
}

static void make(int t, int start, int stride, int size)
{
    teams[t].start = start, teams[t].stride = stride, teams[t].size = size;
    teams[t].team = team_of(start, stride, size);
    CHECK_EQ(shmem_team_my_pe(teams[t].team), model_from_world(t, pe.me));
    CHECK_EQ(shmem_team_n_pes(teams[t].team), model_from_world(t, pe.me) < 0 ? -1 : size);
}

int main(void)
{
    pe_begin();
    make(0, 0, 1, pe.n);
    make(1, pe.n - 1, -1, pe.n);
    make(2, 0, 2, (pe.n + 1) / 2);
    make(3, pe.n / 2, 1, pe.n - pe.n / 2);
    for (int from = 0; from < TEAMS; from++)
        for (int to = 0; to < TEAMS; to++)
            for (int member = -1; member <= pe.n; member++)
                CHECK_EQ(shmem_team_translate_pe(teams[from].team, member, teams[to].team),
                         model_translate(from, member, to));
    for (int t = 0; t < TEAMS; t++) {
        CHECK_EQ(shmem_team_translate_pe(teams[t].team, 0, SHMEM_TEAM_INVALID), -1);
        CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, teams[t].team), -1);
    }
    for (int t = 0; t < TEAMS; t++) shmem_team_destroy(teams[t].team);
    return pe_end();
}
