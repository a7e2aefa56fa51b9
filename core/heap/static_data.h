/* core/heap/static_data.h: the executable's writable data and bss, moved onto a memfd at the same addresses.
 * Not their exposure to peers (segment.h does that for every segment), not const data in read-only segments.
 * After it, peers on the host that map the descriptor reach globals by load and store; fork() gives a child data of its
 * own, and fini() makes the memory private again with its last values. */
#ifndef IST_HEAP_STATIC_DATA_H
#define IST_HEAP_STATIC_DATA_H

#include "core/base/config.h"
#include "core/base/status.h"
#include "core/boot/card.h"

#include <stdbool.h>

/* Of data that is somewhere (pages never touched do not count), a fork copies so much, in the order of addresses.
 * Behind that the child sees the descriptor's pages, and those that it writes become its own: later writes of its
 * parent and peers show in pages that the child has not written. A copy of all would cost a fork that only execs as
 * much as the data is large. */
#define IST_STATIC_FORK_COPY_BYTES ((uint64_t)64 << 20)

struct ist_static_data {
    char *base;            /* page aligned; NULL: nothing there */
    uint64_t length_bytes; /* multiple of the page size */
    uint64_t frozen_bytes; /* the first so many bytes are read-only after relocation (RELRO): the descriptor holds a
                              copy of them for readers, the process keeps its own pages. Multiple of the page size */
    struct ist_layout layout;
    struct ist_blob left_out; /* spans of pages that stay as the program has made them; until fini */
    int fd;                   /* memfd that holds [base, base + length_bytes) at offset 0; -1: none */
};

/* Move the writable segment of one loaded object: the executable for name NULL or "", else the shared object whose file
 * name (basename, version suffix optional) is `name`. An object without writable data: OK, base NULL. Pages that the
 * program has protected or mapped anew stay as they are.
 * Other threads may write to the object's data during the call: they wait. A system call that writes there fails
 * meanwhile (EFAULT), and where a thread blocks SIGSEGV none waits, and writes may be lost. Untouched bss stays
 * untouched.
 * ISTHMUS_ERR_INVALID: no such object, or its data has been moved already; ISTHMUS_ERR_NO_MEMORY: no memory, address
 * space, descriptors, or over the file size limit; ISTHMUS_ERR_UNSUPPORTED: the system cannot. *out is unchanged then,
 * and the data is private as before. */
isthmus_status ist_static_data_init(struct ist_static_data *out, const char *name);

/* The same for whole pages of private anonymous memory that can be read and written: the program's own buffer. */
isthmus_status ist_static_range_init(struct ist_static_data *out, void *start, uint64_t length_bytes);

/* Private memory again, same addresses, last values, those that peers wrote included; closes fd. Other threads as
 * above; no peer may write any more. Takes a zeroed struct and one whose base is NULL.
 * In a child of fork() it only clears the struct: there the data is private and the descriptor closed already. */
void ist_static_data_fini(struct ist_static_data *data);

/* ---- which loaded objects' static data is symmetric, and their exposure to peers (symmetric_data.c) ----
 * The executable's always (unless ISTHMUS_STATIC_DATA=0), a shared object's only when ISTHMUS_SYMMETRIC_OBJECTS names
 * it. */

isthmus_status ist_symmetric_data_init(const struct ist_config *config);
isthmus_status ist_symmetric_data_expose(void); /* as segments 1, 2, ... */

/* Returns true if the range lies in read-only data of the executable. PEs that run the same executable have the same
 * there, so that get can read constants from the local copy. */
bool ist_symmetric_data_is_constant(const void *addr, size_t length_bytes);

void ist_symmetric_data_fini(void); /* private memory again, with the last values; takes any state */

/* ---- work of a child process before it continues (fork.c) ----
 * A PE's runtime does not live in its children. The static data is private in the child by itself; the rest of the
 * runtime hooks in here. Not for vfork(), posix_spawn(), system(), popen(): they run no handlers and need none. _Fork()
 * and clone() run these as well where the linker has found the library's (fork.c). A child made by the system call
 * clone runs none, and shares the static data and the heap with its parent: it may read, exec and exit
 * (core/life/exit.c). */

/* Call `fn` in each child of fork(), on its only thread, with signals blocked, once its static data is private. In the
 * order of registration; the same function again changes nothing. `fn` uses no malloc and no lock that another thread
 * of the parent may hold, so: unmap, close, set a flag. */
void ist_fork_on_child(void (*fn)(void));

/* Returns false if the handlers could not be registered when the library was loaded; then nothing may be shared. */
bool ist_fork_is_watched(void);

#endif
