/* tools/isthmus-perf/options.h: the command line. */
#ifndef ISTHMUS_PERF_OPTIONS_H
#define ISTHMUS_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_SIZES = 64, MAX_REPEAT = 1001, REFUSAL_BYTES = 256 };

enum memory { MEMORY_HOST, MEMORY_DEVICE, MEMORY_MIXED, N_MEMORIES };

/* In one line that is written again and again, or a line for each operation. */
enum progress { PROGRESS_PLACE, PROGRESS_LINES, PROGRESS_NONE, N_PROGRESS };

struct options {
    uint64_t operations; /* a bit for each of operations[] */
    enum memory memory;
    uint64_t sizes[MAX_SIZES];
    int n_sizes;
    int from, to; /* the pair */
    bool is_all_pairs;
    double seconds;                                  /* for each figure */
    int repeat;                                      /* batches for each figure, at most */
    const char *json, *svg, *compare, *compare_with; /* files; NULL: none */
    enum progress progress;
    bool help, version;
    char refusal[REFUSAL_BYTES]; /* why the command line is refused; "": it is not */
};

extern const char *const memory_names[N_MEMORIES];

/* Prints nothing: all PEs parse, and one of them reports. */
void options_parse(int argc, char **argv, struct options *out);

/* Sets options->refusal, unless it is set already. */
void options_refuse(struct options *options, const char *format, ...) __attribute__((format(printf, 2, 3)));

void options_print_help(void);

/* Reads "64K", "8", "2MiB". Returns false if the text up to `end` is no size. */
bool options_read_size(const char *text, const char *end, uint64_t *out);

/* "64 KiB"; borrowed until the next call but three. */
const char *size_text(uint64_t bytes);

#endif
