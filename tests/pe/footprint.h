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
static inline int footprint_threads(void) { return footprint_entries("/proc/self/task"); }

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
