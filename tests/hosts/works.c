/* tests/hosts/works.c: for lost_peer.sh: PE 0 works with another PE until one of them is gone. */
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

static long cell;

int main(void)
{
    shmem_init();
    shmem_barrier_all();
    if (shmem_my_pe() != 0)
        for (;;) pause();
    puts("ready");
    fflush(stdout);
    for (long i = 0;; i++) {
        shmem_long_p(&cell, i, 1);
        shmem_quiet();
    }
}
