/* The routines of OpenSHMEM that have no table to run over: queries, memory, teams, contexts, ordering, locks. Each is
 * called and its result compared; what each promises in full is tested under its requirement in tests/pe. */
#include "../pe/check.h"

#include <shmemx.h>

static long word, lock;
static const int *everybody;

static void queries(void)
{
    int initialized = 0, provided = -1, major = 0, minor = 0;
    char name[SHMEM_MAX_NAME_LEN] = "";
    shmem_query_initialized(&initialized);
    CHECK_EQ(initialized, 1);
    shmem_query_thread(&provided);
    CHECK(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE);
    CHECK(shmem_my_pe() >= 0 && shmem_my_pe() < shmem_n_pes());
    CHECK_EQ(_my_pe(), shmem_my_pe());
    CHECK_EQ(_num_pes(), shmem_n_pes());
    start_pes(0); /* the library is initialised already: no effect */
    shmem_info_get_version(&major, &minor);
    CHECK_EQ(major, SHMEM_MAJOR_VERSION);
    CHECK_EQ(minor, SHMEM_MINOR_VERSION);
    shmem_info_get_name(name);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    CHECK_EQ(shmem_pe_accessible(pe.right), 1);
    CHECK_EQ(shmem_addr_accessible(&word, pe.right), 1);
    CHECK(shmem_ptr(&word, pe.me) == &word || shmem_ptr(&word, pe.me) == NULL);
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, pe.right) == shmem_ptr(&word, pe.right));
    CHECK(shmemx_visibility() == SHMEMX_VISIBILITY_LOCAL || shmemx_visibility() == SHMEMX_VISIBILITY_GLOBAL);
    CHECK(shmemx_transport_name(pe.right) != NULL);
    CHECK(shmemx_wtime() >= 0);
    CHECK(shmemx_nodename()[0] != '\0');
    shmemx_register_gettid(NULL);
    shmem_pcontrol(0);
    shmem_pcontrol(1, 2, "three");
}

/* A block that the routine made: it is symmetric, and holds what is put there. */
static void check_block(void *block, size_t size_bytes)
{
    CHECK(block != NULL);
    CHECK_EQ(shmem_addr_accessible(block, pe.right), 1);
    unsigned char *source = malloc(size_bytes);
    CHECK(source != NULL);
    memset(source, pe.me + 1, size_bytes);
    shmem_putmem(block, source, size_bytes, pe.right);
    shmem_barrier_all();
    CHECK_FILLED(block, pe.left + 1, size_bytes);
    free(source);
}

static void memory(void)
{
    long *block = shmem_malloc(1000);
    check_block(block, 1000);
    block = shmem_realloc(block, 3000);
    CHECK_FILLED(block, pe.left + 1, 1000);
    check_block(block, 3000);
    shmem_free(block);
    block = shmem_align(4096, 100);
    CHECK_EQ((uintptr_t)block % 4096, 0);
    check_block(block, 100);
    shmem_free(block);
    block = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    check_block(block, 64);
    shmem_free(block);
    block = shmem_calloc(10, 10);
    CHECK_FILLED(block, 0, 100);
    shmem_barrier_all();
    check_block(block, 100);
    shmem_free(block);
}

static void memory_by_its_old_names(void)
{
    long *block = shmalloc(1000);
    check_block(block, 1000);
    block = shrealloc(block, 2000);
    check_block(block, 2000);
    shfree(block);
    block = shmemalign(512, 100);
    CHECK_EQ((uintptr_t)block % 512, 0);
    check_block(block, 100);
    shfree(block);
}

/* For machines without coherent caches; no effect. */
static void caches(void)
{
    long before = word;
    shmem_set_cache_inv();
    shmem_set_cache_line_inv(&word);
    shmem_clear_cache_inv();
    shmem_clear_cache_line_inv(&word);
    shmem_udcflush();
    shmem_udcflush_line(&word);
    CHECK_EQ(word, before);
}

static void teams(void)
{
    shmem_team_t all = SHMEM_TEAM_INVALID, row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
    shmem_team_config_t config = {.num_contexts = 3};
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe.n - 1, -1, pe.n, &config, SHMEM_TEAM_NUM_CONTEXTS, &all), 0);
    CHECK_EQ(shmem_team_my_pe(all), pe.n - 1 - pe.me);
    CHECK_EQ(shmem_team_n_pes(all), pe.n);
    CHECK_EQ(shmem_team_translate_pe(all, 0, SHMEM_TEAM_WORLD), pe.n - 1);
    config.num_contexts = -1;
    CHECK_EQ(shmem_team_get_config(all, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
    CHECK_EQ(config.num_contexts, 3);
    CHECK_EQ(shmem_team_split_2d(all, 2, NULL, 0, &row, NULL, 0, &column), 0);
    CHECK_EQ(shmem_team_my_pe(row), shmem_team_my_pe(all) % 2);
    CHECK_EQ(shmem_team_my_pe(column), shmem_team_my_pe(all) / 2);
    shmem_team_remote_commit(all);
    shmemx_team_remote_commit(all);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
    shmem_team_destroy(all);
}

/* Completes the operations on `ctx` by each routine that does so. */
static void complete_on_context(shmem_ctx_t ctx, int way)
{
    switch (way) {
    case 0: shmem_ctx_quiet(ctx); break;
    case 1: shmem_ctx_pe_quiet(ctx, everybody, (size_t)pe.n); break;
    case 2: shmem_ctx_local_complete(ctx), shmem_ctx_remote_commit(ctx); break;
    case 3: shmemx_ctx_local_complete(ctx), shmemx_ctx_remote_commit(ctx); break;
    default: shmem_ctx_fence(ctx), shmem_ctx_quiet(ctx);
    }
}

static void complete(int way)
{
    switch (way) {
    case 0: shmem_quiet(); break;
    case 1: shmem_pe_quiet(everybody, (size_t)pe.n); break;
    case 2: shmem_local_complete(), shmem_remote_commit(); break;
    case 3: shmemx_local_complete(), shmemx_remote_commit(); break;
    default: shmem_fence(), shmem_quiet();
    }
}

static void check_arrived(long value)
{
    shmem_sync_all();
    CHECK_EQ(word, value + pe.left);
    shmem_sync_all();
}

static void contexts_and_order(void)
{
    shmem_ctx_t ctx[2] = {SHMEM_CTX_INVALID, SHMEM_CTX_INVALID};
    shmem_team_t team = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx[0]), 0);
    CHECK_EQ(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &ctx[1]), 0);
    CHECK_EQ(shmem_ctx_get_team(ctx[1], &team), 0);
    CHECK(team == SHMEM_TEAM_WORLD);
    const shmem_ctx_session_config_t config = {.total_ops = 10};
    shmem_ctx_session_start(ctx[0], SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    for (int way = 0; way < 5; way++) {
        long value = 100 * way + pe.me, value_of_context = value + 1000;
        shmem_put_nbi(&word, &value, 1, pe.right);
        complete(way);
        check_arrived(100 * way);
        shmem_put_nbi(ctx[way % 2], &word, &value_of_context, 1, pe.right);
        complete_on_context(ctx[way % 2], way);
        check_arrived(100 * way + 1000);
    }
    shmem_ctx_session_stop(ctx[0]);
    shmem_ctx_destroy(ctx[0]);
    shmem_ctx_destroy(ctx[1]);
}

static void locks(void)
{
    for (int round = 0; round < 20; round++) {
        if (round % 2 == 0)
            shmem_set_lock(&lock);
        else
            while (shmem_test_lock(&lock) != 0) sched_yield();
        shmem_p(&word, shmem_g(&word, 0) + 1, 0);
        shmem_clear_lock(&lock);
    }
}

int main(void)
{
    pe_begin();
    int *pes = malloc((size_t)pe.n * sizeof *pes);
    CHECK(pes != NULL);
    for (int i = 0; i < pe.n; i++) pes[i] = i;
    everybody = pes;
    queries();
    memory();
    memory_by_its_old_names();
    caches();
    teams();
    contexts_and_order();
    word = 0;
    shmem_barrier_all();
    locks();
    shmem_barrier_all();
    if (pe.me == 0) CHECK_EQ(word, 20 * pe.n);
    free(pes);
    return pe_end();
}
