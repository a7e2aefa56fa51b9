/* tests/cpu_device/no_state.c: calls of kernels that have no state: each stops its launch, and is reported.
 *     no_state before|after|unregistered: before init, after finalize, in a module that the library has not filled */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <isthmus/device_tile.h>
#include <nvshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static long word, other;
static char wide[2][16]; /* elements of tiles may be wider */
static uint64_t signal_word;

#define CALL(name, statement)      \
    static void name(void *unused) \
    {                              \
        (void)unused;              \
        statement;                 \
    }

CALL(call_put, nvshmem_long_put(&word, &other, 1, 0))
CALL(call_put_block, nvshmemx_long_put_nbi_block(&word, &other, 1, 0))
CALL(call_put_nothing, nvshmem_putmem(NULL, NULL, 0, 0))
CALL(call_get, nvshmem_long_get(&other, &word, 1, 0))
CALL(call_p, nvshmem_long_p(&word, 1, 0))
CALL(call_g, (void)nvshmem_long_g(&word, 0))
CALL(call_iput, nvshmem_long_iput(&word, &other, 1, 1, 1, 0))
CALL(call_iget, nvshmem_long_iget(&other, &word, 1, 1, 1, 0))
CALL(call_atomic, nvshmem_long_atomic_inc(&word, 0))
CALL(call_put_signal, nvshmem_long_put_signal(&word, &other, 1, &signal_word, 1, NVSHMEM_SIGNAL_SET, 0))
CALL(call_signal_op, nvshmemx_signal_op(&signal_word, 1, NVSHMEM_SIGNAL_SET, 0))
CALL(call_ptr, (void)nvshmem_ptr(&word, 0))

CALL(call_quiet, nvshmem_quiet())
CALL(call_fence, nvshmem_fence())
CALL(call_flush_block, nvshmemx_flush_block())
CALL(call_signal_fetch, (void)nvshmem_signal_fetch(&signal_word))

/* Those whose comparison holds, too. */
CALL(call_wait, nvshmem_long_wait_until(&word, NVSHMEM_CMP_EQ, 0))
CALL(call_wait_any, (void)nvshmem_long_wait_until_any(&word, 1, NULL, NVSHMEM_CMP_EQ, 0))
CALL(call_signal_wait, (void)nvshmem_signal_wait_until(&signal_word, NVSHMEM_CMP_EQ, 0))
CALL(call_test, (void)nvshmem_long_test(&word, NVSHMEM_CMP_EQ, 0))
CALL(call_test_all, (void)nvshmem_long_test_all(&word, 1, NULL, NVSHMEM_CMP_EQ, 0))

CALL(call_barrier_all, nvshmem_barrier_all())
CALL(call_barrier_block, nvshmemx_barrier_all_block())
CALL(call_sync, (void)nvshmem_team_sync(NVSHMEM_TEAM_WORLD))
CALL(call_broadcast, (void)nvshmem_long_broadcast(NVSHMEM_TEAM_WORLD, &word, &other, 1, 0))
CALL(call_fcollect, (void)nvshmem_long_fcollect(NVSHMEM_TEAM_WORLD, &word, &other, 1))
CALL(call_alltoall, (void)nvshmem_long_alltoall(NVSHMEM_TEAM_WORLD, &word, &other, 1))
CALL(call_reduce, (void)nvshmem_long_sum_reduce(NVSHMEM_TEAM_WORLD, &word, &other, 1))
CALL(call_reducescatter, (void)nvshmem_long_sum_reducescatter(NVSHMEM_TEAM_WORLD, &word, &other, 1))

/* NVSHMEM has no names for the first two, and for tiles templates only. */
CALL(call_collect, (void)isthmus_kernel_collect(0, &word, &other, 1, 8, ISTHMUS_THREAD))
CALL(call_scan, (void)isthmus_kernel_scan(1, 0, &word, &other, 1, ISTHMUS_DEV_SIGNED, 8, ISTHMUS_THREAD))
static const struct isthmus_dev_tile tile = {{1, 1, 1}, {8, 8, 8}, {8, 8, 8}, 8};
static const struct isthmus_dev_reduce sum = {ISTHMUS_DEV_SUM, ISTHMUS_DEV_SIGNED, 8};
CALL(call_tile_put, isthmus_dev_tile_move(wide[0], wide[1], tile, 0, ISTHMUS_THREAD, 1))
CALL(call_tile_get, isthmus_dev_tile_move(wide[1], wide[0], tile, 0, ISTHMUS_THREAD, 0))
CALL(call_tile_sum, (void)isthmus_dev_tile_reduce(0, wide[0], wide[1], tile, sum, ISTHMUS_THREAD))
CALL(call_tile_root, (void)isthmus_dev_tile_rooted_reduce(0, wide[0], wide[1], tile, sum, 0, ISTHMUS_THREAD))
CALL(call_tile_gather, (void)isthmus_dev_tile_allgather(0, wide[0], wide[1], tile, 8, ISTHMUS_THREAD))

CALL(call_my_pe, (void)nvshmem_my_pe())
CALL(call_n_pes, (void)nvshmem_n_pes())
CALL(call_team_my_pe, (void)nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD))
CALL(call_team_n_pes, (void)nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD))
CALL(call_translate, (void)nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, 0, NVSHMEM_TEAM_WORLD))

static const struct {
    const char *name;
    isthmus_cpu_kernel kernel;
} calls[] = {
    {"put", call_put},
    {"put by a block", call_put_block},
    {"put of no bytes", call_put_nothing},
    {"get", call_get},
    {"p", call_p},
    {"g", call_g},
    {"iput", call_iput},
    {"iget", call_iget},
    {"atomic_inc", call_atomic},
    {"put_signal", call_put_signal},
    {"signal_op", call_signal_op},
    {"ptr", call_ptr},
    {"quiet", call_quiet},
    {"fence", call_fence},
    {"flush by a block", call_flush_block},
    {"signal_fetch", call_signal_fetch},
    {"wait_until", call_wait},
    {"wait_until_any", call_wait_any},
    {"signal_wait_until", call_signal_wait},
    {"test", call_test},
    {"test_all", call_test_all},
    {"barrier_all", call_barrier_all},
    {"barrier_all by a block", call_barrier_block},
    {"team_sync", call_sync},
    {"broadcast", call_broadcast},
    {"fcollect", call_fcollect},
    {"alltoall", call_alltoall},
    {"sum_reduce", call_reduce},
    {"sum_reducescatter", call_reducescatter},
    {"collect", call_collect},
    {"scan", call_scan},
    {"tile_put", call_tile_put},
    {"tile_get", call_tile_get},
    {"tile_sum_reduce", call_tile_sum},
    {"tile_sum_rooted_reduce", call_tile_root},
    {"tile_allgather", call_tile_gather},
    {"my_pe", call_my_pe},
    {"n_pes", call_n_pes},
    {"team_my_pe", call_team_my_pe},
    {"team_n_pes", call_team_n_pes},
    {"team_translate_pe", call_translate},
};

/* Returns how many calls did not stop their launch, or changed memory. */
static int call_all(const char *when)
{
    int n_faults = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int status = isthmus_cpu_launch(1, 2, calls[i].kernel, NULL);
        static const char zeros[sizeof wide];
        bool is_clear = word == 0 && other == 0 && signal_word == 0 && memcmp(wide, zeros, sizeof wide) == 0;
        if (status == -1 && is_clear) continue;
        printf("%s, %s: the launch returned %d, expected -1; memory has %ld, %ld, %llu, expected zeros\n", when,
               calls[i].name, status, word, other, (unsigned long long)signal_word);
        n_faults++;
        word = other = 0, signal_word = 0;
        memset(wide, 0, sizeof wide);
    }
    return n_faults;
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "";
    if (strcmp(when, "before") == 0) return call_all(when) != 0;
    if (strcmp(when, "unregistered") == 0) isthmus_device_unregister_v1(isthmus_cpu_fill_);
    nvshmem_init();
    int n_faults = strcmp(when, "unregistered") == 0 ? call_all(when) : 0;
    nvshmem_finalize();
    if (strcmp(when, "after") == 0) n_faults += call_all(when);
    return n_faults != 0;
}
