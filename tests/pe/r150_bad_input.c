/* R150, and the bad input of the ground floor: r150_bad_input CASE makes one mistake on the last PE while the others
 * wait in barrier_all. The job must end with a non-zero status and one line; CMakeLists.txt has the line of each
 * case. */
#include "check.h"

#include <shmemx.h>

static long word, words[4];
static int narrow;
static uint64_t signal_word;

static void operations(const char *mistake, long *block)
{
    long local[4] = {0}, *null = NULL, *allocated = malloc(8);
    int n = pe.n;
#define CASE(name) if (strcmp(mistake, #name) == 0)
    CASE(pe_negative) shmem_long_p(&word, 1, -1);
    CASE(pe_n)(void) shmem_long_g(&word, n);
    CASE(pe_huge) shmem_putmem(&word, local, 8, 2147483647);
    CASE(pe_atomic)(void) shmem_int_atomic_fetch_add(&narrow, 1, n);
    CASE(pe_atomic_nbi) shmem_long_atomic_fetch_inc_nbi(local, &word, -2);
    CASE(pe_get_nbi) shmem_long_get_nbi(local, words, 4, n);
    CASE(pe_iput) shmem_long_iput(words, local, 1, 1, 2, n);
    CASE(pe_put_signal) shmem_long_put_signal(words, local, 2, &signal_word, 1, SHMEM_SIGNAL_SET, n);
    CASE(pe_signal_set) shmem_signal_set(&signal_word, 1, n);
    CASE(pe_zero_count) shmem_putmem(&word, local, 0, n);
    CASE(pe_quiet) shmem_pe_quiet((const int[]){0, n}, 2);
    CASE(pe_of_team_context)
    {
        shmem_ctx_t ctx;
        CHECK_EQ(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx), 0);
        shmem_ctx_long_p(ctx, &word, 1, n);
    }

    CASE(dest_on_stack) shmem_long_p(local, 1, 0);
    CASE(dest_from_malloc) shmem_long_put(allocated, local, 1, 0);
    CASE(dest_null) shmem_long_put(null, local, 1, 0);
    CASE(source_on_stack)(void) shmem_long_g(local, 0);
    CASE(source_null) shmem_putmem(&word, null, 8, 0);
    CASE(get_dest_null) shmem_getmem(null, &word, 8, 0);
    CASE(get_source_null) shmem_getmem(local, null, 8, 0);
    CASE(atomic_on_stack) shmem_long_atomic_inc(local, 0);
    CASE(fetch_null) shmem_long_atomic_fetch_nbi(null, &word, 0);
    CASE(signal_on_stack) shmem_putmem_signal(&word, local, 8, (uint64_t *)local, 1, SHMEM_SIGNAL_SET, 0);
    CASE(ivar_on_stack) shmem_long_wait_until(local, SHMEM_CMP_EQ, 1);
    CASE(ivars_null) shmem_long_wait_until_all(null, 3, NULL, SHMEM_CMP_EQ, 1);
    CASE(indices_null)(void) shmem_long_test_some(words, 3, NULL, NULL, SHMEM_CMP_EQ, 1);
    CASE(cmp_values_null)(void) shmem_long_test_all_vector(words, 3, NULL, SHMEM_CMP_EQ, null);

    CASE(past_heap) shmem_putmem(block, local, (size_t)1 << 40, 0);
    CASE(past_static) shmem_getmem(local, &word, (size_t)1 << 40, 0);
    CASE(past_strided) shmem_long_iput(block, local, (ptrdiff_t)1 << 40, 1, 3, 0);
    CASE(misaligned_p) shmem_long_p((long *)(void *)((char *)words + 1), 1, 0);
    CASE(misaligned_atomic) shmem_int_atomic_inc((int *)(void *)((char *)words + 2), 0);
    CASE(misaligned_signal) shmem_signal_add((uint64_t *)(void *)((char *)words + 4), 1, 0);
    CASE(misaligned_ivar)(void) shmem_long_test((long *)(void *)((char *)words + 1), SHMEM_CMP_EQ, 1);

    CASE(nelems_negative) shmem_long_put(words, local, (size_t)-1, 0);
    CASE(nelems_huge) shmem_long_get(local, words, SIZE_MAX / 8, 0);
    CASE(bytes_negative) shmem_getmem(local, words, (size_t)-8, 0);
    CASE(stride_zero) shmem_long_iput(words, local, 0, 1, 2, 0);
    CASE(stride_negative) shmem_long_iget(local, words, 1, -1, 2, 0);
    CASE(alltoalls_stride_huge)(void) shmem_long_alltoalls(SHMEM_TEAM_WORLD, words, words, PTRDIFF_MAX / 2 + 1, 1, 2);
    CASE(alltoalls_past_heap)(void) shmem_long_alltoalls(SHMEM_TEAM_WORLD, words, words, 1, 10000000, 2);
    CASE(stride_less_than_block) shmem_long_ibput(words, local, 2, 1, 2, 2, 0);
    CASE(context_invalid) shmem_ctx_long_p(SHMEM_CTX_INVALID, &word, 1, 0);
    CASE(context_invalid_atomic)(void) shmem_ctx_long_atomic_fetch(SHMEM_CTX_INVALID, &word, 0);
    CASE(destroy_default) shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    CASE(cmp_wait) shmem_long_wait_until(&word, 6, 0);
    CASE(cmp_test)(void) shmem_int_test(&narrow, -1, 0);
    CASE(cmp_any)(void) shmem_long_wait_until_any(words, 4, NULL, 99, 0);
    CASE(cmp_signal)(void) shmem_signal_wait_until(&signal_word, 7, 0);
    CASE(sig_op) shmem_putmem_signal(&word, local, 8, &signal_word, 1, 7, 0);
    CASE(sig_op_nbi) shmem_putmem_signal_nbi(&word, local, 0, &signal_word, 1, -1, 0);
    CASE(team_invalid) shmem_team_remote_commit(SHMEM_TEAM_INVALID);

    CASE(free_inside) shmem_free(block + 1);
    CASE(free_stack) shmem_free(local);
    CASE(free_static) shmem_free(&word);
    CASE(free_malloc) shmem_free(allocated);
    CASE(realloc_inside)(void) shmem_realloc(block + 2, 100);
    free(allocated);
}

/* Outside of init and finalize. */
static void outside(const char *mistake)
{
    long local = 0;
    CASE(my_pe)(void) shmem_my_pe();
    CASE(p) shmem_long_p(&word, 1, 0);
    CASE(g)(void) shmem_long_g(&word, 0);
    CASE(put) shmem_long_put(words, &local, 1, 0);
    CASE(atomic) shmem_long_atomic_inc(&word, 0);
    CASE(fence) shmem_fence();
    CASE(quiet) shmem_quiet();
    CASE(barrier) shmem_barrier_all();
    CASE(wait) shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    CASE(signal_fetch)(void) shmem_signal_fetch(&signal_word);
    CASE(malloc)(void) shmem_malloc(8);
    CASE(free) shmem_free(&word);
    CASE(ptr)(void) shmem_ptr(&word, 0);
    CASE(team)(void) shmem_team_n_pes(SHMEM_TEAM_WORLD);
    CASE(context)
    {
        shmem_ctx_t ctx;
        (void)shmem_ctx_create(0, &ctx);
    }
    CASE(local_complete) shmem_local_complete();
    CASE(visibility)(void) shmemx_visibility();
}

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "", *rank = getenv("PMIX_RANK");
    int is_last = rank == NULL || atoi(rank) == atoi(argc > 2 ? argv[2] : "1") - 1;
    if (strncmp(mistake, "before_", 7) == 0 && is_last) outside(mistake + 7);
    if (strstr(mistake, "_threads") != NULL)
        pe_begin_threads();
    else
        pe_begin();
    long *block = shmem_malloc(64);
    if (strncmp(mistake, "lock_twice", 10) == 0 && is_last) {
        shmem_set_lock(&word);
        shmem_set_lock(&word);
    }
    if (strcmp(mistake, "clear_held_threads") == 0 && pe.me == 0) shmem_set_lock(&word); /* the last PE clears it */
    if (strncmp(mistake, "clear_", 6) == 0) {
        shmem_barrier_all();
        if (is_last) shmem_clear_lock(&word);
    }
    CASE(free_twice)
    {
        shmem_free(block);
        if (is_last) shmem_free(block);
    }
    CASE(same_mistake)(void) shmem_long_g(&word, pe.n); /* all PEs at once: still one line */
    if (is_last) operations(mistake, block);
    shmem_barrier_all();
    shmem_finalize();
    if (strncmp(mistake, "after_", 6) == 0 && is_last) outside(mistake + 6);
    return 0;
}
