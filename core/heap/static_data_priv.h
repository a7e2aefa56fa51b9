/* core/heap/static_data_priv.h: shared by the files of static data: the parts of an object's image, and their pages.
 * Not for callers (static_data.h). */
#ifndef IST_HEAP_STATIC_DATA_PRIV_H
#define IST_HEAP_STATIC_DATA_PRIV_H

#include "core/heap/static_data.h"

#include <stdbool.h>
#include <stddef.h>

/* A part of the image between two page boundaries with one fate. */
struct ist_static_part {
    char *start;
    uint64_t length_bytes;
    uint64_t file_bytes; /* the first so many are mapped from the object's file; the rest began as zero pages */
    int prot;            /* PROT_ bits of mmap */
    bool is_moved; /* false: read-only after relocation; the descriptor gets a copy, the process keeps its pages */
    /* The program has protected these pages, or mapped something else there: they stay as they are, and the descriptor
     * has nothing there. Then is_moved is false. */
    bool is_left_out;
};

/* GNU ld makes two (RELRO, then data and bss), lld as many in two PT_LOADs; gaps between parts count as parts too. The
 * others are for pages that the program has changed: stacks with guards, for instance. */
enum { IST_STATIC_PARTS_MAX = 512 };
struct ist_static_image {
    const void *headers; /* the object's program headers, which lie in a mapping of its file */
    char *base;          /* NULL: the object has no writable data */
    uint64_t length_bytes;
    uint32_t n_parts;
    struct ist_layout layout;
    struct ist_static_part parts[IST_STATIC_PARTS_MAX]; /* ascending, without overlap, within the image */
};

/* --- static_image.c --- */

/* The image of the executable (NULL or "") or of the first loaded object of that name. */
isthmus_status ist_static_image_find(const char *name, struct ist_static_image *out);

/* --- static_parts.c: what the program itself has done with the pages --- */

/* Cuts the parts so that pages which are no longer as the loader mapped them are left out. They are moved if they can
 * be read and written, whatever else the program did. */
isthmus_status ist_static_parts_find(struct ist_static_image *image);

/* The same for parts that were moved, before they are moved back or copied for a child: pages that the program has
 * unmapped or mapped anew since then are left out from now on, others get the protection that they have now. Allocates
 * nothing. */
void ist_static_parts_review(struct ist_static_image *image, int fd);

/* --- static_pages.c: system calls only, no library function that a sanitizer replaces by one that checks or marks the
 * memory: the data of others is copied here, their guards and races included. --- */

/* A sealed memfd of that length, all holes. */
isthmus_status ist_static_memfd_create(uint64_t length_bytes, int *out);

/* Writes the part's content to the descriptor; zero pages stay holes, untouched pages are skipped. */
isthmus_status ist_static_copy_out(const struct ist_static_part *part, int fd, uint64_t fd_offset);

/* Map the descriptor over the part, at the same address, in one step: no thread ever sees another content. */
isthmus_status ist_static_map_shared(const struct ist_static_part *part, int fd, uint64_t fd_offset);

/* Private memory elsewhere with the descriptor's content for that part; pages NULL: no memory, errno has the reason.
 * `budget_bytes` NULL: for all of the part; else for as much of its beginning as can be had by copying so many bytes,
 * which are taken off. */
struct ist_static_snapshot {
    char *pages;
    uint64_t length_bytes;
};
struct ist_static_snapshot ist_static_snapshot(const struct ist_static_part *part, int fd, uint64_t fd_offset,
                                               uint64_t *budget_bytes);
void ist_static_snapshot_drop(const struct ist_static_snapshot *snapshot);

/* Move a snapshot over the part, in one step. The rest of the part becomes private pages of the descriptor: the values
 * are the same until a process writes to the descriptor. Returns false if impossible, with the reason in errno. */
bool ist_static_snapshot_place(const struct ist_static_part *part, int fd, uint64_t fd_offset,
                               const struct ist_static_snapshot *snapshot);

/* Notifies MPI, UCX and libfabric that other pages lie there now: their registrations of the part are outdated. */
void ist_static_announce(const struct ist_static_part *part);

/* --- static_guard.c: while pages are copied, other threads that write to them wait. --- */

/* From here to the end each write to a moved part waits, in every thread but this one, which may not write. Nothing
 * where there is no other thread, or one that blocks SIGSEGV: it would be killed. Any number of calls of end. */
void ist_static_guard_begin(const struct ist_static_image *image);
void ist_static_guard_end(const struct ist_static_image *image);

/* --- static_data.c: called by core/heap/fork.c, in this order, around a fork --- */

void ist_static_fork_prepare(void); /* snapshots of all moved data; holds the lock until one of the next two */
void ist_static_fork_parent(void);
void ist_static_fork_child(void); /* all moved data is private; ends the child when it cannot be */

#endif
