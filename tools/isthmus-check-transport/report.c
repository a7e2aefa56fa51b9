/* tools/isthmus-check-transport/report.c: see report.h. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const words[] = {[CT_PASSED] = "ok", [CT_FAILED] = "FAILED", [CT_SKIPPED] = "skipped"};

/* ---- for people ---- */

static void print_finding(const struct ct_finding *f)
{
    printf("    slot      %s\n    contract  %s\n", f->slot, f->rule);
    if (f->process >= 0)
        printf("    seen      PE %d: %s\n", f->process, f->seen);
    else
        printf("    seen      %s\n", f->seen);
    if (f->where[0] != '\0') printf("    check     %s\n", f->where);
}

static void print_case(const struct ct_case *c, const struct ct_report *result)
{
    printf("%-8s %-22s %s\n", words[result->result], c->name, c->rule);
    if (result->result == CT_SKIPPED) printf("    because   %s\n", result->why_skipped);
    for (int i = 0; i < result->n_findings; i++) print_finding(&result->findings[i]);
    fflush(stdout);
}

/* ---- for programs ---- */

static void write_finding(struct ist_json *json, const struct ct_finding *f)
{
    ist_json_begin_object(json, NULL);
    if (f->process >= 0)
        ist_json_integer(json, "pe", f->process);
    else
        ist_json_null(json, "pe");
    ist_json_string(json, "slot", f->slot);
    ist_json_string(json, "contract", f->rule);
    ist_json_string(json, "seen", f->seen);
    ist_json_string(json, "check", f->where[0] != '\0' ? f->where : NULL);
    ist_json_end_object(json);
}

static void write_case(struct ist_json *json, const struct ct_case *c, const struct ct_report *result)
{
    ist_json_begin_object(json, NULL);
    ist_json_string(json, "case", c->name);
    ist_json_string(json, "slot", c->slot);
    ist_json_string(json, "contract", c->rule);
    ist_json_string(json, "result", result->result == CT_FAILED ? "failed" : words[result->result]);
    ist_json_integer(json, "pes", result->n_processes);
    ist_json_integer(json, "milliseconds", (int64_t)(result->seconds * 1e3));
    ist_json_string(json, "why_skipped", result->result == CT_SKIPPED ? result->why_skipped : NULL);
    ist_json_begin_array(json, "findings");
    for (int i = 0; i < result->n_findings; i++) write_finding(json, &result->findings[i]);
    ist_json_end_array(json);
    ist_json_end_object(json);
}

/* ---- both ---- */

void report_begin(struct report *report, const char *plugin, bool is_json)
{
    *report = (struct report){.plugin = plugin, .is_json = is_json, .json = {.out = stdout}, .n_rounds = 1};
    if (!is_json) {
        printf("%s, with ISTHMUS_TEST_SEED=%#" PRIx64 "\n", plugin, ct_seed());
        return;
    }
    char seed[24];
    snprintf(seed, sizeof seed, "%#" PRIx64, ct_seed());
    ist_json_begin_object(&report->json, NULL);
    ist_json_string(&report->json, "plugin", plugin);
    ist_json_string(&report->json, "version", ISTHMUS_VERSION);
    ist_json_integer(&report->json, "abi_major", ISTHMUS_ABI_MAJOR);
    ist_json_integer(&report->json, "abi_minor", ISTHMUS_ABI_MINOR);
    ist_json_string(&report->json, "seed", seed);
    ist_json_begin_array(&report->json, "cases");
}

void report_case(struct report *report, const struct ct_case *c, const struct ct_report *result)
{
    int *count = result->result == CT_PASSED   ? &report->passed
                 : result->result == CT_FAILED ? &report->failed
                                               : &report->skipped;
    ++*count;
    if (report->is_json)
        write_case(&report->json, c, result);
    else
        print_case(c, result);
}

void report_again(struct report *report, const struct ct_case *c, const struct ct_report *result)
{
    if (!report->is_json) printf("in round %d, with ISTHMUS_TEST_SEED=%#" PRIx64 "\n", report->n_rounds, ct_seed());
    report->passed--;
    report_case(report, c, result);
}

void report_end(struct report *report, const char *cut_short)
{
    if (!report->is_json) {
        if (cut_short != NULL) printf("%s\n", cut_short);
        printf("%d passed, %d failed, %d skipped", report->passed, report->failed, report->skipped);
        printf(report->n_rounds > 1 ? "; %d rounds\n" : "\n", report->n_rounds);
        return;
    }
    ist_json_end_array(&report->json);
    ist_json_string(&report->json, "cut_short", cut_short);
    ist_json_integer(&report->json, "rounds", report->n_rounds);
    ist_json_integer(&report->json, "passed", report->passed);
    ist_json_integer(&report->json, "failed", report->failed);
    ist_json_integer(&report->json, "skipped", report->skipped);
    ist_json_end_object(&report->json);
}
