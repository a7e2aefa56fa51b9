/* R141: test and its forms return at once when nothing holds: a million false tests end, though no PE ever sets
 * anything. */
#include "check.h"

enum { N = 4 };

static int vars[N];

int main(void)
{
    size_t found[N];
    const int wanted[N] = {1, 1, 1, 1};
    pe_begin();
    int n = pe.n <= 4 ? 1000000 : 50000;
    for (int i = 0; i < n; i++) CHECK_EQ(shmem_int_test(&vars[i % N], SHMEM_CMP_EQ, 1), 0);
    for (int i = 0; i < n / 10; i++) {
        CHECK_EQ(shmem_int_test_all(vars, N, NULL, SHMEM_CMP_EQ, 1), 0);
        CHECK_EQ(shmem_int_test_any(vars, N, NULL, SHMEM_CMP_EQ, 1), SIZE_MAX);
        CHECK_EQ(shmem_int_test_some(vars, N, found, NULL, SHMEM_CMP_EQ, 1), 0);
        CHECK_EQ(shmem_int_test_all_vector(vars, N, NULL, SHMEM_CMP_EQ, wanted), 0);
        CHECK_EQ(shmem_int_test_any_vector(vars, N, NULL, SHMEM_CMP_EQ, wanted), SIZE_MAX);
        CHECK_EQ(shmem_int_test_some_vector(vars, N, found, NULL, SHMEM_CMP_EQ, wanted), 0);
    }
    return pe_end();
}
