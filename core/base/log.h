/* core/base/log.h: messages for users, by level. One line each, to stderr or to ISTHMUS_LOG_FILE.
 * Not for failures that are returned (status.h): the caller that handles or drops such a failure logs it, once.
 * Levels: error (the request failed), warn (it works, but worse; once per cause), info (choices: routes, sizes), debug
 * (per object), trace (per operation). */
#ifndef IST_BASE_LOG_H
#define IST_BASE_LOG_H

#include "core/base/status.h"

#include <stdbool.h>

extern uint32_t ist_log_threshold; /* highest level that is printed; ISTHMUS_LOG_WARN until configured */

/* Arguments are evaluated only when the level is on. */
#define ist_log(level, ...)                                                                                     \
    do {                                                                                                        \
        if (IST_UNLIKELY((uint32_t)(level) <= ist_log_threshold) && ist_log_wants((uint32_t)(level), __FILE__)) \
            ist_log_write((uint32_t)(level), __VA_ARGS__);                                                      \
    } while (0)
#define ist_error(...) ist_log_write(ISTHMUS_LOG_ERROR, __VA_ARGS__) /* errors are always printed */
#define ist_warn(...) ist_log(ISTHMUS_LOG_WARN, __VA_ARGS__)
#define ist_info(...) ist_log(ISTHMUS_LOG_INFO, __VA_ARGS__)
#define ist_debug(...) ist_log(ISTHMUS_LOG_DEBUG, __VA_ARGS__)

/* Returns true if the filter includes the area of this source file, which is its folder of core/; files that lie
 * elsewhere count as core/ itself. Always for warnings and errors. */
bool ist_log_wants(uint32_t level, const char *file) IST_COLD;

/* Sets the filter: a comma list of areas (life) or of NVSHMEM's names for groups of them (INIT), or ^ and a list to
 * exclude; NULL or "": all. Returns INVALID if a word is neither. */
isthmus_status ist_log_filter(const char *list);

/* Writes "isthmus: PE 3: info: TEXT\n" in one write(2); the PE is left out until it is known, the level on errors.
 * Safe from any thread; keeps errno. */
void ist_log_write(uint32_t level, const char *fmt, ...) IST_PRINTF(2, 3) IST_COLD;
void ist_log_write_v(uint32_t level, const char *fmt, va_list args) IST_COLD;

/* Replaces control characters in place, so that a line stays one line, whatever a peer or the environment has put into
 * it. */
void ist_log_blank_controls(char *text, size_t length_bytes);

/* Sets the threshold and the file (NULL or "": stderr; %h becomes the host name, %p the process id). If the file cannot
 * be opened, a warning and all later lines go to stderr. */
void ist_log_open(uint32_t threshold, const char *file);
void ist_log_set_pe(int pe); /* -1: not known */
void ist_log_close(void);    /* back to stderr */

#endif
