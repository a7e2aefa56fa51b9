/* core/base/config_priv.h: the rows of config.def and config_alias.def as data, for config*.c only.
 * Reading the environment is config.c, files are config_file.c, values config_value.c, pages and tables
 * config_print.c. */
#ifndef IST_BASE_CONFIG_PRIV_H
#define IST_BASE_CONFIG_PRIV_H

#include "core/base/config.h"

#define IST_PREFIX "ISTHMUS_"
#define IST_PREFIX_LENGTH (sizeof IST_PREFIX - 1)

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

/* Returns true if this library has nothing that the value stands for. */
bool ist_alias_is_without_effect(const struct ist_alias *alias, const char *text);

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

/* ---- the files isthmus.conf (config_file.c) ---- */

enum { IST_CONFIG_FILE_SYSTEM, IST_CONFIG_FILE_USER, IST_N_CONFIG_FILES }; /* each is stronger than the one before */

/* A line of a file. `where` is FILE:LINE, and what struct ist_config's set_by names for it. */
struct ist_file_setting {
    char *name, *text, *where;
};

struct ist_config_file {
    char *path; /* NULL: there is no such place */
    bool is_read;
    int error; /* why a file that exists could not be read; 0: none */
    size_t n;
    struct ist_file_setting *settings;
};

extern const char *ist_config_system_file; /* tests have another one */

/* Reads both files. Returns INVALID if a line is none of a setting, a comment or empty, or if a file has two values for
 * one name; the other lines hold. Free them after a failure too. */
isthmus_status ist_config_files_read(struct ist_config_file files[IST_N_CONFIG_FILES]);
void ist_config_files_free(struct ist_config_file files[IST_N_CONFIG_FILES]); /* accepts NULL */

/* Adds the settings of a text, which is cut into pieces. `before` is the result of what was parsed before. */
isthmus_status ist_config_file_parse(struct ist_config_file *file, char *text, isthmus_status before);

/* Returns the strongest setting of a name in files, or NULL. */
const struct ist_file_setting *ist_config_file_find(const struct ist_config *config, const char *name);

/* Where a setting is from; `set_by` is an entry of the configuration's set_by. */
enum ist_config_source { IST_SOURCE_DEFAULT, IST_SOURCE_SYSTEM, IST_SOURCE_USER, IST_SOURCE_ENVIRONMENT };
enum ist_config_source ist_config_source(const struct ist_config *config, const char *set_by);

/* ---- messages ---- */

enum { IST_PROBLEM_BYTES = 512, IST_QUOTE_BYTES = 64 };

/* Copies a value for a message: cut, and without control characters. */
void ist_config_quote(const char *text, char out[IST_QUOTE_BYTES]);

/* Fails with this problem, or adds it to those of a failure before. Returns INVALID, or `before`. */
isthmus_status ist_config_add_problem(isthmus_status before, const char *problem);

/* ---- values (config_value.c) ---- */

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
