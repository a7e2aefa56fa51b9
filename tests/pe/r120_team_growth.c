/* R120: a team that was destroyed leaves nothing: no descriptor, no mapping, no memory, no symmetric heap; destroying
 * SHMEM_TEAM_INVALID does nothing. */
#include "footprint.h"
#include "teams.h"

#include <stdbool.h>

enum { GROWTH_MAX_KB = 512, GROWTH_MAX_BYTES = 16384 };

struct footprint {
    long descriptors, mappings, resident_kb, malloc_bytes;
};

static long count_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    long lines = 0;
    for (int c = getc(file); c != EOF; c = getc(file)) lines += c == '\n';
    fclose(file);
    return lines;
}

static struct footprint look(void)
{
    return (struct footprint){footprint_descriptors(), count_lines("/proc/self/maps"),
                              footprint_resident_pages() * (sysconf(_SC_PAGESIZE) / 1024), footprint_malloc_bytes()};
}

static void make_and_end(int teams)
{
    for (int i = 0; i < teams; i++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        shmem_team_t team = team_backwards();
        if (i % 10 == 0) CHECK_EQ(shmem_team_create_ctx(team, 0, &ctx), 0); /* destroyed with its team */
        shmem_team_destroy(team);
        shmem_team_destroy(SHMEM_TEAM_INVALID);
    }
}

int main(void)
{
    pe_begin();
    make_and_end(pe_rounds(2000));
    struct footprint before = look();
    make_and_end(pe_rounds(8000));
    struct footprint after = look();
    CHECK(after.descriptors <= before.descriptors); /* one may belong to a peer's first access to this PE */
    CHECK(after.mappings <= before.mappings);
    if (after.resident_kb > before.resident_kb + GROWTH_MAX_KB)
        check_fail(__FILE__, __LINE__, "resident memory grew from %ld KiB to %ld KiB", before.resident_kb,
                   after.resident_kb);
    bool on_one_host = shmem_team_n_pes(SHMEM_TEAM_SHARED) == pe.n; /* a network's library has buffers that grow */
    if (on_one_host && after.malloc_bytes > before.malloc_bytes + GROWTH_MAX_BYTES)
        check_fail(__FILE__, __LINE__, "memory in use grew from %ld bytes to %ld bytes", before.malloc_bytes,
                   after.malloc_bytes);
    return pe_end();
}
