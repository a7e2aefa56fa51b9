/* core/base/log.c: one line, one write(2). No lock, no buffer shared between threads, no stdio: a child of fork() may
 * log at once, and lines of several PEs in one file stay whole (O_APPEND).
 * Contract: log.h. */
#include "core/base/log.h"

#include "core/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LINE_BYTES 2048 /* below PIPE_BUF: a line into a pipe is not mixed with another PE's */
#define PATH_BYTES 4096

uint32_t ist_log_threshold = ISTHMUS_LOG_WARN;

/* Relaxed everywhere: each is a single independent word, set before threads start. */
static _Atomic int log_fd = STDERR_FILENO;
static _Atomic int log_pe = -1;

/* ---- areas ---- */

/* The area of a file is its folder of core/; of core/ itself, and of other files, the first one. `group` is the word
 * that NVSHMEM has for such messages. */
static const struct area {
    const char *folder, *group;
} areas[] = {
    {"core", "INIT"},      {"api", "P2P"},    {"base", "UTIL"},
    {"boot", "BOOTSTRAP"}, {"check", "UTIL"}, {"coll", "COLL"},
    {"ctx", "P2P"},        {"heap", "MEM"},   {"life", "INIT"},
    {"memory", "MEM"},     {"ops", "P2P"},    {"profile", "UTIL"},
    {"proxy", "PROXY"},    {"stream", "P2P"}, {"sync", "P2P"},
    {"team", "COLL"},      {"topo", "TOPO"},  {"transport", "TRANSPORT"},
};
enum { AREAS = sizeof areas / sizeof *areas, ALL_AREAS = (1 << AREAS) - 1 };
static uint32_t wanted_areas = ALL_AREAS; /* set before threads start */

static bool is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(word, name, length) == 0;
}

static unsigned area_of(const char *file)
{
    const char *end = strrchr(file, '/'), *folder = end;
    if (end == NULL) return 0;
    while (folder > file && folder[-1] != '/') folder--;
    for (unsigned i = 0; i < AREAS; i++)
        if (is_word(folder, (size_t)(end - folder), areas[i].folder)) return i;
    return 0;
}

bool ist_log_wants(uint32_t level, const char *file)
{
    if (level <= ISTHMUS_LOG_WARN || wanted_areas == ALL_AREAS) return true;
    return (wanted_areas >> area_of(file) & 1) != 0;
}

static uint32_t areas_of_word(const char *word, size_t length)
{
    uint32_t found = is_word(word, length, "ALL") ? ALL_AREAS : 0;
    for (unsigned i = 0; i < AREAS; i++)
        if (is_word(word, length, areas[i].folder) || is_word(word, length, areas[i].group)) found |= 1u << i;
    return found;
}

isthmus_status ist_log_filter(const char *list)
{
    wanted_areas = ALL_AREAS;
    if (list == NULL || *list == '\0') return ISTHMUS_OK;
    bool leaves_out = *list == '^';
    uint32_t named = 0;
    for (const char *word = list + leaves_out; *word != '\0'; word += strspn(word, ",")) {
        size_t length = strcspn(word, ",");
        uint32_t found = areas_of_word(word, length);
        if (found == 0)
            return ist_fail(
                ISTHMUS_ERR_INVALID,
                "ISTHMUS_LOG_FILTER is '%s'; accepted: a comma list of areas (core api base boot check coll ctx heap "
                "life memory ops profile proxy stream sync team topo transport) or groups of them (INIT COLL P2P PROXY "
                "TRANSPORT MEM BOOTSTRAP TOPO UTIL ALL), or ^ and such a list",
                list);
        named |= found;
        word += length;
    }
    wanted_areas = leaves_out ? ALL_AREAS & ~named : named;
    return ISTHMUS_OK;
}

static const char *level_word(uint32_t level)
{
    static const char *const words[] = {"", "warning: ", "info: ", "debug: ", "trace: "};
    return level < sizeof words / sizeof *words ? words[level] : "trace: ";
}

void ist_log_blank_controls(char *text, size_t length_bytes)
{
    for (size_t i = 0; i < length_bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ' || c == 0x7f) text[i] = ' ';
    }
}

static void write_whole(int fd, const char *line, size_t length_bytes)
{
    int cancel = ist_cancel_disable();
    while (length_bytes > 0) {
        ssize_t written = write(fd, line, length_bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break; /* there is no output left to report it on */
        line += written;
        length_bytes -= (size_t)written;
    }
    ist_cancel_restore(cancel);
}

static size_t put_prefix(char *line, size_t room, uint32_t level)
{
    int pe = atomic_load_explicit(&log_pe, memory_order_relaxed);
    int length = pe < 0 ? snprintf(line, room, "isthmus: %s", level_word(level))
                        : snprintf(line, room, "isthmus: PE %d: %s", pe, level_word(level));
    return (size_t)length;
}

void ist_log_write_v(uint32_t level, const char *fmt, va_list args)
{
    int saved = errno;
    char line[LINE_BYTES];
    size_t start = put_prefix(line, sizeof line, level);
    size_t room = sizeof line - start - 1; /* leaves room for the newline */
    int wanted = vsnprintf(line + start, room, fmt, args);
    size_t used = wanted < 0 ? 0 : (size_t)wanted;
    if (used >= room) {
        used = room - 1;
        memcpy(line + start + used - 3, "...", 3);
    }
    ist_log_blank_controls(line + start, used);
    line[start + used] = '\n';
    write_whole(atomic_load_explicit(&log_fd, memory_order_relaxed), line, start + used + 1);
    errno = saved;
}

void ist_log_write(uint32_t level, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    ist_log_write_v(level, fmt, args);
    va_end(args);
}

/* Expands %h to the host name, %p to the process id, %% to a percent sign; all else is copied. Returns false if it does
 * not fit. */
static bool expand_file_name(const char *file, char *out, size_t room)
{
    size_t used = 0;
    for (; *file != '\0'; file++) {
        char piece[256] = {*file};
        if (file[0] == '%' && file[1] != '\0' && strchr("hp%", file[1]) != NULL) {
            file++;
            if (*file == 'p') snprintf(piece, sizeof piece, "%ld", (long)getpid());
            if (*file == 'h' && gethostname(piece, sizeof piece - 1) != 0) snprintf(piece, sizeof piece, "unknown");
        }
        size_t length = strlen(piece);
        if (used + length >= room) return false;
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return true;
}

static int open_file(const char *file)
{
    char path[PATH_BYTES];
    if (!expand_file_name(file, path, sizeof path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
}

void ist_log_open(uint32_t threshold, const char *file)
{
    ist_log_close();
    ist_log_threshold = threshold;
    if (file == NULL || *file == '\0') return;
    int fd = open_file(file);
    if (fd >= 0) {
        atomic_store_explicit(&log_fd, fd, memory_order_relaxed);
    } else {
        ist_warn("cannot open the log file '%.256s' (ISTHMUS_LOG_FILE): %s; logging to stderr", file, strerror(errno));
    }
}

void ist_log_set_pe(int pe) { atomic_store_explicit(&log_pe, pe, memory_order_relaxed); }

/* A thread that logs while the log closes may lose its line, or write to the next descriptor of that number: the core's
 * threads have ended by then. */
void ist_log_close(void)
{
    int fd = atomic_exchange_explicit(&log_fd, STDERR_FILENO, memory_order_relaxed);
    if (fd != STDERR_FILENO) close(fd);
}
