/* core/base/config_file.c: the two files isthmus.conf, which hold settings under the names of the environment's
 * variables: that of the system and, in a program without more rights than its caller, that of the user.
 * What a setting means and which one takes effect is config.c. */
#include "core/base/config_priv.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "isthmus.conf"
enum { LARGEST_FILE_BYTES = 1 << 20 }; /* a larger one is no file of settings */

const char *ist_config_system_file = ISTHMUS_SYSCONFDIR "/" FILE_NAME;

/* ---- where ---- */

/* Returns NULL if there is no such place, or no memory. A privileged program sees neither variable. */
static char *user_path(void)
{
    const char *folder = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (folder != NULL && *folder == '/')
        n = asprintf(&path, "%s/" FILE_NAME, folder);
    else if (home != NULL && *home == '/')
        n = asprintf(&path, "%s/.config/" FILE_NAME, home);
    return n < 0 ? NULL : path;
}

/* ---- lines ---- */

static char *trim(char *text)
{
    while (isspace((unsigned char)*text)) text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
    return text;
}

static const struct ist_file_setting *find_in(const struct ist_config_file *file, const char *name)
{
    for (size_t i = 0; i < file->n; i++)
        if (strcmp(file->settings[i].name, name) == 0) return &file->settings[i];
    return NULL;
}

static isthmus_status add_setting(struct ist_config_file *file, const char *name, const char *value, unsigned line)
{
    struct ist_file_setting *grown = realloc(file->settings, (file->n + 1) * sizeof *grown), *one;
    if (grown == NULL) return ist_fail_memory("the settings of %s", file->path);
    file->settings = grown;
    one = &grown[file->n];
    *one = (struct ist_file_setting){.name = strdup(name), .text = strdup(value)};
    bool is_full = asprintf(&one->where, "%s:%u", file->path, line) < 0 || one->name == NULL || one->text == NULL;
    if (!is_full) {
        file->n++;
        return ISTHMUS_OK;
    }
    free(one->name);
    free(one->text);
    return ist_fail_memory("the settings of %s", file->path);
}

static isthmus_status read_line(struct ist_config_file *file, char *text, unsigned line, isthmus_status before)
{
    char problem[IST_PROBLEM_BYTES], quoted[IST_QUOTE_BYTES], other[IST_QUOTE_BYTES];
    text = trim(text);
    if (*text == '\0' || *text == '#') return before;
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        ist_config_quote(text, quoted);
        snprintf(problem, sizeof problem, "%s:%u is '%s'; accepted: NAME=VALUE, a comment after #, or an empty line",
                 file->path, line, quoted);
        return ist_config_add_problem(before, problem);
    }
    *equals = '\0';
    const char *name = trim(text), *value = trim(equals + 1);
    const struct ist_file_setting *earlier = find_in(file, name);
    if (earlier == NULL) {
        isthmus_status added = add_setting(file, name, value, line);
        return added == ISTHMUS_OK ? before : added;
    }
    if (strcmp(earlier->text, value) == 0) return before;
    ist_config_quote(earlier->text, other);
    ist_config_quote(value, quoted);
    snprintf(problem, sizeof problem,
             "%s is '%s' in %s and '%s' in line %u, which contradict each other; keep one line", name, other,
             earlier->where, quoted, line);
    return ist_config_add_problem(before, problem);
}

isthmus_status ist_config_file_parse(struct ist_config_file *file, char *text, isthmus_status before)
{
    char *rest = text;
    unsigned line = 0;
    for (char *one; (one = strsep(&rest, "\n")) != NULL;) before = read_line(file, one, ++line, before);
    return before;
}

/* ---- files ---- */

static ssize_t read_whole(int fd, char *out, size_t room)
{
    size_t used = 0;
    ssize_t n = 1;
    while (used < room && (n = read(fd, out + used, room - used)) != 0) {
        if (n > 0) used += (size_t)n;
        if (n < 0 && errno != EINTR) return -1;
    }
    return (ssize_t)used;
}

/* Returns the file's text, malloc'ed; NULL with the reason in errno. Does not wait for the writer of a pipe. */
static char *load(const char *path)
{
    struct stat is;
    char *text = NULL;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), failure = errno;
    if (fd < 0) return NULL;
    if (fstat(fd, &is) != 0)
        failure = errno;
    else if (!S_ISREG(is.st_mode))
        failure = S_ISDIR(is.st_mode) ? EISDIR : EINVAL;
    else if (is.st_size > LARGEST_FILE_BYTES)
        failure = EFBIG;
    else if ((text = malloc((size_t)is.st_size + 1)) == NULL || (n = read_whole(fd, text, (size_t)is.st_size)) < 0)
        failure = errno;
    close(fd);
    if (n < 0) {
        free(text);
        errno = failure;
        return NULL;
    }
    for (ssize_t i = 0; i < n; i++)
        if (text[i] == '\0') text[i] = '\1'; /* a zero would hide the rest of the file */
    text[n] = '\0';
    return text;
}

static isthmus_status read_file(struct ist_config_file *file, isthmus_status before)
{
    char *text = load(file->path);
    file->is_read = text != NULL;
    if (text == NULL) {
        if (errno != ENOENT && errno != ENOTDIR) file->error = errno;
        return before;
    }
    before = ist_config_file_parse(file, text, before);
    free(text);
    return before;
}

isthmus_status ist_config_files_read(struct ist_config_file files[IST_N_CONFIG_FILES])
{
    isthmus_status status = ISTHMUS_OK;
    memset(files, 0, IST_N_CONFIG_FILES * sizeof *files);
    files[IST_CONFIG_FILE_SYSTEM].path = strdup(ist_config_system_file);
    files[IST_CONFIG_FILE_USER].path = user_path();
    for (size_t i = 0; i < IST_N_CONFIG_FILES; i++)
        if (files[i].path != NULL) status = read_file(&files[i], status);
    return status;
}

void ist_config_files_free(struct ist_config_file files[IST_N_CONFIG_FILES])
{
    for (size_t i = 0; files != NULL && i < IST_N_CONFIG_FILES; i++) {
        for (size_t j = 0; j < files[i].n; j++) {
            free(files[i].settings[j].name);
            free(files[i].settings[j].text);
            free(files[i].settings[j].where);
        }
        free(files[i].settings);
        free(files[i].path);
    }
}

/* ---- look-up ---- */

const struct ist_file_setting *ist_config_file_find(const struct ist_config *config, const char *name)
{
    const struct ist_file_setting *found = NULL;
    for (size_t i = IST_N_CONFIG_FILES; i-- > 0 && found == NULL && config->files != NULL;)
        found = find_in(&config->files[i], name);
    return found;
}

enum ist_config_source ist_config_source(const struct ist_config *config, const char *set_by)
{
    if (set_by == NULL) return IST_SOURCE_DEFAULT;
    for (unsigned i = 0; i < IST_N_CONFIG_FILES && config->files != NULL; i++)
        for (size_t j = 0; j < config->files[i].n; j++)
            if (config->files[i].settings[j].where == set_by) return IST_SOURCE_SYSTEM + i;
    return IST_SOURCE_ENVIRONMENT;
}
