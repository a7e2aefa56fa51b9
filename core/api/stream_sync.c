/* core/api/stream_sync.c: see stream_entry.h: waits, barriers and syncs. */
#include "core/api/coll_entry.h"
#include "core/api/stream_entry.h"
#include "core/api/sync_entry.h"
#include "core/base/fatal.h"
#include "core/ops/target.h"
#include "core/stream/stream.h"

#include <stdlib.h>

/* ---- waits ---- */

static int run_signal_wait(const struct ist_stream_call *c)
{
    (void)ist_entry_signal_wait(c->signal.addr, c->wait.cmp, c->value, c->transfer.routine);
    return 0;
}

static int run_wait_until(const struct ist_stream_call *c)
{
    const struct ist_wait_set *w = &c->wait;
    ist_entry_wait_until(w->ivars, w->cmp, &c->value, w->size, w->is_signed, w->routine);
    return 0;
}

/* The variables, with what they are compared with. */
static struct ist_wait_set set_of(const struct ist_stream_call *c)
{
    struct ist_wait_set set = c->wait;
    if (!set.is_vector) set.values = &c->value;
    return set;
}

static int run_wait_all(const struct ist_stream_call *c)
{
    const struct ist_wait_set set = set_of(c);
    ist_check_wait_set(&set);
    ist_set_wait_all(&set);
    return 0;
}

void ist_entry_signal_wait_on_stream(void *stream, const uint64_t *sig_addr, int cmp, uint64_t value,
                                     const char *routine)
{
    struct ist_signal signal = {.addr = (uint64_t *)(uintptr_t)sig_addr};
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer.routine = routine,
                                                          .run = run_signal_wait,
                                                          .enqueue = ist_direct_signal_wait,
                                                          .signal = signal,
                                                          .value = value,
                                                          .wait = {.cmp = cmp}});
}

void ist_entry_wait_until_on_stream(void *stream, const void *ivar, int cmp, const void *value, size_t size,
                                    bool is_signed, const char *routine)
{
    const struct ist_wait_set wait = {
        .ivars = ivar, .nelems = 1, .cmp = cmp, .size = size, .is_signed = is_signed, .routine = routine};
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer.routine = routine,
                                                          .run = run_wait_until,
                                                          .enqueue = ist_direct_wait,
                                                          .value = isthmus_bits_of_(value, size),
                                                          .wait = wait});
}

/* Copies of the two arrays, one behind the other; an absent one stays NULL. */
static void copy_arrays(struct ist_stream_call *c)
{
    struct ist_wait_set *w = &c->wait;
    size_t values_bytes = w->values != NULL ? ist_require_length(w->routine, "nelems", w->nelems, w->size) : 0;
    size_t status_bytes = w->status != NULL ? ist_require_length(w->routine, "nelems", w->nelems, sizeof *w->status)
                                            : 0;
    char *copies = malloc(values_bytes + status_bytes + 1);
    if (copies == NULL) ist_die(w->routine, ist_fail_memory("the arrays of %zu variables", w->nelems));
    if (values_bytes > 0) ist_copy_here(copies, w->values, values_bytes, w->routine);
    if (status_bytes > 0) ist_copy_here(copies + values_bytes, w->status, status_bytes, w->routine);
    c->copies = copies;
    if (w->values != NULL) w->values = copies;
    if (w->status != NULL) w->status = (const int *)(const void *)(copies + values_bytes);
}

/* Wrong arguments are reported before they are copied. */
static void wait_all(void *stream, struct ist_stream_call *c)
{
    if (ist_streams_are_on()) {
        const struct ist_wait_set set = set_of(c);
        ist_check_wait_set(&set);
        if (c->wait.nelems > 0) copy_arrays(c);
    }
    (void)ist_stream_do(stream, c);
}

void ist_entry_wait_all_on_stream(void *stream, const void *ivars, size_t nelems, const int *status, int cmp,
                                  const void *value, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set wait = {ivars, nelems, status, cmp, NULL, false, size, is_signed, routine};
    wait_all(stream, &(struct ist_stream_call){.transfer.routine = routine,
                                               .run = run_wait_all,
                                               .value = isthmus_bits_of_(value, size),
                                               .wait = wait});
}

void ist_entry_wait_all_vector_on_stream(void *stream, const void *ivars, size_t nelems, const int *status, int cmp,
                                         const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set wait = {ivars, nelems, status, cmp, values, true, size, is_signed, routine};
    wait_all(stream, &(struct ist_stream_call){.transfer.routine = routine, .run = run_wait_all, .wait = wait});
}

/* ---- barrier and sync ---- */

static int run_barrier_all(const struct ist_stream_call *c)
{
    ist_barrier_all(c->transfer.routine);
    return 0;
}

static int run_sync_all(const struct ist_stream_call *c)
{
    ist_entry_sync_all(c->transfer.routine);
    return 0;
}

static int run_team_sync(const struct ist_stream_call *c)
{
    return ist_entry_team_sync(c->transfer.team, c->transfer.routine);
}

static int run_barrier(const struct ist_stream_call *c)
{
    return ist_entry_barrier(c->transfer.team, c->transfer.routine);
}

void ist_barrier_all_on_stream(void *stream, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer = {.routine = routine, .team = &ist_team_world},
                                                          .run = run_barrier_all,
                                                          .enqueue = ist_meeting_barrier});
}

void ist_entry_sync_all_on_stream(void *stream, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.transfer = {.routine = routine, .team = &ist_team_world},
                                                          .run = run_sync_all,
                                                          .enqueue = ist_meeting_sync});
}

int ist_entry_team_sync_on_stream(void *stream, struct ist_team *team, const char *routine)
{
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.transfer = {.routine = routine, .team = team},
                                                                   .run = run_team_sync,
                                                                   .enqueue = ist_meeting_sync});
}

int ist_entry_barrier_on_stream(void *stream, struct ist_team *team, const char *routine)
{
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.transfer = {.routine = routine, .team = team},
                                                                   .run = run_barrier,
                                                                   .enqueue = ist_meeting_barrier});
}
