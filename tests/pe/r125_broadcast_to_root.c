/* R125: a broadcast on a team writes dest on all PEs, the root too; on an active set it leaves the root's dest
 * alone. */
#include "teams.h"

#include <stdbool.h>

enum { WORDS = 300 };

static uint64_t source[WORDS], dest[WORDS];
static long sync_words[2][SHMEM_BCAST_SYNC_SIZE] = {[0 ... 1] = {[0 ... SHMEM_BCAST_SYNC_SIZE - 1] = SHMEM_SYNC_VALUE}};

static void prepare(int round)
{
    for (int i = 0; i < WORDS; i++) source[i] = (uint64_t)(round * 1000000 + pe.me * 1000 + i), dest[i] = 77;
    shmem_barrier_all();
}

static void expect(int round, int root, size_t nelems, bool is_written)
{
    for (size_t i = 0; i < WORDS; i++)
        CHECK_EQ(dest[i], i < nelems && is_written ? (size_t)(round * 1000000 + root * 1000) + i : 77);
    shmem_barrier_all();
}

int main(void)
{
    static const size_t sizes[] = {1, 7, WORDS};
    pe_begin();
    shmem_team_t backwards = team_backwards();
    for (int round = 0; round < 3 * pe.n; round++) {
        int root = round / 3;
        size_t nelems = sizes[round % 3];
        prepare(round);
        CHECK_EQ(shmem_uint64_broadcast(SHMEM_TEAM_WORLD, dest, source, nelems, root), 0);
        expect(round, root, nelems, true);
        prepare(round);
        CHECK_EQ(shmem_broadcastmem(backwards, dest, source, nelems * 8, root), 0);
        expect(round, pe.n - 1 - root, nelems, true);
        prepare(round);
        shmem_broadcast64(dest, source, nelems, root, 0, 0, pe.n, sync_words[round % 2]);
        expect(round, root, nelems, pe.me != root);
    }
    shmem_team_destroy(backwards);
    return pe_end();
}
