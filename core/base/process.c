/* core/base/process.c: see process.h. */
#include "core/base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ist_process_file(int32_t pid, const char *name, char *text, size_t room)
{
    char path[64];
    size_t n = 0;
    ssize_t more = -1;
    text[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    while (n < room - 1 && (more = read(fd, text + n, room - 1 - n)) > 0) n += (size_t)more;
    close(fd);
    text[n] = '\0';
    return more < 0 ? -1 : (int)n;
}

bool ist_process_read(int32_t pid, struct ist_process *out)
{
    enum { EXITING = 4 }; /* PF_EXITING, in the flags that proc(5) lists as the ninth field */
    char line[1024];
    int parent;
    unsigned flags;
    unsigned long long started; /* the 22nd field */
    if (ist_process_file(pid, "stat", line, sizeof line) < 0) return false;
    const char *behind_name = strrchr(line, ')'); /* the name may have spaces and brackets itself */
    if (behind_name == NULL ||
        sscanf(behind_name, ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &out->state, &parent, &flags, &started) != 4)
        return false;
    out->parent = parent;
    out->is_exiting = (flags & EXITING) != 0;
    out->started = (uint32_t)started;
    return true;
}
