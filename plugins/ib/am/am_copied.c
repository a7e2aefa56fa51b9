/* plugins/ib/am/am_copied.c: puts from host memory that UCX cannot register. UCX asks for an adapter's write access to
 * every operand, and the system refuses that for memory which this process may only read: constants, files mapped for
 * reading. It refuses any operand where locked memory or memory regions are used up. UCX fails such a put at once,
 * before anything is sent, so it can be repeated through bounce buffers. Mappings that cannot be written are noted:
 * later puts of that length need not fail first. */
#include "plugins/ib/am/am_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NOTED = 8,
    MAX_USES = 1000 /* of a note: then it is tried again whether the memory there is registered */
};

struct note {
    uintptr_t first, end; /* of the mapping; equal: no note */
    size_t least_bytes;   /* UCX copies shorter puts itself */
    uint32_t n_uses;
};

struct ib_notes {
    struct note list[MAX_NOTED];
    uint32_t next;
};

/* Returns false if some of these bytes are not mapped for reading. Fills in one of their mappings that cannot be
 * written. */
static bool is_readable(uintptr_t first, uintptr_t end, struct note *out)
{
    FILE *maps = fopen("/proc/thread-self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    if (maps == NULL) return true;
    bool is_mapped = true;
    while (is_mapped && first < end && getline(&line, &room, maps) > 0) {
        unsigned long start, stop;
        char access[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &stop, access) != 3 || stop <= first) continue;
        is_mapped = start <= first && access[0] == 'r';
        if (access[1] != 'w') *out = (struct note){.first = start, .end = stop};
        first = stop;
    }
    free(line);
    (void)fclose(maps);
    return is_mapped && first >= end;
}

bool ib_is_copied_slow(const struct ib_worker *worker, const void *source, size_t length_bytes)
{
    uintptr_t first = (uintptr_t)source;
    for (struct note *note = worker->copied->list; note < worker->copied->list + MAX_NOTED; note++) {
        if (first >= note->end || first + length_bytes <= note->first || length_bytes < note->least_bytes) continue;
        if (++note->n_uses < MAX_USES) return true;
        *note = (struct note){0};
    }
    return false;
}

static void keep_note(struct ib_worker *worker, struct note note)
{
    if (worker->copied == NULL) worker->copied = calloc(1, sizeof *worker->copied);
    if (worker->copied == NULL) return; /* puts fail first, then */
    struct note *place = &worker->copied->list[worker->copied->next];
    for (uint32_t i = 0; i < MAX_NOTED; i++)
        if (worker->copied->list[i].first == note.first) place = &worker->copied->list[i];
    if (place == &worker->copied->list[worker->copied->next])
        worker->copied->next = (worker->copied->next + 1) % MAX_NOTED;
    *place = note;
}

isthmus_status ib_put_copied(const struct ib_target *at, const void *source, size_t length_bytes,
                             struct ib_batch *batch, enum ib_wait wait)
{
    const struct ib_ep *ep = at->ep;
    const struct ib_bounce part = {.batch = batch, .device = (char *)(uintptr_t)source, .kind = ISTHMUS_MEM_HOST};
    isthmus_status status = ib_bounces_open(ep->worker, ISTHMUS_MEM_HOST);
    if (status == ISTHMUS_OK) status = ib_bounce_parts(at, part, length_bytes, wait);
    if (status == ISTHMUS_ERR_AGAIN) return status;
    if (status != ISTHMUS_OK && batch->failure == UCS_OK)
        batch->failure = ep->failure != UCS_OK ? ep->failure : UCS_ERR_NO_MEMORY;
    return ISTHMUS_OK;
}

static void fail_unmapped(isthmus_tr *tr, const void *source, size_t length_bytes, struct ib_batch *batch)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status status = s->fail(s->core, ISTHMUS_ERR_INVALID,
                                    "the source of a put, %zu bytes at %p, is not mapped for reading", length_bytes,
                                    source);
    const char *text = s->fail_text(s->core);
    ib_refusal_keep(tr, status, strncmp(text, "ib: ", 4) == 0 ? text + 4 : text);
    if (batch->failure == UCS_OK) batch->failure = IB_REFUSED;
}

/* Keeps the note. */
bool ib_may_be_copied(struct ib_worker *worker, const void *source, size_t length_bytes, struct ib_batch *batch)
{
    const struct isthmus_services *s = worker->tr->services;
    uintptr_t first = (uintptr_t)source;
    struct note note = {0};
    char reason[IB_REASON_TEXT_BYTES];
    if (ib_is_copied(worker, source, length_bytes)) return true;
    if (!is_readable(first, first + length_bytes, &note)) {
        fail_unmapped(worker->tr, source, length_bytes, batch);
        return false;
    }
    ib_ucp_latest(reason);
    s->log(s->core, ISTHMUS_LOG_DEBUG, "puts from %p are copied first: UCX cannot register %zu bytes there%s", source,
           length_bytes, reason);
    note.least_bytes = length_bytes;
    if (note.first < note.end) keep_note(worker, note);
    return true;
}

/* A failure that has another cause comes again. */
isthmus_status ib_put_again(const struct ib_target *at, const void *source, size_t length_bytes, struct ib_batch *batch,
                            enum ib_wait wait)
{
    if (!ib_may_be_copied(at->ep->worker, source, length_bytes, batch)) return ISTHMUS_OK;
    return ib_put_copied(at, source, length_bytes, batch, wait);
}
