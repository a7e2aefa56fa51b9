/* tools/isthmus-perf/command_line.c: see options.h. */
#include "tools/isthmus-perf/operations.h"
#include "tools/isthmus-perf/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_MIN = 8, REPEAT_DEFAULT = 25 };
static const uint64_t size_max = UINT64_C(1) << 30;
static const double seconds_default = 0.2, seconds_max = 3600;

const char *const memory_names[N_MEMORIES] = {"host", "device", "mixed"};

void options_refuse(struct options *options, const char *format, ...)
{
    va_list args;
    if (options->refusal[0] != '\0') return;
    va_start(args, format);
    vsnprintf(options->refusal, sizeof options->refusal, format, args);
    va_end(args);
}

/* ---- numbers and lists ---- */

bool options_read_size(const char *text, const char *end, uint64_t *out)
{
    static const char units[] = "kmg";
    char *rest;
    if (*text < '0' || *text > '9') return false;
    uint64_t value = strtoull(text, &rest, 10);
    const char *unit = rest < end && *rest != '\0' ? strchr(units, *rest | 0x20) : NULL;
    if (unit != NULL) {
        unsigned shift = 10 * (unsigned)(unit - units + 1);
        if (value > UINT64_MAX >> shift) return false;
        value <<= shift;
        rest++;
        if (end - rest >= 2 && strncmp(rest, "iB", 2) == 0) rest += 2;
    }
    *out = value;
    return rest == end;
}

static void add_size(struct options *options, uint64_t bytes, const char *text)
{
    if (bytes < SIZE_MIN || bytes > size_max || bytes % SIZE_MIN != 0)
        options_refuse(options, "--sizes is '%.60s'; accepted: multiples of 8 bytes from 8 to 1G, as 8,4K,1M or 8-64M",
                       text);
    else if (options->n_sizes == MAX_SIZES)
        options_refuse(options, "--sizes has more than %d sizes; list fewer", MAX_SIZES);
    else
        options->sizes[options->n_sizes++] = bytes;
}

/* From the first to the last by factors of 8, and the last. */
static void add_range(struct options *options, uint64_t first, uint64_t last, const char *text)
{
    enum { FACTOR = 8 };
    if (first == 0 || first > last) return add_size(options, 0, text);
    for (; first < last && options->refusal[0] == '\0'; first *= FACTOR) add_size(options, first, text);
    add_size(options, last, text);
}

static void read_sizes(struct options *options, const char *text)
{
    options->n_sizes = 0;
    for (const char *at = text;; at++) {
        const char *end = at + strcspn(at, ","), *dash = memchr(at, '-', (size_t)(end - at));
        uint64_t first = 0, last = 0;
        if (dash != NULL && options_read_size(at, dash, &first) && options_read_size(dash + 1, end, &last))
            add_range(options, first, last, text);
        else
            add_size(options, dash == NULL && options_read_size(at, end, &first) ? first : 0, text);
        if (*end == '\0') return;
        at = end;
    }
}

static uint64_t bits_of(const char *name, size_t length)
{
    static const struct {
        const char *name, *members[12];
    } groups[] = {
        {"amo", {"fetch_add", "add", "compare_swap"}},
        {"collectives",
         {"broadcast", "collect", "fcollect", "alltoall", "alltoalls", "sum_reduce", "sum_inscan", "sum_exscan",
          "sum_reducescatter"}},
        {"on_stream",
         {"put_on_stream", "get_on_stream", "put_signal_on_stream", "barrier_on_stream", "sync_on_stream",
          "broadcast_on_stream", "fcollect_on_stream", "alltoall_on_stream", "sum_reduce_on_stream",
          "sum_reducescatter_on_stream"}},
    };
    uint64_t bits = 0;
    if (length == 3 && strncmp(name, "all", length) == 0) return UINT64_MAX >> (64 - n_operations);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strlen(groups[i].name) == length && strncmp(groups[i].name, name, length) == 0)
            for (const char *const *member = groups[i].members; *member != NULL; member++)
                bits |= UINT64_C(1) << operation_find(*member, strlen(*member));
    int operation = operation_find(name, length);
    return operation >= 0 ? UINT64_C(1) << operation : bits;
}

static void read_operations(struct options *options, const char *text)
{
    options->operations = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        uint64_t bits = bits_of(at, length);
        if (bits == 0)
            options_refuse(options, "--ops has '%.*s'; isthmus-perf --help lists the operations", (int)(length & 0x3f),
                           at);
        options->operations |= bits;
        at += length;
        if (*at == '\0') return;
    }
}

static void read_pes(struct options *options, const char *text)
{
    int used = 0;
    options->is_all_pairs = strcmp(text, "all") == 0;
    if (options->is_all_pairs) return;
    if (sscanf(text, "%d,%d%n", &options->from, &options->to, &used) != 2 || text[used] != '\0' || options->from < 0 ||
        options->to < 0)
        options_refuse(options, "--pes is '%.60s'; accepted: two PE numbers, as 0,3, or all", text);
}

static void read_memory(struct options *options, const char *text)
{
    for (int i = 0; i < N_MEMORIES; i++) {
        options->memory = (enum memory)i;
        if (strcmp(text, memory_names[i]) == 0) return;
    }
    options_refuse(options, "--memory is '%.60s'; accepted: host, device, mixed", text);
}

static void read_progress(struct options *options, const char *text)
{
    static const char *const names[N_PROGRESS] = {"place", "lines", "none"};
    for (int i = 0; i < N_PROGRESS; i++) {
        options->progress = (enum progress)i;
        if (strcmp(text, names[i]) == 0) return;
    }
    options_refuse(options, "--progress is '%.60s'; accepted: place, lines, none", text);
}

static void read_seconds(struct options *options, const char *text)
{
    char *end;
    options->seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(options->seconds > 0 && options->seconds <= seconds_max))
        options_refuse(options, "--seconds is '%.60s'; accepted: more than 0, up to %g", text, seconds_max);
}

static void read_repeat(struct options *options, const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > MAX_REPEAT)
        options_refuse(options, "--repeat is '%.60s'; accepted: 1 to %d", text, MAX_REPEAT);
    else
        options->repeat = (int)value;
}

static void read_json(struct options *options, const char *text) { options->json = text; }
static void read_svg(struct options *options, const char *text) { options->svg = text; }

/* ---- the options ---- */

static const struct option {
    const char *name, *value, *help;
    void (*read)(struct options *, const char *);
} table[] = {
    {"--ops", "LIST", "the operations, below; amo, collectives, on_stream and all are groups (all)", read_operations},
    {"--memory", "KIND", "host; device: both sides in a GPU's memory; mixed: this side on the host (host)",
     read_memory},
    {"--sizes", "LIST", "as 8,4K,1M, or 8-64M in steps of 8 (8-64M)", read_sizes},
    {"--pes", "A,B", "between these two PEs; all: between all pairs, as a matrix (0,1)", read_pes},
    {"--seconds", "S", "time for each figure (0.2)", read_seconds},
    {"--repeat", "N", "batches for each figure, at most (25)", read_repeat},
    {"--json", "FILE", "write the figures as JSON", read_json},
    {"--svg", "FILE", "write a picture of the figures that depend on a size", read_svg},
    {"--progress", "HOW", "place: in one line of a terminal; lines; none", read_progress},
};
enum { N_OPTIONS = sizeof table / sizeof *table };

/* Returns the number of arguments that were used. */
static int parse_one(struct options *options, int n, char **args)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        size_t length = strlen(table[i].name);
        if (strncmp(args[0], table[i].name, length) != 0) continue;
        if (args[0][length] == '=') return table[i].read(options, args[0] + length + 1), 1;
        if (args[0][length] != '\0') continue;
        if (n < 2)
            options_refuse(options, "%s needs a value: %s", table[i].name, table[i].value);
        else
            table[i].read(options, args[1]);
        return 2;
    }
    if (strcmp(args[0], "--compare") == 0) {
        if (n < 3) options_refuse(options, "--compare needs two files that --json has written");
        options->compare = n < 3 ? NULL : args[1];
        options->compare_with = n < 3 ? NULL : args[2];
        return 3;
    }
    if (strcmp(args[0], "--help") == 0 || strcmp(args[0], "-h") == 0)
        options->help = true;
    else if (strcmp(args[0], "--version") == 0)
        options->version = true;
    else
        options_refuse(options, "unknown argument '%.60s'; isthmus-perf --help lists the options", args[0]);
    return 1;
}

void options_parse(int argc, char **argv, struct options *out)
{
    *out = (struct options){.to = 1, .seconds = seconds_default, .repeat = REPEAT_DEFAULT};
    out->progress = isatty(STDERR_FILENO) ? PROGRESS_PLACE : PROGRESS_LINES;
    read_operations(out, "all");
    read_sizes(out, "8-64M");
    for (int i = 1; i < argc;) i += parse_one(out, argc - i, argv + i);
    if (out->from == out->to && !out->is_all_pairs)
        options_refuse(out, "--pes names PE %d twice; name two PEs", out->from);
}

void options_print_help(void)
{
    printf("Usage: isthmus-run -n 2 isthmus-perf [OPTION]...\n"
           "       isthmus-perf --compare A.json B.json\n"
           "How fast puts, gets, atomics and collectives are here, each beside the limit that the machine\n"
           "showed in the same run, and what keeps it from that limit. Started without a launcher, it starts\n"
           "itself with two PEs under isthmus-run.\n\n");
    for (size_t i = 0; i < N_OPTIONS; i++) {
        char option[32];
        snprintf(option, sizeof option, "%s %s", table[i].name, table[i].value);
        printf("  %-16s  %s\n", option, table[i].help);
    }
    printf("  %-16s  print two runs side by side; status 1 if a figure of B is slower by more\n"
           "  %-16s  than the spread\n",
           "--compare A B", "");
    printf("  %-16s  print this\n  %-16s  print the version\n\nOperations\n", "--help", "--version");
    for (int i = 0; i < n_operations; i++) printf("  %-27s %s\n", operations[i].name, operations[i].summary);
    printf("\nStatus: 0; 1 if a figure or a file could not be made; 2 for a wrong option.\n");
}

const char *size_text(uint64_t bytes)
{
    static char texts[4][24];
    static unsigned turn;
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    char *text = texts[turn++ % 4];
    size_t unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, sizeof texts[0], "%llu %s", (unsigned long long)bytes, units[unit]);
    return text;
}
