/* R9: finalize completes what is pending on every context, waits for all PEs and releases everything. */
#include "footprint.h"

enum { WORDS = 20000 };

static uint64_t by_default[WORDS], by_private[WORDS], by_open[WORDS];

/* Mappings whose name marks them as the library's; moved static data among them only as private memory. */
static int n_mappings_of_ours(void)
{
    char line[600];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "isthmus") != NULL && strstr(line, ".so") == NULL && strstr(line, " r") != NULL)
            n += strstr(line, "rw-s") != NULL;
    fclose(maps);
    return n;
}

int main(void)
{
    static uint64_t source[3][WORDS]; /* in use until the end of finalize */
    shmem_ctx_t private_ctx, open_ctx;
    pe_begin(); /* so that what other libraries keep from their first use is not counted */
    shmem_finalize();
    int descriptors = footprint_descriptors(), threads = footprint_threads();

    pe_begin();
    for (int i = 0; i < WORDS; i++)
        for (int k = 0; k < 3; k++) source[k][i] = (uint64_t)(pe.me * 1000000 + k * 100000 + i);
    CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &private_ctx), 0);
    CHECK_EQ(shmem_ctx_create(0, &open_ctx), 0);
    shmem_ctx_putmem_nbi(private_ctx, by_private, source[0], sizeof by_private, pe.right);
    shmem_ctx_destroy(private_ctx);
    shmem_putmem_nbi(by_default, source[1], sizeof by_default, pe.right);
    shmem_ctx_putmem_nbi(open_ctx, by_open, source[2], sizeof by_open, pe.right);
    if (pe.me == pe.n - 1) dawdle_us(20000); /* the others must not return before */
    shmem_finalize();

    for (int i = 0; i < WORDS; i++) {
        CHECK_EQ(by_private[i], pe.left * 1000000 + i);
        CHECK_EQ(by_default[i], pe.left * 1000000 + 100000 + i);
        CHECK_EQ(by_open[i], pe.left * 1000000 + 200000 + i);
    }
    CHECK_EQ(footprint_descriptors(), descriptors);
    CHECK_EQ(footprint_threads(), threads);
    CHECK_EQ(n_mappings_of_ours(), 0);
    return 0;
}
