/* R75: blocking fetches of a PE take effect in program order: a later one never returns an older state. All PEs read
 * what one writes: x first, then y; a PE that sees the new y sees the new x. */
#include "check.h"

static uint64_t x, line[8], y, counter;

static void write_in_order(uint64_t last, int to)
{
    for (uint64_t i = 1; i <= last; i++) {
        shmem_uint64_atomic_set(&x, i, to);
        shmem_quiet();
        shmem_uint64_atomic_set(&y, i, to);
    }
}

static void read_in_order(uint64_t last, int from)
{
    uint64_t before = 0;
    for (uint64_t j = 0; j < last;) {
        j = shmem_uint64_atomic_fetch(&y, from);
        uint64_t i = shmem_uint64_atomic_fetch(&x, from), again = shmem_uint64_g(&x, from);
        if (i < j) check_fail(__FILE__, __LINE__, "y is %" PRIu64 ", and x after it %" PRIu64, j, i);
        if (again < i) check_fail(__FILE__, __LINE__, "x is %" PRIu64 ", and then %" PRIu64, i, again);
        if (j < before) check_fail(__FILE__, __LINE__, "y is %" PRIu64 ", and then %" PRIu64, before, j);
        before = j;
    }
}

int main(void)
{
    pe_begin();
    (void)line;
    uint64_t last = (uint64_t)pe_rounds(100000), old = 0;
    int home = pe.n - 1;
    for (uint64_t i = 0; i < last / 4; i++) { /* growing counts, while other PEs add too */
        uint64_t count = shmem_uint64_atomic_fetch_add(&counter, 1, home) + 1;
        CHECK(count > old);
        old = count;
    }
    shmem_barrier_all();
    if (pe.me == 0) write_in_order(last, home);
    read_in_order(last, home);
    return pe_end();
}
