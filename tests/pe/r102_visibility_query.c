/* R102: a program can query which PEs see an update after quiet; on one host with load and store it is every PE.
 * r102_visibility_query global | local */
#include "check.h"

#include <shmemx.h>

int main(int argc, char **argv)
{
    int expected = argc > 1 && strcmp(argv[1], "local") == 0 ? SHMEMX_VISIBILITY_LOCAL : SHMEMX_VISIBILITY_GLOBAL;
    pe_begin();
    CHECK_EQ(shmemx_visibility(), expected);
    for (int i = 0; i < pe.n; i++) CHECK(shmemx_transport_name(i) != NULL);
    CHECK(shmemx_transport_name(-1) == NULL);
    CHECK(shmemx_transport_name(pe.n) == NULL);
    return pe_end();
}
