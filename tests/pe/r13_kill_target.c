/* R13 and design section 9: a job for kill_random.sh: it starts, operates and finalises for ever, so that a random
 * moment hits any of these. */
#include "check.h"

static long words[1000], total;

static void operate(int rounds)
{
    long source[1000] = {0};
    for (int i = 0; i < rounds; i++) {
        long *block = shmem_malloc(10000);
        shmem_long_put_nbi(words, source, 1000, pe.right);
        shmem_long_atomic_add(&total, 1, pe.left);
        shmem_quiet();
        shmem_free(block);
    }
}

int main(void)
{
    for (;;) {
        pe_deadline(30); /* anew each time */
        shmem_init();
        pe_know();
        operate(200);
        shmem_finalize();
    }
}
