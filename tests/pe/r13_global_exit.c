/* R13: global_exit by any PE ends all, wherever they are, with its status; its exit handlers run and streams are
 * flushed. global_exit MODE: computing, in_barrier, in_wait, two (both first PEs call it) */
#include "check.h"

static long never;
static volatile int nobody_sets;

static void at_exit(void)
{
    if (pe.me == 0) printf(" and handlers ran");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "computing";
    CHECK_EQ(atexit(at_exit), 0);
    pe_begin();
    shmem_barrier_all();
    if (pe.me == 0) {
        printf("text without newline"); /* a stream that only exit flushes */
        shmem_global_exit(strcmp(mode, "two") == 0 ? 3 : 7);
    }
    if (strcmp(mode, "two") == 0 && pe.me == 1) shmem_global_exit(4);
    if (strcmp(mode, "in_barrier") == 0) shmem_barrier_all();
    if (strcmp(mode, "in_wait") == 0) shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
    while (!nobody_sets) {}
    return pe_end();
}
