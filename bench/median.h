/* The median of measured values. Not about how they are measured. Included by bench.h, and by bench_kernels.c, which is
 * compiled for other libraries too. */
#ifndef ISTHMUS_BENCH_MEDIAN_H
#define ISTHMUS_BENCH_MEDIAN_H

#include <stdlib.h>

static inline int bench_compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts the values. */
static inline double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, bench_compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

#endif
