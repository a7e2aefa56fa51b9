/* R61: when a blocking put returns its source may be overwritten: the data of the time of the call arrives. */
#include "check.h"

enum { MOST = 1 << 20 };

static uint64_t arrived, signal_word;

static void put(int way, unsigned char *dest, unsigned char *source, size_t bytes)
{
    switch (way) {
    case 0: shmem_putmem(dest, source, bytes, pe.right); break;
    case 1: shmem_iput8(dest, source, 1, 1, bytes, pe.right); break;
    case 2: shmem_ibput8(dest, source, (ptrdiff_t)bytes, (ptrdiff_t)bytes, bytes, 1, pe.right); break;
    default: shmem_putmem_signal(dest, source, bytes, &signal_word, 1, SHMEM_SIGNAL_SET, pe.right); break;
    }
}

int main(void)
{
    static unsigned char source[MOST];
    pe_begin();
    unsigned char *dest = shmem_malloc(MOST);
    CHECK(dest != NULL);
    uint64_t turn = 0;
    for (size_t bytes = 1; bytes <= MOST; bytes = bytes < 64 ? bytes + 7 : bytes * 4) {
        for (int way = 0; way < 4; way++) {
            for (int round = bytes < 4096 ? pe_rounds(200) : 3; round > 0; round--) {
                memset(source, round & 0x7f, bytes);
                put(way, dest, source, bytes);
                memset(source, 0xff, bytes);
                shmem_fence();
                shmem_uint64_atomic_set(&arrived, ++turn, pe.right);
                shmem_uint64_wait_until(&arrived, SHMEM_CMP_EQ, turn);
                CHECK_FILLED(dest, round & 0x7f, bytes);
                shmem_barrier_all();
            }
        }
    }
    return pe_end();
}
