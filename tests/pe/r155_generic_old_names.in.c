/* R155: the generics of atomics under their names before 1.4, which are the same operations. R142: waits for another
 * value than the given one, and the forms on long beside the generic. The names before 1.2: start_pes starts the
 * library, more calls of it do nothing, and the end of the program is the finalize; memory and numbers as under the
 * later names. */
#include "check.h"

#undef shmem_wait_until

/*@for old_extended@*/
static void extended_NAME(void)
{
    static TYPE word;
    shmem_set(&word, (TYPE)5, pe.right);
    shmem_barrier_all();
    CHECK(shmem_fetch(&word, pe.right) == (TYPE)5);
    CHECK(shmem_NAME_swap(&word, (TYPE)5, pe.right) == (TYPE)5);
    CHECK(shmem_swap(&word, (TYPE)6, pe.right) == (TYPE)5);
    CHECK(shmem_NAME_fetch(&word, pe.right) == (TYPE)6);
    shmem_NAME_set(&word, (TYPE)7, pe.right);
    shmem_barrier_all();
    CHECK(word == (TYPE)7);
}
/*@end@*/

/*@for old_standard@*/
static void standard_NAME(void)
{
    static TYPE word;
    shmem_barrier_all();
    shmem_add(&word, (TYPE)3, pe.right);
    shmem_inc(&word, pe.right);
    CHECK(shmem_finc(&word, pe.right) == (TYPE)4);
    CHECK(shmem_fadd(&word, (TYPE)2, pe.right) == (TYPE)5);
    CHECK(shmem_cswap(&word, (TYPE)7, (TYPE)1, pe.right) == (TYPE)7);
    CHECK(shmem_NAME_finc(&word, pe.right) == (TYPE)1);
    shmem_NAME_inc(&word, pe.right);
    shmem_NAME_add(&word, (TYPE)1, pe.right);
    CHECK(shmem_NAME_fadd(&word, (TYPE)1, pe.right) == (TYPE)4);
    CHECK(shmem_NAME_cswap(&word, (TYPE)5, (TYPE)9, pe.right) == (TYPE)5);
    shmem_barrier_all();
    CHECK(word == (TYPE)9);
}
/*@end@*/

/*@for old_wait@*/
static void wait_NAME(void)
{
    static TYPE word;
    shmem_barrier_all();
    shmem_p(&word, (TYPE)4, pe.right);
    shmem_NAME_wait(&word, (TYPE)0);
    CHECK(word == (TYPE)4);
}
/*@end@*/

static void wait_on_long(void)
{
    static long word;
    shmem_barrier_all();
    shmem_long_p(&word, 1, pe.right);
    shmem_wait(&word, 0);
    shmem_wait_until(&word, SHMEM_CMP_EQ, 1);
    CHECK_EQ(word, 1);
}

static void memory(void)
{
    long *block = (long *)shmalloc(8 * sizeof *block), *aligned = (long *)shmemalign(256, sizeof *aligned);
    CHECK(block != NULL && aligned != NULL && (uintptr_t)aligned % 256 == 0);
    block[7] = 77;
    block = (long *)shrealloc(block, 4096 * sizeof *block);
    CHECK(block != NULL);
    CHECK_EQ(block[7], 77);
    shfree(aligned);
    shfree(block);
}

int main(void)
{
    pe_deadline(PE_DEADLINE_S);
    start_pes(0);
    start_pes(17);
    pe_know();
    CHECK_EQ(_my_pe(), shmem_my_pe());
    CHECK_EQ(_num_pes(), shmem_n_pes());
    CHECK_EQ(_SHMEM_CMP_LE, SHMEM_CMP_LE);
    memory();
    /*@for old_extended@*/
    extended_NAME();
    /*@end@*/
    /*@for old_standard@*/
    standard_NAME();
    /*@end@*/
    /*@for old_wait@*/
    wait_NAME();
    /*@end@*/
    wait_on_long();
    return 0;
}
