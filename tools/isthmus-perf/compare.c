/* tools/isthmus-perf/compare.c: two runs side by side. See results.h. */
#include "tools/isthmus-perf/options.h"
#include "tools/isthmus-perf/results.h"

#include <string.h>

struct counts {
    int n_same, n_faster, n_slower, n_only_first, n_only_second;
};

static bool is_same_row(const struct result *a, const struct result *b)
{
    return strcmp(a->operation, b->operation) == 0 && strcmp(a->memory, b->memory) == 0 && a->from == b->from &&
           a->to == b->to && a->size_bytes == b->size_bytes;
}

static const struct result *find(const struct results *results, const struct result *like)
{
    for (size_t i = 0; i < results->n; i++)
        if (is_same_row(&results->list[i], like)) return &results->list[i];
    return NULL;
}

/* A difference counts if the ranges, in each of which four fifths of the batches lie, do not overlap. */
static const char *judge(const struct figure *a, const struct figure *b, struct counts *counts)
{
    if (b->low_ns > a->high_ns) return counts->n_slower++, "slower";
    if (b->high_ns < a->low_ns) return counts->n_faster++, "faster";
    return counts->n_same++, "within the spread";
}

static void print_figure(const struct figure *figure)
{
    char range[24];
    snprintf(range, sizeof range, "%.0f%%", 100 * (figure->high_ns - figure->low_ns) / figure->median_ns);
    printf(" %9s %5s", time_text(figure->median_ns), range);
}

static void print_pair(const struct result *a, const struct result *b, int name_width, struct counts *counts)
{
    char pes[24] = "all";
    if (a->to >= 0) snprintf(pes, sizeof pes, "%d-%d", a->from, a->to);
    printf("%-*s %-7s %-5s", name_width, a->operation, a->size_bytes > 0 ? size_text(a->size_bytes) : "", pes);
    print_figure(&a->call);
    print_figure(&b->call);
    printf(" %7.2f  %s\n", b->call.median_ns / a->call.median_ns, judge(&a->call, &b->call, counts));
}

static void print_head(const char *name, const char *path, const struct results *results)
{
    printf("%s: %s: isthmus-perf %s, %d PEs, PE 0 on %s\n", name, path, results->version, results->n_pes,
           results->host);
}

static void print_all(const struct results *a, const struct results *b, struct counts *counts)
{
    int name_width = results_name_width(a);
    printf("\n%-*s %-7s %-5s %9s %5s %9s %5s %7s  %s\n", name_width, "operation", "size", "PEs", "A", "+-", "B", "+-",
           "B/A", "B is");
    for (size_t i = 0; i < a->n; i++) {
        const struct result *other = find(b, &a->list[i]);
        if (other != NULL)
            print_pair(&a->list[i], other, name_width, counts);
        else
            counts->n_only_first++;
    }
    for (size_t i = 0; i < b->n; i++) counts->n_only_second += find(a, &b->list[i]) == NULL;
    printf("\n%d faster, %d slower, %d within the spread; %d only in A, %d only in B\n", counts->n_faster,
           counts->n_slower, counts->n_same, counts->n_only_first, counts->n_only_second);
    if (a->n_pes != b->n_pes) printf("The jobs differ in size: figures of all PEs are not of the same work.\n");
}

static int compare(const char *path, const struct results *a, const char *path_of_second, const struct results *b)
{
    struct counts counts = {0};
    print_head("A", path, a);
    print_head("B", path_of_second, b);
    print_all(a, b, &counts);
    if (counts.n_faster + counts.n_slower + counts.n_same > 0) return counts.n_slower > 0;
    fprintf(stderr, "isthmus-perf: %s and %s have no figure in common\n", path, path_of_second);
    return 1;
}

int compare_files(const char *path, const char *path_of_second)
{
    struct results a, b = {.list = NULL};
    bool is_read = results_read(path, &a) && results_read(path_of_second, &b);
    int status = is_read ? compare(path, &a, path_of_second, &b) : 1;
    results_free(&a);
    results_free(&b);
    return status;
}
