/* core/base/config.c: from environment and files to struct ist_config: which of several names takes effect, and reports
 * of invalid ones. Files are config_file.c, unknown names config_unknown.c, parsing is config_value.c, printing is
 * config_print.c.
 * The rows are config.def and config_alias.def. */
#include "core/base/config_priv.h"

#include "core/base/config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the rows ---- */

const struct ist_var ist_vars[IST_N_VARS] = {
#define IST_VAR(field, name, type, of, preset, accepted, help) \
    {name, IST_TYPE_##type, IST_OF_##of, offsetof(struct ist_config, field), preset, accepted, help},
#include "core/base/config.def"
};

/* A row's type and its field's type agree; int and bool would otherwise be written through the wrong pointer. */
enum {
    STORED_SIZE = 'u',
    STORED_SECONDS = 'u',
    STORED_COUNT = 'u',
    STORED_SPIN = 'u',
    STORED_BOOL = 'b',
    STORED_ENUM = 'i'
};
enum { STORED_TEXT = 't', STORED_PATH = 't' };
#define IST_VAR(field, name, type, of, preset, accepted, help) \
    _Static_assert(STORED_##type == _Generic(((struct ist_config *)0)->field, uint64_t: 'u', bool: 'b', int: 'i',      \
                                             const char *: 't'), name);
#include "core/base/config.def"

const struct ist_alias ist_aliases[] = {
#define IST_ALIAS(name, owner, target, map, text, strength) \
    {name, IST_OWNER_##owner, IST_ROW_##target, IST_MAP_##map, text, IST_STRENGTH_##strength},
#include "core/base/config_alias.def"
};
const size_t ist_n_aliases = sizeof ist_aliases / sizeof *ist_aliases;

const struct ist_ignored ist_ignored_names[] = {
#define IST_IGNORED(name, reason) {name, reason},
#include "core/base/config_alias.def"
};
const size_t ist_n_ignored_names = sizeof ist_ignored_names / sizeof *ist_ignored_names;

const struct ist_ignored ist_silent_names[] = {
#define IST_SILENT(name, reason) {name, reason},
#include "core/base/config_alias.def"
};
const size_t ist_n_silent_names = sizeof ist_silent_names / sizeof *ist_silent_names;

const struct ist_exclusion ist_exclusions[] = {
#define IST_EXCLUDE(name, when, transport) {name, IST_WHEN_##when, transport},
#include "core/base/config_alias.def"
};
const size_t ist_n_exclusions = sizeof ist_exclusions / sizeof *ist_exclusions;

const struct ist_plugin_alias ist_plugin_aliases[] = {
#define IST_PLUGIN_ALIAS(name, target) {name, target},
#include "core/base/config_alias.def"
};
const size_t ist_n_plugin_aliases = sizeof ist_plugin_aliases / sizeof *ist_plugin_aliases;

enum { PRECEDENCE_OWN_FIRST, PRECEDENCE_ALWAYS };
static const struct {
    const char *key;
    enum ist_var_row row;
    int precedence;
} plugin_keys[] = {
#define IST_PLUGIN_KEY(key, field, precedence) {key, IST_ROW_##field, PRECEDENCE_##precedence},
#include "core/base/config.def"
};
enum { N_PLUGIN_KEYS = sizeof plugin_keys / sizeof *plugin_keys };

/* ---- one variable and its other names ---- */

/* A name that is set and has an effect. */
enum { MAPPED_WORD_BYTES = 32 };
struct setting {
    const char *name, *text; /* NULL: none. Text as the user wrote it */
    const char *where;       /* FILE:LINE; NULL: the environment */
    const struct ist_alias *alias;
    unsigned rank; /* the smallest one wins */
    bool accepted;
    struct ist_value value;
    char word[MAPPED_WORD_BYTES]; /* the user's word translated to ours; value.text may point here */
};

static void copy_setting(struct setting *to, const struct setting *from)
{
    *to = *from;
    if (from->value.text == from->word) to->value.text = to->word;
}

enum { RANK_OWN = 0, RANK_STEP = 2 }; /* a name that yields ranks half a step below the firm ones */

static unsigned rank_of(const struct ist_alias *alias, enum ist_face face)
{
    static const enum ist_alias_owner owner_of_face[] = {[IST_FACE_SHMEM] = IST_OWNER_SHMEM,
                                                         [IST_FACE_NVSHMEM] = IST_OWNER_NVSHMEM,
                                                         [IST_FACE_ISHMEM] = IST_OWNER_ISHMEM,
                                                         [IST_FACE_ROCSHMEM] = IST_OWNER_ROCSHMEM};
    unsigned place = 4;
    if (alias->owner == owner_of_face[face])
        place = 1;
    else if (alias->owner == IST_OWNER_SHMEM)
        place = 2;
    else if (alias->owner == IST_OWNER_SMA)
        place = 3;
    return place * RANK_STEP + (alias->strength == IST_STRENGTH_YIELDS);
}

/* A privileged program ignores variables that name files, because its caller could make it open them with the program's
 * rights. */
static const char *read_environment(const char *name, enum ist_var_type type)
{
    return type == IST_TYPE_PATH ? secure_getenv(name) : getenv(name);
}

/* Copies to `out` the right-hand side of VALUE=ours for `text` in a list of such pairs. Returns false if it is not in
 * the list. */
static bool map_word(const char *pairs, const char *text, char out[MAPPED_WORD_BYTES])
{
    const char *pair;
    size_t length;
    for (size_t i = 0; (length = ist_word(pairs, i, &pair)) != 0; i++) {
        size_t left = strcspn(pair, "=");
        if (strlen(text) != left || strncasecmp(pair, text, left) != 0) continue;
        snprintf(out, MAPPED_WORD_BYTES, "%.*s", (int)(length - left - 1), pair + left + 1);
        return true;
    }
    return false;
}

bool ist_alias_is_without_effect(const struct ist_alias *alias, const char *text)
{
    char word[MAPPED_WORD_BYTES];
    return alias->map == IST_MAP_WORDS && map_word(alias->text, text, word) && strcmp(word, "!") == 0;
}

/* Returns false if this name has no effect: not set, or set to what its own library takes for not set. */
static bool read_alias(const struct ist_alias *alias, enum ist_face face, struct setting *out)
{
    const struct ist_var *var = &ist_vars[alias->target];
    const char *text = read_environment(alias->name, var->type), *mapped = alias->text;
    *out = (struct setting){.name = alias->name, .text = text, .alias = alias, .rank = rank_of(alias, face)};
    if (text == NULL || ist_alias_is_without_effect(alias, text)) return false;
    switch (alias->map) {
    case IST_MAP_SAME: mapped = text; break;
    case IST_MAP_IF_TRUE:
        if (!ist_text_is_true(text)) return false;
        break;
    case IST_MAP_IF_FILLED:
        if (*text == '\0') return false;
        break;
    case IST_MAP_WORDS:
        if (*text == '\0') return false;
        mapped = map_word(alias->text, text, out->word) ? out->word : NULL;
    }
    out->accepted = mapped != NULL && ist_value_parse(var, mapped, &out->value);
    return true;
}

static bool read_own_name(const struct ist_var *var, struct setting *out)
{
    const char *text = read_environment(var->name, var->type);
    if (text == NULL) return false;
    *out = (struct setting){.name = var->name, .text = text, .rank = RANK_OWN};
    out->accepted = ist_value_parse(var, text, &out->value);
    return true;
}

static void read_files(const struct ist_var *var, const struct ist_config *config, struct setting *out)
{
    const struct ist_file_setting *found = ist_config_file_find(config, var->name);
    if (found == NULL) return;
    *out = (struct setting){.name = var->name, .text = found->text, .where = found->where};
    out->accepted = ist_value_parse(var, found->text, &out->value);
}

/* Finds the setting that takes effect for a row, and one of equal rank that contradicts it (name NULL if there is
 * none). */
static void find_setting(size_t row, const struct ist_config *config, struct setting *best, struct setting *rival)
{
    struct setting next;
    best->name = rival->name = NULL;
    if (read_own_name(&ist_vars[row], best)) return;
    for (size_t i = 0; i < ist_n_aliases; i++) {
        if (ist_aliases[i].target != row || !read_alias(&ist_aliases[i], config->face, &next)) continue;
        bool equal_rank = best->name != NULL && next.rank == best->rank;
        if (best->name == NULL || next.rank < best->rank || (equal_rank && best->accepted && !next.accepted)) {
            copy_setting(best, &next);
            rival->name = NULL;
        } else if (equal_rank && next.accepted && best->accepted && !ist_value_equal(&next.value, &best->value)) {
            copy_setting(rival, &next);
        }
    }
    if (best->name == NULL) read_files(&ist_vars[row], config, best);
}

/* ---- messages about invalid settings ---- */

void ist_config_quote(const char *text, char out[IST_QUOTE_BYTES])
{
    if (snprintf(out, IST_QUOTE_BYTES, "%s", text) >= IST_QUOTE_BYTES) memcpy(out + IST_QUOTE_BYTES - 4, "...", 4);
    for (char *c = out; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
}

isthmus_status ist_config_add_problem(isthmus_status before, const char *problem)
{
    if (before == ISTHMUS_OK) return ist_fail(ISTHMUS_ERR_INVALID, "%s", problem);
    return ist_fail(before, "%s; %s", ist_fail_text(), problem);
}

/* Lists the left-hand words of VALUE=ours pairs. */
static void list_words(const char *pairs, char *out, size_t room)
{
    const char *pair;
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; ist_word(pairs, i, &pair) != 0 && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%.*s", i > 0 ? " " : "", (int)strcspn(pair, "="), pair);
}

/* Writes "; did you mean 'host'?" with the nearest of blank-separated words, or nothing. */
static void suggest(const char *words, const char *text, char *out, size_t room)
{
    enum { MOST = 16 };
    char copies[MOST][32];
    const char *list[MOST], *word;
    size_t n = 0;
    *out = '\0';
    for (size_t length; n < MOST && (length = ist_word(words, n, &word)) != 0; n++) {
        snprintf(copies[n], sizeof copies[n], "%.*s", (int)length, word);
        list[n] = copies[n];
    }
    const char *nearest = ist_names_nearest(text, list, n);
    if (nearest != NULL) snprintf(out, room, "; did you mean '%s'?", nearest);
}

static void say_not_accepted(const struct ist_var *var, const struct setting *bad, char problem[IST_PROBLEM_BYTES])
{
    char value[IST_QUOTE_BYTES], words[160], hint[64] = "";
    bool is_words = bad->alias != NULL && bad->alias->map == IST_MAP_WORDS;
    bool is_choice = is_words || var->type == IST_TYPE_ENUM;
    if (is_words) list_words(bad->alias->text, words, sizeof words);
    ist_config_quote(bad->text, value);
    const char *accepted = is_words ? words : var->accepted;
    if (is_choice) suggest(accepted, bad->text, hint, sizeof hint);
    snprintf(problem, IST_PROBLEM_BYTES, "%s is '%s'%s%s; accepted: %s%s%s", bad->name, value,
             bad->where != NULL ? " in " : "", bad->where != NULL ? bad->where : "", is_choice ? "one of " : "",
             accepted, hint);
}

static void say_contradiction(const struct ist_var *var, const struct setting *one, const struct setting *other,
                              char problem[IST_PROBLEM_BYTES])
{
    char one_value[IST_QUOTE_BYTES], other_value[IST_QUOTE_BYTES];
    ist_config_quote(one->text, one_value);
    ist_config_quote(other->text, other_value);
    snprintf(problem, IST_PROBLEM_BYTES, "%s is '%s' and %s is '%s', which contradict each other; unset one, or set %s",
             one->name, one_value, other->name, other_value, var->name);
}

/* ---- all variables ---- */

static isthmus_status store_default(const struct ist_var *var, struct ist_config *config)
{
    struct ist_value value = {.number = 0, .text = var->preset};
    if (*var->preset != '\0' && !ist_value_parse(var, var->preset, &value))
        return ist_fail(ISTHMUS_ERR_INVALID, "the default of %s in config.def is not accepted", var->name);
    return ist_value_store(var, &value, config);
}

static bool excludes(const struct ist_exclusion *exclusion)
{
    const char *text = getenv(exclusion->name);
    if (text == NULL) return false;
    switch (exclusion->when) {
    case IST_WHEN_TRUE: return ist_text_is_true(text);
    case IST_WHEN_FALSE: return !ist_text_is_true(text);
    case IST_WHEN_NONE: return strcasecmp(text, "none") == 0;
    }
    return false;
}

/* Writes "^a,b" of the transports that other names exclude. Returns false if there are none, or if our own name is
 * set. */
static bool collect_exclusions(const struct ist_config *config, char out[IST_QUOTE_BYTES], const char **set_by)
{
    size_t used = 0;
    const char *own = ist_vars[IST_ROW_transports].name;
    if (config->set_by[IST_ROW_transports] != NULL && strcmp(config->set_by[IST_ROW_transports], own) == 0)
        return false;
    for (size_t i = 0; i < ist_n_exclusions; i++) {
        if (!excludes(&ist_exclusions[i])) continue;
        used += (size_t)snprintf(out + used, IST_QUOTE_BYTES - used, "%c%s", used > 0 ? ',' : '^',
                                 ist_exclusions[i].transport);
        *set_by = ist_exclusions[i].name;
    }
    return used > 0;
}

static isthmus_status store_exclusions(struct ist_config *config)
{
    char list[IST_QUOTE_BYTES];
    const char *set_by = NULL;
    if (!collect_exclusions(config, list, &set_by)) return ISTHMUS_OK;
    struct ist_value value = {.text = list};
    config->set_by[IST_ROW_transports] = set_by;
    return ist_value_store(&ist_vars[IST_ROW_transports], &value, config);
}

static isthmus_status store_for_plugins(struct ist_config *config)
{
    config->for_plugins = calloc(N_PLUGIN_KEYS, sizeof *config->for_plugins);
    bool is_full = config->for_plugins == NULL;
    for (size_t i = 0; i < N_PLUGIN_KEYS && !is_full; i++) {
        const struct ist_var *var = &ist_vars[plugin_keys[i].row];
        struct ist_value value = ist_value_load(var, config);
        char word[IST_VALUE_TEXT_BYTES];
        if (value.text == NULL) ist_value_print(var, &value, word, sizeof word);
        config->for_plugins[i] = strdup(value.text != NULL ? value.text : word);
        is_full = config->for_plugins[i] == NULL;
    }
    return is_full ? ist_fail_memory("the values that plugins read") : ISTHMUS_OK;
}

/* Returns false if the setting is invalid: `problem` holds the reason, and the field its default. */
static bool resolve(size_t row, const struct ist_config *config, struct setting *best, char problem[IST_PROBLEM_BYTES])
{
    struct setting rival;
    find_setting(row, config, best, &rival);
    if (best->name == NULL) return true;
    if (!best->accepted)
        say_not_accepted(&ist_vars[row], best, problem);
    else if (rival.name != NULL)
        say_contradiction(&ist_vars[row], best, &rival, problem);
    return best->accepted && rival.name == NULL;
}

/* Fills the field of a row. A bad value is added to *problems. */
static isthmus_status store_row(size_t row, struct ist_config *config, isthmus_status *problems)
{
    char problem[IST_PROBLEM_BYTES];
    struct setting best;
    isthmus_status stored = store_default(&ist_vars[row], config);
    if (stored != ISTHMUS_OK) return stored;
    if (!resolve(row, config, &best, problem)) {
        *problems = ist_config_add_problem(*problems, problem);
    } else if (best.name != NULL) {
        stored = ist_value_store(&ist_vars[row], &best.value, config);
        config->set_by[row] = best.where != NULL ? best.where : best.name;
    }
    return stored;
}

isthmus_status ist_config_init(struct ist_config *out, enum ist_face face)
{
    memset(out, 0, sizeof *out);
    out->face = face;
    out->set_by = calloc(IST_N_VARS, sizeof *out->set_by);
    out->files = calloc(IST_N_CONFIG_FILES, sizeof *out->files);
    if (out->set_by == NULL || out->files == NULL) return ist_fail_memory("the configuration");
    isthmus_status status = ist_config_files_read(out->files), stored = ISTHMUS_OK;
    for (size_t row = 0; row < IST_N_VARS && stored == ISTHMUS_OK; row++) stored = store_row(row, out, &status);
    if (stored == ISTHMUS_OK) stored = store_exclusions(out);
    if (stored == ISTHMUS_OK) stored = store_for_plugins(out);
    return stored == ISTHMUS_OK ? status : stored;
}

void ist_config_fini(struct ist_config *config)
{
    if (config == NULL) return;
    for (size_t row = 0; row < IST_N_VARS; row++)
        if (ist_vars[row].type == IST_TYPE_TEXT || ist_vars[row].type == IST_TYPE_PATH)
            free(*(void **)(void *)((char *)config + ist_vars[row].offset_bytes));
    for (size_t i = 0; i < N_PLUGIN_KEYS && config->for_plugins != NULL; i++) free(config->for_plugins[i]);
    free(config->for_plugins);
    free(config->set_by);
    ist_config_files_free(config->files);
    free(config->files);
    memset(config, 0, sizeof *config);
}

const char *ist_config_plugin_value(const char *name)
{
    const char *value = secure_getenv(name);
    for (size_t i = 0; i < ist_n_plugin_aliases && value == NULL; i++)
        if (strcmp(ist_plugin_aliases[i].target, name) == 0) value = secure_getenv(ist_plugin_aliases[i].name);
    return value;
}

const char *ist_config_for_plugin(const struct ist_config *config, const char *plugin, const char *key)
{
    char name[96];
    size_t i = 0;
    while (i < N_PLUGIN_KEYS && strcmp(plugin_keys[i].key, key) != 0) i++;
    bool is_shared = i < N_PLUGIN_KEYS && config->for_plugins != NULL;
    if (is_shared && plugin_keys[i].precedence == PRECEDENCE_ALWAYS) return config->for_plugins[i];
    snprintf(name, sizeof name, IST_PREFIX "%s_%s", plugin, key);
    for (char *c = name; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
    const char *own = ist_config_plugin_value(name);
    if (own != NULL) return own;
    const struct ist_file_setting *in_file = ist_config_file_find(config, name);
    if (in_file == NULL) return is_shared ? config->for_plugins[i] : NULL;
    bool is_weaker = is_shared && ist_config_source(config, config->set_by[plugin_keys[i].row]) >
                                      ist_config_source(config, in_file->where);
    return is_weaker ? config->for_plugins[i] : in_file->text;
}

const char *ist_config_job_secret(void) { return secure_getenv("ISTHMUS_JOB_SECRET"); }
