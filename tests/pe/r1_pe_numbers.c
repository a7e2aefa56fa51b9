/* R1: PE numbers are 0 to n-1, each once, and stay what they are. */
#include "check.h"

enum { MAX_PES = 1024 };

static int seats[MAX_PES];

static void check_same_numbers(void)
{
    CHECK_EQ(shmem_my_pe(), pe.me);
    CHECK_EQ(shmem_n_pes(), pe.n);
}

int main(void)
{
    pe_begin();
    CHECK(pe.n >= 1 && pe.n <= MAX_PES);
    CHECK(pe.me >= 0 && pe.me < pe.n);
    shmem_int_atomic_inc(&seats[pe.me], 0);
    shmem_barrier_all();
    for (int i = 0; pe.me == 0 && i < MAX_PES; i++) CHECK_EQ(seats[i], i < pe.n ? 1 : 0);

    shmem_ctx_t ctx;
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    check_same_numbers();
    if (pe.me % 2 == 0) shmem_ctx_int_p(ctx, &seats[0], 1, pe.right); /* different control paths are fine */
    shmem_ctx_destroy(ctx);
    CHECK_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
    check_same_numbers();
    shmem_barrier_all();
    check_same_numbers();
    return pe_end();
}
