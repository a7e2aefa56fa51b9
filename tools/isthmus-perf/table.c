/* tools/isthmus-perf/table.c: the figures as tables of at most 100 columns. See results.h. */
#include "tools/isthmus-perf/options.h"
#include "tools/isthmus-perf/results.h"

#include <string.h>

enum { COLUMNS = 100, NUMBERS = 48 /* columns between a name and its verdict */ };

/* Sentences in lines, each but the first indented to the column. */
static void print_filled(int column, const char *text)
{
    int at = column;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (at > column && at + 1 + (int)length > COLUMNS) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", (int)length, text);
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

static const char *pes_text(const struct result *result, char *out, size_t room)
{
    if (result->to < 0)
        snprintf(out, room, "all");
    else
        snprintf(out, room, "%d-%d", result->from, result->to);
    return out;
}

static void print_row(const struct result *result, int name_width)
{
    char pes[24], spread[16], limit[24] = "-", speed[24] = "-";
    const struct figure *call = &result->call;
    snprintf(spread, sizeof spread, "%.0f%%", 100 * (call->high_ns - call->low_ns) / call->median_ns);
    if (result->limit.median_ns > 0) snprintf(limit, sizeof limit, "%s", time_text(result->limit.median_ns));
    if (result->size_bytes > 0) snprintf(speed, sizeof speed, "%s", speed_text(result->size_bytes, call->median_ns));
    printf("%-*s %-7s %-5s %8s %4s %9s %8s ", name_width, result->operation,
           result->size_bytes > 0 ? size_text(result->size_bytes) : "", pes_text(result, pes, sizeof pes),
           time_text(call->median_ns), spread, speed, limit);
    print_filled(name_width + NUMBERS, result->verdict);
}

void print_table(const struct results *results, bool has_pairs)
{
    int name_width = results_name_width(results);
    printf("%-*s %-7s %-5s %8s %4s %9s %8s %s\n", name_width, "operation", "size", "PEs", "median", "+-", "speed",
           "limit", "verdict");
    for (size_t i = 0; i < results->n; i++)
        if (has_pairs || results->list[i].to < 0) print_row(&results->list[i], name_width);
}

/* ---- all pairs ---- */

static bool is_of_one_matrix(const struct result *a, const struct result *b)
{
    return strcmp(a->operation, b->operation) == 0 && a->size_bytes == b->size_bytes && b->to >= 0;
}

static const struct result *find_pair(const struct results *results, const struct result *like, int from, int to)
{
    for (size_t i = 0; i < results->n; i++) {
        const struct result *result = &results->list[i];
        if (is_of_one_matrix(like, result) && result->from == from && result->to == to) return result;
    }
    return NULL;
}

static void print_matrix(const struct results *results, const struct result *first)
{
    printf("%8s", "");
    for (int to = 0; to < results->n_pes; to++) printf(" %8d", to);
    putchar('\n');
    for (int from = 0; from < results->n_pes; from++) {
        printf("%8d", from);
        for (int to = 0; to < results->n_pes; to++) {
            const struct result *result = find_pair(results, first, from, to);
            printf(" %8s", result != NULL ? time_text(result->call.median_ns) : "-");
        }
        putchar('\n');
    }
}

static double share_of_limit(const struct result *result) { return result->limit.median_ns / result->call.median_ns; }

/* The slowest pair, and the one that is furthest below its limit. Every pair is in the file of --json. */
static void print_worst(const struct results *results, const struct result *first)
{
    const struct result *fastest = first, *slowest = first, *worst = NULL;
    for (size_t i = 0; i < results->n; i++) {
        const struct result *result = &results->list[i];
        if (!is_of_one_matrix(first, result)) continue;
        if (result->call.median_ns < fastest->call.median_ns) fastest = result;
        if (result->call.median_ns > slowest->call.median_ns) slowest = result;
        if (result->limit.median_ns > 0 && (worst == NULL || share_of_limit(result) < share_of_limit(worst)))
            worst = result;
    }
    printf("  fastest: PE %d to %d, %s; slowest: PE %d to %d, %s\n", fastest->from, fastest->to,
           time_text(fastest->call.median_ns), slowest->from, slowest->to, time_text(slowest->call.median_ns));
    const struct result *shown = worst != NULL ? worst : slowest;
    print_filled(printf("  PE %d to %d: ", shown->from, shown->to), shown->verdict);
}

void print_matrices(const struct results *results)
{
    enum { MOST_PES = (COLUMNS - 8) / 9 };
    for (size_t i = 0; i < results->n; i++) {
        const struct result *first = &results->list[i];
        bool is_first = first->to >= 0;
        for (size_t j = 0; j < i && is_first; j++) is_first = !is_of_one_matrix(first, &results->list[j]);
        if (!is_first) continue;
        printf("\n%s%s%s\n", first->operation, first->size_bytes > 0 ? " of " : "",
               first->size_bytes > 0 ? size_text(first->size_bytes) : "");
        if (results->n_pes <= MOST_PES) print_matrix(results, first);
        print_worst(results, first);
    }
}
