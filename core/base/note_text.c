/* core/base/note_text.c: see note_page.h. */
#include "core/base/note_page.h"

#include "core/base/atomic.h"

#include <string.h>

/* ---- text ---- */

struct ist_text ist_text_in(char *room, size_t room_bytes)
{
    *room = '\0';
    return (struct ist_text){room, room + room_bytes - 1};
}

void ist_text_add(struct ist_text *out, const char *text)
{
    while (*text != '\0' && out->at < out->end) *out->at++ = *text++;
    *out->at = '\0';
}

static void add_in_base(struct ist_text *out, uint64_t number, unsigned base)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = '\0';
    do *--at = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    ist_text_add(out, at);
}

void ist_text_add_unsigned(struct ist_text *out, uint64_t number) { add_in_base(out, number, 10); }

void ist_text_add_number(struct ist_text *out, int64_t number)
{
    if (number < 0) ist_text_add(out, "-");
    add_in_base(out, number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
}

void ist_text_add_hex(struct ist_text *out, uint64_t number)
{
    ist_text_add(out, "0x");
    add_in_base(out, number, 16);
}

void ist_text_add_seconds(struct ist_text *out, uint64_t ns)
{
    enum { MINUTES_FROM_S = 120, HOURS_FROM_S = 7200, TENTHS_BELOW_S = 10 };
    uint64_t tenths = ns / 100000000, s = tenths / 10;
    if (s < TENTHS_BELOW_S) {
        add_in_base(out, s, 10);
        ist_text_add(out, ".");
        add_in_base(out, tenths % 10, 10);
    } else {
        add_in_base(out, s < MINUTES_FROM_S ? s : s < HOURS_FROM_S ? s / 60 : s / 3600, 10);
    }
    ist_text_add(out, s < MINUTES_FROM_S ? " s" : s < HOURS_FROM_S ? " min" : " h");
}

/* ---- notes ---- */

bool ist_note_read(const struct ist_note *note, struct ist_note *out)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        uint32_t before = ist_load_acquire(&note->version); /* pairs with ist_note_end_change() */
        memcpy(out, note, sizeof *out);
        ist_order_loads(); /* pairs with ist_order_stores() in ist_note_begin_change() */
        out->routine[sizeof out->routine - 1] = out->place[sizeof out->place - 1] = '\0'; /* a PE may write anything */
        if (before % 2 == 0 && ist_load_relaxed(&note->version) == before)
            return out->thread != 0 && out->kind != IST_NOTE_NONE;
    }
    return false;
}

static void add_value(struct ist_text *out, uint64_t bits, const struct ist_note *note)
{
    unsigned unused_bits = note->size_bytes == 0 || note->size_bytes > 8 ? 0 : 64 - 8 * (unsigned)note->size_bytes;
    if (note->is_signed)
        ist_text_add_number(out, (int64_t)(bits << unused_bits) >> unused_bits);
    else
        ist_text_add_unsigned(out, bits << unused_bits >> unused_bits);
}

static void add_comparison(struct ist_text *out, const struct ist_note *note)
{
    static const char *const signs[] = {" == ", " != ", " > ", " >= ", " < ", " <= "}; /* by IST_CMP_ */
    if (note->comparison >= sizeof signs / sizeof *signs) return;
    ist_text_add(out, signs[note->comparison]);
    add_value(out, note->wanted, note);
}

/* Adds "flag (static data+0x40)", or the part of it that is known. */
static void add_variable(struct ist_text *out, const struct ist_note *note, const char *executable)
{
    char name[64];
    bool is_named = note->executable_offset != 0 && executable != NULL &&
                    ist_symbol_at(executable, note->executable_offset, name, sizeof name);
    if (is_named) {
        ist_text_add(out, name);
        ist_text_add(out, " (");
    }
    ist_text_add(out, note->place);
    if (is_named) ist_text_add(out, ")");
}

static void add_collective(struct ist_text *out, const struct ist_note *note)
{
    if (note->collective == 0) return;
    ist_text_add(out, " (collective ");
    ist_text_add_unsigned(out, note->collective);
    if (note->team != 0) {
        ist_text_add(out, " of team ");
        ist_text_add_number(out, note->team);
    }
    ist_text_add(out, ")");
}

static void add_pe(struct ist_text *out, const char *before, const struct ist_note *note)
{
    ist_text_add(out, before);
    ist_text_add(out, "PE ");
    ist_text_add_number(out, note->pe);
}

/* Adds ", requests of kernels: 3, the first: get, PE 2, 0x7f1200000040". */
static void add_requests(struct ist_text *out, const struct ist_note *note, bool with_seen)
{
    static const char *const names[] = {"",      "put",  "get", "p", "g", "iput", "iget", "atomic", "put with signal",
                                        "fence", "quiet"};
    if (note->comparison != IST_NOTE_OF_KERNELS || note->quantity >= sizeof names / sizeof *names) return;
    ist_text_add(out, ", requests of kernels");
    if (with_seen) {
        ist_text_add(out, ": ");
        ist_text_add_unsigned(out, note->n_variables);
    }
    ist_text_add(out, ", the first: ");
    ist_text_add(out, names[note->quantity]);
    ist_text_add(out, ", PE ");
    ist_text_add_unsigned(out, note->seen);
    if (!with_seen) return;
    ist_text_add(out, ", ");
    ist_text_add_hex(out, note->wanted);
}

static void add_awaited(struct ist_text *out, const struct ist_note *note, const char *executable, bool with_seen)
{
    static const char *const quantities[] = {": all of ", ": any of ", ": some of "};
    switch (note->kind) {
    case IST_NOTE_VARIABLE:
        ist_text_add(out, ": ");
        add_variable(out, note, executable);
        add_comparison(out, note);
        if (!with_seen) break;
        ist_text_add(out, ", is ");
        add_value(out, note->seen, note);
        break;
    case IST_NOTE_VARIABLES:
        ist_text_add(out, note->quantity <= IST_SOME_OF ? quantities[note->quantity] : ": ");
        ist_text_add_unsigned(out, note->n_variables);
        ist_text_add(out, " from ");
        add_variable(out, note, executable);
        add_comparison(out, note);
        if (!with_seen) break;
        ist_text_add(out, ", so far ");
        ist_text_add_unsigned(out, note->seen);
        break;
    case IST_NOTE_LOCK:
        ist_text_add(out, ": ");
        add_variable(out, note, executable);
        if (with_seen) add_pe(out, ", awaits ", note);
        break;
    case IST_NOTE_TRANSPORT:
        if (note->pe >= 0)
            add_pe(out, ": awaits ", note);
        else
            ist_text_add(out, ": awaits operations under way");
        add_requests(out, note, with_seen);
        break;
    case IST_NOTE_CONNECTION: add_pe(out, ": connects to ", note); break;
    default: break;
    }
}

void ist_note_tell(struct ist_text *out, const struct ist_note *note, const char *executable, bool with_seen)
{
    ist_text_add(out, "in ");
    ist_text_add(out, note->routine);
    add_collective(out, note);
    add_awaited(out, note, executable, with_seen);
}
