/* R58, R59: memory that the program has made by CUDA's virtual memory interface becomes symmetric and private again,
 * and what cannot gives NULL on all PEs: memory made otherwise, or without a descriptor; several pieces; some of it
 * symmetric already; lengths that are no whole granules. Memory of the host that devices use as theirs is such memory
 * too. On the double of the driver (tests/doubles/cuda), whose file is the argument. */
#include "device.h"
#include "tests/device/cuda_program.h"

#include <nvshmem.h>

enum { WORDS = PROGRAM_GRANULE / sizeof(long) };

/* ---- what works, and what does not ---- */

/* The second granule of a piece of three: peers map it from its beginning. */
static void check_use(long *piece, int round)
{
    const long before = 40 + pe.me;
    long *const symmetric = piece + WORDS;
    program_copy(&symmetric[3], &before, sizeof before);
    CHECK(nvshmemx_buffer_register_symmetric(symmetric, 2 * PROGRAM_GRANULE, 0) == symmetric);
    CHECK_EQ(shmem_long_g(&symmetric[3], pe.right), 40 + pe.right);
    shmem_long_p(&symmetric[2 * WORDS - 1], 50 + pe.me, pe.right);
    shmem_long_atomic_add(&symmetric[6], 2, pe.right);
    shmem_barrier_all();
    CHECK_EQ(program_word(&symmetric[2 * WORDS - 1]), 50 + pe.left);
    CHECK_EQ(program_word(&symmetric[6]), 2 * (round + 1));
    CHECK(nvshmemx_buffer_register_symmetric(piece, 2 * PROGRAM_GRANULE, 0) ==
          NULL); /* its second half is symmetric already */
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(symmetric, PROGRAM_GRANULE), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(symmetric, 2 * PROGRAM_GRANULE), NVSHMEMX_SUCCESS);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(symmetric, 2 * PROGRAM_GRANULE), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(program_word(&symmetric[3]), before);
}

/* Of two adjacent mappings of a piece each is a valid range, and both together are not. */
static void check_twice(long *first)
{
    long *const second = first + 2 * WORDS, *const symmetric = second + WORDS;
    CHECK(nvshmemx_buffer_register_symmetric(first + WORDS, 2 * PROGRAM_GRANULE, 0) == NULL);
    CHECK(nvshmemx_buffer_register_symmetric(symmetric, PROGRAM_GRANULE, 0) == symmetric);
    shmem_long_p(&symmetric[7], 70 + pe.me, pe.right);
    shmem_barrier_all();
    CHECK_EQ(program_word(&first[WORDS + 7]), 70 + pe.left);
    shmem_barrier_all();
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(symmetric, PROGRAM_GRANULE), NVSHMEMX_SUCCESS);
}

static void expect_refusal(long *addr, size_t bytes)
{
    CHECK(nvshmemx_buffer_register_symmetric(addr, bytes, 0) == NULL);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(addr, bytes), NVSHMEMX_ERROR_INVALID_VALUE);
}

static void check_refusals(long *first, long *second, long *closed)
{
    long *older = program_alloc();
    expect_refusal(older, PROGRAM_GRANULE);
    program_free(older);
    expect_refusal(first, PROGRAM_GRANULE + 4096);
    expect_refusal(first + 2 * WORDS, 2 * PROGRAM_GRANULE); /* of two pieces */
    expect_refusal(closed, PROGRAM_GRANULE);
    expect_refusal(closed, 2 * PROGRAM_GRANULE);                   /* nothing is mapped behind it */
    expect_refusal(pe.me == 0 ? closed : second, PROGRAM_GRANULE); /* on one PE only */
}

int main(int argc, char **argv)
{
    pe_begin();
    CHECK(argc == 2 && program_open(argv[1], 12));
    long *first = program_map(0, 3, true), *second = program_map(3, 1, true), *closed = program_map(4, 1, false),
         *on_host = program_map_on_host(5, 3), *twice = program_map_twice(8, 2);
    CHECK(first != NULL && second != NULL && closed != NULL);
    for (int round = 0; round < 2; round++) {
        check_use(first, round);
        check_use(on_host, round);
        check_twice(twice);
        check_refusals(first, second, closed);
    }
    shmem_barrier_all();
    program_close();
    shmem_finalize();
    return 0;
}
