/* tools/isthmus-perf/json_write.c: the file of --json; json_read.c reads it. See results.h. */
#include "tools/isthmus-perf/results.h"

#include "core/base/json.h"

static void write_figure(struct ist_json *json, const char *key, const struct figure *figure)
{
    if (figure->median_ns <= 0) return ist_json_null(json, key);
    ist_json_begin_object(json, key);
    ist_json_real(json, "median_ns", figure->median_ns);
    ist_json_real(json, "low_ns", figure->low_ns);
    ist_json_real(json, "high_ns", figure->high_ns);
    ist_json_end_object(json);
}

/* A name that is empty, and a number that does not apply, are null. */
static void write_result(struct ist_json *json, const struct result *result)
{
    ist_json_begin_object(json, NULL);
    ist_json_string(json, "operation", result->operation);
    ist_json_string(json, "memory", result->memory);
    ist_json_string(json, "transport", result->transport[0] != '\0' ? result->transport : NULL);
    ist_json_integer(json, "from", result->from);
    ist_json_integer(json, "to", result->to);
    ist_json_number(json, "size_bytes", result->size_bytes);
    write_figure(json, "call", &result->call);
    write_figure(json, "limit", &result->limit);
    ist_json_string(json, "limit_name", result->limit_name[0] != '\0' ? result->limit_name : NULL);
    ist_json_string(json, "verdict", result->verdict);
    ist_json_end_object(json);
}

void results_write(FILE *out, const struct results *results)
{
    struct ist_json json = {.out = out};
    ist_json_begin_object(&json, NULL);
    ist_json_string(&json, "version", results->version);
    ist_json_string(&json, "host", results->host);
    ist_json_integer(&json, "n_pes", results->n_pes);
    ist_json_string(&json, "double", results->double_name[0] != '\0' ? results->double_name : NULL);
    ist_json_begin_array(&json, "results");
    for (size_t i = 0; i < results->n; i++) write_result(&json, &results->list[i]);
    ist_json_end_array(&json);
    ist_json_end_object(&json);
}
