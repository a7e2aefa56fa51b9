/* R157: constants keep the values of their API. One program passes each face its own constants: the comparisons and
 * signal operations of the others have other numbers. Also compiled as C++. */
#include "check.h"

#include <ishmem.h>
#include <nvshmem.h>
#include <shmem.h>

#ifdef __cplusplus
#define STATIC_ASSERT(what) static_assert(what, #what)
#else
#define STATIC_ASSERT(what) _Static_assert(what, #what)
#endif

STATIC_ASSERT(NVSHMEM_CMP_EQ == 0 && NVSHMEM_CMP_NE == 1 && NVSHMEM_CMP_GT == 2);
STATIC_ASSERT(NVSHMEM_CMP_LE == 3 && NVSHMEM_CMP_LT == 4 && NVSHMEM_CMP_GE == 5);
STATIC_ASSERT(ISHMEM_CMP_EQ == 1 && ISHMEM_CMP_NE == 2 && ISHMEM_CMP_GT == 3);
STATIC_ASSERT(ISHMEM_CMP_GE == 4 && ISHMEM_CMP_LT == 5 && ISHMEM_CMP_LE == 6);
STATIC_ASSERT(NVSHMEM_SIGNAL_SET == 9 && NVSHMEM_SIGNAL_ADD == 10);
STATIC_ASSERT(ISHMEM_SIGNAL_SET == 0 && ISHMEM_SIGNAL_ADD == 1);
STATIC_ASSERT(NVSHMEM_TEAM_INVALID == -1 && NVSHMEM_TEAM_WORLD == 0 && NVSHMEM_TEAM_SHARED == 1);
STATIC_ASSERT(NVSHMEMX_TEAM_NODE == 2 && NVSHMEMX_TEAM_SAME_MYPE_NODE == 3);
STATIC_ASSERT(ISHMEM_TEAM_INVALID == -1 && ISHMEM_TEAM_WORLD == 0 && ISHMEM_TEAM_SHARED == 1);

enum { N_CMP = 6 };

/* In one order: EQ NE GT GE LT LE. */
static const int shmem_cmp[N_CMP] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT,
                                     SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};
static const int nvshmem_cmp[N_CMP] = {NVSHMEM_CMP_EQ, NVSHMEM_CMP_NE, NVSHMEM_CMP_GT,
                                       NVSHMEM_CMP_GE, NVSHMEM_CMP_LT, NVSHMEM_CMP_LE};
static const int ishmem_cmp[N_CMP] = {ISHMEM_CMP_EQ, ISHMEM_CMP_NE, ISHMEM_CMP_GT,
                                      ISHMEM_CMP_GE, ISHMEM_CMP_LT, ISHMEM_CMP_LE};
/* Of the variable, 5, with 4, 5 and 6. */
static const int expected[N_CMP][3] = {{0, 1, 0}, {1, 0, 1}, {1, 0, 0}, {1, 1, 0}, {0, 0, 1}, {0, 1, 1}};

static long variable;
static uint64_t signal_word;

static void check_comparisons(void)
{
    variable = 5;
    for (int cmp = 0; cmp < N_CMP; cmp++) {
        for (int i = 0; i < 3; i++) {
            long value = 4 + i;
            CHECK_EQ(shmem_long_test(&variable, shmem_cmp[cmp], value), expected[cmp][i]);
            CHECK_EQ(ishmem_long_test(&variable, ishmem_cmp[cmp], value), expected[cmp][i]);
            if (!expected[cmp][i]) continue;
            nvshmemx_long_wait_until_on_stream(&variable, nvshmem_cmp[cmp], value, NULL);
            ishmem_long_wait_until(&variable, ishmem_cmp[cmp], value);
        }
    }
}

static void check_signals(void)
{
    shmem_barrier_all();
    nvshmemx_signal_op(&signal_word, 40, NVSHMEM_SIGNAL_SET, pe.right);
    nvshmemx_signal_op_on_stream(&signal_word, 2, NVSHMEM_SIGNAL_ADD, pe.right, NULL);
    nvshmem_barrier_all();
    CHECK_EQ(nvshmem_signal_fetch(&signal_word), 42);
    shmem_barrier_all();
    ishmem_putmem_signal(NULL, NULL, 0, &signal_word, 10, ISHMEM_SIGNAL_SET, pe.right);
    ishmem_putmem_signal(NULL, NULL, 0, &signal_word, 1, ISHMEM_SIGNAL_ADD, pe.right);
    ishmem_barrier_all();
    CHECK_EQ(ishmem_signal_wait_until(&signal_word, ISHMEM_CMP_GE, 11), 11);
    shmem_barrier_all();
    nvshmemx_putmem_signal_on_stream(NULL, NULL, 0, &signal_word, 7, NVSHMEM_SIGNAL_SET, pe.right, NULL);
    nvshmemx_barrier_all_on_stream(NULL);
    CHECK_EQ(shmem_signal_fetch(&signal_word), 7);
}

int main(void)
{
    pe_begin();
    check_comparisons();
    check_signals();
    return pe_end();
}
