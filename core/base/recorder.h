/* core/base/recorder.h: records the program's calls, what they move and how long they wait, for ISTHMUS_PROFILE.
 * Not the report (core/profile). While a profile is recorded no call takes a fast path, as with ISTHMUS_CHECK, so that
 * all of this is on slow paths, and costs one test of one flag there while it is off. Each thread counts in records of
 * its own: no locks, and no cache lines that threads share.
 *
 *     IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
 *
 * A call inside another one of the same thread, the put of a collective, belongs to the outer one. */
#ifndef IST_BASE_RECORDER_H
#define IST_BASE_RECORDER_H

#include "core/base/atomic.h"
#include "core/base/profile_record.h"
#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>

extern bool ist_profile_on; /* between init and finalize, with ISTHMUS_PROFILE, above level 0; relaxed accesses */

/* ---- calls ---- */

struct ist_profile_thread;
struct ist_profile_call {
    struct ist_profile_thread *thread; /* NULL: nothing is recorded */
    bool is_wait;
};

struct ist_profile_call ist_profile_begin_slow(const char *routine, bool is_wait) IST_COLD;
void ist_profile_end_slow(const struct ist_profile_call *call) IST_COLD;

/* `routine`: as the program called it. */
IST_INLINE struct ist_profile_call ist_profile_begin(const char *routine)
{
    if (IST_LIKELY(!ist_load_relaxed(&ist_profile_on))) return (struct ist_profile_call){NULL, false};
    return ist_profile_begin_slow(routine, false);
}

/* The same for a call, or a part of one, that waits for other PEs: its time counts as waited. NULL: a part of a call;
 * nothing is recorded outside of one. */
IST_INLINE struct ist_profile_call ist_profile_begin_wait(const char *routine)
{
    if (IST_LIKELY(!ist_load_relaxed(&ist_profile_on))) return (struct ist_profile_call){NULL, false};
    return ist_profile_begin_slow(routine, true);
}

IST_INLINE void ist_profile_end(const struct ist_profile_call *call)
{
    if (IST_UNLIKELY(call->thread != NULL)) ist_profile_end_slow(call);
}

/* Ends a call that another thread of this PE will make for the program, and record: keeps only the bytes that were
 * counted here. */
void ist_profile_pass_on_slow(const struct ist_profile_call *call) IST_COLD;
IST_INLINE void ist_profile_pass_on(const struct ist_profile_call *call)
{
    if (IST_UNLIKELY(call->thread != NULL)) ist_profile_pass_on_slow(call);
}

/* Ends the call where the function returns. */
#define IST_PROFILE_SCOPE __attribute__((unused, cleanup(ist_profile_end)))

/* ---- transfers, counted where they are made ---- */

enum ist_profile_move { IST_PROFILE_GET, IST_PROFILE_PUT, IST_PROFILE_ATOMIC };

struct ist_profile_moved {
    int pe;             /* in the world */
    uint32_t transport; /* its number in the registry */
    bool is_direct;     /* by load and store */
    enum ist_profile_move what;
    bool is_element; /* one that a routine of the library moves for itself is a flag */
};

void ist_profile_count(const struct ist_profile_moved *moved, size_t length_bytes) IST_COLD;
void ist_profile_count_flag(int pe, uint32_t transport) IST_COLD;

/* ---- the PE's part of the profile ---- */

struct ist_profile_settings {
    const char *file; /* the part's; it is replaced */
    int pe, n_pes;
    uint64_t job;           /* its number, as on PE 0's card */
    uint64_t n_events_most; /* 0: no events */
};

/* Creates the file of the part. An IO failure has the system's text. */
isthmus_status ist_profile_open(const struct ist_profile_settings *settings);
void ist_profile_note(enum ist_profile_kind kind, unsigned index, const char *text);
void ist_profile_start(void);

/* As the program sets it (shmem_pcontrol), at any time; it outlasts finalize. 0: no call is recorded that begins or
 * ends from now on; above: calls are recorded, as at first; 2: and what was recorded so far is on the file's disk when
 * this returns. Negative levels have no effect. */
void ist_profile_set_level(int level);

/* No call is recorded any more, and the head is complete. Returns the records; `n` of them. */
const struct ist_profile_record *ist_profile_stop(size_t *n);

void ist_profile_close(bool is_kept); /* the file; one that was never started is removed; takes any state */
void ist_profile_forget(void);        /* in a child after fork */

#endif
