/* R140: the vector forms compare entry i with value i; the values may be const. */
#include "check.h"

enum { N = 40 };

static long vars[N];

int main(void)
{
    long wanted[N];
    const long *constant = wanted;
    int status[N] = {0};
    size_t found[N], n;
    pe_begin();
    for (int i = 0; i < N; i++) wanted[i] = 1000 + i;
    for (int i = 0; i < N; i++) vars[i] = wanted[(i + 1) % N]; /* every value exists, none at its own index */
    CHECK_EQ(shmem_long_test_any_vector(vars, N, NULL, SHMEM_CMP_EQ, wanted), SIZE_MAX);
    CHECK_EQ(shmem_long_test_some_vector(vars, N, found, NULL, SHMEM_CMP_EQ, constant), 0);
    CHECK_EQ(shmem_long_test_all_vector(vars, N, NULL, SHMEM_CMP_NE, constant), 1);
    shmem_barrier_all();

    for (int i = N - 1; i >= 0; i--) shmem_long_atomic_set(&vars[i], wanted[i], pe.right);
    status[3] = status[N - 1] = 1;
    size_t any = shmem_long_wait_until_any_vector(vars, N, status, SHMEM_CMP_EQ, constant);
    CHECK(any < N && any != 3 && any != N - 1);
    n = shmem_long_wait_until_some_vector(vars, N, found, status, SHMEM_CMP_EQ, wanted);
    CHECK(n >= 1 && n <= N - 2);
    for (size_t i = 0; i < n; i++) CHECK(found[i] < N && status[found[i]] == 0);
    shmem_long_wait_until_all_vector(vars, N, NULL, SHMEM_CMP_EQ, constant);
    for (int i = 0; i < N; i++) CHECK_EQ(vars[i], 1000 + i);

    wanted[5] = 0;
    CHECK_EQ(shmem_long_test_all_vector(vars, N, NULL, SHMEM_CMP_EQ, wanted), 0);
    CHECK_EQ(shmem_long_test_any_vector(vars, N, NULL, SHMEM_CMP_NE, wanted), 5);
    status[5] = 1;
    CHECK_EQ(shmem_long_test_all_vector(vars, N, status, SHMEM_CMP_EQ, wanted), 1);
    CHECK_EQ(shmem_long_test_any_vector(vars, N, status, SHMEM_CMP_NE, wanted), SIZE_MAX);
    CHECK_EQ(shmem_long_wait_until_any_vector(NULL, 0, NULL, SHMEM_CMP_EQ, NULL), SIZE_MAX);
    return pe_end();
}
