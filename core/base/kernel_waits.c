/* core/base/kernel_waits.c: see kernel_waits.h. Kernels write the words as isthmus/device_waiting.h has it. */
#include "core/base/kernel_waits.h"

#include <string.h>

/* ---- one slot ---- */

static const uint64_t *slot_at(const uint64_t *words, unsigned slot)
{
    return words + ISTHMUS_WAITS_SLOTS + (size_t)slot * ISTHMUS_WAIT_WORDS;
}

/* Words that change as a wait goes on, each by itself, are left out. */
static bool is_same(const uint64_t *a, const uint64_t *b)
{
    return a[ISTHMUS_WAIT_WHAT] == b[ISTHMUS_WAIT_WHAT] && a[ISTHMUS_WAIT_ADDRESS] == b[ISTHMUS_WAIT_ADDRESS] &&
           a[ISTHMUS_WAIT_VALUE] == b[ISTHMUS_WAIT_VALUE] && a[ISTHMUS_WAIT_PE] == b[ISTHMUS_WAIT_PE];
}

static bool is_whole(const struct ist_kernel_waits *waits, unsigned slot)
{
    const uint64_t *first = slot_at(waits->first, slot), *second = slot_at(waits->second, slot);
    return first[ISTHMUS_WAIT_VALID] == 1 && second[ISTHMUS_WAIT_VALID] == 1 && is_same(first, second) &&
           first[ISTHMUS_WAIT_THREAD] == second[ISTHMUS_WAIT_THREAD];
}

/* ---- as a note ---- */

static const char *routine_of(uint32_t routine)
{
    static const char *const names[] = {
        [ISTHMUS_WAIT_UNTIL] = "a kernel's wait_until",
        [ISTHMUS_WAIT_SIGNAL] = "a kernel's signal_wait_until",
        [ISTHMUS_WAIT_ALL] = "a kernel's wait_until_all",
        [ISTHMUS_WAIT_ANY] = "a kernel's wait_until_any",
        [ISTHMUS_WAIT_SOME] = "a kernel's wait_until_some",
        [ISTHMUS_WAIT_MEMBER] = "a kernel's barrier or sync", /* other collectives end with one */
    };
    bool is_known = routine < sizeof names / sizeof names[0] && names[routine] != NULL;
    return is_known ? names[routine] : "a kernel's wait"; /* of a later version's headers */
}

static void write_place(struct ist_note *note, const uint64_t *words, uint64_t addr)
{
    uint64_t offset = addr - words[ISTHMUS_WAITS_HEAP];
    struct ist_text place = ist_text_in(note->place, sizeof note->place);
    bool is_in_heap = offset < words[ISTHMUS_WAITS_HEAP_BYTES];
    if (is_in_heap) ist_text_add(&place, "the symmetric heap+");
    ist_text_add_hex(&place, is_in_heap ? offset : addr);
}

static uint32_t kind_of(uint32_t routine)
{
    if (routine == ISTHMUS_WAIT_MEMBER) return IST_NOTE_TRANSPORT; /* for a PE */
    return routine == ISTHMUS_WAIT_ANY || routine == ISTHMUS_WAIT_SOME ? IST_NOTE_VARIABLES : IST_NOTE_VARIABLE;
}

static void write_note(struct ist_note *note, const uint64_t *words, const uint64_t *slot)
{
    /* The numbers of note_page.h by the set of relations; none for an unknown set, and for values that differ. */
    static const uint8_t comparisons[] = {UINT8_MAX, 4, 0, 5, 2, 1, 3, UINT8_MAX};
    uint64_t what = slot[ISTHMUS_WAIT_WHAT];
    uint32_t routine = what & 0xff, n = (uint32_t)(what >> 32);
    struct ist_text name = ist_text_in(note->routine, sizeof note->routine);
    ist_text_add(&name, routine_of(routine));
    write_place(note, words, slot[ISTHMUS_WAIT_ADDRESS]);
    note->kind = kind_of(routine);
    note->pe = (int32_t)slot[ISTHMUS_WAIT_PE];
    note->wanted = slot[ISTHMUS_WAIT_VALUE];
    note->seen = slot[ISTHMUS_WAIT_SEEN];
    note->comparison = comparisons[what >> 8 & 7];
    note->size_bytes = what >> 16 & 0xff;
    note->is_signed = what >> 24 & 1;
    note->quantity = routine == ISTHMUS_WAIT_SOME ? IST_SOME_OF : IST_ANY_OF;
    note->n_variables = n;
    if (routine != ISTHMUS_WAIT_MEMBER) return;
    note->collective = slot[ISTHMUS_WAIT_VALUE];
    note->team = (int32_t)n;
}

/* ---- all slots ---- */

/* Returns true if an earlier slot has it. */
static bool is_told(const struct ist_kernel_waits *waits, unsigned slot)
{
    for (unsigned i = 0; i < slot; i++)
        if (is_whole(waits, i) && is_same(slot_at(waits->second, i), slot_at(waits->second, slot))) return true;
    return false;
}

static void join(const struct ist_kernel_waits *waits, unsigned first, struct ist_kernel_wait *out)
{
    const uint64_t *longest = slot_at(waits->second, first);
    out->n_threads = 0;
    for (unsigned i = first; i < ISTHMUS_WAIT_SLOTS; i++) {
        const uint64_t *slot = slot_at(waits->second, i);
        if (!is_whole(waits, i) || !is_same(slot, slot_at(waits->second, first))) continue;
        out->n_threads++;
        if (slot[ISTHMUS_WAIT_POLLS] > longest[ISTHMUS_WAIT_POLLS]) longest = slot;
    }
    write_note(&out->note, waits->second, longest);
    out->block = (uint32_t)(longest[ISTHMUS_WAIT_THREAD] >> 32);
    out->thread = (uint32_t)longest[ISTHMUS_WAIT_THREAD];
    out->polls = (uint32_t)longest[ISTHMUS_WAIT_POLLS];
}

bool ist_kernel_waits_next(const struct ist_kernel_waits *waits, unsigned *next, struct ist_kernel_wait *out)
{
    while (*next < ISTHMUS_WAIT_SLOTS) {
        unsigned slot = (*next)++;
        if (!is_whole(waits, slot) || is_told(waits, slot)) continue;
        memset(out, 0, sizeof *out);
        join(waits, slot, out);
        return true;
    }
    return false;
}

void ist_kernel_wait_tell(struct ist_text *out, const struct ist_kernel_wait *wait, bool with_seen)
{
    ist_note_tell(out, &wait->note, NULL, with_seen);
    if (!with_seen) return;
    ist_text_add(out, "; thread ");
    ist_text_add_unsigned(out, wait->thread);
    ist_text_add(out, " of block ");
    ist_text_add_unsigned(out, wait->block);
    if (wait->n_threads > 1) {
        ist_text_add(out, " and ");
        ist_text_add_unsigned(out, wait->n_threads - 1);
        ist_text_add(out, wait->n_threads > 2 ? " others" : " other");
    }
    ist_text_add(out, ", after ");
    ist_text_add_unsigned(out, wait->polls);
    ist_text_add(out, " polls");
}

void ist_kernel_waits_tell_others(struct ist_text *out, const struct ist_kernel_waits *waits, bool with_seen)
{
    ist_text_add(out, "in kernels: ");
    if (with_seen) {
        ist_text_add_unsigned(out, waits->second[ISTHMUS_WAITS_OTHERS]);
        ist_text_add(out, " ");
    }
    ist_text_add(out, "more threads wait");
}
