/* core/base/maps.h: what is mapped in this process, as /proc/thread-self/maps lists it (proc(5)). Reads in small pieces
 * and allocates nothing: fork handlers use it, where the program's allocator may be locked. */
#ifndef IST_BASE_MAPS_H
#define IST_BASE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ist_mapping {
    uintptr_t start, end;
    int prot; /* PROT_ bits of mmap */
    bool is_shared;
    uint64_t device, inode; /* of the file, as in struct stat; inode 0: none */
    char name[32];          /* its beginning; empty: none */
};

struct ist_maps {
    int fd;
    size_t at, used; /* [at, used) of the text is not read yet */
    bool is_in_line; /* the rest of a line that is longer than the text comes next */
    char text[1024];
};

/* Returns false if there is no such list. */
bool ist_maps_open(struct ist_maps *maps);
bool ist_maps_next(struct ist_maps *maps, struct ist_mapping *out); /* in ascending order; false: no more */
void ist_maps_close(struct ist_maps *maps);

#endif
