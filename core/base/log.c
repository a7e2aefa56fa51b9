/* core/base/log.c: one line, one write(2). No lock, no buffer shared between threads, no stdio: a child of fork() may
 * log at once, and lines of several PEs in one file stay whole (O_APPEND).
 * Contract: log.h. */
#include "core/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 2048 /* below PIPE_BUF: a line into a pipe is not mixed with another PE's */
#define PATH_BYTES 4096

uint32_t ist_log_threshold = ISTHMUS_LOG_WARN;

/* Relaxed everywhere: each is one word that is right on its own, and set before threads start. */
static _Atomic int log_fd = STDERR_FILENO;
static _Atomic int log_pe = -1;

static const char *level_word(uint32_t level)
{
    static const char *const words[] = {"", "warning: ", "info: ", "debug: ", "trace: "};
    return level < sizeof words / sizeof *words ? words[level] : "trace: ";
}

/* A line stays one line: values from the environment may hold newlines and terminal escapes. */
static void blank_control_characters(char *text, size_t length_bytes)
{
    for (size_t i = 0; i < length_bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ' || c == 0x7f) text[i] = ' ';
    }
}

static void write_whole(int fd, const char *line, size_t length_bytes)
{
    while (length_bytes > 0) {
        ssize_t written = write(fd, line, length_bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return; /* there is nowhere left to say so */
        line += written;
        length_bytes -= (size_t)written;
    }
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
    size_t room = sizeof line - start - 1; /* for the newline */
    int wanted = vsnprintf(line + start, room, fmt, args);
    size_t used = wanted < 0 ? 0 : (size_t)wanted;
    if (used >= room) {
        used = room - 1;
        memcpy(line + start + used - 3, "...", 3);
    }
    blank_control_characters(line + start, used);
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

/* %h: host name, %p: process id, %%: a percent sign; anything else stands for itself. false: does not fit. */
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
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
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
        ist_warn("cannot open the log file '%.256s': %s; logging to stderr", file, strerror(errno));
    }
}

void ist_log_set_pe(int pe) { atomic_store_explicit(&log_pe, pe, memory_order_relaxed); }

/* Who still logs from another thread while the log closes may lose its line, or write to what is opened next: the
 * core's threads have ended by then. */
void ist_log_close(void)
{
    int fd = atomic_exchange_explicit(&log_fd, STDERR_FILENO, memory_order_relaxed);
    if (fd != STDERR_FILENO) close(fd);
}
