/* tools/isthmus-info/doctor.c: see doctor.h. */
#include "tools/isthmus-info/doctor.h"

#include "tools/isthmus-info/info.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { RESULTS_MAX = 96 };

static struct result {
    const char *area, *name;
    enum verdict verdict;
    char evidence[400], remedy[200];
} results[RESULTS_MAX];

static size_t n_results;

static const char *const verdict_names[] = {
    [VERDICT_PASS] = "pass", [VERDICT_DEGRADED] = "degraded", [VERDICT_FAIL] = "FAIL"};
static const char *const verdict_keys[] = {
    [VERDICT_PASS] = "pass", [VERDICT_DEGRADED] = "degraded", [VERDICT_FAIL] = "fail"};

static void add(struct result result, const char *remedy, const char *evidence, va_list args)
{
    if (n_results == RESULTS_MAX) return;
    vsnprintf(result.evidence, sizeof result.evidence, evidence, args);
    snprintf(result.remedy, sizeof result.remedy, "%s", remedy);
    results[n_results++] = result;
}

void doctor_pass(const char *area, const char *name, const char *evidence, ...)
{
    va_list args;
    va_start(args, evidence);
    add((struct result){.area = area, .name = name, .verdict = VERDICT_PASS}, "", evidence, args);
    va_end(args);
}

void doctor_fault(enum verdict verdict, const char *area, const char *name, const char *remedy, const char *evidence,
                  ...)
{
    va_list args;
    va_start(args, evidence);
    add((struct result){.area = area, .name = name, .verdict = verdict}, remedy, evidence, args);
    va_end(args);
}

static unsigned count(enum verdict verdict)
{
    unsigned n = 0;
    for (size_t i = 0; i < n_results; i++) n += results[i].verdict == verdict;
    return n;
}

void doctor_faults(char *out, size_t room)
{
    size_t used = 0;
    snprintf(out, room, "none");
    for (size_t i = 0; i < n_results && used < room; i++)
        if (results[i].verdict != VERDICT_PASS)
            used += (size_t)snprintf(out + used, room - used, "%s%s %s", used > 0 ? ", " : "", results[i].name,
                                     verdict_keys[results[i].verdict]);
}

bool doctor_is_well(void) { return count(VERDICT_FAIL) == 0; }

/* ---- files of the kernel ---- */

bool doctor_read_line(const char *path, char *out, size_t room)
{
    FILE *file = fopen(path, "re");
    bool is_read = file != NULL && fgets(out, (int)room, file) != NULL;
    if (file != NULL) fclose(file);
    if (!is_read) *out = '\0';
    out[strcspn(out, "\n")] = '\0';
    return is_read;
}

bool doctor_read_number(const char *path, uint64_t *out)
{
    char text[64];
    if (!doctor_read_line(path, text, sizeof text)) return false;
    *out = UINT64_MAX;
    return strcmp(text, "max") == 0 || sscanf(text, "%" SCNu64, out) == 1;
}

/* ---- the report ---- */

static void print_result(const struct result *r)
{
    enum { INDENT = 24 };
    printf("  %-9s %-11s ", verdict_names[r->verdict], r->name);
    print_filled(INDENT, INDENT, r->evidence);
    if (r->remedy[0] == '\0') return;
    printf("%*s", INDENT, "");
    char remedy[sizeof r->remedy + 8];
    snprintf(remedy, sizeof remedy, "remedy: %s", r->remedy);
    print_filled(INDENT, INDENT, remedy);
}

void doctor_text(void)
{
    const char *area = "";
    for (size_t i = 0; i < n_results; i++) {
        if (strcmp(area, results[i].area) != 0) printf("%s%s\n", i > 0 ? "\n" : "", results[i].area);
        area = results[i].area;
        print_result(&results[i]);
    }
    printf("\n%u passed, %u degraded, %u failed\n", count(VERDICT_PASS), count(VERDICT_DEGRADED), count(VERDICT_FAIL));
}

void doctor_json(struct ist_json *json)
{
    ist_json_begin_array(json, "requirements");
    for (size_t i = 0; i < n_results; i++) {
        ist_json_begin_object(json, NULL);
        ist_json_string(json, "area", results[i].area);
        ist_json_string(json, "name", results[i].name);
        ist_json_string(json, "verdict", verdict_keys[results[i].verdict]);
        ist_json_string(json, "evidence", results[i].evidence);
        ist_json_string(json, "remedy", results[i].remedy[0] != '\0' ? results[i].remedy : NULL);
        ist_json_end_object(json);
    }
    ist_json_end_array(json);
}
