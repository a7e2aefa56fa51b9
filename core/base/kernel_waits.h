/* core/base/kernel_waits.h: what threads of kernels wait for, as text: the words are theirs (isthmus/device_state.h,
 * "waits that last"), and a report of a job that hangs reads them. As in note_page.h: used by the PE itself, in a
 * signal handler, and by the launcher; nothing here allocates, locks, or uses stdio. */
#ifndef IST_BASE_KERNEL_WAITS_H
#define IST_BASE_KERNEL_WAITS_H

#include "core/base/note_page.h"

#include <isthmus/device_state.h>

enum { IST_KERNEL_WAITS_WORDS = ISTHMUS_WAITS_SLOTS + ISTHMUS_WAIT_SLOTS * ISTHMUS_WAIT_WORDS };

/* Two copies of the words, one after the other. Of a slot that a kernel writes at that time they differ, and it is left
 * out. */
struct ist_kernel_waits {
    uint64_t first[IST_KERNEL_WAITS_WORDS], second[IST_KERNEL_WAITS_WORDS];
};

/* Threads of a PE that wait for the same. */
struct ist_kernel_wait {
    struct ist_note note;
    uint32_t block, thread, polls; /* of the thread that has polled most */
    uint32_t n_threads;
};

/* Returns the next wait from slot *next on; false: there is no more. Start with *next = 0. */
bool ist_kernel_waits_next(const struct ist_kernel_waits *waits, unsigned *next, struct ist_kernel_wait *out);

/* Writes "in a kernel's signal_wait_until: the symmetric heap+0x40 >= 5, is 4; thread 0 of block 3 and 31 others, after
 * 131072 polls". Without `with_seen` the text ends before the value. */
void ist_kernel_wait_tell(struct ist_text *out, const struct ist_kernel_wait *wait, bool with_seen);

/* Writes "in kernels: 68 more threads wait": those that have no slot. */
void ist_kernel_waits_tell_others(struct ist_text *out, const struct ist_kernel_waits *waits, bool with_seen);

#endif
