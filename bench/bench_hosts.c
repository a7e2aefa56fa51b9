/* The way between two hosts, of one PE each: puts, gets, atomics, rates and barriers against the same work of bare UCP,
 * or, in bench_hosts_ofi, of bare libfabric. PE 0 measures; PE 1 serves it: in a wait of the library, or, for the bare
 * side, in a loop of progress.
 * Not about several PEs on a host, nor about what a computing PE pays. A second argument picks the rows with it in the
 * name, a third is the number of operations in a batch.
 * Read on: bare_net.h; hosts.py starts this on hosts made of namespaces, roce.py where they have RDMA devices. */
#include "bare_net.h"
#include "bench.h"
#include "packets.h"

#include <string.h>

#if __has_include(<nvshmemx.h>) /* Open MPI, whose column is made from this source too, has no regions */
#include <nvshmemx.h>
#define HAS_REGIONS 1
#else
#define HAS_REGIONS 0
#endif

#ifndef NETWORK
#define NETWORK ""
#endif

enum {
    LARGE_BYTES = 4 << 20,
    LARGE_COUNT = 4,
    FEW = 1000, /* some milliseconds: the exchange before and after is no part of an operation */
    FLAG = 0,   /* offsets in the bare window: 0 is the flag of pairs, then what ends the serving, then data */
    STOP = 64,
    DATA = 128,
    WINDOW_BYTES = DATA + LARGE_BYTES
};

/* ---- bare: PE 1 serves until PE 0 is done ---- */

static bool serve(const struct bench_target *target)
{
    static uint64_t batch;
    batch++;
    if (target->my_pe == 0) return false;
    bare_net_wait_at_least(STOP, batch);
    return true;
}

static void end_serving(void)
{
    static uint64_t batch;
    batch++;
    bare_net_put(STOP, &batch, sizeof batch);
}

/* ---- 8 bytes ---- */

static void call_put(const struct bench_target *target, long reps)
{
    if (target->my_pe != 0) return;
    for (long i = 0; i < reps; i++) {
        shmem_putmem(target->dest, target->local, 8, target->peer);
        shmem_quiet();
    }
}

static void bare_put(const struct bench_target *target, long reps)
{
    if (serve(target)) return;
    for (long i = 0; i < reps; i++) {
        bare_net_put(DATA, target->local, 8);
        bare_net_flush();
    }
    end_serving();
}

static void call_get(const struct bench_target *target, long reps)
{
    if (target->my_pe != 0) return;
    for (long i = 0; i < reps; i++) shmem_getmem(target->local, target->dest, 8, target->peer);
}

static void bare_get(const struct bench_target *target, long reps)
{
    if (serve(target)) return;
    for (long i = 0; i < reps; i++) bare_net_get(DATA, target->local, 8);
    end_serving();
}

static void call_fetch_add(const struct bench_target *target, long reps)
{
    if (target->my_pe != 0) return;
    for (long i = 0; i < reps; i++) (void)shmem_long_atomic_fetch_add(target->dest, 1, target->peer);
}

static void bare_fetch_add(const struct bench_target *target, long reps)
{
    if (serve(target)) return;
    for (long i = 0; i < reps; i++) (void)bare_net_fetch_add(DATA, 1);
    end_serving();
}

static void call_put_nbi(const struct bench_target *target, long reps)
{
    if (target->my_pe != 0) return;
    for (long i = 0; i < reps; i++)
        shmem_putmem_nbi((char *)target->dest + i % 512 * 8, (char *)target->local + i % 512 * 8, 8, target->peer);
    shmem_quiet();
}

static void call_put_nbi_in_region(const struct bench_target *target, long reps)
{
#if HAS_REGIONS
    const nvshmemx_region_attrs_t attrs = {.hints = NVSHMEMX_REGION_HINT_BATCH_RMA};
    nvshmemx_region_handle_t region;
    if (target->my_pe != 0) return;
    (void)nvshmemx_region_start(&region, &attrs);
    call_put_nbi(target, reps);
    (void)nvshmemx_region_stop(region);
#else
    call_put_nbi(target, reps);
#endif
}

static void bare_put_nbi(const struct bench_target *target, long reps)
{
    if (serve(target)) return;
    for (long i = 0; i < reps; i++)
        bare_net_put_nbi((uint64_t)(DATA + i % 512 * 8), (char *)target->local + i % 512 * 8, 8);
    bare_net_flush();
    end_serving();
}

/* ---- 4 MiB ---- */

static void call_large_put(const struct bench_target *target, long reps)
{
    if (target->my_pe != 0) return;
    for (long i = 0; i < reps; i++) shmem_putmem_nbi(target->dest, target->local, LARGE_BYTES, target->peer);
    shmem_quiet();
}

static void bare_large_put(const struct bench_target *target, long reps)
{
    if (serve(target)) return;
    for (long i = 0; i < reps; i++) bare_net_put_nbi(DATA, target->local, LARGE_BYTES);
    bare_net_flush();
    end_serving();
}

static void call_large_get(const struct bench_target *target, long reps)
{
    if (target->my_pe != 0) return;
    for (long i = 0; i < reps; i++) shmem_getmem_nbi(target->local, target->dest, LARGE_BYTES, target->peer);
    shmem_quiet();
}

static void bare_large_get(const struct bench_target *target, long reps)
{
    if (serve(target)) return;
    for (long i = 0; i < reps; i++) bare_net_get_nbi(DATA, target->local, LARGE_BYTES);
    bare_net_flush();
    end_serving();
}

/* ---- barriers ---- */

static void call_barrier_all(const struct bench_target *target, long reps)
{
    (void)target;
    for (long i = 0; i < reps; i++) shmem_barrier_all();
}

/* One message each way and no reply to either: no barrier of two can be faster. */
static void bare_pair_of_puts(const struct bench_target *target, long reps)
{
    static uint64_t turn = 1; /* that of bare_net_open() */
    (void)target;
    for (long i = 0; i < reps; i++) {
        turn++;
        bare_net_put(FLAG, &turn, sizeof turn);
        bare_net_wait_at_least(FLAG, turn);
    }
}

int main(int argc, char **argv)
{
    const double as_fast = 1 / 0.95;
    const bool is_nic = bare_net_has_adapter_atomics();
    struct bench_row rows[] = {
        {NETWORK "put of 8 B + quiet", call_put, bare_put, FEW, as_fast, "x"},
        {NETWORK "get of 8 B", call_get, bare_get, FEW, as_fast, "x"},
        {is_nic ? "atomic_fetch_add by the adapter" : NETWORK "atomic_fetch_add", call_fetch_add, bare_fetch_add, FEW,
         as_fast, "x"},
        {is_nic ? "atomic_fetch_add by the adapter (bare: get)" : NULL, call_fetch_add, bare_get, FEW, as_fast, "x"},
        {NETWORK "put_nbi of 8 B, per message", call_put_nbi, bare_put_nbi, 2000, as_fast, "x"},
        {HAS_REGIONS ? NETWORK "put_nbi of 8 B in a region, per message" : NULL, call_put_nbi_in_region, bare_put_nbi,
         2000, as_fast, "x"},
        {NETWORK "put_nbi of 4 MiB", call_large_put, bare_large_put, LARGE_COUNT, as_fast, "x"},
        {NETWORK "get_nbi of 4 MiB", call_large_get, bare_large_get, LARGE_COUNT, as_fast, "x"},
        {NETWORK "barrier_all of 2 (bare: put + flush)", call_barrier_all, bare_put, FEW, 1.2, "x"},
        {NETWORK "barrier_all of 2 (bare: a put each way)", call_barrier_all, bare_pair_of_puts, FEW, 0, "x"},
    };
    struct bench_target target = bench_open_anywhere(argc, argv, LARGE_BYTES);
    if (target.n_pes != 2) bench_skip(&target, "needs exactly two PEs");
    bench_pin(target.my_pe, target.n_pes);
    bare_net_open(target.peer, WINDOW_BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].name == NULL || (argc >= 3 && strstr(rows[i].name, argv[2]) == NULL)) continue;
        if (argc >= 4) rows[i].reps = atol(argv[3]);
        bench_compare(&target, &rows[i], true);
        bench_count_packets(&target, &rows[i], true);
    }
    bare_net_close();
    return bench_close(&target);
}
