/* core/base/config_value.c: values of variables: from text, to text, into and out of struct ist_config.
 * The texts come from config.c. And the nearest of a list of names, for those that fit none. */
#include "core/base/config_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LARGEST_NUMBER ((uint64_t)1 << 62)
#define LONGEST_WAIT_S 86400u /* a day: more is a mistake of units */

/* ---- numbers ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A decimal with an optional fraction: whole + numerator / denominator. Digits of the fraction past the 18th only round
 * it up, because the result is rounded up anyway. */
struct decimal {
    uint64_t whole, numerator, denominator;
    bool inexact;
};

/* Returns false if there is no digit, or if the number is too large. *end is the first character after it. */
static bool parse_decimal(const char *text, struct decimal *out, const char **end)
{
    struct decimal d = {.denominator = 1};
    const char *at = text;
    bool any = false;
    for (; is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (d.whole > (LARGEST_NUMBER - digit) / 10) return false;
        d.whole = d.whole * 10 + digit;
        any = true;
    }
    if (*at == '.')
        for (at++; is_digit(*at); at++) {
            any = true;
            uint64_t digit = (uint64_t)(*at - '0');
            if (d.denominator < UINT64_C(1000000000000000000)) {
                d.numerator = d.numerator * 10 + digit;
                d.denominator *= 10;
            } else if (digit != 0) {
                d.inexact = true;
            }
        }
    *out = d;
    *end = at;
    return any;
}

/* Returns d * unit, rounded up, in *out; false above LARGEST_NUMBER. */
static bool scale_up(const struct decimal *d, uint64_t unit, uint64_t *out)
{
    unsigned __int128 numerator = (unsigned __int128)d->numerator * unit;
    unsigned __int128 fraction = numerator / d->denominator;
    if (numerator % d->denominator != 0 || d->inexact) fraction++;
    unsigned __int128 value = (unsigned __int128)d->whole * unit + fraction;
    if (value > LARGEST_NUMBER) return false;
    *out = (uint64_t)value;
    return true;
}

static uint64_t size_unit(char suffix)
{
    switch (suffix) {
    case '\0': return 1;
    case 'k':
    case 'K': return UINT64_C(1) << 10;
    case 'm':
    case 'M': return UINT64_C(1) << 20;
    case 'g':
    case 'G': return UINT64_C(1) << 30;
    case 't':
    case 'T': return UINT64_C(1) << 40;
    default: return 0;
    }
}

isthmus_status ist_config_parse_size(const char *text, uint64_t *out)
{
    struct decimal d;
    const char *suffix;
    if (!parse_decimal(text, &d, &suffix)) return ISTHMUS_ERR_INVALID;
    uint64_t unit = size_unit(*suffix);
    return unit != 0 && scale_up(&d, unit, out) ? ISTHMUS_OK : ISTHMUS_ERR_INVALID;
}

static bool parse_count(const char *text, uint64_t least, uint64_t *out)
{
    struct decimal d;
    const char *end;
    bool whole = parse_decimal(text, &d, &end) && strchr(text, '.') == NULL && (*end == '\0' || strcmp(end, "s") == 0);
    if (!whole || d.whole < least || d.whole > LONGEST_WAIT_S) return false;
    *out = d.whole;
    return true;
}

static const struct time_unit {
    const char *suffix;
    uint64_t ns;
} time_units[] = {{"ms", 1000000}, {"us", 1000}, {"ns", 1}};

static bool parse_spin(const char *text, uint64_t *out)
{
    struct decimal d;
    const char *suffix;
    if (strcasecmp(text, "auto") == 0) {
        *out = UINT64_MAX;
        return true;
    }
    if (!parse_decimal(text, &d, &suffix)) return false;
    if (*suffix == '\0') return scale_up(&d, 1, out);
    for (size_t i = 0; i < sizeof time_units / sizeof *time_units; i++)
        if (strcasecmp(suffix, time_units[i].suffix) == 0) return scale_up(&d, time_units[i].ns, out);
    return false;
}

/* ---- words ---- */

size_t ist_word(const char *list, size_t index, const char **at)
{
    const char *word = list;
    for (size_t i = 0;; i++) {
        size_t length = strcspn(word, " ");
        *at = word;
        if (i == index || length == 0) return length;
        word += length;
        word += *word == ' ';
    }
}

static bool parse_enum(const char *words, const char *text, uint64_t *out)
{
    const char *word;
    size_t length;
    for (size_t i = 0; (length = ist_word(words, i, &word)) != 0; i++) {
        if (strlen(text) != length || strncasecmp(text, word, length) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

bool ist_text_is_true(const char *text)
{
    static const char *const no[] = {"0", "n", "no", "f", "false", "off"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (strcasecmp(text, no[i]) == 0) return false;
    return true;
}

/* ---- any type ---- */

bool ist_value_parse(const struct ist_var *var, const char *text, struct ist_value *out)
{
    struct ist_value value = {0};
    bool ok = true;
    switch (var->type) {
    case IST_TYPE_SIZE: ok = ist_config_parse_size(text, &value.number) == ISTHMUS_OK && value.number > 0; break;
    case IST_TYPE_BOOL: value.number = ist_text_is_true(text); break;
    case IST_TYPE_ENUM: ok = parse_enum(var->accepted, text, &value.number); break;
    case IST_TYPE_SECONDS: ok = parse_count(text, 1, &value.number); break;
    case IST_TYPE_COUNT: ok = parse_count(text, 0, &value.number); break;
    case IST_TYPE_SPIN: ok = parse_spin(text, &value.number); break;
    case IST_TYPE_TEXT:
    case IST_TYPE_PATH: value.text = text; break;
    }
    if (ok) *out = value;
    return ok;
}

bool ist_value_equal(const struct ist_value *a, const struct ist_value *b)
{
    if (a->text != NULL && b->text != NULL) return strcmp(a->text, b->text) == 0;
    return a->number == b->number;
}

isthmus_status ist_value_store(const struct ist_var *var, const struct ist_value *value, struct ist_config *config)
{
    char *field = (char *)config + var->offset_bytes;
    switch (var->type) {
    case IST_TYPE_SIZE:
    case IST_TYPE_SECONDS:
    case IST_TYPE_COUNT:
    case IST_TYPE_SPIN: *(uint64_t *)(void *)field = value->number; break;
    case IST_TYPE_BOOL: *(bool *)(void *)field = value->number != 0; break;
    case IST_TYPE_ENUM: *(int *)(void *)field = (int)value->number; break;
    case IST_TYPE_TEXT:
    case IST_TYPE_PATH: {
        char **text = (char **)(void *)field, *copy = strdup(value->text);
        if (copy == NULL) return ist_fail_memory("the value of %s", var->name);
        free(*text);
        *text = copy;
    }
    }
    return ISTHMUS_OK;
}

struct ist_value ist_value_load(const struct ist_var *var, const struct ist_config *config)
{
    const char *field = (const char *)config + var->offset_bytes;
    struct ist_value value = {0};
    switch (var->type) {
    case IST_TYPE_SIZE:
    case IST_TYPE_SECONDS:
    case IST_TYPE_COUNT:
    case IST_TYPE_SPIN: value.number = *(const uint64_t *)(const void *)field; break;
    case IST_TYPE_BOOL: value.number = *(const bool *)(const void *)field; break;
    case IST_TYPE_ENUM: value.number = (uint64_t) * (const int *)(const void *)field; break;
    case IST_TYPE_TEXT:
    case IST_TYPE_PATH:
        value.text = *(const char *const *)(const void *)field;
        if (value.text == NULL) value.text = "";
    }
    return value;
}

/* ---- to text ---- */

static void print_size(uint64_t bytes, char *out, size_t room)
{
    static const char *const suffixes[] = {"", "k", "m", "g", "t"};
    size_t i = 0;
    for (; bytes != 0 && bytes % 1024 == 0 && i + 1 < sizeof suffixes / sizeof *suffixes; i++) bytes /= 1024;
    if (bytes == 0)
        *out = '\0';
    else
        snprintf(out, room, "%" PRIu64 "%s", bytes, suffixes[i]);
}

static void print_spin(uint64_t ns, char *out, size_t room)
{
    if (ns == UINT64_MAX) {
        snprintf(out, room, "auto");
        return;
    }
    const struct time_unit *unit = time_units;
    while (ns % unit->ns != 0) unit++; /* the last one is 1 */
    if (ns == 0) unit = &time_units[2];
    snprintf(out, room, "%" PRIu64 "%s", ns / unit->ns, unit->suffix);
}

static void print_text(const char *text, char *out, size_t room)
{
    if ((size_t)snprintf(out, room, "%s", text) >= room) memcpy(out + room - 4, "...", 4);
    for (char *c = out; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
}

void ist_value_print(const struct ist_var *var, const struct ist_value *value, char *out, size_t room)
{
    const char *word;
    switch (var->type) {
    case IST_TYPE_SIZE: print_size(value->number, out, room); break;
    case IST_TYPE_BOOL: snprintf(out, room, "%s", value->number != 0 ? "true" : "false"); break;
    case IST_TYPE_ENUM: {
        size_t length = ist_word(var->accepted, (size_t)value->number, &word);
        snprintf(out, room, "%.*s", (int)length, word);
        break;
    }
    case IST_TYPE_SECONDS:
    case IST_TYPE_COUNT: snprintf(out, room, "%" PRIu64, value->number); break;
    case IST_TYPE_SPIN: print_spin(value->number, out, room); break;
    case IST_TYPE_TEXT:
    case IST_TYPE_PATH: print_text(value->text, out, room); break;
    }
}

/* ---- "did you mean": edit distance with transpositions, for lists of a few dozen short names ---- */

#define LONGEST_NAME 63 /* longer names are no typing mistakes */

static size_t min2(size_t a, size_t b) { return a < b ? a : b; }

/* Optimal string alignment: insert, delete, replace, or swap two neighbours, at one each. Three rows of the table are
 * enough: a swap needs the row before the last. Both lengths are at most LONGEST_NAME. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST_NAME + 1];
    for (size_t j = 0; j <= b_length; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        const size_t *before = rows[(i + 1) % 3], *above = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = min2(above[j - 1] + (a[i - 1] != b[j - 1]), min2(above[j], row[j - 1]) + 1);
            int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = min2(row[j], before[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *ist_names_nearest(const char *name, const char *const *candidates, size_t n)
{
    const char *nearest = NULL;
    size_t nearest_distance = LONGEST_NAME + 1, name_length = strlen(name);
    if (name_length > LONGEST_NAME) return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(candidates[i]);
        if (length > LONGEST_NAME) continue;
        size_t longer = length > name_length ? length : name_length;
        size_t distance = edit_distance(name, name_length, candidates[i], length);
        if (distance * 3 <= longer && distance < nearest_distance) {
            nearest = candidates[i];
            nearest_distance = distance;
        }
    }
    return nearest;
}
