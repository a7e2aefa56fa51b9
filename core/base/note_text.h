/* core/base/note_text.h: notes as text. Used by the PE itself, in a signal handler, and by the launcher: nothing here
 * allocates, locks, or uses stdio. */
#ifndef IST_BASE_NOTE_TEXT_H
#define IST_BASE_NOTE_TEXT_H

#include "core/base/note_page.h"

#include <stdbool.h>
#include <stddef.h>

/* Text that is cut to the room there is; always terminated. */
struct ist_text {
    char *at, *end;
};

struct ist_text ist_text_in(char *room, size_t room_bytes);
void ist_text_add(struct ist_text *out, const char *text);
void ist_text_add_number(struct ist_text *out, int64_t number);
void ist_text_add_unsigned(struct ist_text *out, uint64_t number);
void ist_text_add_hex(struct ist_text *out, uint64_t number);
void ist_text_add_seconds(struct ist_text *out, uint64_t ns); /* "0.4 s", "12 s", "3 min", "5 h" */

/* Copies a note as a whole. Returns false if it kept changing, or if no thread waits. */
bool ist_note_read(const struct ist_note *note, struct ist_note *out);

/* Writes "in shmem_long_wait_until: flag (static data+0x40) >= 5, is 3". `executable`: where the variable's name may be
 * found, or NULL. Without `with_seen` the text is the same on all PEs in the same wait. */
void ist_note_tell(struct ist_text *out, const struct ist_note *note, const char *executable, bool with_seen);

#endif
