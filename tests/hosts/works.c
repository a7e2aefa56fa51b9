/* tests/hosts/works.c: works [wait]: for lost_peer.sh: PE 0 works with another PE, or waits for it, until one is gone. */
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

static long cell;

int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    shmem_barrier_all();
    if (shmem_my_pe() != 0)
        for (;;) pause();
    puts("ready");
    fflush(stdout);
    if (argc > 1) shmem_barrier_all();
    for (long i = 0;; i++) {
        shmem_long_p(&cell, i, 1);
        shmem_quiet();
    }
}
