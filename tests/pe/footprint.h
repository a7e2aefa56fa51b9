/* tests/pe/footprint.h: what this process holds: for programs that check for leaks. */
#ifndef TESTS_PE_FOOTPRINT_H
#define TESTS_PE_FOOTPRINT_H

#include "check.h"

#include <dirent.h>
#include <malloc.h>

static inline int footprint_entries(const char *folder) /* with . and .. */
{
    int n = 0;
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    while (readdir(dir) != NULL) n++;
    closedir(dir);
    return n;
}

static inline int footprint_descriptors(void) { return footprint_entries("/proc/self/fd"); }

/* Without those that are ending: pthread_join returns before the kernel takes a thread off its list. */
static inline int footprint_threads(void)
{
    enum { PF_EXITING = 4 };
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (const struct dirent *task; (task = readdir(dir)) != NULL;) {
        char path[64], line[512] = "";
        unsigned flags = PF_EXITING;
        snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", task->d_name);
        FILE *file = task->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (file == NULL) continue;
        const char *behind_name = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
        if (behind_name != NULL) (void)sscanf(behind_name, ") %*c %*d %*d %*d %*d %*d %u", &flags);
        fclose(file);
        n += (flags & PF_EXITING) == 0;
    }
    closedir(dir);
    return n;
}

/* How many descriptors fit before the kernel has to lengthen the table. */
static inline int footprint_room_for_descriptors(void)
{
    char line[256];
    int room = 0;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (room == 0 && fgets(line, sizeof line, status) != NULL) (void)sscanf(line, "FDSize: %d", &room);
    fclose(status);
    return room;
}

static inline long footprint_resident_pages(void)
{
    long resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fscanf(statm, "%*s %ld", &resident) == 1);
    fclose(statm);
    return resident;
}

/* PE_TEST_EMULATED: an emulator runs this program, and its own memory counts as the program's. It keeps some bytes for
 * each page of a range that was ever mapped, tens of megabytes for each heap. */
static inline int footprint_is_known(void) { return getenv("PE_TEST_EMULATED") == NULL; }

static inline long footprint_malloc_bytes(void) { return (long)mallinfo2().uordblks; } /* sanitized: 0 */

#endif
