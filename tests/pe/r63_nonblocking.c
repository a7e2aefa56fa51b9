/* R63: quiet completes nonblocking operations: sources may be changed, destinations and fetched values be read. */
#include "check.h"

enum { WORDS = 5000, PIECES = 20 };

static uint64_t area[WORDS], counters[PIECES];

static void run(uint64_t *target, uint64_t round)
{
    static uint64_t source[WORDS], dest[WORDS], fetched[PIECES];
    enum { PIECE = WORDS / PIECES };
    for (uint64_t i = 0; i < WORDS; i++) source[i] = round * WORDS + i;
    for (int p = 0; p < PIECES; p++) shmem_uint64_put_nbi(target + p * PIECE, source + p * PIECE, PIECE, pe.right);
    for (int p = 0; p < PIECES; p++) shmem_uint64_atomic_fetch_inc_nbi(&fetched[p], &counters[p], pe.right);
    shmem_quiet();
    memset(source, 0xff, sizeof source);
    for (int p = 0; p < PIECES; p++) CHECK_EQ(fetched[p], round);

    for (int p = 0; p < PIECES; p++)
        shmem_getmem_nbi(dest + p * PIECE, target + p * PIECE, PIECE * sizeof *dest, pe.right);
    shmem_quiet();
    for (uint64_t i = 0; i < WORDS; i++) CHECK_EQ(dest[i], round * WORDS + i);
}

int main(void)
{
    pe_begin();
    uint64_t *block = shmem_malloc(sizeof area);
    CHECK(block != NULL);
    for (uint64_t round = 0; round < (uint64_t)pe_rounds(400); round++) run(round % 2 ? block : area, round);
    return pe_end();
}
