/* R155: the C11 generics of put and get choose by pointer type, const and volatile ones too, with and without context.
 * expand.py repeats the parts between the marks. */
#include "check.h"

enum { N = 12 };

static shmem_ctx_t ctx;
static uint64_t signal_word, expected_signal;

#ifdef __clang__
#pragma clang diagnostic ignored "-Wincompatible-pointer-types-discards-qualifiers"
#else
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers" /* of volatile pointers, below */
#endif

#define IS(expression, type) _Generic((expression), type : 1, default : 0)

/*@for rma@*/
static TYPE area_NAME[N];

static void check_NAME(int n, int step)
{
    for (int i = 0; i < n; i++) CHECK(shmem_g(&area_NAME[i * step], pe.right) == (TYPE)(i + 1));
    TYPE zero[N] = {0};
    shmem_put(area_NAME, zero, N, pe.right);
    shmem_quiet();
}

static void put_NAME(void)
{
    TYPE numbers[N];
    const TYPE *source = numbers;
    for (int i = 0; i < N; i++) numbers[i] = (TYPE)(i + 1);
    shmem_put(area_NAME, source, N, pe.right), shmem_quiet(), check_NAME(N, 1);
    shmem_put(ctx, area_NAME, numbers, N, pe.right), shmem_ctx_quiet(ctx), check_NAME(N, 1);
    shmem_put(SHMEM_CTX_DEFAULT, area_NAME, source, N, pe.right), shmem_quiet(), check_NAME(N, 1);
    shmem_p(area_NAME, numbers[0], pe.right), shmem_quiet(), check_NAME(1, 1);
    shmem_p(ctx, area_NAME, numbers[0], pe.right), shmem_ctx_quiet(ctx), check_NAME(1, 1);
    shmem_iput(area_NAME, source, 2, 1, 6, pe.right), shmem_quiet(), check_NAME(6, 2);
    shmem_iput(ctx, area_NAME, source, 3, 1, 4, pe.right), shmem_ctx_quiet(ctx), check_NAME(4, 3);
    shmem_ibput(area_NAME, source, 3, 3, 3, 4, pe.right), shmem_quiet(), check_NAME(N, 1);
    shmem_ibput(ctx, area_NAME, source, 3, 3, 3, 4, pe.right), shmem_ctx_quiet(ctx), check_NAME(N, 1);
    shmem_put_nbi(area_NAME, source, N, pe.right), shmem_quiet(), check_NAME(N, 1);
    shmem_put_nbi(ctx, area_NAME, source, N, pe.right), shmem_ctx_quiet(ctx), check_NAME(N, 1);
    shmem_put_signal(area_NAME, source, N, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    shmem_quiet(), check_NAME(N, 1);
    shmem_put_signal(ctx, area_NAME, source, N, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    shmem_ctx_quiet(ctx), check_NAME(N, 1);
    shmem_put_signal_nbi(area_NAME, source, N, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    shmem_quiet(), check_NAME(N, 1);
    shmem_put_signal_nbi(ctx, area_NAME, source, N, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    shmem_ctx_quiet(ctx), check_NAME(N, 1);
    expected_signal += 4;
}

static void get_NAME(void)
{
    TYPE numbers[N], seen[N];
    const TYPE *source = area_NAME;
    const volatile TYPE *moving = area_NAME;
    for (int i = 0; i < N; i++) numbers[i] = (TYPE)(i + 3);
    shmem_put(area_NAME, numbers, N, pe.right), shmem_quiet();
    shmem_get(seen, source, N, pe.right), CHECK(seen[N - 1] == numbers[N - 1]);
    shmem_get(ctx, seen, area_NAME, N, pe.right), CHECK(seen[N - 1] == numbers[N - 1]);
    shmem_iget(seen, source, 1, 5, 2, pe.right), CHECK(seen[1] == numbers[5]);
    shmem_iget(ctx, seen, source, 1, 6, 2, pe.right), CHECK(seen[1] == numbers[6]);
    shmem_ibget(seen, source, 4, 6, 4, 2, pe.right), CHECK(seen[7] == numbers[9]);
    shmem_ibget(ctx, seen, source, 4, 5, 4, 2, pe.right), CHECK(seen[7] == numbers[8]);
    shmem_get_nbi(seen, source, 3, pe.right), shmem_quiet(), CHECK(seen[2] == numbers[2]);
    shmem_get_nbi(ctx, seen, source + 1, 3, pe.right), shmem_ctx_quiet(ctx), CHECK(seen[2] == numbers[3]);
    CHECK(shmem_g(source + 4, pe.right) == numbers[4]);
    CHECK(shmem_g(ctx, source + 5, pe.right) == numbers[5]);
    CHECK(shmem_g(moving + 6, pe.right) == numbers[6]);
    CHECK(IS(shmem_g(source, 0), TYPE) && IS(shmem_g(ctx, source, 0), TYPE) && IS(shmem_g(moving, 0), TYPE));
    shmem_barrier_all();
}

/*@end@*/
int main(void)
{
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    /*@for rma@*/
    put_NAME();
    get_NAME();
    /*@end@*/
    CHECK_EQ(shmem_signal_fetch(&signal_word), expected_signal);
    return pe_end();
}
