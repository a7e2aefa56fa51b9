/* tools/isthmus-check-transport/census.c: see cases.h. The kernel's view is /proc/self; memory is the C library's. */
#include "cases.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

static int entries_of(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    CT_NEED(dir != NULL, "%s cannot be read", folder);
    while (readdir(dir) != NULL) n++;
    closedir(dir);
    return n;
}

static int lines_of(const char *path)
{
    int n = 0;
    FILE *file = fopen(path, "r");
    CT_NEED(file != NULL, "%s cannot be read", path);
    for (int c; (c = fgetc(file)) != EOF;) n += c == '\n';
    fclose(file);
    return n;
}

/* PF_EXITING of the kernel, in field 9 of a thread's stat: set before those that join the thread are woken */
#define FLAG_EXITING 0x4u

static int is_leaving(const char *tid)
{
    char path[300], line[512];
    (void)snprintf(path, sizeof path, "/proc/self/task/%s/stat", tid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 1; /* removed since its name was read */
    size_t n = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[n] = '\0';
    const char *rest = strrchr(line, ')'); /* the end of field 2, the name, which may hold anything */
    unsigned int flags = FLAG_EXITING;
    return rest == NULL || sscanf(rest, ") %*c %*d %*d %*d %*d %u", &flags) != 1 || (flags & FLAG_EXITING) != 0;
}

/* A thread that was joined stays in the kernel's list for some time: it is not counted. */
static int n_threads(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    CT_NEED(dir != NULL, "/proc/self/task cannot be read");
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.' && !is_leaving(entry->d_name);
    closedir(dir);
    return n;
}

/* Under a sanitizer, which has an allocator and a search for leaks of its own, the memory is 0. */
struct ct_census ct_census_take(void)
{
    return (struct ct_census){
        .descriptors = entries_of("/proc/self/fd"),
        .mappings = lines_of("/proc/self/maps"),
        .threads = n_threads(),
        .memory_bytes = mallinfo2().uordblks,
    };
}

/* A sanitizer maps memory for itself, as late as the first call of a thread that was there before. A real leak
 * repeats. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZER_MAPPINGS = 16 };
#else
enum { SANITIZER_MAPPINGS = 0 };
#endif

void ct_census_compare(const struct ct_census *before, const struct ct_slack *slack, const char *after_what)
{
    static const char rule[] = "what was opened is given back: descriptors, threads, mappings and memory";
    struct ct_census now = ct_census_take();
    CT_RULE(NULL, rule, now.descriptors == before->descriptors, "%d descriptors after %s, %d before", now.descriptors,
            after_what, before->descriptors);
    CT_RULE(NULL, rule, now.threads == before->threads, "%d threads after %s, %d before", now.threads, after_what,
            before->threads);
    CT_RULE(NULL, rule, now.mappings <= before->mappings + slack->mappings + SANITIZER_MAPPINGS,
            "%d mappings after %s, %d before", now.mappings, after_what, before->mappings);
    CT_RULE(NULL, rule, now.memory_bytes <= before->memory_bytes + slack->memory_bytes,
            "%zu bytes of memory after %s, %zu before", now.memory_bytes, after_what, before->memory_bytes);
}
