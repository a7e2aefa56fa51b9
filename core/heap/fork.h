/* core/heap/fork.h: work of a child process before it continues: a PE's runtime does not live in its children.
 * The static data is private in the child by itself (static_data.h); the rest of the runtime hooks in here.
 * Not for vfork(), posix_spawn(), system(), popen(): they run no handlers and need none. A child made by _Fork() or
 * clone() runs none either and would share the static data with its parent: it may only exec or exit. */
#ifndef IST_HEAP_FORK_H
#define IST_HEAP_FORK_H

#include <stdbool.h>

/* Call `fn` in each child of fork(), on its only thread, with signals blocked, once its static data is private. In the
 * order of registration; the same function again changes nothing. `fn` uses no malloc and no lock that another thread
 * of the parent may hold, so: unmap, close, set a flag. */
void ist_fork_on_child(void (*fn)(void));

/* Returns false if the handlers could not be registered when the library was loaded; then nothing may be shared. */
bool ist_fork_is_watched(void);

#endif
