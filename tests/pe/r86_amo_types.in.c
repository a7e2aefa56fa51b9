/* R86: every atomic of every type does what its name states, in the blocking and the nonblocking form, with and without
 * context, and leaves its neighbours alone. expand.py repeats the parts between the marks. */
#include "check.h"

static shmem_ctx_t ctx;

/*@for amo_extended@*/
static struct {
    TYPE before, word, after;
} cell_NAME;

/* Only this PE works on the word, at its right neighbour. */
static void extended_NAME(void)
{
    TYPE *word = &cell_NAME.word, old = 1, low = (TYPE)-7;
    cell_NAME.before = cell_NAME.after = (TYPE)77;
    shmem_barrier_all();
    shmem_NAME_atomic_set(word, low, pe.right);
    CHECK(shmem_NAME_atomic_fetch(word, pe.right) == low);
    CHECK(shmem_ctx_NAME_atomic_swap(ctx, word, (TYPE)5, pe.right) == low);
    CHECK(shmem_NAME_atomic_swap(word, (TYPE)6, pe.right) == (TYPE)5);
    shmem_ctx_NAME_atomic_set(ctx, word, (TYPE)9, pe.right);
    CHECK(shmem_ctx_NAME_atomic_fetch(ctx, word, pe.right) == (TYPE)9);

    shmem_NAME_atomic_fetch_nbi(&old, word, pe.right);
    shmem_quiet();
    CHECK(old == (TYPE)9);
    shmem_ctx_NAME_atomic_swap_nbi(ctx, &old, word, (TYPE)11, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK(old == (TYPE)9);
    shmem_NAME_atomic_swap_nbi(&old, word, (TYPE)12, pe.right);
    shmem_quiet();
    CHECK(old == (TYPE)11);
    shmem_ctx_NAME_atomic_fetch_nbi(ctx, &old, word, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK(old == (TYPE)12);
    shmem_barrier_all();
    CHECK(cell_NAME.word == (TYPE)12 && cell_NAME.before == (TYPE)77 && cell_NAME.after == (TYPE)77);
}

/*@end@*/
/*@for amo_standard@*/
static void standard_NAME(void)
{
    TYPE *word = &cell_NAME.word, old = 1;
    shmem_NAME_atomic_set(word, (TYPE)-3, pe.right);
    shmem_quiet();
    shmem_NAME_atomic_add(word, 5, pe.right); /* over zero */
    shmem_ctx_NAME_atomic_add(ctx, word, 40, pe.right);
    shmem_ctx_quiet(ctx);
    shmem_quiet();
    CHECK(shmem_NAME_atomic_fetch_add(word, (TYPE)-2, pe.right) == 42);
    CHECK(shmem_ctx_NAME_atomic_fetch_add(ctx, word, 1, pe.right) == 40);
    CHECK(shmem_NAME_atomic_fetch_inc(word, pe.right) == 41);
    CHECK(shmem_ctx_NAME_atomic_fetch_inc(ctx, word, pe.right) == 42);
    shmem_NAME_atomic_inc(word, pe.right);
    shmem_ctx_NAME_atomic_inc(ctx, word, pe.right);
    shmem_ctx_quiet(ctx);
    shmem_quiet();
    CHECK(shmem_NAME_atomic_compare_swap(word, 7, 8, pe.right) == 45); /* not equal: unchanged */
    CHECK(shmem_NAME_atomic_compare_swap(word, 45, (TYPE)-1, pe.right) == 45);
    CHECK(shmem_ctx_NAME_atomic_compare_swap(ctx, word, (TYPE)-1, 50, pe.right) == (TYPE)-1);

    shmem_NAME_atomic_fetch_add_nbi(&old, word, 3, pe.right);
    shmem_quiet();
    CHECK(old == 50);
    shmem_ctx_NAME_atomic_fetch_add_nbi(ctx, &old, word, 3, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK(old == 53);
    shmem_NAME_atomic_fetch_inc_nbi(&old, word, pe.right);
    shmem_quiet();
    CHECK(old == 56);
    shmem_ctx_NAME_atomic_fetch_inc_nbi(ctx, &old, word, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK(old == 57);
    shmem_NAME_atomic_compare_swap_nbi(&old, word, 58, 60, pe.right);
    shmem_quiet();
    CHECK(old == 58);
    shmem_ctx_NAME_atomic_compare_swap_nbi(ctx, &old, word, 58, 61, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK(old == 60);
    shmem_barrier_all();
    CHECK(cell_NAME.word == 60 && cell_NAME.before == 77 && cell_NAME.after == 77);
}

/*@end@*/
/*@for amo_bitwise@*/
static void bitwise_NAME(void)
{
    TYPE *word = &cell_NAME.word, old = 1, all = (TYPE)-1, high = (TYPE)((uint64_t)1 << (sizeof(TYPE) * 8 - 1));
    shmem_NAME_atomic_set(word, all, pe.right);
    shmem_quiet();
    shmem_NAME_atomic_and(word, (TYPE)~high, pe.right);
    shmem_ctx_NAME_atomic_and(ctx, word, (TYPE) ~(TYPE)1, pe.right);
    shmem_ctx_quiet(ctx);
    shmem_quiet();
    CHECK(shmem_NAME_atomic_fetch_and(word, 0xff, pe.right) == (TYPE)(all ^ high ^ 1));
    CHECK(shmem_ctx_NAME_atomic_fetch_and(ctx, word, 0x0f, pe.right) == 0xfe);
    shmem_NAME_atomic_or(word, 0x30, pe.right);
    shmem_ctx_NAME_atomic_or(ctx, word, 0x01, pe.right);
    shmem_ctx_quiet(ctx);
    shmem_quiet();
    CHECK(shmem_NAME_atomic_fetch_or(word, high, pe.right) == 0x3f);
    CHECK(shmem_ctx_NAME_atomic_fetch_or(ctx, word, 0x40, pe.right) == (TYPE)(high | 0x3f));
    shmem_NAME_atomic_xor(word, high, pe.right);
    shmem_ctx_NAME_atomic_xor(ctx, word, 0x41, pe.right);
    shmem_ctx_quiet(ctx);
    shmem_quiet();
    CHECK(shmem_NAME_atomic_fetch_xor(word, 0xff, pe.right) == 0x3e);
    CHECK(shmem_ctx_NAME_atomic_fetch_xor(ctx, word, 0xc0, pe.right) == 0xc1);

    shmem_NAME_atomic_fetch_or_nbi(&old, word, 0x10, pe.right);
    shmem_quiet();
    CHECK(old == 0x01);
    shmem_ctx_NAME_atomic_fetch_or_nbi(ctx, &old, word, 0x20, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK(old == 0x11);
    shmem_NAME_atomic_fetch_and_nbi(&old, word, 0x30, pe.right);
    shmem_quiet();
    CHECK(old == 0x31);
    shmem_ctx_NAME_atomic_fetch_and_nbi(ctx, &old, word, 0x20, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK(old == 0x30);
    shmem_NAME_atomic_fetch_xor_nbi(&old, word, 0x28, pe.right);
    shmem_quiet();
    CHECK(old == 0x20);
    shmem_ctx_NAME_atomic_fetch_xor_nbi(ctx, &old, word, 0x01, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK(old == 0x08);
    shmem_barrier_all();
    CHECK(cell_NAME.word == 0x09 && cell_NAME.before == 77 && cell_NAME.after == 77);
}

/*@end@*/
int main(void)
{
    pe_begin();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    /*@for amo_extended@*/
    extended_NAME();
    /*@end@*/
    shmem_barrier_all();
    /*@for amo_standard@*/
    standard_NAME();
    /*@end@*/
    shmem_barrier_all();
    /*@for amo_bitwise@*/
    bitwise_NAME();
    /*@end@*/
    shmem_ctx_destroy(ctx);
    return pe_end();
}
