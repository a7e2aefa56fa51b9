/* R88: TYPENAMEs of one width are mutually exclusive: sums are exact when they are mixed on one word. */
#include "check.h"

static union {
    int i;
    unsigned u;
    int32_t i32;
    uint32_t u32;
} word32;
static union {
    long l;
    long long ll;
    unsigned long ul;
    unsigned long long ull;
    int64_t i64;
    uint64_t u64;
    size_t size;
    ptrdiff_t ptrdiff;
} word64;

static void add32(int i, int home)
{
    switch (i % 4) {
    case 0: shmem_int_atomic_inc(&word32.i, home); break;
    case 1: shmem_uint_atomic_add(&word32.u, 1, home); break;
    case 2: (void)shmem_int32_atomic_fetch_inc(&word32.i32, home); break;
    default: (void)shmem_uint32_atomic_fetch_add(&word32.u32, 1, home); break;
    }
}

static void add64(int i, int home)
{
    switch (i % 8) {
    case 0: shmem_long_atomic_inc(&word64.l, home); break;
    case 1: shmem_longlong_atomic_add(&word64.ll, 1, home); break;
    case 2: (void)shmem_ulong_atomic_fetch_inc(&word64.ul, home); break;
    case 3: (void)shmem_ulonglong_atomic_fetch_add(&word64.ull, 1, home); break;
    case 4: shmem_int64_atomic_inc(&word64.i64, home); break;
    case 5: shmem_signal_add(&word64.u64, 1, home); break;
    case 6: shmem_size_atomic_add(&word64.size, 1, home); break;
    default: (void)shmem_ptrdiff_atomic_fetch_add(&word64.ptrdiff, 1, home); break;
    }
}

int main(void)
{
    pe_begin();
    int n = pe_contended_rounds(), home = pe.n - 1;
    for (int i = 0; i < n; i++) {
        pe_collide((uint64_t)i);
        add32(i + pe.me, home);
        add64(i + pe.me, home);
    }
    shmem_barrier_all();
    if (pe.me == home) {
        CHECK_EQ(word32.i, n * pe.n);
        CHECK_EQ(word64.l, (long)n * pe.n);
    }
    return pe_end();
}
