/* R3: a PE has touched the memory that it polls in collectives on predefined teams before any peer can, so that its
 * pages are on this PE's NUMA node: the page table has them when init returns. */
#include "check.h"

#include <fcntl.h>
#include <stdbool.h>

enum { PAGES_MOST = 1 << 16 };
static uint64_t entries[2][PAGES_MOST]; /* of the page table, then */
static uint64_t first_page, n_pages;    /* of the library's part of this PE's heap */

/* Peers' heaps are mapped on first use. */
static void find_heap(void)
{
    char line[512];
    uint64_t begin, end, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, "isthmus-heap") == NULL) continue;
        CHECK_EQ(n_pages, 0);
        CHECK_EQ(sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end), 2);
        first_page = begin / page_bytes;
        n_pages = (end - begin) / page_bytes < PAGES_MOST ? (end - begin) / page_bytes : PAGES_MOST;
    }
    fclose(maps);
    CHECK(n_pages > 0);
}

static void read_page_table(uint64_t *out)
{
    int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    size_t bytes = n_pages * sizeof *out;
    CHECK(file >= 0);
    CHECK_EQ(pread(file, out, bytes, (off_t)(first_page * sizeof *out)), bytes);
    close(file);
}

static void use_team(shmem_team_t team)
{
    static long source[64], dest[64];
    int n = shmem_team_n_pes(team);
    CHECK_EQ(shmem_team_sync(team), 0);
    CHECK_EQ(shmem_long_broadcast(team, dest, source, 1, n - 1), 0);
    CHECK_EQ(shmem_long_sum_reduce(team, dest, source, 1), 0);
    CHECK_EQ(shmem_long_alltoall(team, dest, source, 1), 0);
    CHECK_EQ(shmem_long_fcollect(team, dest, source, 1), 0);
    CHECK_EQ(shmem_team_sync(team), 0);
}

int main(void)
{
    pe_begin();
    CHECK(pe.n <= 64);
    find_heap();
    read_page_table(entries[0]);
    use_team(SHMEM_TEAM_SHARED);
    use_team(SHMEM_TEAM_WORLD);
    read_page_table(entries[1]);
    for (uint64_t i = 0; i < n_pages; i++)
        if (entries[1][i] >> 63 > entries[0][i] >> 63) CHECK_EQ(i, -1);
    return pe_end();
}
