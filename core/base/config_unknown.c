/* core/base/config_unknown.c: warnings about names that mean nothing to this library, in the environment and in files,
 * and about those that it ignores. */
#include "core/base/config_priv.h"

#include "core/base/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const internal_names[] = {
#define IST_INTERNAL(name, help) name,
#include "core/base/config.def"
};

static bool is_setting(const char *name)
{
    for (size_t row = 0; row < IST_N_VARS; row++)
        if (strcmp(name, ist_vars[row].name) == 0) return true;
    return false;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < sizeof internal_names / sizeof *internal_names; i++)
        if (strcmp(name, internal_names[i]) == 0) return true;
    return is_setting(name);
}

static bool belongs_to_plugin(const char *name, const char *const *prefixes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncasecmp(name + IST_PREFIX_LENGTH, prefixes[i], length) == 0 && name[IST_PREFIX_LENGTH + length] == '_')
            return true;
    }
    return false;
}

/* Compares without the prefix that all names share: otherwise every short name would be near to every other. `name` has
 * it or not, in either case. */
static const char *nearest_to(const char *name)
{
    const char *names[IST_N_VARS];
    char upper[IST_QUOTE_BYTES];
    if (strncasecmp(name, IST_PREFIX, IST_PREFIX_LENGTH) == 0) name += IST_PREFIX_LENGTH;
    ist_config_quote(name, upper);
    for (char *c = upper; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
    for (size_t row = 0; row < IST_N_VARS; row++) names[row] = ist_vars[row].name + IST_PREFIX_LENGTH;
    return ist_names_nearest(upper, names, IST_N_VARS);
}

static void warn_about(const char *name)
{
    const char *nearest = nearest_to(name);
    if (nearest != NULL)
        ist_warn("unknown environment variable %s; did you mean " IST_PREFIX "%s?", name, nearest);
    else
        ist_warn("unknown environment variable %s; isthmus-info --env lists those that exist", name);
}

/* Other names of a variable have an effect in the environment only. */
static const char *target_of_alias(const char *name)
{
    for (size_t i = 0; i < ist_n_aliases; i++)
        if (strcmp(ist_aliases[i].name, name) == 0) return ist_vars[ist_aliases[i].target].name + IST_PREFIX_LENGTH;
    return NULL;
}

static void warn_about_setting(const struct ist_file_setting *setting)
{
    char name[IST_QUOTE_BYTES];
    const char *meant = target_of_alias(setting->name);
    ist_config_quote(setting->name, name);
    if (meant == NULL) meant = nearest_to(setting->name);
    if (meant != NULL)
        ist_warn("unknown setting %s in %s; did you mean " IST_PREFIX "%s?", name, setting->where, meant);
    else
        ist_warn("unknown setting %s in %s; isthmus-info --env lists those that exist", name, setting->where);
}

static void warn_about_file(const struct ist_config_file *file, const char *const *prefixes, size_t n)
{
    if (file->error != 0) ist_warn("cannot read %s, which has no effect: %s", file->path, strerror(file->error));
    for (size_t i = 0; i < file->n; i++) {
        const char *name = file->settings[i].name;
        bool is_ours = strncmp(name, IST_PREFIX, IST_PREFIX_LENGTH) == 0;
        if (!is_setting(name) && !(is_ours && belongs_to_plugin(name, prefixes, n)))
            warn_about_setting(&file->settings[i]);
    }
}

static void warn_ignored(void)
{
    for (size_t i = 0; i < ist_n_ignored_names; i++)
        if (getenv(ist_ignored_names[i].name) != NULL)
            ist_warn("environment variable %s has no effect: %s", ist_ignored_names[i].name,
                     ist_ignored_names[i].reason);
    for (size_t i = 0; i < ist_n_aliases; i++) {
        const char *text = getenv(ist_aliases[i].name);
        if (text != NULL && ist_alias_is_without_effect(&ist_aliases[i], text))
            ist_warn("environment variable %s has no effect: this library has no '%s'", ist_aliases[i].name, text);
    }
}

void ist_config_warn_unknown(const struct ist_config *config, const char *const *prefixes, size_t n)
{
    for (size_t i = 0; i < IST_N_CONFIG_FILES && config->files != NULL; i++)
        warn_about_file(&config->files[i], prefixes, n);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        char name[128];
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, IST_PREFIX, IST_PREFIX_LENGTH) != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), *entry);
        if (!is_known(name) && !belongs_to_plugin(name, prefixes, n)) warn_about(name);
    }
    warn_ignored();
}
