/* tests/security/namespaces.c: PEs in network namespaces of their own, as in containers of one pod that share processes
 * and user. They have connected to their launcher before: the test checks how they reach one another's memory. */
#include "tests/pe/check.h"

#include <errno.h>
#include <pmix.h>
#include <shmemx.h>

enum { N = 1000 };

static long words[N], total;

static void use_static_data(void)
{
    long source[N], back[N];
    for (int i = 0; i < N; i++) source[i] = pe.me * N + i;
    shmem_long_put(words, source, N, pe.right);
    for (int other = 0; other < pe.n; other++) shmem_long_atomic_add(&total, pe.me + 1, other);
    shmem_barrier_all();
    for (int i = 0; i < N; i++) CHECK_EQ(words[i], pe.left * N + i);
    shmem_long_get(back, words, N, pe.right);
    for (int i = 0; i < N; i++) CHECK_EQ(back[i], pe.me * N + i);
    CHECK_EQ(total, pe.n * (pe.n + 1) / 2);
    shmem_barrier_all();
}

static void use_heap(void)
{
    long *sums = shmem_calloc((size_t)pe.n, sizeof *sums);
    CHECK(sums != NULL);
    for (int other = 0; other < pe.n; other++) shmem_long_p(&sums[pe.me], pe.me + 1, other);
    shmem_barrier_all();
    for (int other = 0; other < pe.n; other++) CHECK_EQ(sums[other], other + 1);
    CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, sums, 1), 0);
    CHECK_EQ(sums[0], pe.n);
    CHECK(shmem_ptr(sums, pe.right) != NULL);
    shmem_free(sums);
}

/* With the argument "apart" they are not to reach one another: PE 0 alone tries. */
static void try_alone(void)
{
    if (pe.me == 0) (void)shmemx_transport_name(pe.right);
    while (pause() != 0) {}
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    CHECK_EQ(PMIx_Init(&me, NULL, 0), PMIX_SUCCESS);
    if (unshare(CLONE_NEWNET) != 0) {
        fprintf(stderr, "skipped: no network namespace: %s\n", strerror(errno));
        _exit(PE_SKIPPED);
    }
    pe_begin();
    if (argc > 1 && strcmp(argv[1], "apart") == 0) try_alone();
    CHECK_EQ(strcmp(shmemx_transport_name(pe.right), "loopback"), 0);
    use_static_data();
    use_heap();
    int status = pe_end();
    PMIx_Finalize(NULL, 0);
    return status;
}
