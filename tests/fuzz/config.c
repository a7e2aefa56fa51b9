/* tests/fuzz/config.c: the environment, as the first init reads it, and the same bytes as a file of settings. An input
 * is a face and then lines: two bytes choose a variable of Isthmus or one of its other names, the rest of the line is
 * its value; a number past the last one: the line is NAME=value itself. */
#include "core/base/config_priv.h"
#include "core/base/log.h"
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

enum { MOST_LINES = 32 };

static const char *name_of(unsigned number)
{
    if (number < IST_N_VARS) return ist_vars[number].name;
    number -= IST_N_VARS;
    if (number < ist_n_aliases) return ist_aliases[number].name;
    number -= (unsigned)ist_n_aliases;
    if (number < ist_n_exclusions) return ist_exclusions[number].name;
    number -= (unsigned)ist_n_exclusions;
    return number < ist_n_ignored_names ? ist_ignored_names[number].name : NULL;
}

/* One entry of an environment, malloc'ed; NULL: the input has ended. */
static char *take_line(struct fuzz_input *in)
{
    if (in->end - in->at < 3) return NULL;
    unsigned number = fuzz_byte(in);
    number += 256u * fuzz_byte(in);
    const uint8_t *newline = memchr(in->at, '\n', (size_t)(in->end - in->at)), *bytes;
    size_t n_bytes = fuzz_bytes(in, newline != NULL ? (size_t)(newline - in->at) : SIZE_MAX, &bytes);
    (void)fuzz_byte(in); /* the newline */
    const char *name = name_of(number);
    char *value = fuzz_text(bytes, n_bytes), *entry = NULL;
    if (name == NULL) return value;
    if (asprintf(&entry, "%s=%s", name, value) < 0) abort();
    free(value);
    return entry;
}

static void read_configuration(enum ist_face face)
{
    static FILE *nowhere;
    static const char *const prefixes[] = {"loopback", "ib"};
    struct ist_config config;
    if (nowhere == NULL) {
        nowhere = fopen("/dev/null", "w");
        ist_log_open(ISTHMUS_LOG_TRACE, "/dev/null");
    }
    /* Not the whole table: its text is constant, and formatting it took nine tenths of the time. */
    if (ist_config_init(&config, face) == ISTHMUS_OK) ist_config_print_set(nowhere, &config);
    ist_config_warn_unknown(&config, prefixes, 2);
    (void)ist_config_plugin_value("ISTHMUS_LOOPBACK_TIMEOUT");
    ist_config_fini(&config);
}

static void read_as_file(const uint8_t *data, size_t size)
{
    struct ist_config_file files[IST_N_CONFIG_FILES] = {{.path = strdup("isthmus.conf")}};
    char *text = fuzz_text(data, size);
    struct ist_config config = {.files = files};
    (void)ist_config_file_parse(&files[0], text, ISTHMUS_OK);
    ist_config_warn_unknown(&config, NULL, 0);
    ist_config_files_free(files);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *entries[MOST_LINES + 1] = {NULL}, **before = environ;
    struct fuzz_input in = {data, data + size};
    enum ist_face face = fuzz_byte(&in) % 3;
    for (int i = 0; i < MOST_LINES && (entries[i] = take_line(&in)) != NULL; i++) {}
    environ = entries;
    read_configuration(face);
    read_as_file(data, size);
    environ = before;
    for (int i = 0; i < MOST_LINES; i++) free(entries[i]);
    return 0;
}

/* Every variable with its default, and a few under names of other libraries. */
size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const char own_lines[] =
        "\1\xff\xffISTHMUS_HEAP_SIZE=1.5g\n\xff\xffISTHMUS_HEAPSIZE=1\n\xff\xffISTHMUS_SPIN=20us\n"
        "\xff\xffSHMEM_SYMMETRIC_SIZE=64M\n\xff\xffNVSHMEM_REMOTE_TRANSPORT=none\n";
    size_t used = 1;
    if (i > 1) return 0;
    if (i == 1) return fuzz_put(out, room, own_lines, sizeof own_lines - 1);
    out[0] = 0;
    for (unsigned row = 0; row < IST_N_VARS && row < MOST_LINES; row++) {
        const char head[] = {(char)row, 0};
        used += fuzz_put(out + used, room - used, head, sizeof head);
        used += fuzz_put(out + used, room - used, ist_vars[row].preset, strlen(ist_vars[row].preset));
        used += fuzz_put(out + used, room - used, "\n", 1);
    }
    return used;
}
