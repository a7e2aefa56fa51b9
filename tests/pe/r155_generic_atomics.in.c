/* R155: the C11 generics of atomics choose by pointer type, with and without context; int and int32 are one type.
 * expand.py repeats the parts between the marks. */
#include "check.h"

static shmem_ctx_t ctx;

#define IS(expression, type) _Generic((expression), type : 1, default : 0)

/* After the nonblocking forms. */
static void complete(void)
{
    shmem_quiet();
    shmem_ctx_quiet(ctx);
}

/*@for amo_extended@*/
static TYPE word_NAME;

static void extended_NAME(void)
{
    TYPE *word = &word_NAME, old = 0;
    const TYPE *constant = word;
    CHECK(IS(shmem_atomic_fetch(constant, 0), TYPE) && IS(shmem_atomic_swap(ctx, word, 1, 0), TYPE));
    shmem_atomic_set(word, 3, pe.right), complete();
    CHECK(shmem_atomic_fetch(constant, pe.right) == 3);
    shmem_atomic_set(ctx, word, 4, pe.right), complete();
    CHECK(shmem_atomic_fetch(ctx, constant, pe.right) == 4);
    CHECK(shmem_atomic_swap(word, 5, pe.right) == 4);
    CHECK(shmem_atomic_swap(ctx, word, 6, pe.right) == 5);
    shmem_atomic_fetch_nbi(&old, constant, pe.right), complete(), CHECK(old == 6);
    shmem_atomic_swap_nbi(&old, word, 7, pe.right), complete(), CHECK(old == 6);
    shmem_atomic_swap_nbi(ctx, &old, word, 8, pe.right), complete(), CHECK(old == 7);
    shmem_atomic_fetch_nbi(ctx, &old, constant, pe.right), complete(), CHECK(old == 8);
}

/*@end@*/
/*@for amo_standard@*/
static void standard_NAME(void)
{
    TYPE *word = &word_NAME, old = 0;
    CHECK(IS(shmem_atomic_fetch_inc(word, 0), TYPE) && IS(shmem_atomic_compare_swap(ctx, word, 0, 0, 0), TYPE));
    CHECK(shmem_atomic_compare_swap(word, 8, 10, pe.right) == 8);
    CHECK(shmem_atomic_compare_swap(ctx, word, 10, 11, pe.right) == 10);
    CHECK(shmem_atomic_fetch_inc(word, pe.right) == 11);
    CHECK(shmem_atomic_fetch_inc(ctx, word, pe.right) == 12);
    CHECK(shmem_atomic_fetch_add(word, 7, pe.right) == 13);
    CHECK(shmem_atomic_fetch_add(ctx, word, 10, pe.right) == 20);
    shmem_atomic_inc(word, pe.right), complete();
    shmem_atomic_inc(ctx, word, pe.right), complete();
    shmem_atomic_add(word, 4, pe.right), complete();
    shmem_atomic_add(ctx, word, 4, pe.right), complete();
    shmem_atomic_fetch_inc_nbi(&old, word, pe.right), complete(), CHECK(old == 40);
    shmem_atomic_fetch_inc_nbi(ctx, &old, word, pe.right), complete(), CHECK(old == 41);
    shmem_atomic_fetch_add_nbi(&old, word, 2, pe.right), complete(), CHECK(old == 42);
    shmem_atomic_fetch_add_nbi(ctx, &old, word, 2, pe.right), complete(), CHECK(old == 44);
    shmem_atomic_compare_swap_nbi(&old, word, 46, 50, pe.right), complete(), CHECK(old == 46);
    shmem_atomic_compare_swap_nbi(ctx, &old, word, 46, 60, pe.right), complete(), CHECK(old == 50);
    CHECK(shmem_atomic_fetch(word, pe.right) == 50);
}

/*@end@*/
/*@for amo_bitwise@*/
static void bitwise_NAME(void)
{
    TYPE *word = &word_NAME, old = 0;
    CHECK(IS(shmem_atomic_fetch_xor(word, 0, 0), TYPE) && IS(shmem_atomic_fetch_and(ctx, word, 0, 0), TYPE));
    shmem_atomic_set(word, 0xf0, pe.right), complete();
    shmem_atomic_and(word, 0x3f, pe.right), complete();
    shmem_atomic_or(word, 0x01, pe.right), complete();
    shmem_atomic_xor(word, 0x11, pe.right), complete();
    CHECK(shmem_atomic_fetch_and(word, 0x2f, pe.right) == 0x20);
    shmem_atomic_and(ctx, word, 0xff, pe.right), complete();
    shmem_atomic_or(ctx, word, 0x02, pe.right), complete();
    shmem_atomic_xor(ctx, word, 0x04, pe.right), complete();
    CHECK(shmem_atomic_fetch_or(word, 0x40, pe.right) == 0x26);
    CHECK(shmem_atomic_fetch_xor(word, 0x06, pe.right) == 0x66);
    CHECK(shmem_atomic_fetch_and(ctx, word, 0x7f, pe.right) == 0x60);
    CHECK(shmem_atomic_fetch_or(ctx, word, 0x01, pe.right) == 0x60);
    CHECK(shmem_atomic_fetch_xor(ctx, word, 0x03, pe.right) == 0x61);
    shmem_atomic_fetch_and_nbi(&old, word, 0x0f, pe.right), complete(), CHECK(old == 0x62);
    shmem_atomic_fetch_or_nbi(&old, word, 0x10, pe.right), complete(), CHECK(old == 0x02);
    shmem_atomic_fetch_xor_nbi(&old, word, 0x30, pe.right), complete(), CHECK(old == 0x12);
    shmem_atomic_fetch_and_nbi(ctx, &old, word, 0x20, pe.right), complete(), CHECK(old == 0x22);
    shmem_atomic_fetch_or_nbi(ctx, &old, word, 0x01, pe.right), complete(), CHECK(old == 0x20);
    shmem_atomic_fetch_xor_nbi(ctx, &old, word, 0x01, pe.right), complete(), CHECK(old == 0x21);
    CHECK(shmem_atomic_fetch(word, pe.right) == 0x20);
}

/*@end@*/
int main(void)
{
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    /*@for amo_extended@*/
    extended_NAME();
    /*@end@*/
    /*@for amo_standard@*/
    standard_NAME();
    /*@end@*/
    /*@for amo_bitwise@*/
    bitwise_NAME();
    /*@end@*/
    return pe_end();
}
