/* tests/hosts/works.c: works WHEN: for fault.sh: the last PE is about to be lost, while the others do WHEN. PE 0
 * prints "ready" when all have begun. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 16, LATE_S = 2 };

static long cell, flag;
static char block[BLOCK_BYTES];

static void say_ready(void)
{
    puts("ready");
    fflush(stdout);
}

static void compute(int victim)
{
    (void)victim;
    for (;;) pause();
}

static void put(int victim)
{
    for (long i = 0;; i++) shmem_long_p(&cell, i, victim);
}

static void get(int victim)
{
    for (;;) (void)shmem_long_g(&cell, victim);
}

static void amo(int victim)
{
    for (;;) (void)shmem_long_atomic_fetch_inc(&cell, victim);
}

static void quiet(int victim)
{
    static char source[BLOCK_BYTES];
    for (;;) {
        shmem_putmem_nbi(block, source, sizeof source, victim);
        shmem_quiet();
    }
}

static void barrier(int victim)
{
    (void)victim;
    shmem_barrier_all();
}

static void wait_until(int victim)
{
    (void)victim;
    shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
}

static void finalize(int victim)
{
    (void)victim;
    shmem_finalize();
}

static const struct {
    const char *name;
    void (*run)(int victim);
} moments[] = {{"compute", compute},
               {"put", put},
               {"get", get},
               {"amo", amo},
               {"quiet", quiet},
               {"barrier", barrier},
               {"wait_until", wait_until},
               {"finalize", finalize}};

/* One starts late, when its host is lost already. By the launcher's number: no PE has its own so far. */
static int meet_in_init(void)
{
    const char *rank = getenv("PMIX_RANK"), *size = getenv("OMPI_COMM_WORLD_SIZE");
    if (rank == NULL || size == NULL) return 1;
    if (atoi(rank) == atoi(size) - 1) sleep(LATE_S);
    if (atoi(rank) == 0) say_ready();
    shmem_init();
    return 1;
}

/* All are in it and wait for PE 1, which never arrives. */
static int meet_in_vain(void)
{
    const char *rank = getenv("PMIX_RANK");
    if (rank == NULL) return 1;
    if (atoi(rank) == 1)
        for (;;) pause();
    if (atoi(rank) == 0) say_ready();
    shmem_init();
    return 1;
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "";
    if (strcmp(when, "init") == 0) return meet_in_init();
    if (strcmp(when, "meeting") == 0) return meet_in_vain();
    shmem_init();
    int victim = shmem_n_pes() - 1;
    shmem_barrier_all();
    if (shmem_my_pe() == victim)
        for (;;) pause();
    if (shmem_my_pe() == 0) say_ready();
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (strcmp(when, moments[i].name) == 0) moments[i].run(victim);
    fprintf(stderr, "works: '%s' came to an end\n", when);
    return 1;
}
