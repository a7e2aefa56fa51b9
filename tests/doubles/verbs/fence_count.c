/* fence_count MOST: what a fence between two puts to one PE costs: PE 0 sends at most MOST packets beside those of its
 * puts for each such pair, by the count of the double of libibverbs. */
#include <dlfcn.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, SLACK = 20 /* of what the job sends meanwhile */ };

static unsigned long (*count)(const char *name);

static long words[2];

static unsigned long count_packets(void)
{
    unsigned long before = count(NULL);
    for (long i = 1; i <= ROUNDS; i++) {
        shmem_long_p(&words[0], i, 1);
        shmem_fence();
        shmem_long_p(&words[1], i, 1);
        shmem_quiet(); /* so that each round begins with nothing to order */
    }
    return count(NULL) - before;
}

/* The same without the fence. */
static unsigned long count_without(void)
{
    unsigned long before = count(NULL);
    for (long i = 1; i <= ROUNDS; i++) {
        shmem_long_p(&words[0], i, 1);
        shmem_long_p(&words[1], i, 1);
        shmem_quiet();
    }
    return count(NULL) - before;
}

int main(int argc, char **argv)
{
    int is_wrong = 0;
    unsigned long most = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    void *found = dlsym(RTLD_DEFAULT, "verbs_double_count");
    memcpy(&count, &found, sizeof found);
    shmem_init();
    if (shmem_my_pe() == 0) {
        (void)count_packets(); /* connects */
        unsigned long without = count_without(), with = count_packets();
        is_wrong = with > without + most * ROUNDS + SLACK;
        printf("%d rounds of put, put, quiet: %lu packets; with a fence between the puts: %lu\n", ROUNDS, without,
               with);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 1) is_wrong = words[0] != ROUNDS || words[1] != ROUNDS;
    shmem_finalize();
    return is_wrong;
}
