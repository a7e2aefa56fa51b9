/* tools/isthmus-perf/results.c: see results.h: the list, and numbers as text. */
#include "tools/isthmus-perf/results.h"

#include <stdlib.h>
#include <string.h>

bool results_add(struct results *results, const struct result *result)
{
    if ((results->n & (results->n + 1)) == 0) { /* room for 1, 3, 7, ... */
        struct result *list = realloc(results->list, (2 * results->n + 1) * sizeof *list);
        if (list == NULL) return false;
        results->list = list;
    }
    results->list[results->n++] = *result;
    return true;
}

void results_free(struct results *results)
{
    free(results->list);
    *results = (struct results){.list = NULL};
}

int results_name_width(const struct results *results)
{
    enum { USUAL = 13 };
    int width = USUAL;
    for (size_t i = 0; i < results->n; i++) {
        int length = (int)strlen(results->list[i].operation);
        if (length > width) width = length;
    }
    return width;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double at_share(const double *sorted, int n, double share)
{
    double place = share * (n - 1);
    int below = (int)place;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

struct figure figure_of(double *values_ns, int n)
{
    qsort(values_ns, (size_t)n, sizeof *values_ns, compare_doubles);
    return (struct figure){at_share(values_ns, n, 0.5), at_share(values_ns, n, 0.1), at_share(values_ns, n, 0.9)};
}

static const char *number_text(double value, const char *const *units, double factor)
{
    static char texts[4][24];
    static unsigned turn;
    char *text = texts[turn++ % 4];
    while (value >= factor && units[1] != NULL) {
        value /= factor;
        units++;
    }
    snprintf(text, sizeof texts[0], "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[0]);
    return text;
}

const char *time_text(double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    return number_text(ns, units, 1000);
}

const char *speed_text(uint64_t bytes, double ns)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", NULL};
    return number_text(ns > 0 ? 1e9 * (double)bytes / ns : 0, units, 1000);
}
