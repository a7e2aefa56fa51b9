/* tests/hosts/unheard.c: a job that communicates for longer than ISTHMUS_PULSE_TIMEOUT, which is 1 s. */
#include <shmem.h>
#include <time.h>

enum { LASTS_S = 4 };

static int mine, first;

int main(void)
{
    struct timespec now, begin;
    int goes_on;
    shmem_init();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        mine = now.tv_sec - begin.tv_sec < LASTS_S;
        shmem_int_broadcast(SHMEM_TEAM_WORLD, &first, &mine, 1, 0);
        goes_on = first;
        shmem_barrier_all();
    } while (goes_on);
    shmem_finalize();
    return 0;
}
