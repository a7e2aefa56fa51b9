/* core/base/json.h: writes JSON (RFC 8259), indented, to a stream. For tools.
 * It reads nothing and keeps no document in memory: each begin needs its end, in reverse order. */
#ifndef IST_BASE_JSON_H
#define IST_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ist_json {
    FILE *out;
    unsigned depth;
    uint64_t filled; /* bit per depth: it has an element, so a comma precedes the next */
};

/* `key` NULL: an element of an array, or the document itself. A newline follows the end of the document. */
void ist_json_begin_object(struct ist_json *json, const char *key);
void ist_json_end_object(struct ist_json *json);
void ist_json_begin_array(struct ist_json *json, const char *key);
void ist_json_end_array(struct ist_json *json);

/* `value` NULL: null. Any bytes: what is not UTF-8 becomes U+FFFD. */
void ist_json_string(struct ist_json *json, const char *key, const char *value);
void ist_json_number(struct ist_json *json, const char *key, uint64_t value);
void ist_json_integer(struct ist_json *json, const char *key, int64_t value);
void ist_json_real(struct ist_json *json, const char *key, double value); /* infinite or no number: null */
void ist_json_bool(struct ist_json *json, const char *key, bool value);
void ist_json_null(struct ist_json *json, const char *key);

#endif
