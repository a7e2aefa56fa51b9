/* R155: the C11 generics of wait and test choose by pointer type, which shows in the signedness of the comparison; the
 * signal routines and sync choose by the number of arguments, and are functions, too.
 * expand.py repeats the parts between the marks. */
#include "check.h"

#define IS_SIGNED(type) ((type)-1 < (type)1)

/*@for amo_standard@*/
static TYPE vars_NAME[3];

/* -1 is less than 1, or the largest number. */
static void compare_NAME(void)
{
    TYPE *v = vars_NAME, one = 1;
    const TYPE ones[3] = {1, 1, 1};
    int less = IS_SIGNED(TYPE) ? SHMEM_CMP_LT : SHMEM_CMP_GT, greater = IS_SIGNED(TYPE) ? SHMEM_CMP_GT : SHMEM_CMP_LT;
    size_t found[3];
    for (int i = 0; i < 3; i++) v[i] = (TYPE)-1;
    CHECK_EQ(shmem_test(v, less, one), 1);
    CHECK_EQ(shmem_test(v, greater, one), 0);
    CHECK_EQ(shmem_test_all(v, 3, NULL, less, one), 1);
    CHECK(shmem_test_any(v, 3, NULL, less, one) < 3);
    CHECK(shmem_test_some(v, 3, found, NULL, less, one) >= 1);
    CHECK_EQ(shmem_test_all_vector(v, 3, NULL, less, ones), 1);
    CHECK(shmem_test_any_vector(v, 3, NULL, less, ones) < 3);
    CHECK(shmem_test_some_vector(v, 3, found, NULL, less, ones) >= 1);
    shmem_wait_until(v, less, one);
    shmem_wait_until_all(v, 3, NULL, less, one);
    CHECK(shmem_wait_until_any(v, 3, NULL, less, one) < 3);
    CHECK(shmem_wait_until_some(v, 3, found, NULL, less, one) >= 1);
    shmem_wait_until_all_vector(v, 3, NULL, less, ones);
    CHECK(shmem_wait_until_any_vector(v, 3, NULL, less, ones) < 3);
    CHECK(shmem_wait_until_some_vector(v, 3, found, NULL, less, ones) >= 1);
    CHECK_EQ(shmem_test_any(v, 3, NULL, greater, one), SIZE_MAX);
}

/*@end@*/
/*@for wait_old@*/
static TYPE var_NAME;

static void compare_NAME(void)
{
    TYPE one = 1;
    var_NAME = (TYPE)-1;
    CHECK_EQ(shmem_test(&var_NAME, SHMEM_CMP_LT, one), IS_SIGNED(TYPE));
    shmem_wait_until(&var_NAME, IS_SIGNED(TYPE) ? SHMEM_CMP_LT : SHMEM_CMP_GT, one);
}

/*@end@*/
static uint64_t signal_word;

static void by_number_of_arguments(void)
{
    shmem_ctx_t ctx;
    void (*set)(uint64_t *, uint64_t, int) = shmem_signal_set, (*add)(uint64_t *, uint64_t, int) = shmem_signal_add;
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    shmem_barrier_all();
    shmem_signal_set(&signal_word, 5, pe.right), shmem_quiet();
    shmem_signal_add(&signal_word, 1, pe.right), shmem_quiet();
    shmem_signal_add(ctx, &signal_word, 1, pe.right), shmem_ctx_quiet(ctx);
    add(&signal_word, 1, pe.right), shmem_quiet();
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 8);
    shmem_sync_all();
    shmem_signal_set(ctx, &signal_word, 20, pe.right), shmem_ctx_quiet(ctx);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 20);
    CHECK_EQ(shmem_sync(SHMEM_TEAM_WORLD), 0);
    (set)(&signal_word, 21, pe.right);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 21);
    CHECK_EQ(shmem_sync(SHMEM_TEAM_SHARED), 0);
    shmem_ctx_destroy(ctx);
}

int main(void)
{
    pe_begin();
    /*@for amo_standard@*/
    compare_NAME();
    /*@end@*/
    /*@for wait_old@*/
    compare_NAME();
    /*@end@*/
    by_number_of_arguments();
    return pe_end();
}
