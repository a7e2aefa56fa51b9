/* R58: as many symmetric buffers at a time as there is room for, each reached by peers, through the transport's slots
 * as well; one more gives NULL on all PEs and harms none of the others. */
#include "check.h"

#include <nvshmem.h>
#include <sys/mman.h>

enum { BYTES = 1 << 16, LEAST = 50, MOST = 64 };

static long *map(void)
{
    void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void use(long *const *buffers, int n)
{
    for (int i = 0; i < n; i++) shmem_long_p(&buffers[i][i], 1000 * i + pe.me, pe.right);
    shmem_barrier_all();
    for (int i = 0; i < n; i++) {
        CHECK_EQ(buffers[i][i], 1000 * i + pe.left);
        CHECK_EQ(shmem_long_g(&buffers[i][i], pe.right), 1000 * i + pe.me);
    }
    shmem_barrier_all();
}

int main(void)
{
    long *buffers[MOST + 1];
    int n = 0;
    pe_begin();
    for (; n <= MOST; n++) {
        buffers[n] = map();
        if (nvshmemx_buffer_register_symmetric(buffers[n], BYTES, 0) == NULL) break;
        if (n % 16 == 15) use(buffers, n + 1);
    }
    CHECK(n >= LEAST && n <= MOST);
    munmap(buffers[n], BYTES);
    use(buffers, n);
    for (int i = 0; i < n; i += 2) CHECK_EQ(nvshmemx_buffer_unregister_symmetric(buffers[i], BYTES), 0);
    for (int i = 0; i < n; i += 2) CHECK(nvshmemx_buffer_register_symmetric(buffers[i], BYTES, 0) != NULL);
    use(buffers, n);
    return pe_end();
}
