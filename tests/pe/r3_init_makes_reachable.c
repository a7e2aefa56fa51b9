/* R3: when init returns on a PE it can use every other as a target, without any further call by those.
 * All PEs but the last compute at once after init; it is the last one's operations that let them end. */
#include "check.h"

static long values[4] = {1, 2, 3, 4};
static long counter = 40;
static volatile int may_go;

int main(void)
{
    pe_begin();
    if (pe.me == pe.n - 1) {
        for (int to = 0; to < pe.n; to++) {
            shmem_long_p(&values[1], 20 + to, to);
            CHECK_EQ(shmem_long_g(&values[2], to), 3);
            CHECK_EQ(shmem_long_atomic_fetch_add(&counter, 2, to), 40);
            shmem_quiet();
            CHECK_EQ(shmem_long_g(&values[1], to), 20 + to);
        }
        for (int to = 0; to < pe.n; to++) shmem_int_p((int *)&may_go, 1, to);
        shmem_quiet();
    }
    while (!may_go) {}
    return pe_end();
}
