/* core/sync/awaited.h: what a wait of the program is for, by its arguments; and the note of it (base/note.h). Not how
 * the time passes (spin.h). */
#ifndef IST_SYNC_AWAITED_H
#define IST_SYNC_AWAITED_H

#include "core/base/note_page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ist_wait_set;

struct ist_awaited {
    const char *routine;
    const void *ivar;
    uint64_t value;
    size_t size;
    int cmp;
    bool is_signed;
    int behind;                     /* the PE before this one at a lock; -1: it is no lock */
    const struct ist_wait_set *set; /* several variables; NULL: one */
    enum ist_quantity quantity;     /* of them */
};

/* Called now and then by a long wait: notes it, or the value that it sees by now. since_ns 0: it is noted already.
 * NULL: a collective waits. */
void ist_awaited_note(const struct ist_awaited *awaited, uint64_t since_ns, uint64_t now_ns);

#endif
