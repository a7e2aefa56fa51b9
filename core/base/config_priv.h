/* core/base/config_priv.h: the rows of config.def and config_alias.def as data, for config*.c only.
 * Reading the environment is config.c, values are config_value.c, pages and tables are config_print.c. */
#ifndef IST_BASE_CONFIG_PRIV_H
#define IST_BASE_CONFIG_PRIV_H

#include "core/base/config.h"

enum ist_var_type {
    IST_TYPE_SIZE,
    IST_TYPE_BOOL,
    IST_TYPE_ENUM,
    IST_TYPE_SECONDS,
    IST_TYPE_COUNT,
    IST_TYPE_SPIN,
    IST_TYPE_TEXT,
    IST_TYPE_PATH
};

enum ist_var_of { IST_OF_PE, IST_OF_JOB };

struct ist_var {
    const char *name;
    enum ist_var_type type;
    enum ist_var_of of;
    size_t offset_bytes; /* of its field in struct ist_config */
    const char *preset, *accepted, *help;
};

enum ist_var_row {
#define IST_VAR(field, name, type, of, preset, accepted, help) IST_ROW_##field,
#include "core/base/config.def"
    IST_N_VARS
};
extern const struct ist_var ist_vars[IST_N_VARS];

enum ist_alias_owner { IST_OWNER_SHMEM, IST_OWNER_SMA, IST_OWNER_NVSHMEM, IST_OWNER_ISHMEM, IST_OWNER_ROCSHMEM };
enum ist_alias_map { IST_MAP_SAME, IST_MAP_IF_TRUE, IST_MAP_IF_FILLED, IST_MAP_WORDS };
enum ist_alias_strength { IST_STRENGTH_FIRM, IST_STRENGTH_YIELDS };

struct ist_alias {
    const char *name;
    enum ist_alias_owner owner;
    enum ist_var_row target;
    enum ist_alias_map map;
    const char *text;
    enum ist_alias_strength strength;
};
extern const struct ist_alias ist_aliases[];
extern const size_t ist_n_aliases;

struct ist_ignored {
    const char *name, *reason;
};
extern const struct ist_ignored ist_ignored_names[];
extern const size_t ist_n_ignored_names;

/* Names that exclude transports from ISTHMUS_TRANSPORTS, names that plugins read, and names without a warning. */
enum ist_exclude_when { IST_WHEN_TRUE, IST_WHEN_FALSE, IST_WHEN_NONE };
extern const struct ist_exclusion {
    const char *name;
    enum ist_exclude_when when;
    const char *transport;
} ist_exclusions[];
extern const size_t ist_n_exclusions;
extern const struct ist_plugin_alias {
    const char *name, *target;
} ist_plugin_aliases[];
extern const size_t ist_n_plugin_aliases;
extern const struct ist_ignored ist_silent_names[];
extern const size_t ist_n_silent_names;

/* The parsed value of a variable: a number for most types, the text itself (borrowed) for TEXT and PATH. */
struct ist_value {
    uint64_t number;
    const char *text;
};

bool ist_text_is_true(const char *text); /* all but 0 n no f false off, in any case */
bool ist_value_parse(const struct ist_var *var, const char *text, struct ist_value *out); /* false: not accepted */
bool ist_value_equal(const struct ist_value *a, const struct ist_value *b);

/* Stores a value in its field; texts are copied and freed with the config. */
isthmus_status ist_value_store(const struct ist_var *var, const struct ist_value *value, struct ist_config *config);
struct ist_value ist_value_load(const struct ist_var *var, const struct ist_config *config);

/* Writes a value as a user would; "" for a field that is not set. Control characters become blanks. */
enum { IST_VALUE_TEXT_BYTES = 256 }; /* enough for all types but TEXT and PATH, which are cut to fit */
void ist_value_print(const struct ist_var *var, const struct ist_value *value, char *out, size_t room);

/* Returns the length of word `index` of a blank-separated list, 0 past the end; *at is its start. */
size_t ist_word(const char *list, size_t index, const char **at);

#endif
