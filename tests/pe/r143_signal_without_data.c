/* R143: a put with signal of no data signals, and orders nothing: tests/hook lets it run where a fence of PE 0 fails
 * that only these calls could reach. */
#include "check.h"

enum { ROUNDS = 200 };

static uint64_t signal_word;
static char data;

static void send(uint64_t round)
{
    if (round % 2 == 0)
        shmem_putmem_signal(&data, &data, 0, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    else
        shmem_putmem_signal_nbi(&data, NULL, 0, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
}

int main(void)
{
    pe_begin();
    for (uint64_t round = 1; round <= ROUNDS; round++) send(round);
    CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, ROUNDS), ROUNDS);
    return pe_end();
}
