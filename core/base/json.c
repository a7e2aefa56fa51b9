/* core/base/json.c: see json.h. */
#include "core/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* ---- text ---- */

/* Returns the length of the well-formed UTF-8 sequence at `s`, 0 if there is none: no overlong forms, surrogates, or
 * values above U+10FFFF. Reads no byte past a terminator: a zero is not a continuation byte. */
static size_t utf8_length(const unsigned char *s)
{
    static const struct range {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } ranges[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                  {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                  {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const struct range *r = &ranges[i];
        if (s[0] < r->first_low || s[0] > r->first_high) continue;
        if (r->length > 1 && (s[1] < r->second_low || s[1] > r->second_high)) return 0;
        for (size_t j = 2; j < r->length; j++)
            if ((s[j] & 0xc0) != 0x80) return 0;
        return r->length;
    }
    return 0;
}

static const char *escape_of(unsigned char c)
{
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return NULL;
    }
}

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        size_t length = utf8_length(s);
        const char *escape = escape_of(*s);
        if (escape != NULL)
            fputs(escape, out);
        else if (*s < ' ' || *s == 0x7f)
            fprintf(out, "\\u%04x", *s);
        else if (length == 0)
            fputs("\\ufffd", out);
        else
            fwrite(s, 1, length, out);
        s += length > 0 ? length : 1;
    }
    fputc('"', out);
}

/* ---- structure ---- */

static void begin_value(struct ist_json *json, const char *key)
{
    uint64_t here = UINT64_C(1) << json->depth;
    if (json->depth > 0) fprintf(json->out, "%s\n%*s", json->filled & here ? "," : "", (int)(2 * json->depth), "");
    json->filled |= here;
    if (key == NULL) return;
    write_text(json->out, key);
    fputs(": ", json->out);
}

static void begin_nested(struct ist_json *json, const char *key, char bracket)
{
    begin_value(json, key);
    fputc(bracket, json->out);
    json->depth++;
    assert(json->depth < 64);
    json->filled &= ~(UINT64_C(1) << json->depth);
}

static void end_nested(struct ist_json *json, char bracket)
{
    assert(json->depth > 0);
    bool any = json->filled & UINT64_C(1) << json->depth;
    json->depth--;
    if (any) fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
    fputc(bracket, json->out);
    if (json->depth == 0) fputc('\n', json->out);
}

void ist_json_begin_object(struct ist_json *json, const char *key) { begin_nested(json, key, '{'); }

void ist_json_end_object(struct ist_json *json) { end_nested(json, '}'); }

void ist_json_begin_array(struct ist_json *json, const char *key) { begin_nested(json, key, '['); }

void ist_json_end_array(struct ist_json *json) { end_nested(json, ']'); }

/* ---- values ---- */

void ist_json_string(struct ist_json *json, const char *key, const char *value)
{
    begin_value(json, key);
    if (value != NULL)
        write_text(json->out, value);
    else
        fputs("null", json->out);
}

void ist_json_number(struct ist_json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void ist_json_integer(struct ist_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void ist_json_real(struct ist_json *json, const char *key, double value)
{
    if (!isfinite(value)) return ist_json_null(json, key);
    begin_value(json, key);
    fprintf(json->out, "%.9g", value);
}

void ist_json_bool(struct ist_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void ist_json_null(struct ist_json *json, const char *key) { ist_json_string(json, key, NULL); }
