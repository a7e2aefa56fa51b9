/* core/base/config_print.c: the variables for users, for other tools and for other PEs: table, short list, what a job's
 * PEs compare, JSON, reference page.
 * Everything comes from the rows of config.def and config_alias.def; nothing is described twice. */
#include "core/base/config_priv.h"

#include "core/base/json.h"

#include <string.h>

enum { COLUMNS = 80 };

static const char *set_by(const struct ist_config *config, size_t row)
{
    return config->set_by != NULL ? config->set_by[row] : NULL;
}

static void value_text(const struct ist_config *config, size_t row, char out[IST_VALUE_TEXT_BYTES])
{
    struct ist_value value = ist_value_load(&ist_vars[row], config);
    ist_value_print(&ist_vars[row], &value, out, IST_VALUE_TEXT_BYTES);
}

/* ---- text ---- */

/* Writes words into lines of COLUMNS, each line indented. */
struct filler {
    FILE *out;
    int indent, column; /* column 0: the line is empty */
};

static void fill(struct filler *f, const char *words)
{
    const char *word;
    size_t length;
    for (size_t i = 0; (length = ist_word(words, i, &word)) != 0; i++) {
        bool fits = f->column > 0 && f->column + 1 + (int)length <= COLUMNS;
        if (f->column > 0 && !fits) {
            fputc('\n', f->out);
            f->column = 0;
        }
        f->column += fprintf(f->out, "%*s%.*s", f->column > 0 ? 1 : f->indent, "", (int)length, word);
    }
}

static void fill_end(struct filler *f)
{
    if (f->column > 0) fputc('\n', f->out);
    f->column = 0;
}

static void fill_aliases(struct filler *f, size_t row)
{
    char name[96];
    const char *before = NULL;
    for (size_t i = 0; i < ist_n_aliases; i++) {
        if (ist_aliases[i].target != row) continue;
        if (before != NULL) snprintf(name, sizeof name, "%s,", before);
        fill(f, before != NULL ? name : "also:");
        before = ist_aliases[i].name;
    }
    if (before != NULL) fill(f, before);
    fill_end(f);
}

static const char *const source_names[] = {[IST_SOURCE_DEFAULT] = "default",
                                           [IST_SOURCE_SYSTEM] = "system",
                                           [IST_SOURCE_USER] = "user",
                                           [IST_SOURCE_ENVIRONMENT] = "environment"};

void ist_config_print_files(FILE *out, const struct ist_config *config)
{
    fputs("settings from, each stronger than the one before:\n", out);
    for (unsigned i = 0; i < IST_N_CONFIG_FILES && config->files != NULL; i++) {
        const struct ist_config_file *file = &config->files[i];
        fprintf(out, "  %-11s  %s", source_names[IST_SOURCE_SYSTEM + i], file->path != NULL ? file->path : "no file");
        if (file->error != 0) fprintf(out, " (cannot be read: %s)", strerror(file->error));
        if (file->path != NULL && !file->is_read && file->error == 0) fputs(" (does not exist)", out);
        fputc('\n', out);
    }
    fprintf(out, "  %s\n\n", source_names[IST_SOURCE_ENVIRONMENT]);
}

void ist_config_print_table(FILE *out, const struct ist_config *config)
{
    struct filler f = {.out = out, .indent = 4};
    fprintf(out, "%-30s %-13s %s\n", "variable", "value", "set by");
    for (size_t row = 0; row < IST_N_VARS; row++) {
        char value[IST_VALUE_TEXT_BYTES];
        const char *source = set_by(config, row);
        value_text(config, row, value);
        fprintf(out, "%-30s %-13s %s\n", ist_vars[row].name, *value != '\0' ? value : "-",
                source != NULL ? source : "default");
        fill(&f, ist_vars[row].help);
        fill_end(&f);
        fill(&f, "accepted:");
        fill(&f, ist_vars[row].accepted);
        fill_end(&f);
        fill_aliases(&f, row);
    }
}

void ist_config_print_set(FILE *out, const struct ist_config *config)
{
    bool any = false;
    for (size_t row = 0; row < IST_N_VARS; row++) {
        char value[IST_VALUE_TEXT_BYTES];
        const char *source = set_by(config, row);
        if (source == NULL) continue;
        any = true;
        value_text(config, row, value);
        fprintf(out, "  %s = %s", ist_vars[row].name, value);
        if (strcmp(source, ist_vars[row].name) != 0) fprintf(out, " (set by %s)", source);
        fputc('\n', out);
    }
    if (!any) fputs("  none\n", out);
}

/* ---- for the other PEs of the job ---- */

size_t ist_config_write_agreed(const struct ist_config *config, char *out, size_t room)
{
    enum { LONGEST_BYTES = 4096 }; /* a longer text is compared up to here */
    size_t used = 0;
    for (size_t row = 0; row < IST_N_VARS; row++) {
        char text[LONGEST_BYTES];
        const char *source = set_by(config, row);
        bool is_renamed = source != NULL && strcmp(source, ist_vars[row].name) != 0;
        if (ist_vars[row].of != IST_OF_JOB) continue;
        struct ist_value value = ist_value_load(&ist_vars[row], config);
        ist_value_print(&ist_vars[row], &value, text, sizeof text);
        used += (size_t)snprintf(used < room ? out + used : NULL, used < room ? room - used : 0, "%s\t%s%s%s\n",
                                 ist_vars[row].name, text, is_renamed ? "\t" : "", is_renamed ? source : "");
    }
    return used;
}

/* ---- JSON ---- */

static const char *type_name(enum ist_var_type type)
{
    switch (type) {
    case IST_TYPE_SIZE: return "size";
    case IST_TYPE_BOOL: return "boolean";
    case IST_TYPE_ENUM: return "word";
    case IST_TYPE_SECONDS: return "seconds";
    case IST_TYPE_COUNT: return "number";
    case IST_TYPE_SPIN: return "time";
    case IST_TYPE_TEXT: return "text";
    case IST_TYPE_PATH: return "path";
    }
    return "?";
}

static void json_value(struct ist_json *json, size_t row, const struct ist_config *config)
{
    char text[IST_VALUE_TEXT_BYTES];
    struct ist_value value = ist_value_load(&ist_vars[row], config);
    value_text(config, row, text);
    switch (ist_vars[row].type) {
    case IST_TYPE_BOOL: ist_json_bool(json, "value", value.number != 0); break;
    case IST_TYPE_TEXT:
    case IST_TYPE_PATH: ist_json_string(json, "value", value.text); break;
    case IST_TYPE_ENUM: ist_json_string(json, "value", text); break;
    case IST_TYPE_SECONDS:
    case IST_TYPE_COUNT: ist_json_number(json, "value", value.number); break;
    case IST_TYPE_SPIN:
        if (value.number == UINT64_MAX)
            ist_json_string(json, "value", text);
        else
            ist_json_number(json, "value", value.number);
        break;
    case IST_TYPE_SIZE:
        if (value.number == 0)
            ist_json_null(json, "value");
        else
            ist_json_number(json, "value", value.number);
    }
}

static const char *unit_name(enum ist_var_type type)
{
    switch (type) {
    case IST_TYPE_SIZE: return "bytes";
    case IST_TYPE_SECONDS: return "s";
    case IST_TYPE_SPIN: return "ns";
    default: return NULL;
    }
}

static void json_row(struct ist_json *json, size_t row, const struct ist_config *config)
{
    const struct ist_var *var = &ist_vars[row];
    ist_json_begin_object(json, NULL);
    ist_json_string(json, "name", var->name);
    ist_json_string(json, "type", type_name(var->type));
    ist_json_string(json, "unit", unit_name(var->type));
    json_value(json, row, config);
    ist_json_string(json, "set_by", set_by(config, row));
    ist_json_string(json, "default", *var->preset != '\0' ? var->preset : NULL);
    ist_json_string(json, "source", source_names[ist_config_source(config, set_by(config, row))]);
    ist_json_string(json, "accepted", var->accepted);
    ist_json_string(json, "help", var->help);
    ist_json_begin_array(json, "aliases");
    for (size_t i = 0; i < ist_n_aliases; i++)
        if (ist_aliases[i].target == row) ist_json_string(json, NULL, ist_aliases[i].name);
    ist_json_end_array(json);
    ist_json_end_object(json);
}

void ist_config_print_json(struct ist_json *out, const char *key, const struct ist_config *config)
{
    ist_json_begin_array(out, key);
    for (size_t row = 0; row < IST_N_VARS; row++) json_row(out, row, config);
    ist_json_end_array(out);
}

/* ---- the reference page ---- */

static const char page_start[] =
    "# Environment variables\n"
    "\n"
    "This page is made from the program's own tables: `isthmus-info --env-markdown > docs/environment.md`.\n"
    "`isthmus-info --env` shows the same with the values that hold now and where they come from.\n"
    "\n"
    "- Settings come from the file of the system, that of the user and the environment: the environment wins over the\n"
    "  user's file, and that over the system's ([isthmus.conf](#isthmusconf)).\n"
    "- When several names set one thing in the environment, the `ISTHMUS_` name wins, then the name of the API that\n"
    "  the program initialised first, then `SHMEM_`, then `SMA_`, then the names of the other APIs. Two different\n"
    "  values of equal rank are an error that names both.\n"
    "- A value that is not accepted is an error: the program does not start, and the message says what is accepted.\n"
    "- An `ISTHMUS_` name that does not exist is reported as a warning with the nearest name that does.\n"
    "- Booleans: `0`, `n`, `no`, `f`, `false` and `off` in any case are false; every other text, the empty one too,\n"
    "  is true.\n"
    "- Sizes: a number, an optional fraction, and one of the suffixes `k m g t` (powers of 1024, either case); what\n"
    "  follows the suffix is ignored; the result is rounded up.\n"
    "- Words are accepted in any case.\n"
    "- Paths are not taken from the environment of set-user-id programs.\n"
    "- Variables of one transport are named `ISTHMUS_<TRANSPORT>_<KEY>` and are described with that transport.\n"
    "\n"
    "## isthmus.conf\n"
    "\n"
    "Two files may hold settings under the `ISTHMUS_` names of this page and of the transports, one a line:\n"
    "`/etc/isthmus.conf` (or another folder of the system, chosen when the library was built) and, with more weight,\n"
    "`$XDG_CONFIG_HOME/isthmus.conf`, which is `~/.config/isthmus.conf` if that variable is not set.\n"
    "`isthmus-info --env` prints both paths first, and for each setting the file and line that it is from.\n"
    "\n"
    "    # PEs of this cluster start slowly, and share their processors\n"
    "    ISTHMUS_PEER_TIMEOUT = 60\n"
    "    ISTHMUS_SPIN = 300ns\n"
    "\n"
    "- A value is the rest of its line without the blanks around it; a line that begins with `#` is a comment.\n"
    "- A line that is neither, two values for one name, or a value that is not accepted is an error, which names file\n"
    "  and line. A name that does not exist, and a file that cannot be read, are reported as warnings.\n"
    "- Other names of a setting, such as `SHMEM_SYMMETRIC_SIZE`, have an effect in the environment only; any of them\n"
    "  there wins over the files.\n"
    "- Each PE reads the files of its own host at each init that starts a job. What all PEs must have alike is\n"
    "  compared as usual.\n"
    "- Set-user-id programs read the system's file only.\n"
    "- `isthmus-check-transport` reads the environment only.\n";

static void page_row(FILE *out, const struct ist_var *var)
{
    fprintf(out, "\n## %s\n\n%s\n\n", var->name, var->help);
    fprintf(out, "- Type: %s\n", type_name(var->type));
    if (*var->preset != '\0')
        fprintf(out, "- Default: `%s`\n", var->preset);
    else
        fprintf(out, "- Default: not set\n");
    if (var->of == IST_OF_JOB) fputs("- All PEs of a job need the same value\n", out);
    fprintf(out, "- Accepted: %s%s%s\n", var->type == IST_TYPE_ENUM ? "`" : "", var->accepted,
            var->type == IST_TYPE_ENUM ? "`" : "");
}

static void page_alias(FILE *out, const struct ist_alias *alias)
{
    fprintf(out, "| `%s` | `%s` | ", alias->name, ist_vars[alias->target].name);
    switch (alias->map) {
    case IST_MAP_SAME: fputs("its value |\n", out); break;
    case IST_MAP_IF_TRUE: fprintf(out, "`%s` when true |\n", alias->text); break;
    case IST_MAP_IF_FILLED: fprintf(out, "`%s` when not empty |\n", alias->text); break;
    case IST_MAP_WORDS: fprintf(out, "by its value: `%s` |\n", alias->text); break;
    }
}

static const char *const when_texts[] = {
    [IST_WHEN_TRUE] = "true", [IST_WHEN_FALSE] = "false", [IST_WHEN_NONE] = "`none`"};

void ist_config_print_markdown(FILE *out)
{
    fputs(page_start, out);
    for (size_t row = 0; row < IST_N_VARS; row++) page_row(out, &ist_vars[row]);
    fputs("\n## Names of the three APIs\n\n"
          "`=!` marks a value that has no effect here; a warning says so when it is set.\n\n"
          "| Variable | Sets | To |\n| --- | --- | --- |\n",
          out);
    for (size_t i = 0; i < ist_n_aliases; i++) page_alias(out, &ist_aliases[i]);
    for (size_t i = 0; i < ist_n_exclusions; i++)
        fprintf(out, "| `%s` | `ISTHMUS_TRANSPORTS` | `^%s` when %s |\n", ist_exclusions[i].name,
                ist_exclusions[i].transport, when_texts[ist_exclusions[i].when]);
    fputs("\n## Read by plugins\n\nThese count as the plugin's own variable when that is not set.\n\n"
          "| Variable | Counts as |\n| --- | --- |\n",
          out);
    for (size_t i = 0; i < ist_n_plugin_aliases; i++)
        fprintf(out, "| `%s` | `%s` |\n", ist_plugin_aliases[i].name, ist_plugin_aliases[i].target);
    fputs("\n## Without effect\n\nThese are known and ignored; a warning says so when one is set.\n\n"
          "| Variable | Why |\n| --- | --- |\n",
          out);
    for (size_t i = 0; i < ist_n_ignored_names; i++)
        fprintf(out, "| `%s` | %s |\n", ist_ignored_names[i].name, ist_ignored_names[i].reason);
    fputs("\n## Nothing to do\n\n"
          "These are known, and what they ask for holds anyway; nothing is said when one is set.\n\n"
          "| Variable | Why |\n| --- | --- |\n",
          out);
    for (size_t i = 0; i < ist_n_silent_names; i++)
        fprintf(out, "| `%s` | %s |\n", ist_silent_names[i].name, ist_silent_names[i].reason);
}
