/* R103: contexts are made without other PEs, with any options, many at once; handles compare and may be copied. Unknown
 * options: a context, or nonzero and SHMEM_CTX_INVALID. */
#include "check.h"

enum { MANY = 1000 };

static uint64_t words[MANY];

int main(void)
{
    static shmem_ctx_t ctxs[MANY];
    pe_begin();
    int n = pe.n <= 4 ? MANY : 100;
    for (int i = 0; i < n; i++) {
        long options = (i & 1 ? SHMEM_CTX_SERIALIZED : 0) | (i & 2 ? SHMEM_CTX_PRIVATE : 0) |
                       (i & 4 ? SHMEM_CTX_NOSTORE : 0);
        CHECK_EQ(shmem_ctx_create(options, &ctxs[i]), 0);
        CHECK(ctxs[i] != SHMEM_CTX_INVALID && ctxs[i] != SHMEM_CTX_DEFAULT);
        for (int k = 0; k < i; k++) CHECK(ctxs[k] != ctxs[i]);
    }
    for (int i = 0; i < n; i++) {
        shmem_ctx_t copy = ctxs[i];
        shmem_ctx_uint64_p(copy, &words[i], (uint64_t)i + 1, pe.right);
    }
    for (int i = 0; i < n; i++) shmem_ctx_destroy(ctxs[i]);
    shmem_barrier_all();
    for (int i = 0; i < n; i++) CHECK_EQ(words[i], i + 1);

    shmem_ctx_t odd = SHMEM_CTX_DEFAULT;
    int status = shmem_ctx_create(1L << 40, &odd);
    CHECK((status == 0) == (odd != SHMEM_CTX_INVALID));
    shmem_ctx_destroy(odd);
    if (pe.me == 0) { /* alone */
        CHECK_EQ(shmem_ctx_create(0, &odd), 0);
        shmem_ctx_destroy(odd);
    }
    return pe_end();
}
