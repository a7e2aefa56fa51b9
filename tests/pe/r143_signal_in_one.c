/* R143: a put with signal is one operation where the transport has one for it: there is no atomic in this program but
 * the updates of signals. tests/hook lets it run where each other atomic fails. */
#include "check.h"

enum { MOST = 4096 };

static uint64_t signal_word, answer;

static void send(uint64_t round, unsigned char *dest, const unsigned char *source, size_t bytes)
{
    if (round % 2 == 0)
        shmem_putmem_signal(dest, source, bytes, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    else
        shmem_putmem_signal_nbi(dest, source, bytes, &signal_word, round, SHMEM_SIGNAL_SET, pe.right);
}

int main(void)
{
    static unsigned char source[MOST];
    uint64_t round = 0;
    pe_begin();
    unsigned char *dest = shmem_malloc(MOST);
    CHECK(dest != NULL);
    for (size_t bytes = 1; bytes <= MOST; bytes *= 2)
        for (int i = 0; i < 4; i++) {
            memset(source, (int)(++round % 251), bytes);
            send(round, dest, source, bytes);
            CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, round), round);
            CHECK_FILLED(dest, (int)(round % 251), bytes);
            shmem_quiet(); /* the source is reusable */
            shmem_uint64_p(&answer, round, pe.left);
            shmem_uint64_wait_until(&answer, SHMEM_CMP_EQ, round);
        }
    return pe_end();
}
