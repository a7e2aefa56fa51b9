/* tools/isthmus-perf/json_read.c: reads what json_write.c writes, and skips members that it does not know. See
 * results.h. */
#include "tools/isthmus-perf/results.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 32, KEY_BYTES = 64 };

struct scan {
    const char *at;
    int depth;
    bool failed; /* the text is no JSON, or not of these types */
};

typedef void read_member(struct scan *scan, const char *key, void *into);

/* ---- JSON ---- */

static char peek(struct scan *scan)
{
    while (*scan->at != '\0' && strchr(" \t\r\n", *scan->at) != NULL) scan->at++;
    return *scan->at;
}

static bool take(struct scan *scan, char c)
{
    if (scan->failed || peek(scan) != c) return false;
    scan->at++;
    return true;
}

static void need(struct scan *scan, char c)
{
    if (!take(scan, c)) scan->failed = true;
}

/* Of \uXXXX only ASCII: no name needs more. */
static char unescape(struct scan *scan)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = *scan->at;
    const char *place = c != '\0' ? strchr(from, c) : NULL;
    if (c == 'u') {
        unsigned value;
        if (sscanf(scan->at + 1, "%4x", &value) == 1 && strnlen(scan->at, 5) == 5) {
            scan->at += 5;
            return value < 0x80 ? (char)value : '?';
        }
    }
    if (place == NULL) {
        scan->failed = true;
        return '?';
    }
    scan->at++;
    return to[place - from];
}

/* Cuts what is longer than the room. */
static void read_string(struct scan *scan, char *out, size_t room)
{
    size_t used = 0;
    for (need(scan, '"'); !scan->failed && *scan->at != '"';) {
        char c = *scan->at++;
        if (c == '\0')
            scan->failed = true;
        else if (c == '\\')
            c = unescape(scan);
        if (used + 1 < room) out[used++] = c;
    }
    if (!scan->failed) scan->at++;
    out[used] = '\0';
}

static double read_number(struct scan *scan)
{
    char *end;
    char first = peek(scan);
    double value = first == '-' || isdigit((unsigned char)first) ? strtod(scan->at, &end) : 0;
    if (first != '-' && !isdigit((unsigned char)first))
        scan->failed = true;
    else
        scan->at = end;
    return value;
}

static bool take_null(struct scan *scan)
{
    if (peek(scan) != 'n' || strncmp(scan->at, "null", 4) != 0) return false;
    scan->at += 4;
    return true;
}

static void read_object(struct scan *scan, read_member *member, void *into)
{
    char key[KEY_BYTES];
    if (scan->depth++ >= MOST_DEPTH) scan->failed = true;
    need(scan, '{');
    if (!take(scan, '}')) {
        do {
            (void)peek(scan);
            read_string(scan, key, sizeof key);
            need(scan, ':');
            if (!scan->failed) member(scan, key, into);
        } while (take(scan, ','));
        need(scan, '}');
    }
    scan->depth--;
}

/* Elements have no key. */
static void read_array(struct scan *scan, read_member *element, void *into)
{
    if (scan->depth++ >= MOST_DEPTH) scan->failed = true;
    need(scan, '[');
    if (!take(scan, ']')) {
        do
            if (!scan->failed) element(scan, NULL, into);
        while (take(scan, ','));
        need(scan, ']');
    }
    scan->depth--;
}

static void skip(struct scan *scan, const char *key, void *into)
{
    char text[2];
    (void)key, (void)into;
    char first = peek(scan);
    if (first == '{') return read_object(scan, skip, NULL);
    if (first == '[') return read_array(scan, skip, NULL);
    if (first == '"') return read_string(scan, text, sizeof text);
    if (strncmp(scan->at, "true", 4) == 0 || take_null(scan)) {
        scan->at += first == 't' ? 4 : 0;
        return;
    }
    if (strncmp(scan->at, "false", 5) == 0)
        scan->at += 5;
    else
        (void)read_number(scan);
}

/* ---- the results ---- */

static void read_name(struct scan *scan, char *out, size_t room)
{
    *out = '\0';
    if (!take_null(scan)) read_string(scan, out, room);
}

static void read_figure_member(struct scan *scan, const char *key, void *into)
{
    struct figure *figure = into;
    if (strcmp(key, "median_ns") == 0)
        figure->median_ns = read_number(scan);
    else if (strcmp(key, "low_ns") == 0)
        figure->low_ns = read_number(scan);
    else if (strcmp(key, "high_ns") == 0)
        figure->high_ns = read_number(scan);
    else
        skip(scan, key, NULL);
}

static void read_figure(struct scan *scan, struct figure *figure)
{
    if (take_null(scan)) return;
    read_object(scan, read_figure_member, figure);
    if (!(figure->median_ns > 0 && figure->low_ns > 0 && figure->high_ns >= figure->low_ns)) scan->failed = true;
}

static void read_result_member(struct scan *scan, const char *key, void *into)
{
    struct result *result = into;
    if (strcmp(key, "operation") == 0)
        read_name(scan, result->operation, sizeof result->operation);
    else if (strcmp(key, "memory") == 0)
        read_name(scan, result->memory, sizeof result->memory);
    else if (strcmp(key, "from") == 0)
        result->from = (int)read_number(scan);
    else if (strcmp(key, "to") == 0)
        result->to = (int)read_number(scan);
    else if (strcmp(key, "size_bytes") == 0)
        result->size_bytes = (uint64_t)read_number(scan);
    else if (strcmp(key, "call") == 0)
        read_figure(scan, &result->call);
    else if (strcmp(key, "limit") == 0)
        read_figure(scan, &result->limit);
    else
        skip(scan, key, NULL);
}

static void read_result(struct scan *scan, const char *key, void *into)
{
    struct result result = {.to = -1};
    (void)key;
    read_object(scan, read_result_member, &result);
    if (result.operation[0] == '\0' || result.call.median_ns <= 0) scan->failed = true;
    if (!scan->failed && !results_add(into, &result)) scan->failed = true;
}

static void read_results_member(struct scan *scan, const char *key, void *into)
{
    struct results *results = into;
    if (strcmp(key, "version") == 0)
        read_name(scan, results->version, sizeof results->version);
    else if (strcmp(key, "host") == 0)
        read_name(scan, results->host, sizeof results->host);
    else if (strcmp(key, "n_pes") == 0)
        results->n_pes = (int)read_number(scan);
    else if (strcmp(key, "results") == 0)
        read_array(scan, read_result, results);
    else
        skip(scan, key, NULL);
}

/* ---- the file ---- */

/* Returns the text, which the caller frees, or NULL with errno. */
static char *read_file(const char *path)
{
    char *text = NULL;
    size_t used = 0, room = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) return NULL;
    ssize_t length = getdelim(&text, &room, '\0', file); /* no JSON has a zero */
    used = length > 0 ? (size_t)length : 0;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (!failed && (used > 0 || text != NULL)) return text;
    free(text);
    return NULL;
}

bool results_read(const char *path, struct results *out)
{
    errno = 0;
    *out = (struct results){.list = NULL};
    char *text = read_file(path);
    if (text == NULL) {
        fprintf(stderr, "isthmus-perf: %s: %s\n", path, errno != 0 ? strerror(errno) : "the file is empty");
        return false;
    }
    struct scan scan = {.at = text};
    read_object(&scan, read_results_member, out);
    bool is_good = !scan.failed && peek(&scan) == '\0' && out->n > 0;
    if (!is_good)
        fprintf(stderr, "isthmus-perf: %s is not a file of isthmus-perf --json: it fails at byte %zu\n", path,
                (size_t)(scan.at - text));
    free(text);
    return is_good;
}
