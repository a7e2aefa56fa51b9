/* R30: constants of the executable can at least be read by get, from any PE, strided ones included. */
#include "check.h"

static const long constants[1000] = {7, 8, 9};

int main(void)
{
    long seen[1000];
    pe_begin();
    CHECK_EQ(shmem_long_g(&constants[1], pe.right), 8);
    shmem_long_get(seen, constants, 1000, pe.right);
    CHECK_BYTES(seen, constants, sizeof seen);
    memset(seen, -1, sizeof seen);
    shmem_long_iget(seen, constants, 2, 1, 3, pe.right);
    for (int i = 0; i < 3; i++) CHECK_EQ(seen[2 * i], constants[i]);
    CHECK_EQ(seen[1], -1);
    shmem_long_ibget(&seen[10], constants, 3, 5, 2, 100, pe.right);
    for (int i = 0; i < 200; i++) CHECK_EQ(seen[10 + i / 2 * 3 + i % 2], constants[i / 2 * 5 + i % 2]);
    CHECK_EQ(seen[12], -1);
    return pe_end();
}
