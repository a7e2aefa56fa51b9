/* R90: wait and test never see a torn value: writers alternate between two bit patterns, by set and by swap, and the
 * target finds one of them or the other. */
#include "check.h"

static uint64_t wide;
static uint32_t narrow;
static uint64_t writers_done;

static void write_patterns(int n, int home)
{
    for (int i = 0; i < n; i++) {
        uint64_t pattern = i % 2 ? UINT64_MAX : 0;
        if (pe.me % 2)
            shmem_uint64_atomic_set(&wide, pattern, home);
        else
            (void)shmem_uint64_atomic_swap(&wide, pattern, home);
        shmem_uint32_atomic_set(&narrow, i % 2 ? 0xa5a5a5a5u : 0x5a5a5a5au, home);
    }
    shmem_quiet();
    shmem_uint64_atomic_inc(&writers_done, home);
}

/* Between two whole values lies every torn one: none may be tested true. */
static void look_for_torn(int n_writers)
{
    do {
        if (shmem_uint64_test(&wide, SHMEM_CMP_GT, 0))
            CHECK(!(shmem_uint64_test(&wide, SHMEM_CMP_EQ, 0x00000000ffffffffu) ||
                    shmem_uint64_test(&wide, SHMEM_CMP_EQ, UINT64_C(0xffffffff00000000))));
        uint64_t seen = shmem_signal_fetch(&wide);
        CHECK(seen == 0 || seen == UINT64_MAX);
        CHECK(!shmem_uint32_test(&narrow, SHMEM_CMP_EQ, 0xa5a55a5au) &&
              !shmem_uint32_test(&narrow, SHMEM_CMP_EQ, 0x5a5aa5a5u));
    } while (!shmem_uint64_test(&writers_done, SHMEM_CMP_EQ, (uint64_t)n_writers));
}

int main(void)
{
    pe_begin();
    int n = 2 * pe_contended_rounds(), home = pe.n - 1;
    if (pe.me != home || pe.n == 1) write_patterns(n, home);
    if (pe.me == home) look_for_torn(pe.n > 1 ? pe.n - 1 : 1);
    return pe_end();
}
