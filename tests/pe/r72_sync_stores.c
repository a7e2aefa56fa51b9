/* R72: sync_all and team_sync publish the caller's own stores: after them every PE gets the new values. */
#include "check.h"

enum { WORDS = 200 };

static void sync_by(int way)
{
    if (way == 0) shmem_sync_all();
    if (way == 1) CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
    if (way == 2) CHECK_EQ(shmem_sync(SHMEM_TEAM_WORLD), 0); /* the C11 macro */
}

int main(void)
{
    static uint64_t statics[WORDS];
    pe_begin();
    uint64_t *block = shmem_malloc(sizeof statics), seen[WORDS];
    CHECK(block != NULL);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(4000); round++) {
        uint64_t *mine = round % 2 ? statics : block;
        for (int i = 0; i < WORDS; i++) mine[i] = round + (uint64_t)pe.me;
        sync_by((int)(round % 3));
        for (int from = pe.right, k = 0; k < 2; from = pe.left, k++) {
            shmem_uint64_get(seen, mine, WORDS, from);
            for (int i = 0; i < WORDS; i++) CHECK_EQ(seen[i], round + (uint64_t)from);
        }
        sync_by((int)(round % 3));
    }
    CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
    return pe_end();
}
