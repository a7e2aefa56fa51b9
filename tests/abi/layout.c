/* tests/abi/layout.c: layout TABLE.tsv: are fields and constants of the ABIs still where the committed table has them?
 * Lines of the table: "field STRUCT.NAME OFFSET SIZE" and "value NAME NUMBER", with tabs. Adding is allowed, at the end
 * of a struct; anything else that differs breaks programs that are already built. layout --print writes this compiler's
 * values, for new lines of the table. Rows: rows.def. */
#include <isthmus/inline.h>
#include <isthmus/transport.h>
#include <shmem.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *owner, *name; /* owner NULL: a constant; name NULL: the end of the struct */
    int64_t at, size;         /* of a field; of a constant: its value, 0 */
    int64_t align;
};

static const struct row rows[] = {
#define FIELD(s, f)                                                               \
    {#s, #f, (int64_t)offsetof(struct s, f), (int64_t)sizeof(((struct s *)0)->f), \
     (int64_t) _Alignof(__typeof__(((struct s *)0)->f))},
#define LAST(s) {#s, NULL, (int64_t)sizeof(struct s), 0, (int64_t) _Alignof(struct s)},
#define VALUE(v) {NULL, #v, (int64_t)(v), 0, 0},
#include "rows.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int faults;

static void print_row(const struct row *row, char *out, size_t room)
{
    if (row->owner == NULL)
        snprintf(out, room, "value\t%s\t%" PRId64, row->name, row->at);
    else
        snprintf(out, room, "field\t%s.%s\t%" PRId64 "\t%" PRId64, row->owner, row->name, row->at, row->size);
}

/* Every byte of a struct belongs to a field that has a row, or to padding. */
static void check_coverage(void)
{
    int64_t end = 0;
    for (int i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];
        if (row->owner == NULL) continue;
        int64_t next = (end + row->align - 1) / row->align * row->align;
        if (row->at != next) {
            printf("struct %s: bytes %" PRId64 " to %" PRId64 " have no row in rows.def\n", row->owner, end,
                   row->at - 1);
            faults++;
        }
        end = row->name == NULL ? 0 : row->at + row->size;
    }
}

static bool has_line(char *const *lines, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(lines[i], text) == 0) return true;
    return false;
}

static bool is_row(const char *line)
{
    char text[160];
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].name == NULL) continue;
        print_row(&rows[i], text, sizeof text);
        if (strcmp(line, text) == 0) return true;
    }
    return false;
}

static void compare(FILE *table)
{
    enum { MOST_LINES = 1000 };
    static char *lines[MOST_LINES];
    char line[200], text[160];
    size_t n = 0;
    while (fgets(line, sizeof line, table) != NULL && n < MOST_LINES) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0') continue;
        lines[n++] = strdup(line);
        if (is_row(line)) continue;
        printf("changed or gone: %s\n", line);
        faults++;
    }
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].name == NULL) continue;
        print_row(&rows[i], text, sizeof text);
        if (has_line(lines, n, text)) continue;
        printf("not in the table; when it is new and at the end, add it: %s\n", text);
        faults++;
    }
    while (n > 0) free(lines[--n]);
}

static int print_all(void)
{
    char text[160];
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].name == NULL) continue;
        print_row(&rows[i], text, sizeof text);
        puts(text);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print") == 0) return print_all();
    FILE *table = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (table == NULL) {
        fprintf(stderr, "usage: layout TABLE.tsv, or layout --print\n");
        return 2;
    }
    check_coverage();
    compare(table);
    fclose(table);
    return faults > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
