/* R137: wait, test and their forms for sets compare in the signedness of the type, with all six comparisons, at the
 * limits of the type. expand.py repeats the parts between the marks. */
#include "check.h"

static const int comparisons[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};

/* 1 if a CMP b by C's own rules. */
#define HOLDS(a, cmp, b)                  \
    ((cmp) == SHMEM_CMP_EQ   ? (a) == (b) \
     : (cmp) == SHMEM_CMP_NE ? (a) != (b) \
     : (cmp) == SHMEM_CMP_GT ? (a) > (b)  \
     : (cmp) == SHMEM_CMP_GE ? (a) >= (b) \
     : (cmp) == SHMEM_CMP_LT ? (a) < (b)  \
                             : (a) <= (b))

/*@for amo_standard@*/
static TYPE var_NAME;

static void forms_NAME(TYPE value, int cmp, TYPE other, int holds)
{
    TYPE *v = &var_NAME;
    size_t index = 9;
    *v = value;
    CHECK_EQ(shmem_NAME_test(v, cmp, other), holds);
    CHECK_EQ(shmem_NAME_test_all(v, 1, NULL, cmp, other), holds);
    CHECK_EQ(shmem_NAME_test_any(v, 1, NULL, cmp, other), holds ? 0 : SIZE_MAX);
    CHECK_EQ(shmem_NAME_test_some(v, 1, &index, NULL, cmp, other), holds);
    CHECK_EQ(shmem_NAME_test_all_vector(v, 1, NULL, cmp, &other), holds);
    CHECK_EQ(shmem_NAME_test_any_vector(v, 1, NULL, cmp, &other), holds ? 0 : SIZE_MAX);
    CHECK_EQ(shmem_NAME_test_some_vector(v, 1, &index, NULL, cmp, &other), holds);
    CHECK_EQ(index, holds ? 0 : 9);
    if (!holds) return;
    shmem_NAME_wait_until(v, cmp, other);
    shmem_NAME_wait_until_all(v, 1, NULL, cmp, other);
    CHECK_EQ(shmem_NAME_wait_until_any(v, 1, NULL, cmp, other), 0);
    CHECK_EQ(shmem_NAME_wait_until_some(v, 1, &index, NULL, cmp, other), 1);
    shmem_NAME_wait_until_all_vector(v, 1, NULL, cmp, &other);
    CHECK_EQ(shmem_NAME_wait_until_any_vector(v, 1, NULL, cmp, &other), 0);
    CHECK_EQ(shmem_NAME_wait_until_some_vector(v, 1, &index, NULL, cmp, &other), 1);
}

static void compare_NAME(void)
{
    const TYPE high = (TYPE)((uint64_t)1 << (sizeof(TYPE) * 8 - 1)); /* the least one, if signed */
    const TYPE values[] = {0,   1, (TYPE)-1, (TYPE)-2, high, (TYPE)((uint64_t)high - 1), (TYPE)((uint64_t)high + 1),
                           1000};
    enum { N = sizeof values / sizeof *values };
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            for (int c = 0; c < 6; c++)
                forms_NAME(values[a], comparisons[c], values[b], HOLDS(values[a], comparisons[c], values[b]));
}

/* What a peer sets ends the wait. */
static void wait_for_peer_NAME(void)
{
    var_NAME = 0;
    shmem_barrier_all();
    shmem_NAME_atomic_set(&var_NAME, (TYPE)-5, pe.right);
    shmem_NAME_wait_until(&var_NAME, SHMEM_CMP_NE, 0);
    CHECK(var_NAME == (TYPE)-5);
    shmem_barrier_all();
    shmem_NAME_atomic_set(&var_NAME, 3, pe.right);
    shmem_NAME_wait_until(&var_NAME, (TYPE)-1 < (TYPE)1 ? SHMEM_CMP_GT : SHMEM_CMP_LT, (TYPE)-5);
    CHECK(var_NAME == 3);
}

/*@end@*/
/*@for wait_old@*/
static TYPE var_NAME;

static void compare_NAME(void)
{
    const TYPE values[] = {0, 1, (TYPE)-1, (TYPE)0x8000, 0x7fff, 1000};
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int c = 0; c < 6; c++) {
                int holds = HOLDS(values[a], comparisons[c], values[b]);
                var_NAME = values[a];
                CHECK_EQ(shmem_NAME_test(&var_NAME, comparisons[c], values[b]), holds);
                if (holds) shmem_NAME_wait_until(&var_NAME, comparisons[c], values[b]);
            }
}

/*@end@*/
int main(void)
{
    pe_begin();
    /*@for amo_standard@*/
    compare_NAME();
    wait_for_peer_NAME();
    /*@end@*/
    /*@for wait_old@*/
    compare_NAME();
    /*@end@*/
    return pe_end();
}
