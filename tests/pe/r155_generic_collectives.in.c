/* R155: the C11 generics of collectives choose by the type of dest, const and volatile ones too; shmem_sync is a team's
 * with one argument and an active set's with four. expand.py repeats the parts between the marks. */
#include "check.h"

#define WORLD SHMEM_TEAM_WORLD

static long sync_array[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};

/* dest is ready, and source filled, on every PE before any of them begins. */
#define RUN(collective) (shmem_sync(WORLD), CHECK_EQ(collective, 0))

/*@for rma@*/
static TYPE one_NAME[2], all_NAME[2 * 16];

static void move_NAME(void)
{
    const TYPE *source = one_NAME;
    one_NAME[0] = one_NAME[1] = (TYPE)(pe.me + 1);
    RUN(shmem_fcollect(WORLD, all_NAME, source, 2));
    for (int i = 0; i < 2 * pe.n; i++) CHECK(all_NAME[i] == (TYPE)(i / 2 + 1));
    RUN(shmem_collect(WORLD, all_NAME, one_NAME, 1));
    for (int i = 0; i < pe.n; i++) CHECK(all_NAME[i] == (TYPE)(i + 1));
    RUN(shmem_broadcast(WORLD, all_NAME, source, 2, pe.n - 1));
    CHECK(all_NAME[0] == (TYPE)pe.n && all_NAME[1] == (TYPE)pe.n);
    static TYPE blocks[16], turned[16];
    for (int i = 0; i < pe.n; i++) blocks[i] = (TYPE)(pe.me + 1);
    RUN(shmem_alltoall(WORLD, turned, blocks, 1));
    for (int i = 0; i < pe.n; i++) CHECK(turned[i] == (TYPE)(i + 1));
    RUN(shmem_alltoalls(WORLD, all_NAME, blocks, 2, 1, 1));
    for (int i = 0; i < pe.n; i++) CHECK(all_NAME[2 * i] == (TYPE)(i + 1));
}
/*@end@*/

/*@for reduce_arithmetic@*/
static void arithmetic_NAME(void)
{
    static TYPE dest, source;
    source = (TYPE)(pe.me + 1);
    RUN(shmem_sum_reduce(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)(pe.n * (pe.n + 1) / 2));
    RUN(shmem_prod_reduce(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)(pe.n == 3 ? 6 : pe.n));
    RUN(shmem_sum_inscan(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)((pe.me + 1) * (pe.me + 2) / 2));
    RUN(shmem_sum_exscan(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)(pe.me * (pe.me + 1) / 2));
}
/*@end@*/

/*@for reduce_ordered@*/
static void ordered_NAME(void)
{
    static TYPE dest, source;
    source = (TYPE)(pe.me + 1);
    RUN(shmem_max_reduce(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)pe.n);
    RUN(shmem_min_reduce(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)1);
}
/*@end@*/

/*@for reduce_bitwise@*/
static void bitwise_NAME(void)
{
    static TYPE dest, source;
    source = (TYPE)(8 | (pe.me & 1));
    RUN(shmem_and_reduce(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)8);
    RUN(shmem_or_reduce(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)(8 | (pe.n > 1)));
    RUN(shmem_xor_reduce(WORLD, &dest, &source, 1));
    CHECK(dest == (TYPE)((pe.n % 2 != 0 ? 8 : 0) | (pe.n / 2 % 2)));
}
/*@end@*/

int main(void)
{
    pe_begin();
    if (pe.n > 3) pe_skip("the results are worked out for up to three PEs");
    /*@for rma@*/
    move_NAME();
    /*@end@*/
    /*@for reduce_arithmetic@*/
    arithmetic_NAME();
    /*@end@*/
    /*@for reduce_ordered@*/
    ordered_NAME();
    /*@end@*/
    /*@for reduce_bitwise@*/
    bitwise_NAME();
    /*@end@*/
    shmem_sync(0, 0, pe.n, sync_array);
    shmem_barrier(0, 0, pe.n, sync_array);
    return pe_end();
}
