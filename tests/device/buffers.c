/* R54, R55, R58: the program's own memory of a device as local operand and as symmetric memory; the program gets it
 * from the double (tests/doubles/kinds), whose file is the first argument. The heap lies on the host. buffers FILE
 * face: as a program of NVSHMEM has it, whose operands the library inspects also where the program has registered
 * nothing. */
#include "device.h"

#include <dlfcn.h>
#include <nvshmem.h>

enum { BYTES = 4 << 20 };

static struct {
    void *(*malloc)(uint64_t length_bytes, int is_managed);
    void (*free)(void *addr);
    void (*copy)(void *dest, const void *source, uint64_t length_bytes);
} device;

static char globals[BYTES], wanted[BYTES];

static void find(const char *file)
{
    void *double_ = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    CHECK(double_ != NULL);
    *(void **)&device.malloc = dlsym(double_, "kinds_malloc");
    *(void **)&device.free = dlsym(double_, "kinds_free");
    *(void **)&device.copy = dlsym(double_, "kinds_copy");
    CHECK(device.malloc != NULL && device.free != NULL && device.copy != NULL);
}

static void local_operand(char *buffer, char *heap)
{
    uint64_t *word = (uint64_t *)(void *)heap, old;
    for (size_t n = 1; n <= BYTES / 2; n = 4 * n + 1) {
        make_pattern(wanted, n, pe.me);
        device.copy(buffer, wanted, n);
        shmem_putmem(heap, buffer, n, pe.right);
        shmem_putmem_nbi(globals, buffer, n, pe.right);
        shmem_barrier_all();
        make_pattern(wanted, n, pe.left);
        CHECK_BYTES(heap, wanted, n);
        CHECK_BYTES(globals, wanted, n);
        shmem_getmem(buffer + BYTES / 2, heap, n, pe.right);
        device.copy(globals, buffer + BYTES / 2, n);
        make_pattern(wanted, n, pe.me);
        CHECK_BYTES(globals, wanted, n);
        shmem_barrier_all();
    }
    *word = 77;
    shmem_barrier_all();
    shmem_uint64_atomic_fetch_add_nbi((uint64_t *)(void *)buffer, word, 1, pe.me);
    shmem_quiet();
    device.copy(&old, buffer, sizeof old);
    CHECK_EQ(old, 77);
    shmem_barrier_all();
}

static void registrations(char *heap, bool has_face)
{
    char *buffer = device.malloc(BYTES, 0), *managed = device.malloc(4096, 1);
    CHECK(buffer != NULL && managed != NULL);
    if (has_face) local_operand(buffer, heap);
    CHECK_EQ(nvshmemx_buffer_register(managed, 4096), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(buffer, BYTES + 1), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_buffer_register(buffer, BYTES), NVSHMEMX_SUCCESS);
    CHECK_EQ(nvshmemx_buffer_register(buffer + 100, 10), NVSHMEMX_ERROR_INVALID_VALUE);
    local_operand(buffer, heap);
    CHECK_EQ(nvshmemx_buffer_unregister(buffer), NVSHMEMX_SUCCESS);
    device.free(buffer);
    device.free(managed);
}

static void symmetric(void)
{
    long *buffer = device.malloc(BYTES, 0), seen;
    const long ones = pe.me + 1;
    CHECK(nvshmemx_buffer_register_symmetric(buffer, BYTES - 4096, 0) == NULL); /* no whole pieces */
    CHECK(nvshmemx_buffer_register_symmetric(pe.me == 0 ? globals : (void *)buffer, BYTES, 0) == NULL);
    CHECK(nvshmemx_buffer_register_symmetric(buffer, BYTES, 0) == buffer);
    CHECK_EQ(nvshmemx_buffer_register(buffer, 8), NVSHMEMX_ERROR_INVALID_VALUE);
    shmem_long_p(&buffer[5], 50 + pe.me, pe.right);
    shmem_long_atomic_add(&buffer[6], 2, pe.right);
    shmem_barrier_all();
    device.copy(&seen, &buffer[5], sizeof seen);
    CHECK_EQ(seen, 50 + pe.left);
    device.copy(&seen, &buffer[6], sizeof seen);
    CHECK_EQ(seen, 2);
    device.copy(&buffer[100], &ones, sizeof ones);
    CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &buffer[200], &buffer[100], 1), 0);
    CHECK_EQ(shmem_long_g(&buffer[200], pe.me), pe.n * (pe.n + 1) / 2);
    shmem_barrier_all();
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(buffer, BYTES), NVSHMEMX_SUCCESS);
    device.free(buffer);
}

int main(int argc, char **argv)
{
    bool has_face = argc > 2;
    if (has_face) nvshmem_init();
    pe_begin();
    CHECK(argc >= 2);
    find(argv[1]);
    char *heap = shmem_malloc(BYTES);
    registrations(heap, has_face);
    symmetric();
    shmem_free(heap);
    shmem_finalize();
    if (has_face) nvshmem_finalize();
    return 0;
}
