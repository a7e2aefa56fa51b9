/* core/life/siblings.h: the processes that this one's launcher has started for the same job on this host, found by their
 * parent and their environment. Used while no card names each PE's process.
 * Does not find processes that a script starts, or that another container hides. */
#ifndef IST_LIFE_SIBLINGS_H
#define IST_LIFE_SIBLINGS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if this process is that PE of this job. The number on a card is that of the PE's own container, which
 * may not be ours. */
bool ist_sibling_is(int pe, int32_t pid);

/* Returns the process of a PE; 0 if it is not found. */
int32_t ist_sibling_find(int pe);

/* Returns the sibling whose process number follows this one's, the first one after the last; -1 if there is none. Sets
 * *pid. Reads /proc once for each sibling. */
int ist_sibling_next(int32_t *pid);

/* Returns true if the job is suspended: Ctrl-Z stops the launcher before the PEs, or only some PEs for a moment. */
bool ist_siblings_are_suspended(void);

#endif
