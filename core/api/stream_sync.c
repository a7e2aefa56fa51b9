/* core/api/stream_sync.c: see stream_entry.h: waits, barriers and syncs. */
#include "core/api/coll_entry.h"
#include "core/api/stream_entry.h"
#include "core/api/sync_entry.h"
#include "core/base/fatal.h"
#include "core/ops/operand.h"
#include "core/stream/direct.h"
#include "core/stream/meeting.h"

#include <stdlib.h>

/* ---- waits ---- */

static int run_signal_wait(const struct ist_stream_call *c)
{
    (void)ist_entry_signal_wait(c->signal.addr, c->cmp, c->value, c->routine);
    return 0;
}

static int run_wait_until(const struct ist_stream_call *c)
{
    ist_entry_wait_until(c->source, c->cmp, &c->value, c->size, c->is_signed, c->routine);
    return 0;
}

static int run_wait_all(const struct ist_stream_call *c)
{
    ist_entry_wait_all(c->source, c->nelems, c->status, c->cmp, &c->value, c->size, c->is_signed, c->routine);
    return 0;
}

static int run_wait_all_vector(const struct ist_stream_call *c)
{
    ist_entry_wait_all_vector(c->source, c->nelems, c->status, c->cmp, c->values, c->size, c->is_signed, c->routine);
    return 0;
}

void ist_entry_signal_wait_on_stream(void *stream, const uint64_t *sig_addr, int cmp, uint64_t value,
                                     const char *routine)
{
    struct ist_signal signal = {.addr = (uint64_t *)(uintptr_t)sig_addr};
    (void)ist_stream_do(stream, &(struct ist_stream_call){.routine = routine,
                                                          .run = run_signal_wait,
                                                          .enqueue = ist_direct_signal_wait,
                                                          .signal = signal,
                                                          .cmp = cmp,
                                                          .value = value});
}

void ist_entry_wait_until_on_stream(void *stream, const void *ivar, int cmp, const void *value, size_t size,
                                    bool is_signed, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.routine = routine,
                                                          .run = run_wait_until,
                                                          .enqueue = ist_direct_wait,
                                                          .source = ivar,
                                                          .cmp = cmp,
                                                          .size = size,
                                                          .is_signed = is_signed,
                                                          .value = ist_bits_of(value, size)});
}

/* Copies of the two arrays, one behind the other; an absent one stays NULL. */
static void copy_arrays(struct ist_stream_call *c)
{
    size_t values_bytes = c->values != NULL ? ist_require_length(c->routine, "nelems", c->nelems, c->size) : 0;
    size_t status_bytes = c->status != NULL ? ist_require_length(c->routine, "nelems", c->nelems, sizeof *c->status)
                                            : 0;
    char *copies = malloc(values_bytes + status_bytes + 1);
    if (copies == NULL)
        ist_die(c->routine, ist_fail(ISTHMUS_ERR_NO_MEMORY, "no memory for the arrays of %zu variables", c->nelems));
    if (values_bytes > 0) ist_copy_here(copies, c->values, values_bytes, c->routine);
    if (status_bytes > 0) ist_copy_here(copies + values_bytes, c->status, status_bytes, c->routine);
    c->copies = copies;
    if (c->values != NULL) c->values = copies;
    if (c->status != NULL) c->status = (const int *)(const void *)(copies + values_bytes);
}

/* Wrong arguments are reported before they are copied. */
static void wait_all(void *stream, struct ist_stream_call *c)
{
    if (ist_streams_are_on()) {
        bool is_vector = c->run == run_wait_all_vector;
        ist_check_wait_set(c->source, c->nelems, c->cmp, is_vector ? c->values : c->source, c->size, c->routine);
        if (c->nelems > 0) copy_arrays(c);
    }
    (void)ist_stream_do(stream, c);
}

void ist_entry_wait_all_on_stream(void *stream, const void *ivars, size_t nelems, const int *status, int cmp,
                                  const void *value, size_t size, bool is_signed, const char *routine)
{
    wait_all(stream, &(struct ist_stream_call){.routine = routine,
                                               .run = run_wait_all,
                                               .source = ivars,
                                               .nelems = nelems,
                                               .status = status,
                                               .cmp = cmp,
                                               .size = size,
                                               .is_signed = is_signed,
                                               .value = ist_bits_of(value, size)});
}

void ist_entry_wait_all_vector_on_stream(void *stream, const void *ivars, size_t nelems, const int *status, int cmp,
                                         const void *values, size_t size, bool is_signed, const char *routine)
{
    wait_all(stream, &(struct ist_stream_call){.routine = routine,
                                               .run = run_wait_all_vector,
                                               .source = ivars,
                                               .nelems = nelems,
                                               .status = status,
                                               .cmp = cmp,
                                               .size = size,
                                               .is_signed = is_signed,
                                               .values = values});
}

/* ---- barrier and sync ---- */

static int run_barrier_all(const struct ist_stream_call *c)
{
    ist_barrier_all(c->routine);
    return 0;
}

static int run_sync_all(const struct ist_stream_call *c)
{
    ist_entry_sync_all(c->routine);
    return 0;
}

static int run_team_sync(const struct ist_stream_call *c) { return ist_entry_team_sync(c->team, c->routine); }
static int run_barrier(const struct ist_stream_call *c) { return ist_entry_barrier(c->team, c->routine); }

void ist_barrier_all_on_stream(void *stream, const char *routine)
{
    (void)ist_stream_do(stream, &(struct ist_stream_call){.routine = routine,
                                                          .run = run_barrier_all,
                                                          .enqueue = ist_meeting_barrier,
                                                          .team = &ist_team_world});
}

void ist_entry_sync_all_on_stream(void *stream, const char *routine)
{
    (void)ist_stream_do(
        stream, &(struct ist_stream_call){
                    .routine = routine, .run = run_sync_all, .enqueue = ist_meeting_sync, .team = &ist_team_world});
}

int ist_entry_team_sync_on_stream(void *stream, struct ist_team *team, const char *routine)
{
    return ist_stream_do_on_team(
        stream,
        &(struct ist_stream_call){.routine = routine, .run = run_team_sync, .enqueue = ist_meeting_sync, .team = team});
}

int ist_entry_barrier_on_stream(void *stream, struct ist_team *team, const char *routine)
{
    return ist_stream_do_on_team(
        stream, &(struct ist_stream_call){
                    .routine = routine, .run = run_barrier, .enqueue = ist_meeting_barrier, .team = team});
}
