/* A program of OpenSHMEM 1.4, compiled with Open MPI's shmem.h and linked with its library (OF_OMPI), or with ours as
 * -loshmem or -lsma: it runs with libisthmus, which is in the process once. */
#include <dlfcn.h>
#include <link.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef OF_OMPI
#include "compat/ompi_constants.h"

#include <shmemx.h>

int neighbour_is_at_least(int *cell, int value); /* of oshmem_neighbour.c */

#define SAME(name) _Static_assert((int)SHMEM_##name == (int)OMPI_##name, #name);
SAME(CMP_EQ)
SAME(CMP_NE)
SAME(CMP_GT)
SAME(CMP_GE)
SAME(CMP_LT)
SAME(CMP_LE)
SAME(CTX_PRIVATE)
SAME(CTX_SERIALIZED)
SAME(CTX_NOSTORE)
SAME(SYNC_VALUE)
#endif

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            shmem_global_exit(1);                                                   \
        }                                                                           \
    } while (0)

static int me, n;
static int cell = 7;
static long word;
static struct { /* a library that takes pSync to be longer than its header says writes into a guard */
    long before, sync[SHMEM_REDUCE_SYNC_SIZE], after[800];
} area;
static int sums[2], ones[2] = {1, 2}, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2];
static int64_t copies[64], mine;

/* ---- which libraries there are ---- */

static int count_runtime(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(int *)count += strstr(info->dlpi_name, "libisthmus.so") != NULL;
    return 0;
}

static void libraries(void)
{
    int count = 0;
    char name[SHMEM_MAX_NAME_LEN];
    Dl_info where;
    dl_iterate_phdr(count_runtime, &count);
    CHECK(count == 1);
    CHECK(dladdr(dlsym(RTLD_DEFAULT, "shmem_init"), &where) != 0 && strstr(where.dli_fname, "libisthmus.so") != NULL);
    shmem_info_get_name(name);
    CHECK(strncmp(name, "Isthmus", 7) == 0);
}

/* ---- constants ---- */

static void comparisons(void)
{
    CHECK(shmem_int_test(&cell, SHMEM_CMP_EQ, 7) && !shmem_int_test(&cell, SHMEM_CMP_NE, 7));
    CHECK(shmem_int_test(&cell, SHMEM_CMP_GT, 6) && !shmem_int_test(&cell, SHMEM_CMP_LT, 6));
    CHECK(shmem_int_test(&cell, SHMEM_CMP_GE, 6) && !shmem_int_test(&cell, SHMEM_CMP_LE, 6));
    CHECK(shmem_int_test(&cell, SHMEM_CMP_LE, 8) && !shmem_int_test(&cell, SHMEM_CMP_GE, 8));
    shmem_barrier_all();
    shmem_int_p(&cell, 20, (me + 1) % n);
    shmem_int_wait_until(&cell, SHMEM_CMP_GE, 20);
    CHECK(cell == 20);
}

static void contexts(void)
{
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, SHMEM_CTX_NOSTORE};
    for (int i = 0; i < 4; i++) {
        shmem_ctx_t ctx;
        CHECK(shmem_ctx_create(options[i], &ctx) == 0);
        shmem_ctx_long_p(ctx, &word, 10 + i, (me + 1) % n);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
        CHECK(word == 10 + i);
        shmem_barrier_all();
        shmem_ctx_destroy(ctx);
    }
    shmem_ctx_long_p(SHMEM_CTX_DEFAULT, &word, 5, (me + 1) % n);
    shmem_barrier_all();
    CHECK(word == 5);
}

/* ---- active sets ---- */

static void require_guards(void)
{
    CHECK(area.before == 77);
    for (int i = 0; i < 800; i++) CHECK(area.after[i] == 77);
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) CHECK(area.sync[i] == SHMEM_SYNC_VALUE);
}

static void active_set(int start, int log2_stride, int size)
{
    int place = (me - start) >> log2_stride;
    if (me < start || place << log2_stride != me - start || place >= size) return;
    for (int round = 0; round < 3; round++) {
        shmem_int_sum_to_all(sums, ones, 2, start, log2_stride, size, work, area.sync);
        CHECK(sums[0] == size && sums[1] == 2 * size);
        shmem_barrier(start, log2_stride, size, area.sync);
        mine = 100 * round + me;
        shmem_fcollect64(copies, &mine, 1, start, log2_stride, size, area.sync);
        for (int i = 0; i < size; i++) CHECK(copies[i] == 100 * round + start + (i << log2_stride));
        shmem_barrier(start, log2_stride, size, area.sync);
        require_guards();
    }
}

static void active_sets(void)
{
    area.before = 77;
    for (int i = 0; i < 800; i++) area.after[i] = 77;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) area.sync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    active_set(0, 0, n);
    shmem_barrier_all();
    active_set(n - 1, 0, 1);
    shmem_barrier_all();
    active_set(0, 1, (n + 1) / 2);
    shmem_barrier_all();
}

/* ---- names that Open MPI alone has ---- */

static void other_names(void)
{
#ifdef OF_OMPI
    int right = (me + 1) % n;
    int32_t *narrow = shmemx_malloc_with_hint(sizeof *narrow, SHMEM_HINT_ATOMICS);
    CHECK(narrow != NULL);
    *narrow = 0;
    CHECK(neighbour_is_at_least(&cell, 20) && !neighbour_is_at_least(&cell, 21));
    shmem_barrier_all();
    CHECK(my_pe() == me && num_pes() == n);
    shmem_int_atomic_or(&cell, 64, right);
    shmem_ctx_long_atomic_xor(SHMEM_CTX_DEFAULT, &word, 3, right);
    CHECK(shmem_long_atomic_fetch_and(&word, -1, right) >= 0);
    CHECK(shmemx_int32_fadd(narrow, 4, right) == 0);
    shmemx_int32_wait_until(narrow, SHMEM_CMP_GE, 4);
    shmem_barrier_all();
    CHECK(cell == (20 | 64) && word == (5 ^ 3) && shmemx_int32_g(narrow, right) == 4);
    shmem_free(narrow);
#endif
}

int main(void)
{
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe(), n = shmem_n_pes();
    libraries();
    comparisons();
    contexts();
    active_sets();
    other_names();
    shmem_finalize();
    return 0;
}
