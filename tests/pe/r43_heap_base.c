/* R43: blocks lie at corresponding addresses, and by default at equal ones: a PE may send a pointer into the heap to
 * another. r43_heap_base same|at|any|taken; taken: something else lies at the usual address on PE 1. */
#include "check.h"

#include <stdbool.h>
#include <sys/mman.h>

enum { MAPPED_BYTES = 4096 };
static const uintptr_t usual = (uintptr_t)0x20 << 40, other = (uintptr_t)0x30 << 40;
static int *mine[16];

static void take_the_usual_place(void)
{
    const char *pe_text = getenv("PMIX_RANK");
    if (pe_text == NULL || strcmp(pe_text, "1") != 0) return;
    void *page = mmap((void *)usual, MAPPED_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK_EQ((uintptr_t)page, usual);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "same";
    bool is_taken = strcmp(how, "taken") == 0;
    if (is_taken) take_the_usual_place();
    for (int round = 0; round < 2; round++) { /* a second job of the processes takes the same place */
        pe_begin();
        int *block = shmem_malloc(sizeof *block);
        *block = 100 + pe.me;
        for (int to = 0; to < pe.n; to++) shmem_putmem(&mine[pe.me], &block, sizeof block, to);
        shmem_barrier_all();
        uintptr_t base = strcmp(how, "at") == 0 ? other : usual, gib = (uintptr_t)1 << 30;
        if (strcmp(how, "any") == 0 || (is_taken && pe.me == 1))
            CHECK((uintptr_t)block < usual || (uintptr_t)block >= usual + gib);
        else
            CHECK((uintptr_t)block >= base && (uintptr_t)block < base + gib);
        /* The right neighbour's pointer, used as it is. */
        bool is_equal = mine[pe.right] == block;
        if (strcmp(how, "any") != 0) CHECK_EQ(is_equal, !(is_taken && (pe.me == 1) != (pe.right == 1)));
        if (is_equal) CHECK_EQ(shmem_int_g(mine[pe.right], pe.right), 100 + pe.right);
        shmem_barrier_all();
        shmem_free(block);
        if (round == 0) shmem_finalize();
    }
    return pe_end();
}
