/* core/base/note.h: notes of what the threads of this PE wait for, read to explain why a job hangs.
 * Printing them is note_text.c; readers are core/life/explain.c and isthmus-run. A wait leaves a note only after it has
 * lasted for a while, a call of a transport always a cheap one; so fast operations cost nothing. */
#ifndef IST_BASE_NOTE_H
#define IST_BASE_NOTE_H

#include "core/base/atomic.h"
#include "core/base/note_page.h"
#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* The last collective that this thread has begun. A wait for another PE's flag belongs to it. */
struct ist_collective {
    const char *routine;
    int team;        /* the world is 0 */
    uint64_t number; /* counted on the team */
};
extern _Thread_local struct ist_collective ist_collective_now __attribute__((tls_model("initial-exec")));

/* The routine in whose barrier or sync this thread waits; NULL: in none. */
extern _Thread_local const char *ist_sync_now __attribute__((tls_model("initial-exec")));

extern struct ist_note_page *ist_note_page;

/* Takes page `index` of the file that the launcher has made for its PEs; with NULL, or if that fails, a page of this
 * process alone. Called once. */
void ist_note_open(const char *pages_file, unsigned index);
void ist_note_phase(enum ist_phase phase);

/* Where kernels describe their waits (kernel_waits.h). NULL: nowhere any more; returns when no thread of this process
 * reads the words that were there, so that the caller may free them. */
void ist_note_kernel_waits(const uint64_t *words);

/* Returns the words, or NULL; they stay until ist_note_leave_kernel_waits(), which is called in any case. A signal
 * handler may call both, with all signals blocked between them: a handler that exits inside would wait for itself. */
const uint64_t *ist_note_enter_kernel_waits(void);
void ist_note_leave_kernel_waits(void);

void ist_note_forget(void); /* in a child: the page is the parent's */

/* This thread's note; NULL if all are taken. */
extern _Thread_local struct ist_note *ist_note_mine __attribute__((tls_model("initial-exec")));
struct ist_note *ist_note_take(void) IST_COLD;

/* Changes a note: a reader gets all or nothing of what is stored between these two calls. Only the note's own thread
 * calls them. */
static inline void ist_note_begin_change(struct ist_note *note)
{
    ist_store_relaxed(&note->version, note->version + 1);
    ist_order_stores(); /* pairs with ist_order_loads() in ist_note_read(), note_text.c */
}
static inline void ist_note_end_change(struct ist_note *note) { ist_store_release(&note->version, note->version + 1); }

void ist_note_set_routine(struct ist_note *note, const char *routine);

/* The nonblocking call whose slot this thread is in. It is noted only if the transport waits after all. */
struct ist_quick_call {
    const char *routine; /* NULL: in none */
    int pe;
};
extern _Thread_local struct ist_quick_call ist_quick_call_now __attribute__((tls_model("initial-exec")));

/* Clears the note when the wait ends. */
static inline void ist_note_over(void)
{
    if (ist_note_mine != NULL) ist_store_relaxed(&ist_note_mine->kind, IST_NOTE_NONE);
    ist_quick_call_now.routine = NULL;
}

/* Around a call of a transport that may block for a peer. pe -1: for no single one. The time is coarse, which keeps the
 * cost at about three nanoseconds. */
IST_INLINE void ist_note_call(enum ist_note_kind kind, const char *routine, int pe)
{
    struct ist_note *note = IST_LIKELY(ist_note_mine != NULL) ? ist_note_mine : ist_note_take();
    if (note == NULL) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    ist_note_begin_change(note);
    note->since_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    note->routine_addr = (uint64_t)(uintptr_t)routine;
    note->pe = pe;
    note->team = ist_collective_now.team;
    note->collective = ist_collective_now.routine == routine ? ist_collective_now.number : 0;
    ist_store_relaxed(&note->kind, kind);
    ist_note_end_change(note);
}

/* Around a nonblocking call of a transport, which does not wait as a rule. Ends with ist_note_over(). */
static inline void ist_note_quick_call(const char *routine, int pe)
{
    ist_quick_call_now = (struct ist_quick_call){routine, pe};
}

/* A nonblocking call is repeated, or its transport waits for a reply in a slot: notes it. An earlier note stands, with
 * its time. */
static inline void ist_note_slow_call(enum ist_note_kind kind)
{
    bool is_noted = ist_note_mine != NULL && ist_load_relaxed(&ist_note_mine->kind) != IST_NOTE_NONE;
    if (is_noted || ist_quick_call_now.routine == NULL) return;
    ist_note_call(kind, ist_quick_call_now.routine, ist_quick_call_now.pe);
}

#endif
