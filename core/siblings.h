/* core/siblings.h: the processes that this one's launcher has started for the same job on this host, as the system shows them: by their
 * parent and their environment. For times at which no card has told which process is which PE.
 * Not about processes that a script starts, or that another container hides. */
#ifndef IST_SIBLINGS_H
#define IST_SIBLINGS_H

#include <stdbool.h>
#include <stdint.h>

/* Is this process that PE of this job? A number on a card is that of the PE's own container, in which we may not be. */
bool ist_sibling_is(int pe, int32_t pid);

/* The process of a PE; 0: it is not found. */
int32_t ist_sibling_find(int pe);

/* The one whose number comes next after this process's, the first one after the last; -1: there is none. Fills *pid. Costs a read
 * for each of them. */
int ist_sibling_next(int32_t *pid);

/* Ctrl-Z at the launcher stops it before the PEs, or only some of these for a moment. */
bool ist_siblings_are_suspended(void);

#endif
