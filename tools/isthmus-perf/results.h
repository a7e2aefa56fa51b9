/* tools/isthmus-perf/results.h: the figures of a run, as they are printed, written and read. */
#ifndef ISTHMUS_PERF_RESULTS_H
#define ISTHMUS_PERF_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { NAME_BYTES = 32, VERDICT_BYTES = 320, HOST_BYTES = 64 };

/* Of several batches: nanoseconds for one operation, or of what it is compared with. */
struct figure {
    double median_ns, low_ns, high_ns; /* four fifths of the batches lie between low and high; all 0: not measured */
};

struct result {
    char operation[NAME_BYTES], memory[NAME_BYTES], transport[NAME_BYTES];
    int from, to;        /* to -1: of all PEs */
    uint64_t size_bytes; /* 0: it has none */
    struct figure call, limit;
    char limit_name[NAME_BYTES];
    char verdict[VERDICT_BYTES];
};

struct results {
    struct result *list;
    size_t n;
    int n_pes;
    char host[HOST_BYTES], version[NAME_BYTES];
    char double_name[NAME_BYTES]; /* of a library that stands for hardware; "": none does */
};

/* The columns that names of operations take in a table. */
int results_name_width(const struct results *results);

/* Copies the result to the end of the list. Returns false if there is no memory. */
bool results_add(struct results *results, const struct result *result);
void results_free(struct results *results);

/* Sorts the values. */
struct figure figure_of(double *values_ns, int n);

/* "12.3 us"; borrowed until the next call but three. */
const char *time_text(double ns);

/* "5.4 GB/s" for an operation on this many bytes; the same. */
const char *speed_text(uint64_t bytes, double ns);

/* The table, in 100 columns; without `has_pairs` of what all PEs do together only. */
void print_table(const struct results *results, bool has_pairs);

/* A matrix of medians for each operation and size between pairs; rows are PEs that call, columns their peers. */
void print_matrices(const struct results *results);

/* As JSON, and back. The path is for messages. Returns false after a message. */
void results_write(FILE *out, const struct results *results);
bool results_read(const char *path, struct results *out);

/* A picture of the figures that depend on a size: a curve for each operation and pair, dashed for its limit. */
void results_draw(FILE *out, const struct results *results);

/* Prints both runs side by side. Returns the exit status: 1 if a figure of the second is slower by more than
 * the spread, or if there is nothing to compare. */
int compare_files(const char *path, const char *path_of_second);

#endif
