/* core/check/mixed.c: accesses of different kinds to one location at one time: atomic and plain, or atomics of
 * different widths, or of integers and of floating point numbers.
 * "At one time": this PE cannot know of the other one's access, because it has synchronised with no PE since that
 * began. So accesses that the program may have ordered, by any chain of routines, are not reported. */
#include "core/check/check_priv.h"
#include "core/check/shadow.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LINES = 16 }; /* of a plain access: longer ones are not checked */

static bool is_floating(const char *routine)
{
    return strstr(routine, "_float_") != NULL || strstr(routine, "_double_") != NULL;
}

static bool is_conflict(const struct ist_shadow_entry *a, const struct ist_shadow_entry *b)
{
    bool a_atomic = a->kind == IST_TRANSFER_ATOMIC, b_atomic = b->kind == IST_TRANSFER_ATOMIC;
    bool a_writes = a->kind != IST_TRANSFER_GET && !a->is_fetch, b_writes = b->kind != IST_TRANSFER_GET && !b->is_fetch;
    if ((!a_atomic && !b_atomic) || (!a_writes && !b_writes)) return false;
    return a_atomic != b_atomic || a->size_bytes != b->size_bytes || a->is_floating != b->is_floating;
}

static const char *words_for(const struct ist_shadow_entry *entry, char *out, size_t room)
{
    static const char *const kinds[] = {"a plain read", "a plain write", "an atomic"};
    if (entry->kind != IST_TRANSFER_ATOMIC) return kinds[entry->kind];
    snprintf(out, room, "%s of %u bytes%s", kinds[entry->kind], entry->size_bytes,
             entry->is_floating ? ", floating point" : "");
    return out;
}

static void report(const struct ist_check_access *access, const struct ist_shadow_entry *mine,
                   const struct ist_shadow_entry *other)
{
    char my_words[48], its_words[48];
    ist_finding(
        IST_FINDING_MIXED, access->op->routine, access->caller,
        "%s is %p on PE %d: %s, while PE %d makes %s there in %s%s; right: atomics of one type, or a barrier or "
        "wait between the two",
        ist_transfer_far_name(access->op), (const void *)ist_transfer_far(access->op), access->world_pe,
        words_for(mine, my_words, sizeof my_words), other->pe, words_for(other, its_words, sizeof its_words),
        other->routine, other->site);
}

/* The same access again, later. */
static bool is_same(const struct ist_shadow_entry *a, const struct ist_shadow_entry *b)
{
    return a->line == b->line && a->mask == b->mask && a->pe == b->pe && a->kind == b->kind &&
           a->size_bytes == b->size_bytes && a->is_floating == b->is_floating && a->is_fetch == b->is_fetch &&
           a->state == b->state;
}

static void note_spot(const struct ist_check_access *access, const struct ist_shadow_entry *mine)
{
    struct ist_shadow_bucket bucket;
    struct ist_shadow_entry *room = NULL;
    ist_shadow_take(access->world_pe, mine->line, &bucket);
    for (int i = 0; i < IST_SHADOW_WAYS; i++) {
        struct ist_shadow_entry *entry = &bucket.entries[i];
        if (is_same(entry, mine)) room = entry;
        if (entry->line == mine->line && entry->state == IST_SHADOW_ACCESS && (entry->mask & mine->mask) != 0 &&
            entry->pe != mine->pe && entry->host == mine->host && entry->time_ns > ist_check_synchronised_ns &&
            is_conflict(entry, mine))
            report(access, mine, entry);
    }
    if (room == NULL) room = ist_shadow_room(&bucket);
    *room = *mine;
    ist_shadow_give(access->world_pe, mine->line, &bucket, true);
}

void ist_mixed_note(const struct ist_check_access *access)
{
    const struct ist_transfer *op = access->op;
    uintptr_t addr = (uintptr_t)ist_transfer_far(op);
    size_t left_bytes = op->length_bytes;
    if (left_bytes > MAX_LINES * IST_SHADOW_LINE_BYTES) return;
    struct ist_shadow_entry mine = {.time_ns = access->now_ns,
                                    .host = ist_shadow_host(),
                                    .pe = ist_team_world.my_pe,
                                    .kind = (uint8_t)op->kind,
                                    .state = IST_SHADOW_ACCESS};
    if (op->kind == IST_TRANSFER_ATOMIC) {
        mine.size_bytes = (uint8_t)op->length_bytes;
        mine.is_floating = is_floating(op->routine);
        mine.is_fetch = op->is_fetch;
    }
    snprintf(mine.routine, sizeof mine.routine, "%s", op->routine);
    snprintf(mine.site, sizeof mine.site, "%s", ist_finding_site(access->caller));
    while (left_bytes > 0) {
        struct ist_shadow_spot spot = ist_shadow_next_spot(&addr, &left_bytes);
        mine.line = spot.line;
        mine.mask = spot.mask;
        note_spot(access, &mine);
    }
}
