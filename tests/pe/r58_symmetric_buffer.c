/* R58, R59: memory of the program becomes symmetric and private again, with its content; memory that cannot gives NULL
 * on all PEs, and an address of no live buffer INVALID_VALUE. */
#include "check.h"

#include <nvshmem.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { BYTES = 1 << 20, N = BYTES / sizeof(long) };

static long *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void use(long *mine, long *symmetric)
{
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&symmetric[7], pe.right), 100 * pe.right + 7); /* from before it was symmetric */
    CHECK_EQ(shmem_addr_accessible(symmetric, pe.left), 1);
    shmem_long_p(&symmetric[N - 1], 5000 + pe.me, pe.right);
    shmem_long_put(&symmetric[100], &mine[1000], 100, pe.right);
    shmem_long_atomic_add(&symmetric[8], 3, pe.right);
    shmem_barrier_all();
    CHECK_EQ(mine[N - 1], 5000 + pe.left);
    CHECK_EQ(mine[8], 100 * pe.me + 8 + 3);
    for (int i = 0; i < 100; i++) CHECK_EQ(mine[100 + i], 100 * pe.left + 1000 + i);
    if (pe.n > 1 && pe.me == 0) shmem_long_p(&symmetric[9], -1, 1);
    if (pe.me == 1) shmem_long_wait_until(&symmetric[9], SHMEM_CMP_EQ, -1);
    shmem_barrier_all();
}

static void check_refusals(long *buffer)
{
    long *odd = map(2 * BYTES);
    CHECK(nvshmemx_buffer_register_symmetric(odd, BYTES, 1) == NULL);
    CHECK(nvshmemx_buffer_register_symmetric(odd, BYTES + 8, 0) == NULL);
    CHECK(nvshmemx_buffer_register_symmetric(odd + 1, BYTES, 0) == NULL);
    CHECK(nvshmemx_buffer_register_symmetric(NULL, BYTES, 0) == NULL);
    CHECK(nvshmemx_buffer_register_symmetric(odd, 0, 0) == NULL);
    CHECK(nvshmemx_buffer_register_symmetric(buffer, BYTES, 0) == NULL); /* it is already */
    CHECK(nvshmemx_buffer_register_symmetric(odd, pe.me == 0 ? BYTES + 1 : BYTES, 0) ==
          NULL);                                                   /* wrong on one PE only */
    CHECK_EQ(nvshmemx_buffer_register(odd + BYTES / 8, BYTES), 0); /* an adapter would keep the pages that move away */
    CHECK(nvshmemx_buffer_register_symmetric(odd, 2 * BYTES, 0) == NULL);
    CHECK_EQ(nvshmemx_buffer_unregister(odd + BYTES / 8), 0);
    CHECK(nvshmemx_buffer_register_symmetric(odd, 2 * BYTES, 0) != NULL);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(odd, 2 * BYTES), 0);
    char *block = malloc(BYTES + 8);
    CHECK(nvshmemx_buffer_register_symmetric(block + ((uintptr_t)block % 16 == 0 ? 16 : 0), BYTES - 16, 0) == NULL);
    free(block);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(buffer, BYTES / 2), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(buffer + 512, BYTES - 4096), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(odd, BYTES), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(pe.me == 0 ? odd : buffer, BYTES), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(buffer, BYTES), NVSHMEMX_ERROR_INVALID_VALUE);
    munmap(odd, 2 * BYTES);
}

/* A child of fork has memory of its own. */
static void check_fork(long *mine)
{
    long before = mine[50];
    pid_t child = fork();
    if (child == 0) {
        mine[50] = before + 1;
        _exit(0);
    }
    CHECK_EQ(waitpid(child, NULL, 0), child);
    CHECK_EQ(mine[50], before);
}

int main(void)
{
    pe_begin();
    for (int round = 0; round < 3; round++) {
        long *mine = map(BYTES);
        for (int i = 0; i < N; i++) mine[i] = 100 * pe.me + i;
        long *symmetric = nvshmemx_buffer_register_symmetric(mine, BYTES, 0);
        CHECK(symmetric != NULL);
        use(mine, symmetric);
        check_refusals(symmetric);
        check_fork(mine);
        CHECK_EQ(nvshmemx_buffer_unregister_symmetric(symmetric, BYTES), 0);
        CHECK_EQ(nvshmemx_buffer_unregister_symmetric(symmetric, BYTES), NVSHMEMX_ERROR_INVALID_VALUE);
        CHECK_EQ(mine[N - 1], 5000 + pe.left);
        CHECK_EQ(mine[0], 100 * pe.me);
        munmap(mine, BYTES);
    }
    long *first = map(BYTES), *second = map(BYTES); /* two at a time; left to finalize */
    CHECK(nvshmemx_buffer_register_symmetric(first, BYTES, 0) != NULL);
    CHECK(nvshmemx_buffer_register_symmetric_at_preferred_address(second, BYTES, first, 0) == second);
    shmem_long_p(second, 77 + pe.me, pe.right);
    shmem_long_p(first, 66 + pe.me, pe.right);
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(first, BYTES), 0);
    CHECK_EQ(*first, 66 + pe.left);
    int failure = pe_end();
    CHECK_EQ(*second, 77 + pe.left);
    *second = 1;
    return failure;
}
