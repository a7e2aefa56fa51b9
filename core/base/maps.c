/* core/base/maps.c: see maps.h. System calls and no functions of the C library: those are cancellation points, and a
 * thread that ended inside of a fork handler would keep its locks. */
#include "core/base/maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool ist_maps_open(struct ist_maps *maps)
{
    maps->fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    maps->at = maps->used = 0;
    maps->is_in_line = false;
    return maps->fd >= 0;
}

void ist_maps_close(struct ist_maps *maps) { syscall(SYS_close, maps->fd); }

/* Returns false at the end of the file. */
static bool read_more(struct ist_maps *maps)
{
    memmove(maps->text, maps->text + maps->at, maps->used - maps->at);
    maps->used -= maps->at;
    maps->at = 0;
    const long n = syscall(SYS_read, maps->fd, maps->text + maps->used, sizeof maps->text - 1 - maps->used);
    if (n > 0) maps->used += (size_t)n;
    return n > 0;
}

/* The next line, or as much of its beginning as there is room for; NULL: no more. */
static const char *next_line(struct ist_maps *maps)
{
    for (;;) {
        char *line = maps->text + maps->at, *end = memchr(line, '\n', maps->used - maps->at);
        const bool is_rest = maps->is_in_line;
        const bool is_full = end == NULL && maps->at == 0 && maps->used == sizeof maps->text - 1;
        if (end == NULL && !is_full) {
            if (!read_more(maps)) return NULL;
            continue;
        }
        maps->is_in_line = end == NULL;
        if (end == NULL) end = maps->text + maps->used;
        maps->at = end == maps->text + maps->used ? maps->used : (size_t)(end - maps->text) + 1;
        *end = '\0';
        if (!is_rest) return line;
    }
}

static bool parse(const char *line, struct ist_mapping *out)
{
    char access[5] = "";
    unsigned major_of, minor_of;
    out->name[0] = '\0';
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %x:%x %" SCNu64 " %31[^\n]", &out->start, &out->end, access,
               &major_of, &minor_of, &out->inode, out->name) < 6)
        return false;
    out->prot = (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) |
                (access[2] == 'x' ? PROT_EXEC : 0);
    out->is_shared = access[3] == 's';
    out->device = makedev(major_of, minor_of);
    return true;
}

bool ist_maps_next(struct ist_maps *maps, struct ist_mapping *out)
{
    const char *line = next_line(maps);
    return line != NULL && parse(line, out);
}
