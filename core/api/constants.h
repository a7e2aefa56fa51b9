/* core/api/constants.h: comparisons and signal operations of the faces as the library has them. Those of shmem.h
 * are ours. Any other value ends the job with a message. */
#ifndef IST_API_CONSTANTS_H
#define IST_API_CONSTANTS_H

#include "core/ops/amo.h"
#include "core/sync/wait.h"

void ist_report_nvshmem_cmp(int cmp, const char *routine) IST_COLD;
void ist_report_nvshmem_signal(int sig_op, const char *routine) IST_COLD;
void ist_report_ishmem_cmp(int cmp, const char *routine) IST_COLD;
void ist_report_ishmem_signal(int sig_op, const char *routine) IST_COLD;
void ist_report_rocshmem_cmp(int cmp, const char *routine) IST_COLD;
void ist_report_rocshmem_signal(int sig_op, const char *routine) IST_COLD;

/* NVSHMEM_CMP_EQ NE GT LE LT GE are 0 to 5. */
static inline int ist_cmp_of_nvshmem(int cmp, const char *routine)
{
    static const unsigned char ours[] = {IST_CMP_EQ, IST_CMP_NE, IST_CMP_GT, IST_CMP_LE, IST_CMP_LT, IST_CMP_GE};
    if (IST_UNLIKELY((unsigned)cmp >= sizeof ours)) ist_report_nvshmem_cmp(cmp, routine);
    return ours[cmp];
}

/* ISHMEM_CMP_EQ NE GT GE LT LE are 1 to 6: ours, counted from 1. */
static inline int ist_cmp_of_ishmem(int cmp, const char *routine)
{
    if (IST_UNLIKELY((unsigned)cmp - 1 >= IST_CMP_COUNT)) ist_report_ishmem_cmp(cmp, routine);
    return cmp - 1;
}

/* NVSHMEM_SIGNAL_SET and _ADD are 9 and 10. */
static inline int ist_sig_op_of_nvshmem(int sig_op, const char *routine)
{
    if (IST_UNLIKELY((unsigned)sig_op - 9 > 1)) ist_report_nvshmem_signal(sig_op, routine);
    return sig_op - 9 + IST_SIGNAL_SET;
}

/* ISHMEM_SIGNAL_SET and _ADD are 0 and 1, as ours. */
static inline int ist_sig_op_of_ishmem(int sig_op, const char *routine)
{
    if (IST_UNLIKELY((unsigned)sig_op > 1)) ist_report_ishmem_signal(sig_op, routine);
    return sig_op;
}

/* ROCSHMEM_CMP_ and ROCSHMEM_SIGNAL_ are ours. */
static inline int ist_cmp_of_rocshmem(int cmp, const char *routine)
{
    if (IST_UNLIKELY((unsigned)cmp >= IST_CMP_COUNT)) ist_report_rocshmem_cmp(cmp, routine);
    return cmp;
}

static inline int ist_sig_op_of_rocshmem(int sig_op, const char *routine)
{
    if (IST_UNLIKELY((unsigned)sig_op > 1)) ist_report_rocshmem_signal(sig_op, routine);
    return sig_op;
}

#endif
