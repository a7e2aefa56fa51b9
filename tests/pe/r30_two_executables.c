/* R30: PEs of one job run two executables with different static data: operations on the heap work, those on static data
 * of a PE with the same executable too, and those on another one's end the job with a message.
 * Usage: r30_two_executables [put | get | constant | bulk | agree]: an access to static data of the next PE.
 * Built three times: with OTHER_LAYOUT its variables lie elsewhere; with OTHER_BUILD a constant differs, but not the
 * places of its variables, so that "agree" works. */
#include "check.h"

#ifdef OTHER_LAYOUT
static volatile long before[300000] = {1};
#endif
static volatile long word = 3;
static long words[100];
#ifdef OTHER_BUILD
static const char constant[4096] = "another one";
#else
static const char constant[4096] = "constant";
#endif

int main(int argc, char **argv)
{
    const char *access = argc > 1 ? argv[1] : "";
    char copy[sizeof constant];
    pe_begin();
#ifdef OTHER_LAYOUT
    before[pe.me] = 2;
#endif
    long *block = shmem_calloc(1000, sizeof *block);
    CHECK(block != NULL);
    shmem_long_p(block, pe.me + 1, pe.right);
    shmem_long_atomic_add(block + 1, 5, pe.right);
    shmem_barrier_all();
    CHECK_EQ(block[0], pe.left + 1);
    CHECK_EQ(block[1], 5);
    if (strcmp(access, "put") == 0) shmem_long_p((long *)&word, 4, pe.right);
    if (strcmp(access, "get") == 0) (void)shmem_long_g((long *)&word, pe.right);
    if (strcmp(access, "constant") == 0) shmem_getmem(copy, constant, sizeof copy, pe.right);
    if (strcmp(access, "bulk") == 0) shmem_putmem(words, block, sizeof words, pe.right);
    const int same = strcmp(access, "agree") == 0 ? pe.right : (pe.me + 2) % pe.n; /* a PE with the same variables */
    CHECK(shmem_addr_accessible((void *)&word, pe.right) == (same == pe.right));
    shmem_barrier_all();
    shmem_long_p((long *)&word, 4 + pe.me, same);
    shmem_barrier_all();
    CHECK_EQ(word, 4 + (strcmp(access, "agree") == 0 ? pe.left : (pe.me + pe.n - 2) % pe.n));
    shmem_free(block);
    return pe_end();
}
