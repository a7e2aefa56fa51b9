/* R42: pe_accessible is 1 for valid PEs, addr_accessible 1 for symmetric addresses; 0 for anything else. */
#include "check.h"

static long word;

int main(void)
{
    long on_stack;
    pe_begin();
    char *block = shmem_malloc(1000);
    CHECK(block != NULL);
    for (int i = 0; i < pe.n; i++) {
        CHECK_EQ(shmem_pe_accessible(i), 1);
        CHECK_EQ(shmem_addr_accessible(block, i), 1);
        CHECK_EQ(shmem_addr_accessible(block + 999, i), 1);
        CHECK_EQ(shmem_addr_accessible(&word, i), 1);
        CHECK_EQ(shmem_addr_accessible(&on_stack, i), 0);
        CHECK_EQ(shmem_addr_accessible(NULL, i), 0);
        CHECK_EQ(shmem_addr_accessible((const void *)(UINTPTR_MAX - 7), i), 0);
    }
    static const int not_pes[] = {-1, -2147483647 - 1, 2147483647};
    for (size_t i = 0; i < sizeof not_pes / sizeof *not_pes; i++) {
        CHECK_EQ(shmem_pe_accessible(not_pes[i]), 0);
        CHECK_EQ(shmem_addr_accessible(&word, not_pes[i]), 0);
    }
    CHECK_EQ(shmem_pe_accessible(pe.n), 0);
    CHECK_EQ(shmem_addr_accessible(&word, pe.n), 0);
    return pe_end();
}
