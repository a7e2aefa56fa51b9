/* core/base/status.h: how failures are returned. One type, one text per failure, written where the cause is known.
 * Not the log (log.h), and not what ends a job (core/base/fatal.h).
 * The codes themselves are part of the plugin ABI: isthmus/transport.h. */
#ifndef IST_BASE_STATUS_H
#define IST_BASE_STATUS_H

#include <isthmus/transport.h>

#include <stdarg.h>

#define IST_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define IST_COLD __attribute__((noinline, cold))

/* For fast paths: with hundreds of callers the compiler would otherwise keep one copy and call it, and constants such
 * as an element's size would not fold. Without optimisation nothing folds, and thousands of copies only cost time to
 * compile. */
#ifdef __OPTIMIZE__
#define IST_INLINE static inline __attribute__((always_inline))
#else
#define IST_INLINE static inline
#endif
#define IST_LIKELY(x) __builtin_expect(!!(x), 1)
#define IST_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Keeps the text of a failure for this thread and returns `status`: `return ist_fail(ISTHMUS_ERR_IO, ...)`. Called once
 * per failure, where the cause is first known. Lower case, no full stop, no newline. */
isthmus_status ist_fail(isthmus_status status, const char *fmt, ...) IST_PRINTF(2, 3) IST_COLD;
isthmus_status ist_fail_v(isthmus_status status, const char *fmt, va_list args) IST_COLD;

/* The same, with ": " and the system's text for errno at the end. */
isthmus_status ist_fail_errno(isthmus_status status, const char *fmt, ...) IST_PRINTF(2, 3) IST_COLD;

/* The same for memory that cannot be allocated; the text names what it was for: "the routes to %d PEs". */
isthmus_status ist_fail_memory(const char *fmt, ...) IST_PRINTF(1, 2) IST_COLD;

/* Returns the text of this thread's last failure; never NULL; valid until its next failure. */
const char *ist_fail_text(void);

/* Returns "NO_MEMORY" for ISTHMUS_ERR_NO_MEMORY, "OK" for 0, and "?" for an unknown code. */
const char *ist_status_name(isthmus_status status);

#endif
