/* tests/cpu_device/wrong_collectives.c: collectives of kernels with an address that is not symmetric, and with a root
 * that is no member: each stops its launch, and the report names the collective and not the puts that it is made of. By
 * teams of one PE: of a larger one the others would wait for a member that was stopped. With the name of a call: only
 * that one, which the host finds wrong. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <isthmus/device_tile.h>
#include <nvshmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nvshmem_team_t alone;
static long *symmetric, *elsewhere;

#define CALL(name, statement)      \
    static void name(void *unused) \
    {                              \
        (void)unused;              \
        statement;                 \
    }

CALL(broadcast, (void)nvshmem_long_broadcast(alone, elsewhere, symmetric, 1, 0))
CALL(broadcast_root, (void)nvshmemx_long_broadcast_block(alone, symmetric, symmetric + 1, 1, 7))
CALL(fcollect, (void)nvshmemx_long_fcollect_warp(alone, elsewhere, symmetric, 1))
CALL(alltoall, (void)nvshmem_long_alltoall(alone, elsewhere, symmetric, 1))
CALL(reduce, (void)nvshmem_long_sum_reduce(alone, elsewhere, symmetric, 1))
CALL(reduce_source, (void)nvshmem_long_sum_reduce(alone, symmetric, elsewhere, 1))
CALL(reducescatter, (void)nvshmem_long_max_reducescatter(alone, symmetric, elsewhere, 1))
CALL(maxloc,
     (void)nvshmemx_double2_maxloc_reduce_block(alone, (double2 *)(void *)elsewhere, (double2 *)(void *)symmetric, 1))

/* NVSHMEM has no names for the first two, and for tiles templates only. */
CALL(collect, (void)isthmus_kernel_collect(alone, elsewhere, symmetric, 1, 8, ISTHMUS_THREAD))
CALL(scan, (void)isthmus_kernel_scan(1, alone, symmetric, elsewhere, 1, ISTHMUS_DEV_SIGNED, 8, ISTHMUS_THREAD))
static const struct isthmus_dev_tile tile = {{1, 1, 1}, {8, 8, 8}, {8, 8, 8}, 8};
static const struct isthmus_dev_reduce sum = {ISTHMUS_DEV_SUM, ISTHMUS_DEV_SIGNED, 8};
CALL(tile_sum, (void)isthmus_dev_tile_reduce(alone, (char *)symmetric, (char *)elsewhere, tile, sum, ISTHMUS_THREAD))
CALL(tile_root,
     (void)isthmus_dev_tile_rooted_reduce(alone, (char *)symmetric, (char *)elsewhere, tile, sum, 3, ISTHMUS_THREAD))

static const isthmus_cpu_kernel calls[] = {broadcast,     broadcast_root, fcollect, alltoall, reduce,   reduce_source,
                                           reducescatter, maxloc,         collect,  scan,     tile_sum, tile_root};
CALL(put, nvshmem_long_put(elsewhere, symmetric, 1, nvshmem_my_pe()))
/* The quiet waits for the host, which else may find its PE at its end. */
CALL(atomic, {
    nvshmem_long_atomic_add(elsewhere, 1, nvshmem_my_pe());
    nvshmem_quiet();
})
static const struct {
    const char *name;
    isthmus_cpu_kernel call;
} by_host[] = {{"broadcast", broadcast},
               {"fcollect", fcollect},
               {"alltoall", alltoall},
               {"reduce", reduce},
               {"reducescatter", reducescatter},
               {"collect", collect},
               {"scan", scan},
               {"tile", tile_sum},
               {"put", put},
               {"atomic", atomic}};
enum { N_CALLS = sizeof calls / sizeof calls[0], WORDS = 4 };

/* The host ends the job: it does not return. */
static int call_one(const char *name)
{
    for (size_t i = 0; i < sizeof by_host / sizeof by_host[0]; i++)
        if (strcmp(by_host[i].name, name) == 0) (void)isthmus_cpu_launch(1, 2, by_host[i].call, NULL);
    return 2;
}

int main(int argc, char **argv)
{
    int n_faults = 0;
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    for (int pe = 0; pe < n; pe++) {
        nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
        if (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, pe, 1, 1, NULL, 0, &team) != 0) return 2;
        if (pe == me) alone = team;
    }
    symmetric = nvshmem_calloc(WORDS, sizeof *symmetric);
    elsewhere = calloc(WORDS, sizeof *elsewhere);
    if (elsewhere == NULL) return 2;
    if (argc > 1) return call_one(argv[1]);
    for (size_t i = 0; i < N_CALLS; i++) {
        if (isthmus_cpu_launch(1, 2, calls[i], NULL) == -1 && symmetric[0] == 0 && elsewhere[0] == 0) continue;
        printf("PE %d: call %zu was not stopped, or has stored: %ld, %ld\n", me, i, symmetric[0], elsewhere[0]);
        n_faults++;
    }
    free(elsewhere);
    nvshmem_barrier_all();
    nvshmem_finalize();
    return n_faults != 0;
}
