/* R143: the data of a put with signal is there when its signal is seen, for all sizes, blocking or not, set or add;
 * without data it still signals. */
#include "check.h"

enum { MOST = 1 << 20 };

static uint64_t signal_word, ack;

static void send(uint64_t round, unsigned char *dest, const unsigned char *source, size_t bytes)
{
    switch (round % 4) {
    case 0: shmem_putmem_signal(dest, source, bytes, &signal_word, round, SHMEM_SIGNAL_SET, pe.right); break;
    case 1: shmem_put8_signal(dest, source, bytes, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right); break;
    case 2: shmem_uchar_put_signal_nbi(dest, source, bytes, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right); break;
    default: shmem_putmem_signal_nbi(dest, source, bytes, &signal_word, round, SHMEM_SIGNAL_SET, pe.right); break;
    }
}

static void run(unsigned char *dest, size_t bytes, uint64_t rounds)
{
    static unsigned char source[MOST];
    static uint64_t round; /* continues over all calls */
    for (uint64_t i = 0; i < rounds; i++) {
        unsigned char fill = (unsigned char)++round;
        memset(source, fill, bytes);
        send(round, dest, bytes > 0 ? source : NULL, bytes);
        CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, round), round);
        CHECK_FILLED(dest, fill, bytes);
        shmem_quiet(); /* the source is reusable */
        shmem_uint64_atomic_set(&ack, round, pe.left);
        shmem_uint64_wait_until(&ack, SHMEM_CMP_EQ, round);
    }
}

int main(void)
{
    pe_begin();
    unsigned char *dest = shmem_malloc(MOST + 8);
    CHECK(dest != NULL);
    for (size_t bytes = 0; bytes < 70; bytes++) run(dest + bytes % 8, bytes, (uint64_t)pe_rounds(100));
    for (size_t bytes = 100; bytes <= MOST; bytes *= 3)
        run(dest, bytes, (uint64_t)pe_rounds(bytes < 30000 ? 1000 : 40));
    return pe_end();
}
