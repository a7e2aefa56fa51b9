/* core/api/constants.c: the cold halves of constants.h, and proof that its arithmetic fits the public headers. */
#include "core/api/constants.h"

#include "core/api/public.h"
#include "core/base/fatal.h"

#define SAME(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #theirs)
SAME(SHMEM_CMP_EQ, IST_CMP_EQ);
SAME(SHMEM_CMP_NE, IST_CMP_NE);
SAME(SHMEM_CMP_GT, IST_CMP_GT);
SAME(SHMEM_CMP_GE, IST_CMP_GE);
SAME(SHMEM_CMP_LT, IST_CMP_LT);
SAME(SHMEM_CMP_LE, IST_CMP_LE);
SAME(SHMEM_SIGNAL_SET, IST_SIGNAL_SET);
SAME(SHMEM_SIGNAL_ADD, IST_SIGNAL_ADD);
SAME(NVSHMEM_CMP_EQ, 0);
SAME(NVSHMEM_CMP_NE, 1);
SAME(NVSHMEM_CMP_GT, 2);
SAME(NVSHMEM_CMP_LE, 3);
SAME(NVSHMEM_CMP_LT, 4);
SAME(NVSHMEM_CMP_GE, 5);
SAME(NVSHMEM_SIGNAL_SET, IST_SIGNAL_SET + 9);
SAME(NVSHMEM_SIGNAL_ADD, IST_SIGNAL_ADD + 9);
SAME(ISHMEM_CMP_EQ, IST_CMP_EQ + 1);
SAME(ISHMEM_CMP_NE, IST_CMP_NE + 1);
SAME(ISHMEM_CMP_GT, IST_CMP_GT + 1);
SAME(ISHMEM_CMP_GE, IST_CMP_GE + 1);
SAME(ISHMEM_CMP_LT, IST_CMP_LT + 1);
SAME(ISHMEM_CMP_LE, IST_CMP_LE + 1);
SAME(ISHMEM_SIGNAL_SET, IST_SIGNAL_SET);
SAME(ISHMEM_SIGNAL_ADD, IST_SIGNAL_ADD);
SAME(ROCSHMEM_CMP_EQ, IST_CMP_EQ);
SAME(ROCSHMEM_CMP_NE, IST_CMP_NE);
SAME(ROCSHMEM_CMP_GT, IST_CMP_GT);
SAME(ROCSHMEM_CMP_GE, IST_CMP_GE);
SAME(ROCSHMEM_CMP_LT, IST_CMP_LT);
SAME(ROCSHMEM_CMP_LE, IST_CMP_LE);
SAME(ROCSHMEM_SIGNAL_SET, IST_SIGNAL_SET);
SAME(ROCSHMEM_SIGNAL_ADD, IST_SIGNAL_ADD);

void ist_report_nvshmem_cmp(int cmp, const char *routine)
{
    ist_misuse(routine, "cmp is %d; valid: NVSHMEM_CMP_EQ (%d) to NVSHMEM_CMP_GE (%d)", cmp, NVSHMEM_CMP_EQ,
               NVSHMEM_CMP_GE);
}

void ist_report_nvshmem_signal(int sig_op, const char *routine)
{
    ist_misuse(routine, "sig_op is %d; valid: NVSHMEM_SIGNAL_SET (%d) and NVSHMEM_SIGNAL_ADD (%d)", sig_op,
               NVSHMEM_SIGNAL_SET, NVSHMEM_SIGNAL_ADD);
}

void ist_report_ishmem_cmp(int cmp, const char *routine)
{
    ist_misuse(routine, "cmp is %d; valid: ISHMEM_CMP_EQ (%d) to ISHMEM_CMP_LE (%d)", cmp, ISHMEM_CMP_EQ,
               ISHMEM_CMP_LE);
}

void ist_report_ishmem_signal(int sig_op, const char *routine)
{
    ist_misuse(routine, "sig_op is %d; valid: ISHMEM_SIGNAL_SET (%d) and ISHMEM_SIGNAL_ADD (%d)", sig_op,
               ISHMEM_SIGNAL_SET, ISHMEM_SIGNAL_ADD);
}

void ist_report_rocshmem_cmp(int cmp, const char *routine)
{
    ist_misuse(routine, "cmp is %d; valid: ROCSHMEM_CMP_EQ (%d) to ROCSHMEM_CMP_LE (%d)", cmp, ROCSHMEM_CMP_EQ,
               ROCSHMEM_CMP_LE);
}

void ist_report_rocshmem_signal(int sig_op, const char *routine)
{
    ist_misuse(routine, "sig_op is %d; valid: ROCSHMEM_SIGNAL_SET (%d) and ROCSHMEM_SIGNAL_ADD (%d)", sig_op,
               ROCSHMEM_SIGNAL_SET, ROCSHMEM_SIGNAL_ADD);
}
