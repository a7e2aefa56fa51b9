/* R30: constants of the executable can at least be read by get, from any PE. */
#include "check.h"

static const long constants[1000] = {7, 8, 9};

int main(void)
{
    long seen[1000];
    pe_begin();
    CHECK_EQ(shmem_long_g(&constants[1], pe.right), 8);
    shmem_long_get(seen, constants, 1000, pe.right);
    CHECK_BYTES(seen, constants, sizeof seen);
    return pe_end();
}
