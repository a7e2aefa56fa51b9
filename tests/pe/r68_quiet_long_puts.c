/* R68, R64: long puts, which a transport may spread over adapters, are whole at the target once it sees the flag behind
 * them, with a quiet or a fence between. */
#include "check.h"

enum { WORDS = 64 << 10 };

static uint64_t flag, ack;

static void send(uint64_t *data, uint64_t *source, uint64_t round)
{
    for (int i = 0; i < WORDS; i++) source[i] = round;
    shmem_uint64_put(data, source, WORDS, pe.right);
    if (round % 2 == 0)
        shmem_quiet();
    else
        shmem_fence();
    shmem_uint64_p(&flag, round, pe.right);
}

static void receive(const uint64_t *data, uint64_t round)
{
    shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
    for (int i = 0; i < WORDS; i++)
        if (data[i] != round)
            check_fail(__FILE__, __LINE__, "word %d is %" PRIu64 " after the flag of round %" PRIu64, i, data[i],
                       round);
    shmem_uint64_p(&ack, round, pe.left);
}

int main(void)
{
    pe_begin();
    uint64_t *data = (uint64_t *)shmem_calloc(WORDS, sizeof *data),
             *source = (uint64_t *)malloc(WORDS * sizeof *source);
    CHECK(data != NULL && source != NULL);
    int rounds = pe_rounds(640);
    for (int round = 1; round <= rounds; round++) {
        if (pe.me % 2 == 0) send(data, source, (uint64_t)round); /* the others look as soon as the flag is there */
        receive(data, (uint64_t)round);
        if (pe.me % 2 != 0) send(data, source, (uint64_t)round);
        shmem_uint64_wait_until(&ack, SHMEM_CMP_EQ, (uint64_t)round);
    }
    free(source);
    shmem_free(data);
    return pe_end();
}
