/* core/check/unordered.c: a flag that may overtake the data that it is for: a PE puts data, and then, without fence or
 * quiet between, sets a word of the same PE, which waits for that word.
 * The initiator knows the order of its calls, the
 * target the word that it waits for: so the initiator notes the flag at the target before it sets it, and the target
 * reads the notes when one of its waits has ended. A note is removed when the word is set in order, or, once the
 * initiator has completed its puts, as soon as the target may know that.
 * Data is a put of more than one word. A put by p, or one with its own signal, may be a flag itself. */
#include "core/base/fatal.h"
#include "core/check/check_priv.h"
#include "core/check/shadow.h"

#include <stdio.h>

enum { WORD_BYTES = 8, MAX_DATA = 256, MAX_NOTES = 256 };

/* The last unordered put from one thread, on one context, to one PE. */
static struct data {
    const ist_ctx *ctx; /* NULL: none */
    pthread_t thread;
    int world_pe;
    const char *routine;
    const void *caller;
    size_t length_bytes;
} data[MAX_DATA];

/* Where this PE has left notes. */
static struct note {
    const ist_ctx *ctx;
    struct ist_shadow_spot spot; /* line 0: none */
    int world_pe;
    bool is_completed;
} notes[MAX_NOTES];
static uint32_t next_note;

static uint64_t n_completed_seen; /* of IST_SHADOW_COMPLETED here */

static bool is_data_of(const struct data *d, const struct ist_check_access *access)
{
    return d->ctx == access->op->ctx && d->world_pe == access->world_pe && pthread_equal(d->thread, pthread_self());
}

static struct data *data_before(const struct ist_check_access *access)
{
    for (int i = 0; i < MAX_DATA; i++)
        if (is_data_of(&data[i], access)) return &data[i];
    return NULL;
}

static void remember_data(const struct ist_check_access *access)
{
    struct data *d = data_before(access);
    for (int i = 0; d == NULL && i < MAX_DATA; i++)
        if (data[i].ctx == NULL) d = &data[i];
    if (d == NULL) return;
    *d = (struct data){.ctx = access->op->ctx,
                       .thread = pthread_self(),
                       .world_pe = access->world_pe,
                       .routine = access->op->routine,
                       .caller = access->caller,
                       .length_bytes = access->op->length_bytes};
}

static bool is_flag(const struct ist_shadow_entry *entry, const struct ist_shadow_spot *spot)
{
    return entry->line == spot->line && entry->state != IST_SHADOW_ACCESS && (entry->mask & spot->mask) != 0;
}

/* This PE's flag of that word, in a bucket. */
static struct ist_shadow_entry *my_flag(struct ist_shadow_bucket *bucket, const struct ist_shadow_spot *spot)
{
    for (int i = 0; i < IST_SHADOW_WAYS; i++)
        if (is_flag(&bucket->entries[i], spot) && bucket->entries[i].pe == ist_team_world.my_pe)
            return &bucket->entries[i];
    return NULL;
}

static void take_back(struct note *note)
{
    struct ist_shadow_bucket bucket;
    if (note->spot.line == 0) return;
    ist_shadow_take(note->world_pe, note->spot.line, &bucket);
    struct ist_shadow_entry *flag = my_flag(&bucket, &note->spot);
    if (flag != NULL) flag->line = 0;
    ist_shadow_give(note->world_pe, note->spot.line, &bucket, flag != NULL);
    note->spot.line = 0;
}

static struct note *note_of(int world_pe, const struct ist_shadow_spot *spot)
{
    for (int i = 0; i < MAX_NOTES; i++)
        if (notes[i].spot.line == spot->line && notes[i].world_pe == world_pe && (notes[i].spot.mask & spot->mask) != 0)
            return &notes[i];
    return NULL;
}

static void leave_note(const struct ist_check_access *access, const struct ist_shadow_spot *spot, const struct data *d)
{
    struct ist_shadow_bucket bucket;
    struct note *note = note_of(access->world_pe, spot);
    if (note == NULL) {
        note = &notes[next_note++ % MAX_NOTES];
        take_back(note);
    }
    *note = (struct note){.ctx = access->op->ctx, .spot = *spot, .world_pe = access->world_pe};
    struct ist_shadow_entry entry = {.line = spot->line,
                                     .mask = spot->mask,
                                     .time_ns = access->now_ns,
                                     .pe = ist_team_world.my_pe,
                                     .state = IST_SHADOW_FLAG};
    snprintf(entry.routine, sizeof entry.routine, "%s", access->op->routine);
    snprintf(entry.site, sizeof entry.site, "%s", ist_finding_site(access->caller));
    snprintf(entry.data, sizeof entry.data, "%s of %zu bytes%s", d->routine, d->length_bytes,
             ist_finding_site(d->caller));
    ist_shadow_take(access->world_pe, spot->line, &bucket);
    struct ist_shadow_entry *room = my_flag(&bucket, spot);
    *(room != NULL ? room : ist_shadow_room(&bucket)) = entry;
    ist_shadow_give(access->world_pe, spot->line, &bucket, true);
    ist_shadow_count_up(access->world_pe, IST_SHADOW_FLAGS);
}

void ist_unordered_note(const struct ist_check_access *access)
{
    const struct ist_transfer *op = access->op;
    bool is_update = op->kind == IST_TRANSFER_PUT || (op->kind == IST_TRANSFER_ATOMIC && !op->is_fetch);
    if (!is_update || access->world_pe == ist_team_world.my_pe) return;
    if (op->length_bytes > WORD_BYTES || op->is_block) {
        if (!op->has_signal) remember_data(access);
        return;
    }
    uintptr_t addr = (uintptr_t)ist_transfer_far(op);
    size_t length_bytes = op->length_bytes;
    struct ist_shadow_spot spot = ist_shadow_next_spot(&addr, &length_bytes);
    const struct data *d = op->has_signal ? NULL : data_before(access);
    struct note *note = note_of(access->world_pe, &spot);
    if (d != NULL)
        leave_note(access, &spot, d);
    else if (note != NULL)
        take_back(note);
}

static void complete(struct note *note)
{
    struct ist_shadow_bucket bucket;
    ist_shadow_take(note->world_pe, note->spot.line, &bucket);
    struct ist_shadow_entry *flag = my_flag(&bucket, &note->spot);
    if (flag != NULL) flag->state = IST_SHADOW_FLAG_COMPLETED;
    ist_shadow_give(note->world_pe, note->spot.line, &bucket, flag != NULL);
    if (flag != NULL) ist_shadow_count_up(note->world_pe, IST_SHADOW_COMPLETED);
    note->is_completed = true;
}

void ist_unordered_order(const ist_ctx *ctx, bool completes)
{
    for (int i = 0; i < MAX_DATA; i++)
        if (data[i].ctx == ctx) data[i].ctx = NULL;
    for (int i = 0; completes && i < MAX_NOTES; i++)
        if (notes[i].ctx == ctx && notes[i].spot.line != 0 && !notes[i].is_completed) complete(&notes[i]);
}

static void report(const void *ivar, const struct ist_shadow_entry *flag, const char *routine, const void *caller)
{
    ist_finding(
        IST_FINDING_UNORDERED, routine, caller,
        "ivar %p was set by PE %d in %s%s, without fence or quiet after its %s to this PE; right: shmem_fence or "
        "shmem_quiet between data and flag",
        ivar, flag->pe, flag->routine, flag->site, flag->data);
}

void ist_unordered_seen(const void *ivar, size_t size, const char *routine)
{
    if (ist_shadow_count_here(IST_SHADOW_FLAGS) == 0) return;
    uintptr_t addr = (uintptr_t)ivar;
    struct ist_shadow_spot spot = ist_shadow_next_spot(&addr, &size);
    struct ist_shadow_bucket bucket;
    bool is_found = false;
    ist_shadow_take(ist_team_world.my_pe, spot.line, &bucket);
    for (int i = 0; i < IST_SHADOW_WAYS; i++) {
        struct ist_shadow_entry *entry = &bucket.entries[i];
        if (!is_flag(entry, &spot)) continue;
        report(ivar, entry, routine, ist_caller());
        entry->line = 0;
        is_found = true;
    }
    ist_shadow_give(ist_team_world.my_pe, spot.line, &bucket, is_found);
}

void ist_unordered_synchronised(void)
{
    uint64_t n = ist_shadow_count_here(IST_SHADOW_COMPLETED);
    if (n == n_completed_seen) return;
    n_completed_seen = n;
    ist_shadow_drop(IST_SHADOW_FLAG_COMPLETED);
}

void ist_unordered_fini(void)
{
    for (int i = 0; i < MAX_DATA; i++) data[i].ctx = NULL;
    for (int i = 0; i < MAX_NOTES; i++) notes[i].spot.line = 0;
    next_note = 0;
    n_completed_seen = 0;
}
