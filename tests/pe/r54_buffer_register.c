/* R54 to R57: registered buffers as local operands, and each value that registering and unregistering return. */
#include "check.h"

#include <nvshmem.h>

enum { N = 4096 };
static long target[N];
static uint64_t counter;

/* A registered buffer as source of a put, destination of a get, and of a fetch. */
static void use(long *buffer)
{
    for (int i = 0; i < N; i++) buffer[i] = 1000000 * pe.me + i;
    shmem_long_put(target, buffer, N, pe.right);
    shmem_barrier_all();
    memset(buffer, 0, N * sizeof *buffer);
    shmem_long_get(buffer, target, N, pe.right);
    for (int i = 0; i < N; i++) CHECK_EQ(buffer[i], 1000000 * pe.me + i);
    uint64_t *fetched = (uint64_t *)(void *)buffer;
    shmem_uint64_atomic_fetch_add_nbi(fetched, &counter, 1, pe.right);
    shmem_quiet();
    CHECK_EQ(*fetched, 0);
    shmem_barrier_all();
    counter = 0;
    shmem_barrier_all();
}

static void check_refusals(char *buffer, size_t bytes)
{
    char *block = shmem_malloc(1 << 16);
    CHECK_EQ(nvshmemx_buffer_register(NULL, 8), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(buffer + bytes + 64, 0), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(buffer + 64, SIZE_MAX), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(block, 64), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(buffer, bytes), NVSHMEMX_ERROR_INVALID_VALUE);          /* the same again */
    CHECK_EQ(nvshmemx_buffer_register(buffer, 8), NVSHMEMX_ERROR_INVALID_VALUE);              /* the same start */
    CHECK_EQ(nvshmemx_buffer_register(buffer + 8, 8), NVSHMEMX_ERROR_INVALID_VALUE);          /* inside */
    CHECK_EQ(nvshmemx_buffer_register(buffer + bytes - 8, 64), NVSHMEMX_ERROR_INVALID_VALUE); /* over the end */
    CHECK_EQ(nvshmemx_buffer_register(buffer - 8, 9), NVSHMEMX_ERROR_INVALID_VALUE);          /* over the start */
    CHECK_EQ(nvshmemx_buffer_register(buffer - 8, bytes + 64), NVSHMEMX_ERROR_INVALID_VALUE); /* around */
    CHECK_EQ(nvshmemx_buffer_unregister(buffer + 8), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister(NULL), NVSHMEMX_ERROR_INVALID_VALUE);
    shmem_free(block);
}

int main(void)
{
    pe_begin();
    size_t bytes = N * sizeof(long);
    char *room = malloc(3 * bytes), *buffer = room + bytes;
    CHECK_EQ(nvshmemx_buffer_register(buffer, bytes), 0);
    use((long *)(void *)buffer);
    check_refusals(buffer, bytes);
    use((long *)(void *)buffer);
    CHECK_EQ(nvshmemx_buffer_register(buffer - bytes, bytes), 0); /* neighbours */
    CHECK_EQ(nvshmemx_buffer_register(buffer + bytes, bytes), 0);
    CHECK_EQ(nvshmemx_buffer_unregister(buffer), 0);
    CHECK_EQ(nvshmemx_buffer_unregister(buffer), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(buffer, bytes), 0);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(nvshmemx_buffer_register(&target[2 * i], sizeof(long)), 0); /* globals may be */
    nvshmemx_buffer_unregister_all();
    CHECK_EQ(nvshmemx_buffer_unregister(buffer), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister(buffer - bytes), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_unregister(&target[2]), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(buffer, bytes), 0); /* left to finalize */
    shmem_barrier_all();
    int failure = pe_end();
    free(room);
    return failure;
}
